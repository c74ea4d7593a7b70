"""Figure 16: equal throughput."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fcp import figure14
from midpath.papers.fcp.common import flow, flow_rate
from midpath.papers.lab import Lab, Measured
from midpath.result.series import mean


def measure(lab: Lab) -> Iterator[Measured]:
    """S1's rates and budgets when all has settled."""
    runs = lab.runs("equal_throughput")
    top, rate = figure14.equal()
    budgets = {"R0": top, "R1": figure14.BUDGET - top}
    for name, to in (("top", "R0"), ("bottom", "R1")):
        yield Measured(f"rate.{name}", [flow_rate(r, "S1", to, 15.0, 20.0) for r in runs], bound=rate)
        spent = [mean(r, flow(r, "S1", to), "budget", 15.0, 20.0) for r in runs]
        yield Measured(f"budget.{name}", spent, bound=budgets[to])
