"""Means over seeds with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
# After how many runs a sequence's interval is to be tight, about: the prior's weight, in runs. Ours, fixed before the
# first use, so that figures with few seeds have an interval soon.
TIGHT_AT = 4


def require() -> None:
    """Raises now, without the extra `analysis`, what means over seeds would raise when all has been run."""
    import scipy.special  # noqa: F401, PLC0415


def jain(shares: Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Jain's index, (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all; NaN where there is nothing to share."""
    known = np.asarray(shares, float)
    return float(known.sum() ** 2 / (known.size * (known**2).sum())) if known.any() else math.nan


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` runs; `ci95` is half the width of its 95 % confidence interval, unknown for one run.

    `seeds` is how many runs there were: more than `n` where some gave no value. `group` names the group that this is
    the extreme of, `groups` says of how many; the interval is corrected for their number. `sequential`: the interval
    holds however often it was looked at while runs were added.
    """

    mean: float
    ci95: float | None
    n: int
    seeds: int | None = None
    group: str | None = None
    groups: int = 1
    sequential: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval; a single run is its own."""
        half = self.ci95 or 0.0
        return self.mean - half, self.mean + half

    def differs(self, value: float = 0.0, *, alone: bool = False) -> bool:
        """Whether a value is outside the interval: the one rule by which a difference is more than luck.

        A single run has no interval. It tells nothing, or with `alone` whatever it differs from: for what is not
        random, and where the reader is told that it is one run.
        """
        if self.ci95 is None:
            return alone and self.mean != value
        return abs(self.mean - value) > self.ci95

    @property
    def of(self) -> int:
        """How many runs there were, with a value or without."""
        return self.n if self.seeds is None else self.seeds

    @property
    def is_whole(self) -> bool:
        """Whether every run gave a value."""
        return self.n == self.of

    def to_json(self) -> dict[str, Any]:
        """As it stands in result files. What is the usual case is left out: every run gave a value, and no groups."""
        found: dict[str, Any] = {"mean": self.mean, "ci95": self.ci95, "n": self.n}
        if not self.is_whole:
            found["seeds"] = self.seeds
        if self.group is not None:
            found |= {"group": self.group, "groups": self.groups}
        if self.sequential:
            found["sequential"] = True
        return found


def estimate(values: Iterable[float | None], level: float = LEVEL, *, sequential: bool = False) -> Estimate | None:
    """The mean of what is defined, with Student's t interval: seeds are independent runs, and few.

    `sequential` takes the interval of a confidence sequence instead (`in_sequence`).
    """
    listed = list(values)
    known = np.array([value for value in listed if value is not None and math.isfinite(value)], dtype=float)
    if known.size == 0:
        return None
    mean = float(known.mean())
    if known.size == 1:
        return Estimate(mean, None, 1, len(listed), sequential=sequential)
    half = in_sequence if sequential else at_once
    width = half(int(known.size), level) * float(known.std(ddof=1))
    return Estimate(mean, width, int(known.size), len(listed), sequential=sequential)


def at_once(n: int, level: float = LEVEL) -> float:
    """Half the interval of the mean of `n` runs, in standard deviations, where it is looked at once: Student's t."""
    return student_t(n - 1, level) / math.sqrt(n)


def in_sequence(n: int, level: float = LEVEL) -> float:
    """The same where one looks after every run: with the level's probability all intervals hold at once.

    The confidence sequence of Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with
    unknown variance" (2023), with a Gaussian prior of the effect. Under a mean of m, with S = sum of (x - m) and
    V = sum of (x - m)^2, the ratio sqrt(c / (n + c)) (V / (V - S^2 / (n + c)))^(n/2) is a martingale, which reaches
    1/alpha with a probability of at most alpha (Ville). The interval holds all m for which it has not. c is `TIGHT_AT`.
    It is infinite while n is small. Values are taken to be Gaussian, as Student's t takes them.
    """
    weight = n + TIGHT_AT
    share = -math.expm1(-(math.log(weight / TIGHT_AT) - 2 * math.log(1.0 - level)) / n)
    room = n * n / weight - n * share
    return math.sqrt((n - 1) * share / room) if room > 0 else math.inf


def jointly(intervals: int) -> float:
    """The level of each of several intervals at which all hold at once with `LEVEL` (Bonferroni)."""
    return 1.0 - (1.0 - LEVEL) / intervals


def ends(found: Mapping[str, Estimate], *, most: bool) -> tuple[str, float, float]:
    """Of estimates that hold `jointly`, the one with the largest mean, or the least, and where that mean is.

    The largest mean is between the largest lower end and the largest upper one. Where one estimate has no interval
    nothing is known of it.
    """
    of_all = max if most else min
    halves = {name: math.inf if one.ci95 is None else one.ci95 for name, one in found.items()}
    low = of_all(one.mean - halves[name] for name, one in found.items())
    high = of_all(one.mean + halves[name] for name, one in found.items())
    return of_all(found, key=lambda name: found[name].mean), low, high


def within(interval: tuple[float, float], limits: tuple[float, float]) -> bool | None:
    """Whether an interval is within limits: the one rule of a bound. False outside of them, None across one."""
    (low, high), (least, most) = interval, limits
    if high < least or low > most:
        return False
    return True if least <= low and high <= most else None


def extreme(groups: Mapping[str, Sequence[float | None]], *, most: bool, sequential: bool = False) -> Estimate | None:
    """The largest mean of several groups, or the least.

    The extreme of each run, averaged, would be the extreme of luck. Here the groups are averaged over runs first, with
    intervals that hold `jointly`. None unless every group has a value.
    """
    level = jointly(len(groups))
    found = {name: estimate(values, level, sequential=sequential) for name, values in groups.items()}
    known = {name: one for name, one in found.items() if one is not None}
    if not known or len(known) < len(found):
        return None
    best, low, high = ends(known, most=most)
    n, seeds = min(one.n for one in known.values()), max(one.of for one in known.values())
    mean = known[best].mean
    if any(one.ci95 is None for one in known.values()):
        return Estimate(mean, None, n, seeds, best, len(groups), sequential)
    return Estimate(mean, max(mean - low, high - mean), n, seeds, best, len(groups), sequential)


def student_t(degrees: int, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 - half a second that only several seeds pay

    return float(stdtrit(degrees, 0.5 + level / 2))


def seeds_for(found: Estimate, half: float, most: int) -> int | None:
    """How many seeds give an interval of `half` to either side, if runs go on to spread as these do. None above `most`.

    Known only roughly: the spread is itself an estimate.
    """
    if not found.ci95 or half <= 0:
        return None
    level = jointly(found.groups)
    width = in_sequence if found.sequential else at_once
    spread = found.ci95 / width(found.n, level)

    def is_enough(n: int) -> bool:
        return width(n, level) * spread <= half

    low, high = 2, most
    if not math.isfinite(spread) or spread == 0 or not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def paired_ratio(values: Sequence[float | None], references: Sequence[float | None]) -> Estimate | None:
    """The mean ratio of runs of the same seed, hence of the same flows: their common luck cancels.

    A run without one of the two has no ratio. It still counts among `seeds`.
    """
    pairs = zip(values, references, strict=True)
    return estimate(
        value / reference if value is not None and reference is not None and reference > 0 else None
        for value, reference in pairs
    )


def paired_excess(values: Sequence[float | None], others: Sequence[float | None]) -> Estimate | None:
    """By what share of the others' mean runs of the same seeds exceed them. 0 is inside the interval exactly where
    `told_apart` says that the two are not told apart.
    """
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if a is not None and b is not None]
    found = estimate([a - b for a, b in pairs])
    base = float(np.mean([b for _, b in pairs])) if pairs else 0.0
    if found is None or base <= 0:
        return None
    half = found.ci95 / base if found.ci95 is not None else None
    return Estimate(found.mean / base, half, found.n, len(values))


def told_apart(values: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Whether runs of the same seeds differ by more than luck: 0 is outside the interval of their mean difference.

    With one seed there is no interval; then any difference counts, and the reader is told that it is one seed. One
    difference of several seeds tells nothing.
    """
    pairs = zip(values, others, strict=True)
    found = estimate(a - b if a is not None and b is not None else None for a, b in pairs)
    return found is not None and found.differs(alone=found.is_whole)
