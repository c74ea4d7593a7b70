"""Figure 7: a host's share does not depend on how many flows it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers, series


def measure(lab: Lab) -> Iterator[Measured]:
    """Host A's share of what both get, while it has traffic."""
    runs = lab.runs("budget")
    shares = [share(result) for result in runs]
    yield Measured("share", [float(found.mean()) for found in shares], bound=0.5)
    yield Measured("furthest", [float(np.abs(found - 0.5).max()) for found in shares], bound=0.0)


def share(result: Result) -> Numbers:
    """A's share in half seconds, from the last of its arrivals (3 s) until half a second before its last flow ends."""
    times, a = series(result, "group:A", "goodput_bps")
    _, b = series(result, "group:B", "goodput_bps")
    flows = result.flows.to_pandas()
    mine = flows[flows.group == "A"]
    # What has not ended is there until the run's end.
    end = float((mine.start_s + mine.fct_s).fillna(times[-1]).max()) - 0.5
    chosen = (times > 3.0) & (times < end)
    count = int(chosen.sum()) // 5 * 5
    a, b = (values[chosen][:count].reshape(-1, 5).mean(axis=1) for values in (a, b))
    return np.asarray(a / (a + b), dtype=np.float64)
