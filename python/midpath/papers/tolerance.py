"""What counts as what the paper says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from midpath.errors import ScenarioError

# How far from the paper's number (`relative`, `absolute`) or from the ideal bound (`of_bound`, relative), or between
# which figures (`at_least`, `at_most`) ours may be.
KEYS = ("relative", "absolute", "of_bound", "at_least", "at_most")


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

    def allows(self, ours: float, paper: float | None, bound: float | None) -> bool:
        """Whether ours counts as what the paper says."""
        if not math.isfinite(ours):
            return False
        for limit, reference in ((self.relative, paper), (self.of_bound, bound)):
            if limit is not None and (reference is None or abs(ours - reference) > limit * abs(reference)):
                return False
        if self.absolute is not None and (paper is None or abs(ours - paper) > self.absolute):
            return False
        return (self.at_least is None or ours >= self.at_least) and (self.at_most is None or ours <= self.at_most)

    def text(self) -> str:
        """For people."""
        parts = {
            "relative": f"within {_percent(self.relative)} of the paper",
            "absolute": f"within {self.absolute:g} of the paper" if self.absolute is not None else "",
            "of_bound": f"within {_percent(self.of_bound)} of the bound",
            "at_least": f"at least {self.at_least:g}" if self.at_least is not None else "",
            "at_most": f"at most {self.at_most:g}" if self.at_most is not None else "",
        }
        return ", ".join(text for name, text in parts.items() if getattr(self, name) is not None)

    def to_json(self) -> dict[str, float]:
        """Only what is given."""
        return {name: getattr(self, name) for name in KEYS if getattr(self, name) is not None}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _percent(value: float | None) -> str:
    return f"{100 * (value or 0):g} %"
