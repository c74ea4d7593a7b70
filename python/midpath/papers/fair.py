"""Weighted proportional fairness by SciPy: an oracle that shares nothing with the simulator's `ideal`.

Kelly, Maulloo and Tan (1998): the rates that maximise Σ w·ln(x) over Σ x ≤ C at each link. At the optimum x = w / Σ p
over the flow's links, with p the links' shadow prices: what FCP's rate = budget / price is when prices have settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize


@dataclass(frozen=True)
class Flow:
    """A flow's weight ($/s of budget) and the links that it crosses. A multicast flow crosses each link of its tree."""

    weight: float
    links: Sequence[str]


def proportional(capacity: Mapping[str, float], flows: Mapping[str, Flow]) -> dict[str, float]:
    """Rates in the unit of `capacity`. Solved in the dual, whose only bounds are prices of at least zero."""
    links = sorted(capacity)
    weights = np.array([flow.weight for flow in flows.values()])
    crosses = np.array([[float(link in flow.links) for link in links] for flow in flows.values()])
    # Scaled so that capacities and weights are about 1: the tolerances of the solver are absolute.
    unit, worth = max(capacity.values()), float(weights.sum())
    caps, shares = np.array([capacity[link] / unit for link in links]), weights / worth

    def dual(prices: np.ndarray) -> tuple[float, np.ndarray]:
        path = np.maximum(crosses @ prices, 1e-15)
        value = float(caps @ prices - shares @ np.log(path))
        return value, caps - crosses.T @ (shares / path)

    bounds = [(0.0, None)] * len(links)
    options = {"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-13}
    found = minimize(dual, np.ones(len(links)), jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    rates = shares / np.maximum(crosses @ found.x, 1e-15) * unit
    return {name: float(rate) for name, rate in zip(flows, rates, strict=True)}
