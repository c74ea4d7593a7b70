"""Events in plain words."""

from __future__ import annotations

import math

from midpath.trace.record import Event
from midpath.units import quantity

KINDS = {"window": "bytes", "queued": "bytes", "rate": "bps", "RTT": "seconds", "left": "seconds"}
SUFFIXES = {"_bps": "bps", "_bytes": "bytes", "_s": "seconds"}


def at(seconds: float) -> str:
    """A moment of the run, to the microsecond."""
    return f"{seconds:.6f} s"


def span(seconds: float) -> str:
    """A length of time."""
    return quantity("seconds", seconds)


def value(event: Event) -> str:
    """The number that belongs to an event, in its unit; empty if there is none."""
    if math.isnan(event.value):
        return ""
    kind = KINDS.get(event.what) or next((k for end, k in SUFFIXES.items() if event.what.endswith(end)), None)
    return quantity(kind, event.value) if kind else f"{event.value:g}"
