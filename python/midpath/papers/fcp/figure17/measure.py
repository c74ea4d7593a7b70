"""Figures 17 and 18: maximum throughput."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fcp import figure14
from midpath.papers.fcp.common import flow, rate
from midpath.papers.lab import Lab, Measured
from midpath.result.series import mean


def measure(lab: Lab) -> Iterator[Measured]:
    """S1's throughput and top budget in the last third, and the theory."""
    end = 60.0
    runs = lab.runs("max_throughput")
    budget, best = figure14.best()
    yield Measured("throughput", runs.values(lambda r: rate(r, "S1", end * 2 / 3, end)), bound=best)
    spent = runs.values(lambda r: mean(r, flow(r, "S1", "R0"), "budget", end * 2 / 3, end))
    yield Measured("budget", spent, bound=budget)
    yield Measured("theory.throughput", [best])
    yield Measured("theory.budget", [budget])
    yield Measured("theory.curve", [max(_difference(top / 10) for top in range(1, 20))])


def _difference(top: float) -> float:
    fair = figure14.rates(top)
    return abs((fair["S1 top"] + fair["S1 bottom"]) / figure14.throughput(top) - 1.0)
