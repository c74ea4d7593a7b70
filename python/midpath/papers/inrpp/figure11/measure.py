"""Figure 11: the segments of one flow at the sender, in router 4, in router 0, and at the receiver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from midpath.papers.inrpp.common import MTU, PAYLOAD, Capture, capture, custody_lost, refused
from midpath.papers.lab import Lab, Measured

# The second flow: of it, about half is sent when router 0 asks router 4 to slow down.
FLOW, START, SIZE = 1, 2.0, 80e6
ACCESS, LINK_DELAY = 40e6, 0.005
# Longer in a router than its buffer of 50 ms can hold a packet back, so that it was in the cache.
STORED = 0.055
# Before router 0 presses, and long after.
BEFORE, AFTER = (2.3, 2.9), (5.0, 8.0)


def measure(lab: Lab) -> Iterator[Measured]:
    """Slopes of sequence numbers, and what was cached where from when."""
    run = lab.runs("dumbbell").first()
    sender, first = (capture(run, name).of(FLOW) for name in ("s1-r4", "r4-r0"))
    receiver = capture(run, "r3-d1").of(FLOW)
    yield Measured("sent", [float(sender.times[-1] - START)], bound=SIZE * MTU / PAYLOAD["inrpp"] / ACCESS)
    yield Measured("sent.rate", [slope(sender, 2.2, 3.9)], bound=ACCESS)
    cached = stored(sender, first)
    yield Measured("passed", [float(np.mean(~cached))])
    yield Measured("caching", [float(sender.times[cached][0] + LINK_DELAY)] if cached.any() else [None])
    yield Measured("steeper", [slope(first, *BEFORE) / slope(receiver, *BEFORE)])
    yield Measured("equal", [slope(first, *AFTER) / slope(receiver, *AFTER)], bound=1.0)
    yield Measured("custody", [custody_lost(run)], bound=0.0)
    yield Measured("refused", [refused(run)], bound=0.0)


def slope(place: Capture, begin: float, end: float) -> float:
    """Bits per second that pass a place in a window."""
    low, high = place.before(np.array([begin, end]))
    return float(high - low) * 8 / (end - begin)


def stored(into: Capture, out: Capture) -> NDArray[np.bool_]:
    """For each segment that enters a router, whether it waited there longer than in a buffer."""
    left = dict(zip(out.first.tolist(), out.times.tolist(), strict=True))
    waited = [left[first] - time for first, time in zip(into.first.tolist(), into.times.tolist(), strict=True)]
    return np.array(waited, dtype=np.float64) - LINK_DELAY > STORED
