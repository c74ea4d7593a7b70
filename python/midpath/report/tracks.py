"""Time series by entity and metric, and shared helpers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
# By entity (`port:r0>r1`, `flow:3`) and metric: ends of intervals, values.
Tracks = Mapping[tuple[str, str], Curve]


def series_by_entity(series: pd.DataFrame) -> Tracks:
    """All series of a run. Their rows come series by series, each in the order of time."""
    keys = ["entity", "metric"]
    grouped = series.astype(dict.fromkeys(keys, str)).groupby(keys, sort=False)
    return {
        (str(entity), str(metric)): tuple(rows[column].to_numpy(dtype=float) for column in ("time_s", "value"))  # type: ignore[misc]
        for (entity, metric), rows in grouped
    }


def thin(times: Floats, values: Floats, most: int) -> Curve:
    """Means over equal stretches, when there are too many points."""
    stretch = -(-times.size // most)
    if stretch <= 1:
        return times, values
    starts = np.arange(0, times.size, stretch)
    counts = np.diff(np.append(starts, times.size))
    return np.add.reduceat(times, starts) / counts, np.add.reduceat(values, starts) / counts


def label(entity: str) -> str:
    """An entity for people: `r0 → r1`, `flow 3`."""
    kind, _, name = entity.partition(":")
    return name.replace(">", " → ") if kind == "port" else f"{kind} {name}"
