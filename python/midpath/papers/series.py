"""Figures from time series."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from midpath.result import Result

Numbers = NDArray[np.float64]


class MissingSeriesError(LookupError):
    """The run has no such series: `measure.py` and the scenario do not fit together."""


def series(result: Result, entity: str, metric: str) -> tuple[Numbers, Numbers]:
    """Times (the end of each interval, seconds) and values of one series, such as `port:r0>r1`, `queue_bytes`."""
    table = result.series
    rows = table.filter(
        pc.and_(pc.equal(table["entity"].cast("string"), entity), pc.equal(table["metric"].cast("string"), metric))
    )
    if not rows.num_rows:
        raise MissingSeriesError(f"the run has no series {metric} of {entity}")
    return rows["time_s"].to_numpy(), rows["value"].to_numpy()


def window(result: Result, entity: str, metric: str, begin: float, end: float) -> Numbers:
    """The values of the intervals that end after `begin` and not after `end`."""
    times, values = series(result, entity, metric)
    return values[(times > begin * (1 + 1e-9)) & (times <= end * (1 + 1e-9))]


def mean(result: Result, entity: str, metric: str, begin: float, end: float) -> float | None:
    """The mean in a window; None if it holds no value."""
    values = window(result, entity, metric, begin, end)
    return float(np.nanmean(values)) if values.size else None


def peak(result: Result, entity: str, metric: str, begin: float, end: float) -> float | None:
    """The largest value in a window."""
    values = window(result, entity, metric, begin, end)
    return float(np.nanmax(values)) if values.size else None


def lowest(result: Result, entity: str, metric: str, begin: float, end: float) -> float | None:
    """The smallest value in a window."""
    values = window(result, entity, metric, begin, end)
    return float(np.nanmin(values)) if values.size else None


def settled(
    result: Result, entity: str, metric: str, target: float, within: float, begin: float, end: float
) -> float | None:
    """Seconds from `begin` until the series stays within a share `within` of `target`, until `end`; None if never."""
    times, values = series(result, entity, metric)
    chosen = (times > begin * (1 + 1e-9)) & (times <= end * (1 + 1e-9))
    times, values = times[chosen], values[chosen]
    away = np.flatnonzero(~(np.abs(values - target) <= within * abs(target)))
    if not away.size:
        return float(times[0] - begin) if times.size else None
    last = int(away[-1])
    return float(times[last + 1] - begin) if last + 1 < times.size else None
