"""Figure 18: the size of caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.inrpp.common import custody_lost, ratio, refused
from midpath.papers.lab import Lab, Measured, Runs
from midpath.result import Result

# In kB. The paper's own sizes are not in its text, but for 1 and 10 MB.
SIZES = (250, 500, 1000, 2000, 10000)
PAPER = 1000
# A look: a third of the flows, fewer sizes.
QUICK_SIZES = (250, 500, 1000, 10000)
QUICK_FLOWS = {f"workload[{i}].flows": 10 for i in range(3)}


def measure(lab: Lab) -> Iterator[Measured]:
    """Refused packets and time until all is done by size of the cache."""
    sizes = QUICK_SIZES if lab.quick else SIZES
    runs = {size: run(lab, size) for size in sizes}
    drops = {size: found.values(refused) for size, found in runs.items()}
    last = {size: found.values(whole) for size, found in runs.items()}
    for size in (500, PAPER):
        yield Measured(f"refused.{size}", drops[size], bound=0.0)
    seeds = range(len(lab.seeds))
    yield Measured("smallest", [smallest({size: drops[size][seed] for size in sizes}) for seed in seeds])
    yield Measured("slower", list(map(ratio, last[250], last[sizes[-1]])))
    yield Measured("again", runs[250].summary("retransmitted_packets"))
    literal = run(lab, PAPER, "literal", {"schemes.inrpp.without": ["steer"]})
    yield Measured("refused.literal", literal.values(refused), bound=0.0)
    lost = np.array([runs[size].values(custody_lost) for size in sizes])
    yield Measured("custody", lost.sum(axis=0).tolist(), bound=0.0)
    apart = {size: run(lab, size, "pairs", pairs(lab)).values(refused) for size in (500, PAPER)}
    for size, values in apart.items():
        yield Measured(f"pairs.{size}", values, bound=0.0)


def run(lab: Lab, size: int, name: str = "", more: dict[str, Any] | None = None) -> Runs:
    """The runs with caches of this many kB."""
    high = size * 4 // 5 if lab.choice("S_high") == "four fifths" else size // 2
    changes: dict[str, Any] = {"schemes.inrpp.cache": f"{size} kB", "schemes.inrpp.high": f"{high} kB"}
    if lab.quick and name != "pairs":
        changes |= QUICK_FLOWS
    changes |= more or {}
    return lab.runs("dumbbell", changes=changes, label=f"{size}{name}")


def pairs(lab: Lab) -> dict[str, Any]:
    """The same flows, each between hosts of its own."""
    table = lab.scenario("dumbbell").to_dict()
    links = table["topology"]["links"]
    access = {side: next(link for link in links if link["a"] == f"{side}0") for side in "sd"}
    routers = [link for link in links if link["a"].startswith("r")]
    flows = 30 if lab.quick else 100
    workloads = []
    for i in range(flows):
        matrix = {"kind": "pairs", "pairs": [[f"s{i}", f"d{i}"]]}
        workloads.append(table["workload"][0] | {"matrix": matrix, "start": f"{1 + i} s", "flows": 1})
    return {
        "topology.nodes": [{"name": f"{side}{i}", "kind": "host"} for side in "sd" for i in range(flows)],
        "topology.links": routers + [access[side] | {"a": f"{side}{i}"} for side in "sd" for i in range(flows)],
        "workload": workloads,
    }


def whole(result: Result) -> float:
    """Seconds until the last flow has ended; the run's length if one has not."""
    ended = result.flows["start_s"].to_numpy() + result.flows["fct_s"].to_numpy(zero_copy_only=False)
    return float(np.nan_to_num(ended, nan=float(result.run["simulated_s"])).max())


def smallest(drops: dict[int, float | None]) -> float | None:
    """The smallest size, in bytes, from which on nothing is refused."""
    fine = None
    for size in sorted(drops, reverse=True):
        if drops[size]:
            break
        fine = size * 1000.0
    return fine
