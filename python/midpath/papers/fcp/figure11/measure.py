"""Figures 10 and 11: utilisation with long and short flows."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fcp.common import utilisation
from midpath.papers.lab import Lab, Measured

# Short flows' arrivals a second, their mean size, the long flow's budget.
CASES = {
    "a": (41.6, "30 kB", 1.0),
    "b": (83.2, "30 kB", 1.0),
    "c": (125.0, "30 kB", 1.0),
    "larger": (12.5, "300 kB", 1.0),
    "budget": (125.0, "30 kB", 10.0),
}
# The paper's words, and ours: what is preloaded, and what the header's round-trip time says.
RULES = {"paper": ("flow-size", "round-trip"), "ours": ("next-round", "price-age")}


def measure(lab: Lab) -> Iterator[Measured]:
    """Mean utilisation from 0.5 s to the end."""
    end = 10.0 if lab.quick else 30.0
    runs = {}
    for name, (arrivals, size, budget) in CASES.items():
        for rule, (preload_for, header_rtt) in RULES.items():
            changes = {
                "stop": f"{end} s",
                "workload[0].arrivals.rate_per_s": arrivals,
                "workload[0].sizes.mean": size,
                "schemes.fcp.hosts.s0.budget": budget,
                "schemes.fcp.preload_for": preload_for,
                "schemes.fcp.header_rtt": header_rtt,
            }
            runs[f"{rule}.{name}"] = lab.runs("mixed", changes=changes, label=f"{name}-{rule}")
    for name, found in runs.items():
        values = found.values(lambda result: utilisation(result, "r0>r1", 0.5, end))
        yield Measured(name, values, bound=1.0)
