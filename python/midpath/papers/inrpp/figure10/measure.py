"""Figure 10: what flows into and out of routers 0 and 4, and waits in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import capture, custody_lost, entered, refused
from midpath.papers.lab import Lab, Measured
from midpath.papers.series import Numbers, mean, series
from midpath.result import Result

# States in the series of a port.
STORE, BACKPRESSURE = 1, 2
POOLED, ACCESS = 20e6, 40e6
# The figure's first flow starts here.
START = 1.0
# While there is something to send in router 0; the first 0.5 s are the search for the detour's rate.
BUSY = (1.5, 11.0)
TEXT = {"schemes.inrpp.cache": "1.25 MB", "schemes.inrpp.high": "1 MB"}


def measure(lab: Lab) -> Iterator[Measured]:
    """States, rates, and the sender's closed loop."""
    run = lab.runs("dumbbell").first()
    text = lab.runs("dumbbell", changes=TEXT, label="text").first()
    stored = state(run, "r0>r2", STORE)
    yield Measured("stores", [None if stored is None else stored - START], bound=0.0)
    output = halves(run)
    yield Measured("output.least", [float(output.min())], bound=POOLED)
    yield Measured("output.most", [float(output.max())], bound=POOLED)
    yield Measured("backpressure.0", [state(run, "r0>r2", BACKPRESSURE)])
    yield Measured("backpressure.0.text", [state(text, "r0>r2", BACKPRESSURE)])
    yield Measured("input.two", [entering(run, 3.2, 4.0)], bound=2 * ACCESS)
    yield Measured("input.one", [entering(run, 4.2, 4.4)], bound=ACCESS)
    yield Measured("closed", [entered(*series(run, "flow:2", "closed_loop"), 1.0)])
    yield Measured("closed.rate", [mean(run, "port:s2>r4", "throughput_bps", 5.2, 8.0)], bound=POOLED / 3)
    yield Measured("custody", [custody_lost(run)], bound=0.0)
    yield Measured("refused", [refused(run)], bound=0.0)


def state(result: Result, port: str, least: int) -> float | None:
    """When a port first is in this state or one beyond."""
    return entered(*series(result, f"port:{port}", "state"), least)


def halves(result: Result) -> Numbers:
    """What leaves router 0 towards router 2, on the link and around it, in each half second."""
    line = np.arange(*BUSY, 0.5)
    return np.diff(capture(result, "r0-r2", "r0-r1").before(line)) * 8 / 0.5


def entering(result: Result, begin: float, end: float) -> float:
    """What comes into router 4 from senders."""
    return sum(mean(result, f"port:s{i}>r4", "throughput_bps", begin, end) or 0.0 for i in range(3))
