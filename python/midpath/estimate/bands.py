"""How far estimates were from whole packet runs, in units of what their pilots disagree by.

`errors.json` is written by `checks/estimate/measure.py`: for each figure the 2.5 %, 50 % and 97.5 % order statistics of
"log(packets over estimate) over scale" of random scenarios, each under a scheme drawn from all. A band is these, times
the scale of the scenario at hand: normalised split-conformal prediction (Lei et al. 2018, Distribution-Free Predictive
Inference for Regression, §5.2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean, stdev

from midpath.estimate.pilots import Told

LEVEL = 0.95
# An estimate whose band is wider than this, on its wider side, is not given.
WIDEST = 0.30
# A pilot in which flows start for less than its slowest hundredth takes tells too little, and one in which the fluid's
# flows take so much less than in the whole run (as a logarithm). Both were chosen on the scenarios that bands are of.
LASTING, GROWTH = 1.0, 0.3
# No estimate is nearer than this, however much its pilots agree: fixed before the first run.
FLOOR = 0.02


@dataclass(frozen=True)
class Errors:
    """Of a figure: what leaves 2.5 % below, the median, and what leaves 2.5 % above, of `runs` scenarios."""

    low: float
    middle: float
    high: float
    runs: int

    @classmethod
    def of(cls, errors: Sequence[float]) -> Errors:
        """Of so many errors."""
        low, high = sides(len(errors))
        ordered = sorted(errors)
        return cls(ordered[low], ordered[len(ordered) // 2], ordered[high], len(ordered))


def sides(n: int) -> tuple[int, int]:
    """Which order statistics of n values, counted from 0, the next one lies between with a chance of 95 %."""
    below = math.floor((n + 1) * (1 - LEVEL) / 2)
    if below < 1:
        raise ValueError(f"{n} values are too few to leave one out on each side")
    return below - 1, n - below


@dataclass(frozen=True)
class Band:
    """What packets would say, with a chance of 95 %."""

    low: float
    value: float
    high: float

    @property
    def width(self) -> float:
        """How far its further end is from its value, as a share of that."""
        return max(self.high / self.value - 1, 1 - self.low / self.value)


def scale(logs: Sequence[float]) -> float:
    """What an estimate's error is measured in: the standard error of the pilots' mean, and no less than the floor."""
    return math.hypot(stdev(logs) / math.sqrt(len(logs)), FLOOR)


def band(fluid: float, logs: Sequence[float], errors: Errors) -> Band:
    """The fluid's figure times the pilots' ratio, with what errors of that were."""
    value, unit = math.log(fluid) + fmean(logs), scale(logs)
    return Band(*(math.exp(value + unit * one) for one in (errors.low, errors.middle, errors.high)))


def silent(told: Told, figure: str) -> str:
    """Why pilots tell nothing of a figure; empty where they do."""
    if not all(map(math.isfinite, [told.growth[figure], *told.logs[figure]])):
        return "flows do not end"
    if told.lasting < LASTING:
        return "pilots are over before their slow flows have ended: longer ones (--pilot) are needed"
    if abs(told.growth[figure]) > GROWTH:
        more = math.exp(told.growth[figure])
        return f"by the fluid the whole run's flows take {more:.2g} times the pilots': longer ones (--pilot) are needed"
    return ""


@cache
def measured() -> Mapping[str, Errors]:
    """What ships, by figure."""
    found = json.loads((files("midpath.estimate") / "errors.json").read_text(encoding="utf-8"))
    return {figure: Errors(**one) for figure, one in found["figures"].items()}
