"""Bolt beside Swift and HPCC: waits in the busiest port, and slowdowns by size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.schemes.common import gain, saved
from midpath.result import Result

SCHEMES = ("bolt", "swift", "hpcc")
# The busiest port of each scenario; in the others any that a host is behind.
PORTS = {"utilisation": ("r0", "h0"), "testbed": ("x", "y"), "star": None, "fat-tree-32": None, "fat-tree-64": None}
# How long flows come in a quick run: so long that there is one of each class.
QUICK = {"utilisation": "3 ms", "testbed": "5 ms", "star": "1 ms", "fat-tree-32": "1 ms", "fat-tree-64": "500 us"}
# Payload sizes in bytes up to which a class goes: within a packet, within a first window, the rest.
CLASSES = {"up to 5 kB": 5e3, "up to 62 kB": 62e3, "above": np.inf}


def measure(lab: Lab) -> Iterator[Measured]:
    """How far below theirs Bolt's waits are, and how much sooner its flows end."""
    runs = {(case, scheme): _runs(lab, case, scheme) for case in PORTS for scheme in SCHEMES}
    found = {which: [_figures(result, PORTS[which[0]]) for result in of] for which, of in runs.items()}
    for case in PORTS:
        waits = {scheme: [one[0] for one in found[case, scheme]] for scheme in SCHEMES}
        for other in SCHEMES[1:]:
            yield Measured(f"latency.{case}.{other}", saved(waits["bolt"], waits[other]))
    sooner = {
        f"{case}, {name}": gain(
            [one[1][name] for one in found[case, "bolt"]], [one[1][name] for one in found[case, "swift"]]
        )
        for case in PORTS
        for name in CLASSES
    }
    yield Measured("completion", sooner, most=True)


def _runs(lab: Lab, case: str, scheme: str) -> Runs:
    changes: dict[str, Any] = {"workload[0].until": QUICK[case], "stop": "10 ms"} if lab.quick else {}
    if case == "testbed" and scheme != "bolt":
        changes["deploy"] = []
    return lab.runs(case, scheme=scheme, changes=changes)


def _figures(result: Result, busiest: tuple[str, str] | None) -> tuple[float, dict[str, float | None]]:
    """The 99th percentile of waits in the busiest port, and of slowdowns in each class."""
    ports, flows = result.ports.to_pandas(), result.flows.to_pandas()
    if busiest is not None:
        port = ports[(ports.node == busiest[0]) & (ports.peer == busiest[1])]
    else:
        port = ports[~ports.node.str.startswith("h") & ports.peer.str.startswith("h")]
    # A flow that has not ended counts with the time that it had.
    took = flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s)
    slowdown = took / flows.ideal_fct_s
    edges = [0.0, *CLASSES.values()]
    classes = [slowdown[(flows.size_bytes > low) & (flows.size_bytes <= high)] for low, high in pairwise(edges)]
    tails = [float(np.quantile(one, 0.99)) if len(one) else None for one in classes]
    return float(port.delay_p99_s.max()), dict(zip(CLASSES, tails, strict=True))
