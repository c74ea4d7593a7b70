"""Figure 8: the rate comes back after the price was wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import mean, series

CAPACITY = 100e6
# A perturbation a second, from 2 s to 11 s.
TIMES = range(2, 12)
LASTING = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """Deviation while the price is wrong, and how long it takes to be gone."""
    runs = lab.runs("perturbation")
    yield Measured("disturbed", [max(disturbed(result, k) for k in TIMES) for result in runs])
    yield Measured("back", [max(back(result, k) for k in TIMES) for result in runs])
    yield Measured("rate", [np.mean([_late(result, k) for k in TIMES]).item() for result in runs], bound=CAPACITY)
    yield Measured("mean", runs.values(lambda result: mean(result, "flow:0", "rate_bps", 2.0, 12.0)), bound=CAPACITY)


def disturbed(result: Result, second: int) -> float:
    """How far the rate went from the capacity in the half second after the price went wrong, as a share of it."""
    times, values = series(result, "flow:0", "rate_bps")
    chosen = (times > second) & (times <= second + 0.5)
    return float(np.abs(values[chosen] / CAPACITY - 1.0).max())


def back(result: Result, second: int) -> float:
    """Seconds from when the price is right again until the rate stays within 5 % of the capacity."""
    times, values = series(result, "flow:0", "rate_bps")
    chosen = (times > second + LASTING) & (times <= second + 1)
    away = np.flatnonzero(np.abs(values[chosen] / CAPACITY - 1.0) > 0.05)
    return float(times[chosen][away[-1]] - second - LASTING) if away.size else 0.0


def _late(result: Result, second: int) -> float:
    """The rate in the last fifth of the second."""
    found = mean(result, "flow:0", "rate_bps", second + 0.8, second + 1.0)
    return float("nan") if found is None else found
