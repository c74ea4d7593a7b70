"""Figure 9: what comes in at the bottleneck while the load doubles every round trip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers, window

CAPACITY = 1e9
# The load doubles from 1 to 2 s; what it does is seen at the bottleneck a round trip later.
BEGIN, END = 1.0, 2.1


def measure(lab: Lab) -> Iterator[Measured]:
    """Incoming traffic over capacity, in 10 ms."""
    fcp, rcp = lab.runs("preloading"), lab.runs("doubling")
    incoming = [normalised(result) for result in fcp]
    yield Measured("peak.fcp", [float(found.max()) for found in incoming], bound=1.0)
    yield Measured("lowest.fcp", [float(found.min()) for found in incoming], bound=1.0)
    yield Measured("mean.fcp", [float(found.mean()) for found in incoming], bound=1.0)
    yield Measured("peak.rcp", [float(np.max(normalised(result))) for result in rcp], bound=1.0)


def normalised(result: Result) -> Numbers:
    """Traffic into the bottleneck over its capacity."""
    return window(result, "port:r0>r1", "throughput_bps", BEGIN, END) / CAPACITY
