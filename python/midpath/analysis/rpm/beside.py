"""Trajectories from the simulator's results, for comparison with the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from midpath.analysis.rpm.model import Trajectory
from midpath.result import Result
from midpath.result.series import MissingSeriesError, series

Numbers = NDArray[np.float64]


def measured(
    result: Result, *, port: str, flows: Sequence[int], packet_bytes: int = 1500, payload_bytes: int = 1448
) -> Trajectory:
    """A run's time series as the model counts: packets, and means over `flows`.

    `port` is the bottleneck, as `r0>r1`; the queue is its `queue_bytes` in packets of `packet_bytes`. Windows are
    `cwnd_bytes`, rates are `goodput_bps`, both in `payload_bytes`; of these two, one that the run did not record is
    NaN. The scenario needs `measure = { series = true }`. Raises `MissingSeriesError` if the queue is not there, or
    neither windows nor rates are.

    Runs with marks on the forward path are read this way today; runs of RPM's port plug in here without a change.
    """
    times, queue = series(result, f"port:{port}", "queue_bytes")
    window = _mean(result, flows, "cwnd_bytes", times) / payload_bytes
    rate = _mean(result, flows, "goodput_bps", times) / (8 * payload_bytes)
    if np.isnan(window).all() and np.isnan(rate).all():
        raise MissingSeriesError(f"the run has neither cwnd_bytes nor goodput_bps of the flows {list(flows)}")
    return Trajectory(times, rate, window, queue / packet_bytes)


def _mean(result: Result, flows: Sequence[int], metric: str, times: Numbers) -> Numbers:
    """The mean over flows at each of the times; flows' samples are taken at the nearest time that they have."""
    rows = []
    for flow in flows:
        try:
            at, values = series(result, f"flow:{flow}", metric)
        except MissingSeriesError:
            return np.full_like(times, np.nan)
        rows.append(np.interp(times, at, values))
    return np.asarray(np.mean(rows, axis=0))
