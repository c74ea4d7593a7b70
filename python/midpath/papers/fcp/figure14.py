"""The network of figure 14, which figures 15 to 18 are about, and what S1 can get out of it."""

from __future__ import annotations

from scipy.optimize import minimize_scalar

from midpath.papers.fair import Flow, proportional

LINKS = {"top": 250e6, "bottom": 50e6}
# S1's budget.
BUDGET = 2.0


def flows(top: float) -> dict[str, Flow]:
    """All flows, if S1 gives `top` $/s to its top flow. S0 and S2 have 1 $/s, which S2 splits equally."""
    return {
        "S0 top": Flow(1.0, ["top"]),
        "S1 top": Flow(top, ["top"]),
        "S1 bottom": Flow(BUDGET - top, ["bottom"]),
        "S2 top": Flow(0.5, ["top"]),
        "S2 bottom": Flow(0.5, ["bottom"]),
    }


def rates(top: float) -> dict[str, float]:
    """The proportionally fair rates, by SciPy."""
    return proportional(LINKS, flows(top))


def throughput(top: float) -> float:
    """S1's throughput of both flows in closed form: its share of each bottleneck's budget."""
    bottom = BUDGET - top
    return LINKS["top"] * top / (top + 1.5) + LINKS["bottom"] * bottom / (bottom + 0.5)


def best() -> tuple[float, float]:
    """The budget of the top flow for which S1's throughput is largest, and that throughput."""
    found = minimize_scalar(
        lambda top: -throughput(top), bounds=(0.0, BUDGET), method="bounded", options={"xatol": 1e-9}
    )
    return float(found.x), throughput(float(found.x))


def equal() -> tuple[float, float]:
    """The budget of the top flow for which S1's flows are equally fast, and how fast."""
    low, high = 0.0, BUDGET
    for _ in range(100):
        middle = (low + high) / 2
        found = rates(middle)
        low, high = (middle, high) if found["S1 top"] < found["S1 bottom"] else (low, middle)
    return low, rates(low)["S1 top"]
