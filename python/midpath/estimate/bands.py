"""Errors of estimates relative to full packet runs, in units of their standard errors.

`errors.json` is written by `evidence/properties/estimate/fit.py`: for each figure the 95 % quantile of
|log(packets / estimate)| / scale over random scenarios and schemes. A band is that, times the scale of the
scenario at hand:
normalised split-conformal prediction (Lei et al. 2018, Distribution-Free Predictive Inference
for Regression, §5.2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from midpath.estimate.carry import FIGURES, Carried
from midpath.stats import LEVEL

# An estimate whose band is wider than this, on its wider side, is not given; pilots grow until bands are as narrow as
# the second.
WIDEST, NARROW = 0.30, 0.15
# The share of flows slower than any of the pilot's from which on it tells nothing.
BEYOND = 0.03


@dataclass(frozen=True)
class Unit:
    """What an error is measured in, beside the standard error: how much of what two pilots differ by, how much of what
    the run grows by, by the fluid, and the least, however much parts of a pilot agree."""

    apart: float
    growth: float
    floor: float


# Chosen on scenarios that bands are of (`evidence/properties/estimate/README.md`). The 99th percentile is of few flows:
# what pilots differ by, and growth, are mostly which flows these are: that is in the standard error.
UNITS = {"afct_s": Unit(1, 0.3, 0.02), "fct_p50_s": Unit(1, 0.3, 0.02), "fct_p99_s": Unit(0.5, 0.15, 0.05)}


@dataclass(frozen=True)
class Errors:
    """Of a figure: what 95 % of errors are at most, either way, of `runs` scenarios."""

    most: float
    runs: int

    @classmethod
    def of(cls, errors: Sequence[float]) -> Errors:
        """Of so many errors."""
        return cls(sorted(map(abs, errors))[place(len(errors))], len(errors))


def place(n: int) -> int:
    """Which order statistic of n values, counted from 0, the next one is below with a chance of 95 %."""
    found = math.ceil((n + 1) * LEVEL) - 1
    if found >= n:
        raise ValueError(f"{n} values are too few to leave one out")
    return found


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


def scale(former: Carried, last: Carried, figure: str) -> float:
    """The unit of an estimate's error: the root of four squares, and of a fifth where the run has more flows than the
    fluid's."""
    unit = UNITS[figure]
    apart = unit.apart * (last.logs[figure] - former.logs[figure])
    return math.hypot(last.errors[figure], apart, unit.growth * last.growth[figure], unit.floor, last.rest[figure])


def silent(former: Carried, last: Carried, figure: str) -> str:
    """Why pilots tell nothing of a figure; empty where they do."""
    if not (math.isfinite(former.logs[figure]) and math.isfinite(last.errors[figure])):
        return "flows do not end"
    if last.beyond > BEYOND:
        beyond = f"{last.beyond:.0%} of flows are slower in the fluid model than any in the pilot"
        return f"{beyond}: a larger --share covers more"
    return ""


def band(log: float, unit: float, errors: Errors) -> Band:
    """Around an estimate, whose logarithm and scale are given."""
    return Band(*(math.exp(log + unit * one) for one in (-errors.most, 0, errors.most)))


def of(former: Carried, last: Carried, by: Mapping[str, Errors]) -> dict[str, Band | str]:
    """Each figure's band, by what errors were; or why there is none."""
    return {
        name: silent(former, last, name) or band(last.logs[name], scale(former, last, name), by[name])
        for name in FIGURES
    }


def measured() -> Mapping[str, Errors]:
    """What ships, by figure."""
    return {figure: Errors(**one) for figure, one in _shipped()["figures"].items()}


def schemes() -> list[str]:
    """Those that errors were measured under."""
    found: list[str] = _shipped()["schemes"]
    return found


@cache
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("midpath.estimate") / "errors.json").read_text(encoding="utf-8"))
    return found
