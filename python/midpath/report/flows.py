"""Figures of flows: completion times, also by size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from midpath.palette import name
from midpath.report.figure import Figure, Trace, hover, line, log_axis, single, variant
from midpath.report.model import Model
from midpath.units import quantity

Floats = NDArray[np.float64]

# Enough for a smooth curve at any screen; the tail, where schemes differ, is kept whole.
CURVE_POINTS = 240
TAIL_POINTS = 60
# Where the view of the tail begins.
TAIL = 0.9
# A 99th percentile of fewer flows than this is their maximum by another name.
FLOWS_PER_BIN = 30
MOST_BINS = 10


def completion(model: Model) -> Figure:
    """The distribution of completion times; of goodput where no flow ever ends."""
    values = {scheme: _column(flows, "fct_s") for scheme, flows in model.flows.items()}
    if not any(found.size for found in values.values()):
        return _goodput_distribution(model)
    note = "Share of all flows that had ended after this long. Further left is better."
    # What waited until the end never began.
    begun = {scheme: int(flows["start_s"].notna().sum()) for scheme, flows in model.flows.items()}
    data = [_cdf(scheme, found, begun[scheme], "seconds") for scheme, found in values.items()]
    low, high = _span(values.values())
    x = log_axis("seconds", low, high, "flow completion time")
    variants = {
        "all": variant(data, {"xaxis": x, "yaxis": _shares(0.0)}),
        "tail": variant(data, {"xaxis": x, "yaxis": _shares(TAIL)}),
    }
    options = {"all": "all flows", "tail": f"slowest {1 - TAIL:.0%}"}
    return Figure("fct", "Flow completion time", note, variants, "Show", options)


def _goodput_distribution(model: Model) -> Figure:
    values = {scheme: _column(flows, "goodput_bps") for scheme, flows in model.flows.items()}
    note = (
        "Share of flows that got at most this goodput. A steep curve is a fair one. No flow ended, so there is no FCT."
    )
    data = [_cdf(scheme, found, found.size, "bps") for scheme, found in values.items()]
    low, high = _span(values.values())
    x = log_axis("bps", low, high, "goodput of a flow")
    return Figure("fct", "Goodput per flow", note, single(data, {"xaxis": x, "yaxis": _shares(0.0)}))


def _cdf(scheme: str, values: Floats, total: int, kind: str) -> Trace:
    ordered = np.sort(values)
    ranks = np.arange(1, ordered.size + 1)
    keep = np.unique(
        np.concatenate(
            [np.linspace(0, ordered.size - 1, CURVE_POINTS).astype(int), ranks[-TAIL_POINTS:] - 1]
            if ordered.size
            else [ranks - 1]
        )
    )
    share = ranks[keep] / max(total, 1)
    text = [
        f"<b>{name(scheme)}</b><br>{quantity('ratio', y)} within {quantity(kind, x)}"
        for x, y in zip(ordered[keep], share, strict=True)
    ]
    # A curve begins on the axis, at the first flow.
    x, y = np.append(ordered[:1], ordered[keep]), np.append(np.zeros(min(ordered.size, 1)), share)
    shape = {"shape": "hv" if ordered.size < CURVE_POINTS else "linear"}
    return line(scheme, x, y, [*text[:1], *text], line=shape)


def by_size(model: Model) -> Figure | None:
    """Median and 99th percentile of the slowdown, for flows of like size."""
    sized = {scheme: flows.dropna(subset=["size_bytes", "slowdown"]) for scheme, flows in model.flows.items()}
    sizes = np.concatenate([flows["size_bytes"].to_numpy(dtype=float) for flows in sized.values()])
    if sizes.size == 0 or np.unique(sizes).size < 2:
        return None
    edges = _edges(sizes, min(len(flows) for flows in sized.values() if len(flows)))
    data: list[Trace] = []
    highest = 1.0
    means: list[float] = []
    for scheme, flows in sized.items():
        bins = _bins(flows, edges)
        data += [
            _quantile_line(scheme, bins, "p99", "99th percentile"),
            _quantile_line(scheme, bins, "p50", "median"),
        ]
        means += bins["size"].tolist()
        highest = max(highest, float(bins["p99"].max()) if len(bins) else 1.0)
    layout = {
        "xaxis": log_axis("bytes", min(means), max(*means, 2 * min(means)), "mean size of the flows in a bin"),
        "yaxis": log_axis("times", 1.0, max(highest, 2.0), "slowdown"),
    }
    note = "FCT over what an empty network would give. Filled: median; hollow: 99th percentile. Lower is better."
    return Figure("size", "Slowdown by flow size", note, single(data, layout))


def _quantile_line(scheme: str, bins: pd.DataFrame, column: str, label: str) -> Trace:
    text = [
        hover(
            f"{name(scheme)}, {label}",
            ("slowdown", "times", value),
            ("flows of", "bytes", low),
            ("to", "bytes", high),
            ("flows:", "count", count),
        )
        for value, low, high, count in bins[[column, "low", "high", "count"]].itertuples(index=False)
    ]
    marker: dict[str, Any] = {"size": 7, "symbol": "circle" if column == "p50" else "circle-open"}
    width = 2.25 if column == "p50" else 1.25
    return line(scheme, bins["size"], bins[column], text, mode="lines+markers", marker=marker, line={"width": width})


def _edges(sizes: Floats, fewest: int) -> Floats:
    """The lower ends of bins: every size where there are few, else equally many flows, as many as percentiles need."""
    distinct = np.unique(sizes)
    if distinct.size <= MOST_BINS:
        return distinct
    count = int(np.clip(fewest // FLOWS_PER_BIN, 1, MOST_BINS))
    return np.unique(np.quantile(sizes, np.linspace(0, 1, count + 1)[:-1]))


def _bins(flows: pd.DataFrame, edges: Floats) -> pd.DataFrame:
    sizes = flows["size_bytes"].to_numpy(dtype=float)
    index = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, edges.size - 1)
    slowdown = flows["slowdown"].to_numpy(dtype=float)
    grouped = pd.DataFrame({"bin": index, "size": sizes, "log": np.log(sizes), "slowdown": slowdown})
    rows = grouped.groupby("bin").agg(
        size=("log", "mean"),
        low=("size", "min"),
        high=("size", "max"),
        p50=("slowdown", "median"),
        p99=("slowdown", lambda values: values.quantile(0.99)),
        count=("slowdown", "size"),
    )
    return rows.assign(size=np.exp(rows["size"]))


def _column(flows: pd.DataFrame, column: str) -> Floats:
    values = flows[column].to_numpy(dtype=float)
    found: Floats = values[np.isfinite(values) & (values > 0)]
    return found


def _span(groups: Any) -> tuple[float, float]:
    values = np.concatenate([*groups])
    if values.size == 0:
        return 1e-3, 1.0
    low, high = float(values.min()), float(values.max())
    return low, max(high, low * 1.1)


def _shares(low: float) -> dict[str, Any]:
    ticks = np.linspace(low, 1, 5)
    names = [quantity("ratio", tick) if low else f"{tick:.0%}" for tick in ticks]
    return {"range": [low, 1 + 0.02 * (1 - low)], "tickvals": ticks.tolist(), "ticktext": names}
