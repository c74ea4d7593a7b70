"""Figure 11: the segments of one flow at the sender, in router 4, in router 0, and at the receiver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from midpath.papers.inrpp.common import MTU, PAYLOAD, Capture, capture, custody_lost, refused
from midpath.papers.lab import Lab, Measured
from midpath.result import Result

# The second flow: of it, about half is sent when router 0 asks router 4 to slow down.
FLOW, START, SIZE = 1, 2.0, 80e6
ACCESS, LINK_DELAY = 40e6, 0.005
BOUNDS = {"sent": SIZE * MTU / PAYLOAD["inrpp"] / ACCESS, "sent.rate": ACCESS, "equal": 1.0}
# Longer in a router than its buffer of 50 ms can hold a packet back, so that it was in the cache.
STORED = 0.055
# Before router 0 presses, and long after.
BEFORE, AFTER = (2.3, 2.9), (5.0, 8.0)


def measure(lab: Lab) -> Iterator[Measured]:
    """Slopes of sequence numbers, and what was cached where from when."""
    runs = lab.runs("dumbbell")
    found = [of_flow(run) for run in runs]
    for name in found[0]:
        yield Measured(name, [one[name] for one in found], bound=BOUNDS.get(name))
    yield Measured("custody", runs.values(custody_lost), bound=0.0)
    yield Measured("refused", runs.values(refused), bound=0.0)


def of_flow(run: Result) -> dict[str, float | None]:
    """The claims that one run's captures are for."""
    sender, first = (capture(run, name).of(FLOW) for name in ("s1-r4", "r4-r0"))
    receiver = capture(run, "r3-d1").of(FLOW)
    cached = stored(sender, first)
    return {
        "sent": float(sender.times[-1] - START),
        "sent.rate": slope(sender, 2.2, 3.9),
        "passed": float(np.mean(~cached)),
        "caching": float(sender.times[cached][0] + LINK_DELAY) if cached.any() else None,
        "steeper": slope(first, *BEFORE) / slope(receiver, *BEFORE),
        "equal": slope(first, *AFTER) / slope(receiver, *AFTER),
    }


def slope(place: Capture, begin: float, end: float) -> float:
    """Bits per second that pass a place in a window."""
    low, high = place.before(np.array([begin, end]))
    return float(high - low) * 8 / (end - begin)


def stored(into: Capture, out: Capture) -> NDArray[np.bool_]:
    """For each segment that enters a router, whether it waited there longer than in a buffer."""
    left = dict(zip(out.first.tolist(), out.times.tolist(), strict=True))
    waited = [left[first] - time for first, time in zip(into.first.tolist(), into.times.tolist(), strict=True)]
    return np.array(waited, dtype=np.float64) - LINK_DELAY > STORED
