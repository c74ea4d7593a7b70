"""Figure 13: what a flow that promises and does not send costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.fcp.common import rates, utilisation
from midpath.papers.lab import Lab, Measured
from midpath.result import Result

CAPACITY = 100e6
START = 2.0


def measure(lab: Lab) -> Iterator[Measured]:
    """Flow 0's rate around the other one's start."""
    idle, honest = lab.runs("misbehaving"), lab.runs("honest")
    yield Measured("lowest", idle.values(lowest), bound=0.5)
    yield Measured("under", idle.values(under))
    yield Measured("after", idle.values(lambda result: utilisation(result, "r0>r1", 3.0, 4.0)), bound=1.0)
    yield Measured("honest", honest.values(lambda result: utilisation(result, "r0>r1", START, 3.0)), bound=1.0)


def _after(result: Result) -> tuple[np.ndarray, np.ndarray]:
    times, values = rates(result, "flow 0")
    chosen = (times > START) & (times <= 3.0)
    return times[chosen], values[chosen] / CAPACITY


def lowest(result: Result) -> float:
    """Flow 0's smallest rate in 10 ms in the second after, over the capacity."""
    return float(_after(result)[1].min())


def under(result: Result) -> float:
    """For how long flow 0's rate is below 90 % of the capacity, from the first such 10 ms to the last."""
    times, values = _after(result)
    away = np.flatnonzero(values < 0.9)
    return float(times[away[-1]] - times[away[0]] + 0.01) if away.size else 0.0
