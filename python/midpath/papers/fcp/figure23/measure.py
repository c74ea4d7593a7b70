"""Figure 23: aggregate control."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fcp.common import rate
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import ratio
from midpath.stats import jain

CAPACITY = 1e9
ZERO = "group 0"
ONE = [f"group 1, flow {k}" for k in range(1, 5)]
# How many flows group 1 has, and when all has settled.
PHASES = {count: (1.2 + 0.5 * count, 1.5 + 0.5 * count) for count in range(1, 5)}


def measure(lab: Lab) -> Iterator[Measured]:
    """Rates of the groups for one to four flows in group 1."""
    runs = lab.runs("tenants")
    yield Measured("alone", runs.values(lambda r: rate(r, ZERO, 1.2, 1.5)), bound=CAPACITY)
    for count, span in PHASES.items():
        yield Measured(f"ratio.{count}", [ratio(_one(r, count), rate(r, ZERO, *span)) for r in runs], bound=2.0)
    yield Measured("zero", runs.values(lambda r: rate(r, ZERO, *PHASES[4])), bound=CAPACITY / 3)
    yield Measured("within", runs.values(lambda r: jain(_rates(r, 4))), bound=1.0)


def _rates(result: Result, count: int) -> list[float]:
    found = (rate(result, group, *PHASES[count]) for group in ONE[:count])
    return [value or 0.0 for value in found]


def _one(result: Result, count: int) -> float:
    return sum(_rates(result, count))
