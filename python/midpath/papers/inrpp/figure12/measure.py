"""Figure 12: each flow's part of the caches of routers 0 and 4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import Capture, capture, custody_lost, ratio, refused
from midpath.papers.lab import Lab, Measured
from midpath.papers.series import Numbers, lowest, series
from midpath.result import Result

FLOWS = (0, 1, 2)
LINK_DELAY = 0.005
LINE = np.arange(0.0, 16.0, 0.01)
HIGH, HIGH_TEXT = 10e6, 1e6
TEXT = {"schemes.inrpp.cache": "1.25 MB", "schemes.inrpp.high": "1 MB"}
# All three flows drain from router 0; after the first has ended, two; both flows come in at their hosts' rate.
THREE, TWO, FILLING = (4.0, 9.0), (11.6, 12.8), (2.3, 2.9)
# A cache that holds more than three packets of a flow stores it.
STORES = 4500


def measure(lab: Lab) -> Iterator[Measured]:
    """Custody by flow from what went in and out, and the total that the port itself shows."""
    run = lab.runs("dumbbell").first()
    text = lab.runs("dumbbell", changes=TEXT, label="text").first()
    leaving = capture(run, "r0-r2", "r0-r1")
    between = capture(run, "r4-r0")
    held = {flow: custody(between.of(flow), leaving.of(flow)) for flow in FLOWS}
    gap = sum(held.values()) - gauge(run)
    yield Measured("gauge", [float(np.abs(gap).max())], bound=0.0)
    yield Measured("held", [ratio(lowest(run, "port:r0>r2", "cache_bytes", 3.2, 9.0), HIGH)])
    yield Measured("held.text", [ratio(lowest(text, "port:r0>r2", "cache_bytes", 1.7, 9.0), HIGH_TEXT)])
    flushed = [rate(leaving.of(flow), *THREE) for flow in FLOWS]
    yield Measured("flushed", [min(flushed) / max(flushed)], bound=1.0)
    filled = [np.polyfit(*cut(held[flow], FILLING), 1)[0] for flow in (0, 1)]
    yield Measured("filled", [filled[1] / filled[0]], bound=1.0)
    later = [rate(leaving.of(flow), *TWO) for flow in (1, 2)]
    yield Measured("gradient", [ratio(min(later), max(flushed[1:]))], bound=1.5)
    ends = [float(capture(run, f"s{flow}-r4").of(flow).times[-1]) for flow in FLOWS]
    upper = {f: custody(capture(run, f"s{f}-r4").of(f), between.of(f)) for f in (1, 2)}
    yield Measured("caching", [float(min(LINE[held_ > STORES][0] for held_ in upper.values()))])
    yield Measured("arrived.2", [ends[1]])
    yield Measured("arrived.3", [ends[2]])
    yield Measured("drained", [float(gauge(run)[-1] + sum(values[-1] for values in held.values()))], bound=0.0)
    yield Measured("custody", [custody_lost(run)], bound=0.0)
    yield Measured("refused", [refused(run)], bound=0.0)


def custody(into: Capture, out: Capture) -> Numbers:
    """Bytes of a flow in a router over time."""
    return into.before(LINE - LINK_DELAY) - out.before(LINE)


def gauge(result: Result) -> Numbers:
    """What router 0 itself says that it holds."""
    times, values = series(result, "port:r0>r2", "cache_bytes")
    found: Numbers = np.interp(LINE, times, values)
    return found


def rate(place: Capture, begin: float, end: float) -> float:
    """Bytes per second that pass a place in a window."""
    low, high = place.before(np.array([begin, end]))
    return float(high - low) / (end - begin)


def cut(values: Numbers, span: tuple[float, float]) -> tuple[Numbers, Numbers]:
    """Times and values in a window."""
    chosen = (span[0] < LINE) & (span[1] >= LINE)
    return LINE[chosen], values[chosen]
