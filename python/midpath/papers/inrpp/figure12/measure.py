"""Figure 12: each flow's part of the caches of routers 0 and 4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import Capture, capture, custody_lost, entered, ratio, refused
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers, lowest, series

FLOWS = (0, 1, 2)
LINK_DELAY = 0.005
LINE = np.arange(0.0, 16.0, 0.01)
HIGH, HIGH_TEXT = 10e6, 1e6
TEXT = {"schemes.inrpp.cache": "1.25 MB", "schemes.inrpp.high": "1 MB"}
# All three flows drain from router 0; after the first has ended, two; both flows come in at their hosts' rate.
THREE, TWO, FILLING = (4.0, 9.0), (11.6, 12.8), (2.3, 2.9)
BOUNDS = {"gauge": 0.0, "flushed": 1.0, "filled": 1.0, "gradient": 1.5, "drained": 0.0}
# A cache that holds more than three packets of a flow stores it.
STORES = 4501


def measure(lab: Lab) -> Iterator[Measured]:
    """Custody by flow from what went in and out, and the total that the port itself shows."""
    runs, text = lab.runs("dumbbell"), lab.runs("dumbbell", changes=TEXT, label="text")
    found = [of_caches(run) for run in runs]
    for name in found[0]:
        yield Measured(name, [one[name] for one in found], bound=BOUNDS.get(name))
    low = text.values(lambda run: ratio(lowest(run, "port:r0>r2", "cache_bytes", 1.7, 9.0), HIGH_TEXT))
    yield Measured("held.text", low)
    yield Measured("custody", runs.values(custody_lost), bound=0.0)
    yield Measured("refused", runs.values(refused), bound=0.0)


def of_caches(run: Result) -> dict[str, float | None]:
    """The claims that one run's captures are for."""
    leaving = capture(run, "r0-r2", "r0-r1")
    between = capture(run, "r4-r0")
    held = {flow: custody(between.of(flow), leaving.of(flow)) for flow in FLOWS}
    flushed = [rate(leaving.of(flow), *THREE) for flow in FLOWS]
    filled = [np.polyfit(*cut(held[flow], FILLING), 1)[0] for flow in (0, 1)]
    later = [rate(leaving.of(flow), *TWO) for flow in (1, 2)]
    ends = [float(capture(run, f"s{flow}-r4").of(flow).times[-1]) for flow in FLOWS]
    upper = [custody(capture(run, f"s{f}-r4").of(f), between.of(f)) for f in (1, 2)]
    return {
        "gauge": float(np.abs(sum(held.values()) - gauge(run)).max()),
        "held": ratio(lowest(run, "port:r0>r2", "cache_bytes", 3.2, 9.0), HIGH),
        "flushed": min(flushed) / max(flushed),
        "filled": float(filled[1] / filled[0]),
        "gradient": ratio(min(later), max(flushed[1:])),
        "caching": min((entered(LINE, values, STORES) for values in upper), key=lambda at: at or np.inf),
        "arrived.2": ends[1],
        "arrived.3": ends[2],
        "drained": float(gauge(run)[-1] + sum(values[-1] for values in held.values())),
    }


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
