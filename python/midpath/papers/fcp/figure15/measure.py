"""Figure 15: budgets split equally."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fcp import figure14
from midpath.papers.fcp.common import flow_rate
from midpath.papers.lab import Lab, Measured

FLOWS = {
    "S0 top": ("S0", "R0"),
    "S1 top": ("S1", "R0"),
    "S1 bottom": ("S1", "R1"),
    "S2 top": ("S2", "R0"),
    "S2 bottom": ("S2", "R1"),
}


def measure(lab: Lab) -> Iterator[Measured]:
    """Each flow's rate when all has settled."""
    runs = lab.runs("equal_budget")
    fair = figure14.rates(1.0)
    for name, ends in FLOWS.items():
        yield Measured(name, [flow_rate(result, *ends, 3.0, 5.0) for result in runs], bound=fair[name])
