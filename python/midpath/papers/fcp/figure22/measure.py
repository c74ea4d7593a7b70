"""Figure 22: deadlines."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from midpath.papers.fcp.common import rate
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import mean, wire

ASKED = 30e6
DEADLINE = 0.2
# Flows of one batch start within this.
LATE = 0.01


def measure(lab: Lab) -> Iterator[Measured]:
    """Times of the deadline flows, and shares of best effort."""
    runs = lab.runs("deadlines")
    yield Measured("first.slowest", runs.values(lambda r: float(_batch(r, 0.1).fct_s.max())), bound=DEADLINE)
    yield Measured("first.rate", runs.values(lambda r: min(_rates(r, 0.1, 0.15, 0.28))), bound=ASKED)
    yield Measured(
        "first.best effort", runs.values(lambda r: rate(r, "best effort", 0.15, 0.28)), bound=100e6 - 2 * ASKED
    )
    yield Measured("second.met", runs.values(lambda r: float(_met(r).sum())), bound=2.0)
    yield Measured("second.admitted", runs.values(lambda r: min(sorted(_rates(r, 0.6, 0.65, 0.78))[2:])), bound=ASKED)
    yield Measured("second.equal", runs.values(_equal), bound=1.0)
    yield Measured("alone", runs.values(lambda r: rate(r, "best effort", 1.6, 2.0)), bound=100e6)


def _batch(result: Result, start: float) -> pd.DataFrame:
    flows = result.flows.to_pandas()
    found: pd.DataFrame = flows[(flows.group == "deadline") & flows.start_s.between(start, start + LATE)]
    return found


def _met(result: Result) -> pd.Series[bool]:
    # A round trip for the handshake and one for what is on the way.
    return _batch(result, 0.6).fct_s <= DEADLINE + 0.01


def _rates(result: Result, start: float, begin: float, end: float) -> list[float]:
    factor = wire(result)
    found = (mean(result, f"flow:{number}", "goodput_bps", begin, end) for number in _batch(result, start).flow)
    # One that is not there gets nothing.
    return [factor * (value or 0.0) for value in found]


def _equal(result: Result) -> float | None:
    """The slowest of the three best-effort flows over the fastest, while two deadline flows are there."""
    fallen = sorted(_rates(result, 0.6, 0.65, 0.78))[:2]
    best = rate(result, "best effort", 0.65, 0.78)
    return None if best is None else min(*fallen, best) / max(*fallen, best)
