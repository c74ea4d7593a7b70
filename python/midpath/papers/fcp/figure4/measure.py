"""Figure 4: convergence of FCP, XCP and RCP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.fcp.common import utilisation
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import mean, peak, ratio, series

GROUPS = ("25 ms", "56 ms", "125 ms", "280 ms", "625 ms")
SHARE = 1 / len(GROUPS)
CAPACITY = 100e6
LAST, END = 4.0, 10.0


def measure(lab: Lab) -> Iterator[Measured]:
    """Utilisation from the first flow's start on, shares in the last second, queues."""
    runs = {scheme: lab.runs("convergence", scheme=scheme) for scheme in ("fcp", "xcp", "rcp")}
    for scheme, found in runs.items():
        yield Measured(f"utilisation.{scheme}", found.values(_utilisation), bound=1.0)
        yield Measured(f"deviation.{scheme}", found.values(lambda result: deviation(result, END - 1.0, END)), bound=0.0)
    settled = {scheme: found.values(convergence) for scheme, found in runs.items()}
    for scheme in ("xcp", "rcp"):
        yield Measured(f"slower.{scheme}", list(map(ratio, settled[scheme], settled["fcp"])))
    queues = {scheme: found.values(_queue) for scheme, found in runs.items()}
    yield Measured("queue.fcp", queues["fcp"])
    yield Measured("queue.rcp", list(map(ratio, queues["rcp"], queues["fcp"])))


def _queue(result: Result) -> float | None:
    return peak(result, "port:r0>r1", "queue_bytes", 0, END)


def _utilisation(result: Result) -> float | None:
    start = float(result.flows["start_s"][0].as_py())
    return utilisation(result, "r0>r1", start, END)


def deviation(result: Result, begin: float, end: float) -> float | None:
    """How far the flow that is furthest from its fair share is from it, as a share of it.

    Shares are of what all flows get, so that headers and spare capacity do not count.
    """
    found = [mean(result, f"group:{group}", "goodput_bps", begin, end) or 0.0 for group in GROUPS]
    total = sum(found)
    return max(abs(value / total / SHARE - 1.0) for value in found) if total else None


def convergence(result: Result) -> float:
    """Seconds from the last flow's start until all sending rates stay within 20 % of the fair share, or to the end."""
    found = [series(result, f"port:s{i}>r0", "throughput_bps") for i in range(len(GROUPS))]
    times = found[0][0]
    rates = np.array([values for _, values in found])[:, times > LAST]
    away = np.flatnonzero((np.abs(rates / (SHARE * CAPACITY) - 1.0) > 0.2).any(axis=0))
    return float(times[times > LAST][away[-1]] - LAST) if away.size else 0.0
