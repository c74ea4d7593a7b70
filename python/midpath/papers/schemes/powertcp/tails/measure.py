"""The 99th percentile of short flows' completion times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.schemes.common import saved
from midpath.result import Result

# DCQCN's queues mark, as in its paper.
RED = {"kind": "red", "min": "5 kB", "max": "200 kB", "max_p": "1 %", "weight": "100 %", "gentle": False}
SCHEMES = ("powertcp", "hpcc", "dcqcn", "timely")
SHORT = 10_000


def measure(lab: Lab) -> Iterator[Measured]:
    """Tails, and how far PowerTCP's is below the others'."""
    runs = {scheme: _runs(lab, scheme) for scheme in SCHEMES}
    found = {scheme: of.values(_tail) for scheme, of in runs.items()}
    for scheme, tails in found.items():
        yield Measured(f"tail.{scheme}", tails)
    for other in ("dcqcn", "timely", "hpcc"):
        yield Measured(f"saved.{other}", saved(found["powertcp"], found[other]))


def _runs(lab: Lab, scheme: str) -> Runs:
    changes: dict[str, Any] = {f"queue.{key}": value for key, value in RED.items()} if scheme == "dcqcn" else {}
    if lab.quick:
        changes |= {"workload[0].until": "15 ms", "stop": "40 ms"}
    return lab.runs("racks", scheme=scheme, changes=changes)


def _tail(result: Result) -> float:
    """A flow that has not ended counts with the time that it had."""
    flows = result.flows.to_pandas()
    took = flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s)
    return float(np.quantile(took[flows.size_bytes < SHORT], 0.99))
