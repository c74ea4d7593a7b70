"""Figure 10: what flows into and out of routers 0 and 4, and waits in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import capture, custody_lost, entered, refused
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers, mean, series

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
    runs = lab.runs("dumbbell")
    text = lab.runs("dumbbell", changes=TEXT, label="text")
    yield Measured("stores", runs.values(stores), bound=0.0)
    output = [halves(run) for run in runs]
    yield Measured("output.least", [float(found.min()) for found in output], bound=POOLED)
    yield Measured("output.most", [float(found.max()) for found in output], bound=POOLED)
    for name, of in (("", runs), (".text", text)):
        yield Measured(f"backpressure.0{name}", of.values(lambda run: state(run, "r0>r2", BACKPRESSURE)))
    yield Measured("input.two", runs.values(lambda run: entering(run, 3.2, 4.0)), bound=2 * ACCESS)
    yield Measured("input.one", runs.values(lambda run: entering(run, 4.2, 4.4)), bound=ACCESS)
    yield Measured("closed", runs.values(lambda run: reached(run, "flow:2", "closed_loop", 1.0)))
    rates = runs.values(lambda run: mean(run, "port:s2>r4", "throughput_bps", 5.2, 8.0))
    yield Measured("closed.rate", rates, bound=POOLED / 3)
    yield Measured("custody", runs.values(custody_lost), bound=0.0)
    yield Measured("refused", runs.values(refused), bound=0.0)


def stores(result: Result) -> float:
    """Seconds from the first start until router 0 stores."""
    return state(result, "r0>r2", STORE) - START


def state(result: Result, port: str, least: int) -> float:
    """When a port first is in this state or one beyond."""
    return reached(result, f"port:{port}", "state", least)


def reached(result: Result, entity: str, metric: str, least: float) -> float:
    """When a series first reaches `least`; the run's end if it never does."""
    times, values = series(result, entity, metric)
    found = entered(times, values, least)
    return float(times[-1]) if found is None else found


def halves(result: Result) -> Numbers:
    """What leaves router 0 towards router 2, on the link and around it, in each half second."""
    line = np.arange(*BUSY, 0.5)
    return np.diff(capture(result, "r0-r2", "r0-r1").before(line)) * 8 / 0.5


def entering(result: Result, begin: float, end: float) -> float:
    """What comes into router 4 from senders."""
    return sum(mean(result, f"port:s{i}>r4", "throughput_bps", begin, end) or 0.0 for i in range(3))
