"""Completion times with HPCC and with DCQCN, by size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.schemes.common import saved
from midpath.result import Result

RED = {"kind": "red", "min": "5 kB", "max": "200 kB", "max_p": "1 %", "weight": "100 %", "gentle": False}
# Sizes in bytes up to which a class goes.
CLASSES = {"up to 1 kB": 1e3, "up to 10 kB": 1e4, "up to 100 kB": 1e5, "above": np.inf}


def measure(lab: Lab) -> Iterator[Measured]:
    """The 99th percentile of completion times in each class of sizes."""
    runs = [_runs(lab, scheme) for scheme in ("hpcc", "dcqcn")]
    hpcc, dcqcn = ([_tails(result) for result in of] for of in runs)
    yield Measured(
        "saved", {name: saved([one[name] for one in hpcc], [one[name] for one in dcqcn]) for name in CLASSES}, most=True
    )
    for name, short in (("short", "up to 1 kB"), ("long", "above")):
        yield Measured(f"saved.{name}", saved([one[short] for one in hpcc], [one[short] for one in dcqcn]))


def _runs(lab: Lab, scheme: str) -> Runs:
    changes: dict[str, Any] = {f"queue.{key}": value for key, value in RED.items()} if scheme == "dcqcn" else {}
    if lab.quick:
        changes |= {"workload[0].until": "5 ms", "stop": "20 ms"}
    return lab.runs("racks", scheme=scheme, changes=changes)


def _tails(result: Result) -> dict[str, float | None]:
    """A flow that has not ended counts with the time that it had."""
    flows = result.flows.to_pandas()
    took = flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s)
    edges = [0.0, *CLASSES.values()]
    of = [took[(flows.size_bytes > low) & (flows.size_bytes <= high)] for low, high in pairwise(edges)]
    return {name: float(np.quantile(one, 0.99)) if len(one) else None for name, one in zip(CLASSES, of, strict=True)}
