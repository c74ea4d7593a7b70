"""Means over seeds, with what they are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` runs; `ci95` is half the width of its 95 % confidence interval, unknown for one run."""

    mean: float
    ci95: float | None
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval; a single run is its own."""
        half = self.ci95 or 0.0
        return self.mean - half, self.mean + half

    def to_json(self) -> dict[str, float | int | None]:
        """As it stands in result files."""
        return {"mean": self.mean, "ci95": self.ci95, "n": self.n}


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """The mean of what is defined, with Student's t interval: seeds are independent runs, and few."""
    known = np.array([value for value in values if value is not None and math.isfinite(value)], dtype=float)
    if known.size == 0:
        return None
    mean = float(known.mean())
    if known.size == 1:
        return Estimate(mean, None, 1)
    error = float(known.std(ddof=1)) / math.sqrt(known.size)
    return Estimate(mean, student_t(known.size - 1) * error, int(known.size))


def student_t(degrees: int, level: float = 0.95) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 - half a second that only several seeds pay

    return float(stdtrit(degrees, 0.5 + level / 2))


def paired_ratio(values: Sequence[float | None], references: Sequence[float | None]) -> Estimate | None:
    """The mean ratio of runs of the same seed, hence of the same flows: their common luck cancels."""
    pairs = zip(values, references, strict=True)
    return estimate(
        value / reference for value, reference in pairs if value is not None and reference is not None and reference > 0
    )


def told_apart(values: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Whether runs of the same seeds differ by more than luck: 0 is outside the interval of their mean difference.

    With one seed there is no interval; then any difference counts, and the reader is told that it is one seed.
    """
    pairs = zip(values, others, strict=True)
    found = estimate(a - b for a, b in pairs if a is not None and b is not None)
    return found is not None and abs(found.mean) > (found.ci95 or 0.0)
