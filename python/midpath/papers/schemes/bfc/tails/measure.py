"""Completion times with BFC, DCQCN and HPCC: the tail of short flows and the mean of long ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.schemes.common import gain
from midpath.result import Result

# DCQCN's queues mark, as in its paper.
RED = {"kind": "red", "min": "5 kB", "max": "200 kB", "max_p": "1 %", "weight": "100 %", "gentle": False}
OTHERS = ("dcqcn", "hpcc")
SHORT, LONG = 10_000, 100_000


def measure(lab: Lab) -> Iterator[Measured]:
    """BFC's tail, and how many times as long the others' flows take."""
    runs = {scheme: _runs(lab, scheme) for scheme in ("bfc", *OTHERS)}
    tails = {scheme: of.values(_tail) for scheme, of in runs.items()}
    means = {scheme: of.values(_mean) for scheme, of in runs.items()}
    for other in OTHERS:
        yield Measured(f"short.{other}", gain(tails["bfc"], tails[other]))
    for other in OTHERS:
        yield Measured(f"long.{other}", gain(means["bfc"], means[other]))
    yield Measured("tail.bfc", tails["bfc"])


def _runs(lab: Lab, scheme: str) -> Runs:
    changes: dict[str, Any] = {f"queue.{key}": value for key, value in RED.items()} if scheme == "dcqcn" else {}
    if lab.quick:
        changes |= {f"workload[{i}].until": "1 ms" for i in range(5)} | {"stop": "10 ms"}
    return lab.runs("clos", scheme=scheme, changes=changes)


def _took(result: Result) -> Any:
    """Sizes and times of flows outside the incasts. A flow that has not ended counts with the time that it had."""
    flows = result.flows.to_pandas()
    flows = flows[flows.group != "incast"]
    return flows.size_bytes, flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s)


def _tail(result: Result) -> float:
    sizes, took = _took(result)
    return float(np.quantile(took[sizes <= SHORT], 0.99))


def _mean(result: Result) -> float:
    sizes, took = _took(result)
    return float(took[sizes > LONG].mean())
