"""Reading results: time series, and the few figures that several papers need of them."""

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


def last(result: Result, entity: str, metric: str) -> float:
    """The value of the last interval: of a counter, what it came to."""
    return float(series(result, entity, metric)[1][-1])


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


def wire(result: Result) -> float:
    """Bits on the wire per bit of payload: papers' rates count packets, our tables of flows payload."""
    flows, ports = result.flows.to_pandas(), result.ports.to_pandas()
    arrived = ports[ports.peer.isin(set(flows.dst.astype(str)))].bytes.sum()
    return float(arrived) / float(flows.delivered_bytes.sum())


def ratio(value: float | None, reference: float | None) -> float | None:
    """`value / reference` where both are known."""
    return value / reference if value is not None and reference else None
