"""Figure 4: consumer A's strategies on the diamond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.analysis.mircc.network import Network
from midpath.analysis.mircc.solvers import secondary_max_min, stamps_fixed_point
from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import ETA, dropped, params
from midpath.result import Result
from midpath.result.series import mean, wire

BEGIN, END = 2.0, 4.0
# Mbps of l_g.
SCENARIOS = {1: 60, 2: 50}
STRATEGIES = {"best": "best-subflow", "total": "total-per-subflow", "dual": "dual-class"}
# Consumers like E.
OTHERS = 2


def measure(lab: Lab) -> Iterator[Measured]:
    """Consumer A's rate with each strategy in both scenarios."""
    every: list[Runs] = []
    for scenario, shared in SCENARIOS.items():
        link = {"topology.links[5].rate": f"{shared} Mbps"}
        runs = {
            name: lab.runs("diamond", changes=link | params(sending=sending), label=f"{scenario}-{name}")
            for name, sending in STRATEGIES.items()
            if scenario == 2 or name != "dual"
        }
        every += runs.values()
        for name, found in runs.items():
            bound = dual(shared) if name == "dual" else None
            yield Measured(f"{name}.{scenario}", found.values(lambda result: rate(result, "A", 1)), bound=bound)
        if scenario == 2:
            yield Measured("single.2", runs["total"].values(lambda result: rate(result, "E", OTHERS)))
    yield Measured(
        "dropped", [float(np.sum([dropped(result) for result in seed])) for seed in zip(*every, strict=True)]
    )


def rate(result: Result, group: str, flows: int) -> float | None:
    """What each flow of a group gets, over η."""
    found = mean(result, f"group:{group}", "goodput_bps", BEGIN, END)
    return None if found is None else found * wire(result) / ETA / flows


def dual(shared: float) -> float:
    """Consumer A's rate with both classes where the equations rest, over η."""
    links = {"a": 1e9, "c": 160e6, "d": 160e6, "g": shared * 1e6}
    paths = {"A": [["a", "c", "g"], ["a", "d", "g"]]}
    paths |= {f"E{i}": [["g"]] for i in range(OTHERS)}
    paths |= {f"{link}{i}": [[link]] for link in "cd" for i in range(15)}
    network = Network.of(links, paths)
    primary = stamps_fixed_point(network).path
    total = network.flow_sum(primary + secondary_max_min(network, primary))
    return float(total[0])
