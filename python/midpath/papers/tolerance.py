"""Tolerances of claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from midpath.errors import ScenarioError
from midpath.units import plain

# How far from the paper's number (`relative`, `absolute`) or from the ideal bound (`of_bound`, relative), or between
# which figures (`at_least`, `at_most`) ours may be.
KEYS = ("relative", "absolute", "of_bound", "at_least", "at_most")


class Judgement(StrEnum):
    """What came out, held against a claim.

    Undecided: one end of the interval is within the bound, the other is not; or not every run gave a value, or there
    was only one. Undecidable: undecided, and the interval is wider than what the claim is about.
    """

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNDECIDABLE = "not decidable here"
    INFORMATION = "information"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Tolerance:
    """Every limit that is given must be kept."""

    relative: float | None = None
    absolute: float | None = None
    of_bound: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @classmethod
    def read(cls, value: Any, key: str) -> Tolerance:
        """From the table in claim.toml."""
        if not isinstance(value, dict) or not value or not set(value) <= set(KEYS):
            raise ScenarioError(key, None, f"needs one or more of {', '.join(KEYS)}")
        for name, limit in value.items():
            if not _is_number(limit) or (name in KEYS[:3] and limit <= 0):
                raise ScenarioError(f"{key}.{name}", None, "is not a number above 0")
        return cls(**{name: float(limit) for name, limit in value.items()})

    def needs_number(self) -> bool:
        """Whether it makes sense only if the paper says a number."""
        return self.relative is not None or self.absolute is not None

    def limits(self, paper: float | None, bound: float | None) -> tuple[float, float] | None:
        """The least and the largest value that counts as the same; None where what it is relative to is missing."""
        low, high = -math.inf, math.inf
        for share, reference in ((self.relative, paper), (self.of_bound, bound)):
            if share is not None:
                if reference is None:
                    return None
                margin = share * abs(reference)
                low, high = max(low, reference - margin), min(high, reference + margin)
        if self.absolute is not None:
            if paper is None:
                return None
            low, high = max(low, paper - self.absolute), min(high, paper + self.absolute)
        if self.at_least is not None:
            low = max(low, self.at_least)
        if self.at_most is not None:
            high = min(high, self.at_most)
        return low, high

    def allows(self, value: float, paper: float | None, bound: float | None) -> bool:
        """Whether one value counts as what the paper says."""
        limits = self.limits(paper, bound)
        return limits is not None and limits[0] <= value <= limits[1]

    def text(self, kind: str) -> str:
        """For people, with units."""
        parts = []
        if self.relative is not None:
            parts.append(f"within {_percent(self.relative)} of the paper")
        if self.absolute is not None:
            parts.append(f"within {_distance(kind, self.absolute)} of the paper")
        if self.of_bound is not None:
            parts.append(f"within {_percent(self.of_bound)} of the bound")
        if self.at_least is not None:
            parts.append(f"at least {plain(kind, self.at_least)}")
        if self.at_most is not None:
            parts.append(f"at most {plain(kind, self.at_most)}")
        return ", ".join(parts)

    def to_json(self) -> dict[str, float]:
        """Only what is given."""
        return {name: getattr(self, name) for name in KEYS if getattr(self, name) is not None}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _percent(value: float) -> str:
    return f"{100 * value:g} %"


def _distance(kind: str, value: float) -> str:
    # "Within 2 % of the paper" is two hundredths of its value.
    return f"{100 * value:g} percentage points" if kind == "ratio" else plain(kind, value)
