"""Lemma 1 as printed, and with corrected signs.

Write s = −σ. Gain (2) is positive exactly if γ·(e^(σd) − e^(σ·d_s) − 2) + σ < 0 for σ > 0. The left side grows from −2γ
with σ, so that η > 0 for 0 < σ < σ*, that is s* < s < 0. The lemma has s < s*. To second order in σ, σ* solves
γ·(d² − d_s²)/2·σ² + (1 + γ·(d − d_s))·σ − 2γ = 0; (6) prints the negative root of this as s*.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq, minimize_scalar

from midpath.analysis.rpm.linear import Linear
from midpath.analysis.rpm.model import Path


def eta_paper(path: Path, s: float) -> float:
    """Equation (2): the gain with which the real number s, in 1/s, is a root of (5).

    As printed it is for a = 1 and b = 1/2; here a and b are the path's. Numerator and denominator are multiplied by
    e^(sd), so that a very negative s does not overflow.
    """
    found = Linear.of(path)
    d, short = found.round_trip_s, found.short_s
    if s <= 0:
        late, short_late, one = 1.0, math.exp(s * (d - short)), math.exp(s * d)
    else:
        late, short_late, one = math.exp(-s * d), math.exp(-s * short), 1.0
    numerator = (late - short_late - 2 * one) * s * found.gamma - s * s * one
    return numerator / (found.additive * late + found.multiplicative * short_late)


def s_star_paper(path: Path) -> float:
    """Equation (6) as printed, in 1/s; minus infinity for d_s = d, where it divides by zero."""
    found = Linear.of(path)
    d, short, gamma = found.round_trip_s, found.short_s, found.gamma
    if short == d:
        return -math.inf
    return (-math.sqrt(_discriminant(found)) - d * gamma + gamma * short - 1) / (gamma * (d**2 - short**2))


def s_star_mended(path: Path) -> float:
    """The negative root of the quadratic in s that (6) means, in 1/s; for d_s = d its limit, −2γ.

    (1 + γ(d − d_s) − √…) / (γ(d² − d_s²)), written without the difference of two like numbers.
    """
    found = Linear.of(path)
    linear = 1 + found.gamma * (found.round_trip_s - found.short_s)
    return -4 * found.gamma / (linear + math.sqrt(_discriminant(found)))


def s_star_exact(path: Path) -> float:
    """Where (2) changes sign, in 1/s, without the power series. It lies between the mended s* and 0."""
    found = Linear.of(path)

    def sign(s: float) -> float:
        grown = math.exp(-s * found.round_trip_s) - math.exp(-s * found.short_s)
        return found.gamma * (grown - 2) - s

    return float(brentq(sign, s_star_mended(path) * (1 + 1e-9), 0.0, xtol=1e-300, rtol=1e-14))


def eta_mended(path: Path) -> float:
    """The largest gain that (2) gives for s* < s < 0, per packet: the largest that the mended lemma offers.

    There two real roots of (5) meet. With more gain the slowest mode swings, but it still dies out up to `eta_true`.
    """
    edge = s_star_exact(path)
    options = {"xatol": 1e-10}
    found = minimize_scalar(lambda u: -eta_paper(path, u * edge), bounds=(0, 1), method="bounded", options=options)
    return -float(found.fun)


def _discriminant(found: Linear) -> float:
    """What stands under the root of (6): (1 + γ(d − d_s))² + 4γ²(d² − d_s²), sorted."""
    d, short, gamma = found.round_trip_s, found.short_s, found.gamma
    return (
        5 * d**2 * gamma**2 - 2 * d * gamma**2 * short + 2 * d * gamma - 3 * gamma**2 * short**2 - 2 * gamma * short + 1
    )
