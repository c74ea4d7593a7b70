"""Figure 20: bandwidth stability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from midpath.papers.fcp.common import flow
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers, mean, ratio, series

# Twice the average round trip: "a window of 200 ms".
WINDOW = 0.2
# Cross traffic comes at 3, 6 and 9 s and stays for 1.5 s.
COMES, LASTS = (3.0, 6.0, 9.0), 1.5
NORMAL, STABLE = ("s0", "d0"), ("s1", "d1")


def measure(lab: Lab) -> Iterator[Measured]:
    """How abruptly rates and prices of the two flows change."""
    runs = lab.runs("stability")
    yield Measured("price.stable", runs.values(lambda r: most(*series(r, flow(r, *STABLE), "price"), 3.0, 10.5)), 2.0)
    yield Measured("price.normal", runs.values(lambda r: most(*series(r, flow(r, *NORMAL), "price"), 3.0, 10.5)))
    yield Measured("drop.stable", runs.values(lambda r: _extreme(max, (drop(r, STABLE, at) for at in COMES))))
    yield Measured("drop.normal", runs.values(lambda r: _extreme(min, (drop(r, NORMAL, at) for at in COMES))))
    yield Measured("steady", runs.values(steady), bound=1.0)


def most(times: Numbers, values: Numbers, begin: float, end: float) -> float:
    """The largest factor, up or down, between two values at most a window apart."""
    chosen = (times > begin) & (times <= end)
    times, values = times[chosen], values[chosen]
    largest = 1.0
    for i, at in enumerate(times):
        near = values[i : int(np.searchsorted(times, at + WINDOW, side="right"))]
        largest = max(largest, float(near.max() / near.min()))
    return largest


def drop(result: Result, ends: tuple[str, str], at: float) -> float | None:
    """The sending rate before cross traffic comes over the one a third of a second later.

    The handshake takes a round trip, the first preloads another, and half a one is until the others hear of it.
    """
    entity = flow(result, *ends)
    before, after = (mean(result, entity, "rate_bps", *span) for span in ((at - 0.2, at), (at + 0.3, at + 0.36)))
    return ratio(before, after)


def steady(result: Result) -> float | None:
    """The stable flow's price over the normal one's at the end of the cross traffic's stay."""
    windows = [(at + LASTS - 0.2, at + LASTS) for at in COMES]
    stable, normal = (
        [mean(result, flow(result, *ends), "price", *span) for span in windows] for ends in (STABLE, NORMAL)
    )
    found = [ratio(a, b) for a, b in zip(stable, normal, strict=True)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if len(known) == len(found) else None


def _extreme(of: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    """The extreme of three drops, each of which the claim is about; None if one is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return of(known) if len(known) == len(found) else None
