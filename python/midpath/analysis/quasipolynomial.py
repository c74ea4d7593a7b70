"""Characteristic functions of linear systems with delays, f(s) = Σ P(s)·e^(−sτ), and all their roots in a half-plane.

A retarded system (the highest power of s stands without a delay) has infinitely many roots, but finitely many to the
right of any vertical line. The argument principle counts them: along a closed curve, f goes around zero as often as
there are roots inside. The count is certain up to rounding, because each piece of the curve is cut until f' and a
bound on f'' show that f cannot turn by more than a quarter on either side of the piece's middle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import ArrayLike, NDArray

Complex = NDArray[np.complex128]
Numbers = NDArray[np.float64]

# Where a box is cut in two, and where else if there is a root on the cut: not in the middle, for roots like to lie on
# the real axis.
CUTS = (0.4871, 0.5413, 0.4339)
# A box smaller than this share of the first one cannot be told from a point.
SMALLEST = 1e-12
# Roots within this share of their distance from zero are given as one: around a double root f is rounding noise.
TOGETHER = 1e-5
# What rounding may add to f, as a share of the sizes of all its terms.
NOISE = 1e-14


class OnTheLineError(ArithmeticError):
    """A root lies on the line along which roots are counted."""


@dataclass(frozen=True)
class Box:
    """A rectangle of the complex plane."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def size(self) -> float:
        """The longer side."""
        return max(self.right - self.left, self.top - self.bottom)

    @property
    def centre(self) -> complex:
        """The middle."""
        return complex((self.left + self.right) / 2, (self.bottom + self.top) / 2)

    def holds(self, s: complex) -> bool:
        """Whether the point is inside."""
        return self.left <= s.real <= self.right and self.bottom <= s.imag <= self.top

    def corners(self) -> Complex:
        """Anticlockwise, the first one again at the end."""
        right, left = self.right, self.left
        x = np.array([left, right, right, left, left])
        y = np.array([self.bottom, self.bottom, self.top, self.top, self.bottom])
        return x + 1j * y

    def cut(self, share: float) -> tuple[Box, Box]:
        """Two boxes, cut across the longer side."""
        if self.right - self.left > self.top - self.bottom:
            x = self.left + share * (self.right - self.left)
            return Box(self.left, x, self.bottom, self.top), Box(x, self.right, self.bottom, self.top)
        y = self.bottom + share * (self.top - self.bottom)
        return Box(self.left, self.right, self.bottom, y), Box(self.left, self.right, y, self.top)


class QuasiPolynomial:
    """f(s) = Σ P(s)·e^(−sτ) of the retarded kind, with real coefficients.

    `terms` has the coefficients of P for each delay τ ≥ 0, those of 1, s, s² … in order. The degree without delay
    must be the highest.
    """

    def __init__(self, terms: Mapping[float, Sequence[float]]) -> None:
        degree = max(len(coefficients) for coefficients in terms.values()) - 1
        self.delays = np.array(sorted(terms), dtype=float)
        self.coefficients = np.array(
            [[*terms[delay], *[0.0] * (degree + 1 - len(terms[delay]))] for delay in sorted(terms)], dtype=float
        )
        if self.delays[0] < 0 or not np.isfinite(self.delays).all() or not np.isfinite(self.coefficients).all():
            raise ValueError("delays must be 0 or more, and all numbers finite")
        leading = self.coefficients[:, degree]
        if self.delays[0] != 0 or leading[0] == 0 or leading[1:].any() or degree == 0:
            raise ValueError("only the highest power of s, and it alone, must be without a delay")

    def plus(self, terms: Mapping[float, Sequence[float]]) -> QuasiPolynomial:
        """The sum with further terms."""
        mine: dict[float, list[float]] = dict(zip(self.delays.tolist(), self.coefficients.tolist(), strict=True))
        delays = {*mine, *terms}
        return QuasiPolynomial({delay: _added(mine.get(delay, ()), terms.get(delay, ())) for delay in delays})

    def __call__(self, s: ArrayLike) -> Complex:
        """The value at each of the points."""
        return self._evaluate(self.coefficients, np.asarray(s, dtype=complex))

    def slope(self, s: ArrayLike) -> Complex:
        """The derivative at each of the points."""
        return self._evaluate(_derivative(self.coefficients, -self.delays), np.asarray(s, dtype=complex))

    def _evaluate(self, coefficients: Numbers, s: Complex) -> Complex:
        powers = s[..., None] ** np.arange(coefficients.shape[1])
        return np.asarray(((powers @ coefficients.T) * np.exp(-s[..., None] * self.delays)).sum(axis=-1))

    def _sizes(self, derivatives: int, left: Numbers, radius: Numbers) -> Numbers:
        """A bound on f or a derivative of it where Re s ≥ left and |s| ≤ radius: the sizes of all its terms."""
        sizes = np.abs(self.coefficients)
        for _ in range(derivatives):
            sizes = _derivative(sizes, self.delays)
        powers = radius[..., None] ** np.arange(sizes.shape[1])
        return np.asarray(((powers @ sizes.T) * np.exp(-left[..., None] * self.delays)).sum(axis=-1))

    def radius(self, right_of: float) -> float:
        """All roots with Re s ≥ `right_of` have at most this distance from zero.

        Beyond it the highest power of s is larger than everything else together (Cauchy's bound).
        """
        bounds = np.abs(self.coefficients) * np.exp(-right_of * self.delays)[:, None]
        others = bounds.sum(axis=0)[:-1] / bounds[0, -1]
        found = np.roots(np.concatenate([[1.0], -others[::-1]]))
        # The one positive root of z^n = Σ b z^k.
        return float(max(found.real.max(), 0.0))

    def count(self, right_of: float = 0.0) -> int:
        """How many roots have Re s > `right_of`, multiple ones counted so; raises `OnTheLineError`."""
        return self._count(self._box(right_of))

    def roots(self, right_of: float) -> Complex:
        """All roots with Re s > `right_of`, from the right to the left; raises `OnTheLineError`."""
        whole = self._box(right_of)
        found = np.array(list(self._search(whole)), dtype=complex)
        return found[np.lexsort((found.imag, -found.real))]

    def rightmost(self) -> complex:
        """The root with the largest real part; of a pair, the one above the real axis. The slowest mode."""
        step = 1.0 / float(self.delays[-1] or 1.0)
        right_of = 0.0
        for power in range(-30, 12):
            try:
                found = self.roots(right_of)
            except OnTheLineError:
                found = np.empty(0, dtype=complex)
            if found.size:
                first = found[0]
                return complex(first.real, abs(first.imag))
            right_of = -step * 2.0**power
        raise ArithmeticError("no root nearby")

    def _box(self, right_of: float) -> Box:
        # A little larger than need be on the far sides, so that no root lies on them.
        far = 1.01 * self.radius(right_of) + 0.01 * abs(right_of) + 1e-300
        return Box(right_of, max(far, right_of + far), -far, 1.02 * far)

    def _search(self, whole: Box) -> Iterator[complex]:
        waiting = [(whole, self._count(whole))]
        while waiting:
            box, inside = waiting.pop()
            if inside == 0:
                continue
            root = self._newton(box) if inside == 1 else None
            if root is not None:
                yield root
            elif box.size <= max(TOGETHER * abs(box.centre), SMALLEST * whole.size):
                yield from [box.centre] * inside
            else:
                one, other, first = self._halved(box)
                if not 0 <= first <= inside:
                    raise ArithmeticError(f"{first} of {inside} roots in a part of {box}: rounding spoils the count")
                waiting += [(one, first), (other, inside - first)]

    def _halved(self, box: Box) -> tuple[Box, Box, int]:
        """Two parts of a box, and how many roots the first one has."""
        for share in CUTS:
            one, other = box.cut(share)
            try:
                return one, other, self._count(one)
            except OnTheLineError as error:
                failure = error
        raise failure

    def _newton(self, box: Box) -> complex | None:
        """The root that Newton's steps find from the middle of a box without leaving its surroundings."""
        s = box.centre
        for _ in range(60):
            slope = complex(self.slope(s))
            step = complex(self(s)) / slope if slope else math.inf
            s -= step
            if not abs(s - box.centre) <= 2 * box.size:
                return None
            if abs(step) <= 4e-16 * abs(s):
                break
        return s if abs(step) <= 1e-12 * abs(s) and box.holds(s) else None

    def _count(self, box: Box) -> int:
        corners = box.corners()
        begin, end = corners[:-1], corners[1:]
        turned = 0.0
        while begin.size:
            middle = (begin + end) / 2
            sure = self._turns_little(begin, middle, end)
            turned += float(np.angle(self(end[sure]) / self(begin[sure])).sum())
            begin, middle, end = begin[~sure], middle[~sure], end[~sure]
            for near in middle[self._nothing(middle)]:
                raise OnTheLineError(f"a root lies near {near:g}, on the line of the count")
            begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
        return round(turned / (2 * math.pi))

    def _turns_little(self, begin: Complex, middle: Complex, end: Complex) -> NDArray[np.bool_]:
        """Where f stays, from begin to end, less than |f(middle)| away from f(middle): Taylor's bound."""
        left, radius = np.minimum(begin.real, end.real), np.maximum(np.abs(begin), np.abs(end))
        half = np.abs(end - begin) / 2
        reach = (np.abs(self.slope(middle)) + self._sizes(2, left, radius) * half / 2) * half
        return np.asarray(reach + NOISE * self._sizes(0, left, radius) < np.abs(self(middle)))

    def _nothing(self, s: Complex) -> NDArray[np.bool_]:
        """Where f is zero as far as rounding lets us see."""
        return np.asarray(np.abs(self(s)) < 2 * NOISE * self._sizes(0, s.real, np.abs(s)))


def _derivative(coefficients: Numbers, rates: Numbers) -> Numbers:
    """Coefficients of the derivative: (P(s)·e^(rs))' = (P' + rP)·e^(rs) for each row and its rate."""
    derived = coefficients * rates[:, None]
    derived[:, :-1] += coefficients[:, 1:] * np.arange(1, coefficients.shape[1])
    return derived


def _added(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip_longest(one, other, fillvalue=0.0)]
