"""Delay differential equations with constant delays: the classical Runge–Kutta method over a recorded past.

y'(t) = rhs(t, y(t), y(t − τ₁), …, y(t − τₘ)), with y(t) = start for t ≤ 0. SciPy integrates ordinary equations only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
# Told the time, the state (k,) and the past states (m, k), one row per delay in their order; returns dy/dt (k,).
RightHandSide = Callable[[float, Numbers, Numbers], ArrayLike]

# Where the three distinct times of a Runge–Kutta step lie in it.
BEGIN, MIDDLE, END = 0.0, 0.5, 1.0


@dataclass(frozen=True)
class Solution:
    """Times (n,) in the unit of the delays, from 0 in equal steps, and states (n, k)."""

    times: Numbers
    states: Numbers


def solve(
    rhs: RightHandSide, delays: Sequence[float], start: Sequence[float], duration: float, step: float
) -> Solution:
    """Integrates from 0 to `duration` in equal steps of at most `step`. The error falls with the fourth power of it.

    The fourth order needs delays that are whole multiples of the step taken: the solution has kinks at sums of delays,
    and these must not lie inside a step. Raises ValueError if the step is longer than the shortest delay: the method
    is explicit.
    """
    if not (step > 0 and duration > 0 and all(math.isfinite(delay) for delay in delays)):
        raise ValueError(f"step {step!r} and duration {duration!r} must be above 0, delays finite")
    count = max(1, math.ceil(duration / step - 1e-9))
    step = duration / count
    if min(delays, default=step) < step * (1 - 1e-9):
        raise ValueError(f"the step {step:g} is longer than the shortest delay, {min(delays):g}")
    past = _Past(np.array(start, dtype=float), [delay / step for delay in delays], count)
    for index in range(count):
        time, state = index * step, past.states[index]
        first = _evaluate(rhs, time, state, past.at(index, BEGIN))
        past.slopes[index] = first * step
        middle = past.at(index, MIDDLE)
        second = _evaluate(rhs, time + step / 2, state + first * (step / 2), middle)
        third = _evaluate(rhs, time + step / 2, state + second * (step / 2), middle)
        fourth = _evaluate(rhs, time + step, state + third * step, past.at(index, END))
        past.states[index + 1] = state + (first + 2 * second + 2 * third + fourth) * (step / 6)
    return Solution(np.linspace(0.0, duration, count + 1), past.states)


def _evaluate(rhs: RightHandSide, time: float, state: Numbers, lagged: Numbers) -> Numbers:
    return np.asarray(rhs(time, state, lagged), dtype=float)


class _Past:
    """States so far, and between them the cubic with the same values and slopes (Hermite): fourth order as well."""

    def __init__(self, start: Numbers, lags: Sequence[float], count: int) -> None:
        self.start = start
        self.states = np.tile(start, (count + 1, 1))
        # Times the step, so that no interpolation multiplies by it.
        self.slopes = np.zeros_like(self.states)
        self.places = {part: _Places(lags, part) for part in (BEGIN, MIDDLE, END)}

    def at(self, index: int, part: float) -> Numbers:
        """The past states (m, k), seen from the share `part` of step `index`."""
        places = self.places[part]
        left = places.offsets + index
        known = np.maximum(left, 0)
        found = (
            places.weights[0] * self.states[known]
            + places.weights[1] * self.states[known + 1]
            + places.weights[2] * self.slopes[known]
            + places.weights[3] * self.slopes[known + 1]
        )
        return np.where((left < 0)[:, None], self.start, found)


class _Places:
    """Where the delayed times lie among the steps, from a given part of the present step."""

    def __init__(self, lags: Sequence[float], part: float) -> None:
        exact = part - np.array(lags, dtype=float)
        whole = np.round(exact)
        exact = np.where(np.abs(exact - whole) < 1e-9, whole, exact)
        # The interval that ends at or after the place: its right end is known when the place is the present.
        self.offsets = (np.ceil(exact) - 1).astype(np.int64)
        t = (exact - self.offsets)[:, None]
        self.weights = (
            (1 + 2 * t) * (1 - t) ** 2,
            t * t * (3 - 2 * t),
            t * (1 - t) ** 2,
            t * t * (t - 1),
        )
