"""The exact stability limit of the gain, and a proven lower bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from midpath.analysis.rpm.lemma import eta_mended
from midpath.analysis.rpm.linear import Linear
from midpath.analysis.rpm.model import Model, Path

Numbers = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Points per turn of the fastest wave in (5), and points per decade below.
FINE = 64
PER_DECADE = 100
# How far below the limit stability is checked, as a share of it.
BELOW = 1e-3
# Doublings of the range of frequencies before we give up.
DOUBLINGS = 30


@dataclass(frozen=True)
class Limit:
    """The smallest gain, per packet, at which a root of (5) reaches the imaginary axis, and where, in radians/s."""

    gain: float
    frequency: float


def eta_true(path: Path, model: Model = "paper") -> Limit:
    """The limit of stability: below this gain all roots of (5), complex ones too, have negative real parts.

    On the imaginary axis (5) reads η = −undriven(iω)/driven(iω). Frequencies at which this is a positive number are
    crossings; the smallest η among them is the limit. They are looked for on a grid of frequencies, so the argument
    principle checks that (5) is stable just below the limit: a root that crossed before and stayed would be seen.
    Raises ArithmeticError if there is one.
    """
    found = Linear.of(path)
    limit = _smallest(found, model)
    if not found.is_stable(limit.gain * (1 - BELOW), model):
        raise ArithmeticError(f"a crossing below {limit.gain:g} was missed")
    return limit


def eta_guaranteed(path: Path) -> float:
    """A gain, per packet, below which (5) is stable for certain, complex roots and all; needs a·b < 4.

    2γ / (A·d + B·d_s + γ·d_s²·(A + B) / (2·(1 − γ·(d − d_s)))) with A = a/d² and B = b·c².

    Proof. For η → 0, one root is near −η(A + B)/(2γ). The others solve s = −γ(2 − e^(−sd) + e^(−s·d_s)). With Re s ≥ 0
    the right side has a real part of at most 0, so Re s = 0, e^(−sd) = 1 and e^(−s·d_s) = −1; then the right side is 0,
    and so is s, a contradiction. Roots with Re s ≥ 0 are bounded, so with growing η a root gets there only across
    s = iω. It is not 0, as (5) is η(A + B) there. For ω > 0:

        imaginary part:  η(A·sin ωd + B·sin ω·d_s) = γω(2 − cos ωd + cos ω·d_s) ≥ γω(2 − ω²d_s²/2)
        real part:       ω² + γω(sin ωd − sin ω·d_s) = η(A·cos ωd + B·cos ω·d_s) ≤ η(A + B)

    The left side of the first is at most ηω(A·d + B·d_s). In the second, the bracket is at least −ω(d − d_s), so
    ω²(1 − γ(d − d_s)) ≤ η(A + B), where γd ≤ √(ab)/2 < 1. Put together, they say that η is no less than the bound. ∎
    """
    if path.increase * path.decrease >= 4:
        raise ValueError(f"increase times decrease is {path.increase * path.decrease:g}; the bound needs less than 4")
    found = Linear.of(path)
    d, short, gamma = found.round_trip_s, found.short_s, found.gamma
    both = found.additive + found.multiplicative
    reach = found.additive * d + found.multiplicative * short
    return 2 * gamma / (reach + gamma * short**2 * both / (2 * (1 - gamma * (d - short))))


@dataclass(frozen=True)
class Region:
    """Limits of the gain, per packet, over the bottleneck's place: arrays (n,) by d_s/d.

    Stable below `true`; proven below `guaranteed` (NaN for the self-clocked model: the proof is the paper's model's);
    lemma 1, mended, offers gains up to `mended`.
    """

    shares: Numbers
    true: Numbers
    guaranteed: Numbers
    mended: Numbers


def region(path: Path, shares: Sequence[float], model: Model = "paper") -> Region:
    """The stability region of a path as d_s moves; τ_f, which no limit depends on, stays at half of d_s.

    d, d_s, c, N and η come in three numbers only: the window c·d/N, the share d_s/d, and N·η. The time unit drops out,
    and N flows of gain η are one flow of gain N·η and capacity c/N.
    """
    paths = [replace(path, short_s=share * path.round_trip_s, forward_s=None) for share in shares]
    proven = [eta_guaranteed(one) if model == "paper" else math.nan for one in paths]
    return Region(
        np.array(shares, dtype=float),
        np.array([eta_true(one, model).gain for one in paths]),
        np.array(proven),
        np.array([eta_mended(one) for one in paths]),
    )


def _smallest(found: Linear, model: Model) -> Limit:
    reach = 4.0 / found.round_trip_s
    for _ in range(DOUBLINGS):
        crossings = list(_crossings(found, model, reach))
        if crossings:
            best = min(crossings, key=lambda one: one.gain)
            # Roots of smaller gains are all nearer to zero, so no other crossing matters.
            if found.characteristic(best.gain, model).radius(0.0) <= reach:
                return best
        reach *= 2
    raise ArithmeticError("no gain makes this system unstable")


def _crossings(found: Linear, model: Model, reach: float) -> list[Limit]:
    undriven, driven = found.undriven(model), found.driven()

    def needed(frequency: Numbers) -> Complex:
        s: Complex = np.asarray(1j * frequency)
        return np.asarray(-undriven(s) / _waves(driven, s))

    def bent(frequency: float) -> float:
        return float(needed(np.array([frequency])).imag[0]) / frequency

    grid = _grid(reach, found.round_trip_s)
    bends = needed(grid).imag / grid
    crossings = []
    for index in np.flatnonzero(bends[:-1] * bends[1:] < 0):
        frequency = float(brentq(bent, grid[index], grid[index + 1], rtol=1e-14, xtol=1e-300))
        gain = float(needed(np.array([frequency])).real[0])
        if gain > 0:
            crossings.append(Limit(gain, frequency))
    return crossings


def _waves(driven: Mapping[float, Sequence[float]], s: Complex) -> Complex:
    return np.asarray(sum(row[0] * np.exp(-s * delay) for delay, row in driven.items()))


def _grid(reach: float, longest: float) -> Numbers:
    """Fine enough for the waves above, and down to frequencies of a millionth of a radian per round trip."""
    step = 2 * math.pi / longest / FINE
    decades = math.log10(step * longest / 1e-6)
    low = np.geomspace(1e-6 / longest, step, math.ceil(PER_DECADE * decades), endpoint=False)
    return np.concatenate([low, np.arange(step, reach + step, step)])
