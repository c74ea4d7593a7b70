"""The paper's equations, in its order and with its symbols, on numbers or on arrays with an entry per link.

C, y and R are in bits/s, q in bits, d and T in seconds.
"""

from __future__ import annotations

import numpy as np

from midpath.analysis.mircc.network import Floats

Number = float | Floats


def rcp(
    r: Number, *, eta: float, c: Number, y: Number, q: Number, d: Number, t: Number, alpha: float, beta: float
) -> Number:
    """(1): R(t) = R(t−T) (1 + (T/d) (α(ηC − y(t)) − β q(t)/d) / C)."""
    return r * (1 + t / d * (alpha * (eta * c - y) - beta * q / d) / c)


def full_rate_flows(c: Number, y: Number, r: Number) -> Number:
    """(2), (6): N̂ = max(C, y(t)) / R(t−T)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(c, y) / r


def full_rate_flows_secondary(c_s: Number, y_s: Number, r: Number) -> Number:
    """(12): N̂_s = max{max(C_s(t), y_s(t)) / R(t−T), 1}."""
    return np.maximum(full_rate_flows(c_s, y_s, r), 1.0)


def base_rate(eta: float, c: Number, beta: Number, q: Number, d: Number, n: Number) -> Number:
    """(3), (7), (13): (ηC − β(t) q(t)/d(t)) / N̂."""
    return (eta * c - beta * q / d) / n


def self_tuned_beta(y: Number, y_before: Number, least: float = 0.1) -> Number:
    """§3.1.1, (8), (14): β(t) = max(β', (y(t) − y(t−T)) / y(t)). Without traffic nothing has grown: β'."""
    rise = np.subtract(y, y_before)
    growth: Floats = np.divide(rise, y, out=np.zeros_like(rise, dtype=float), where=np.greater(y, 0))
    return np.maximum(growth, least)


def excess_rate(r: Number, y: Number, n: Number) -> Number:
    """(4), (9), (15): R(t−T) − y(t)/N̂."""
    return r - y / n


def ewma(mean: Number, x: Number, alpha: Number) -> Number:
    """Footnote 3: μ(t) = (1 − α) μ(t−T) + α x(t)."""
    return (1 - alpha) * mean + alpha * x


def secondary_capacity(c: Number, y_p: Number) -> Number:
    """(11) as printed: C_s(t) = max(C − y_p(t), 0)."""
    return np.maximum(c - y_p, 0.0)


def secondary_capacity_derated(c: Number, y_p: Number, eta: float) -> Number:
    """(11) corrected: max(C − y_p(t)/η, 0), so that ηC_s = ηC − y_p and both classes together fill ηC."""
    return np.maximum(c - y_p / eta, 0.0)
