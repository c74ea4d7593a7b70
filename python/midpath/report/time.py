"""Figures over time: goodput and queues."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from midpath.palette import name
from midpath.report.figure import Figure, Trace, hover, line, linear_axis, single, variant
from midpath.report.model import Model
from midpath.report.tracks import Curve, thin

# Few enough for curves of several schemes to be told apart; finer detail is in the series table.
GOODPUT_POINTS = 120
QUEUE_POINTS = 240
PORTS_TO_CHOOSE = 6


def goodput(model: Model) -> Figure:
    """What all flows together deliver: the rate where it was recorded, else the bytes of the flows that have ended."""
    recorded = {scheme: _recorded(series) for scheme, series in model.series.items()}
    curves = {scheme: curve for scheme, curve in recorded.items() if curve is not None}
    if len(curves) < len(recorded):
        return _delivered(model)
    note = f"Bytes that reach receivers, all flows together{_of_seed(model)}."
    high = max((float(y.max()) for _, y in curves.values() if y.size), default=0.0)
    factor, y_axis = linear_axis("bps", high, "goodput")
    data = [_line(scheme, curve, "bps", factor) for scheme, curve in curves.items()]
    return Figure(
        "goodput", "Goodput over time", note, single(data, {"xaxis": _seconds(curves.values()), "yaxis": y_axis})
    )


def _delivered(model: Model) -> Figure:
    """Bytes over time: no course of a flow was recorded, and means of flows, added up, can exceed every link."""
    curves = {scheme: _ended(model, scheme) for scheme in model.schemes}
    factor, y_axis = linear_axis("bytes", max(float(y.max()) for _, y in curves.values()), "delivered")
    data = [_line(scheme, curve, "bytes", factor) for scheme, curve in curves.items()]
    note = (
        "Each flow's bytes count when it ends, of one that did not end at the end of the run; measure.series = true "
        f"records the goodput over time{_of_seed(model)}."
    )
    # Up to where the last curve comes to rest.
    moves = [(times, np.flatnonzero(np.diff(total))) for times, total in curves.values()]
    end = max((float(times[rows[-1] + 1]) for times, rows in moves if rows.size), default=0.0)
    x_axis = {"title": {"text": "time (s)"}} | ({"range": [0, end * 1.02]} if end else {})
    return Figure("goodput", "Bytes delivered over time", note, single(data, {"xaxis": x_axis, "yaxis": y_axis}))


def _recorded(series: pd.DataFrame) -> Curve | None:
    found = series[series["metric"] == "goodput_bps"]
    groups = found[found["entity"].astype(str).str.startswith("group:")]
    found = groups if len(groups) else found
    if not len(found):
        return None
    total = found.groupby("time_s")["value"].sum()
    return thin(total.index.to_numpy(dtype=float), total.to_numpy(dtype=float), GOODPUT_POINTS)


def _ended(model: Model, scheme: str) -> Curve:
    run = model.runs[scheme][0]
    flows, stop = run.flows.to_pandas(), float(run.run["simulated_s"])
    ends = (flows["start_s"] + flows["fct_s"]).fillna(stop).to_numpy(dtype=float)
    order = np.argsort(ends, kind="stable")
    total = np.append(0.0, np.cumsum(flows["delivered_bytes"].fillna(0).to_numpy(dtype=float)[order]))
    times = np.linspace(0, max(stop, 1e-12), GOODPUT_POINTS + 1)
    return times, total[np.searchsorted(ends[order], times, side="right")]


def _line(scheme: str, curve: Curve, kind: str, factor: float) -> Trace:
    text = [hover(name(scheme), ("", kind, value), ("at", "seconds", time)) for time, value in zip(*curve, strict=True)]
    return line(scheme, curve[0], curve[1] / factor, text, line={"width": 1.75})


def queues(model: Model) -> Figure:
    """Queue lengths over time at the fullest ports; their percentiles if no series was recorded."""
    recorded = {scheme: series[series["metric"] == "queue_bytes"] for scheme, series in model.series.items()}
    ports = _fullest(recorded, _hosts(model))
    if not ports:
        return _queue_percentiles(model)
    variants = {port: _queue_variant(recorded, port) for port in ports}
    note = f"Bytes waiting at a port; the {len(variants)} fullest can be chosen{_of_seed(model)}."
    labels = {port: port.removeprefix("port:").replace(">", " → ") for port in ports}
    return Figure("queue", "Queue over time", note, variants, "Port", labels)


def _hosts(model: Model) -> set[str]:
    return {node["name"] for node in model.topology["nodes"] if node.get("kind") == "host"}


def _fullest(recorded: dict[str, pd.DataFrame], hosts: set[str]) -> list[str]:
    """The ports where most waits, those of the network first: a host's own queue is its application's waiting."""
    found = pd.concat([series.astype({"entity": str}) for series in recorded.values()])
    means = found.groupby("entity")["value"].mean().sort_values(ascending=False, kind="stable")
    ports = [str(port) for port in means[means > 0].index]
    ports.sort(key=lambda port: port.removeprefix("port:").partition(">")[0] in hosts)
    return ports[:PORTS_TO_CHOOSE]


def _queue_variant(recorded: dict[str, pd.DataFrame], port: str) -> dict[str, object]:
    curves = {}
    for scheme, series in recorded.items():
        found = series[series["entity"] == port]
        times, values = (found[column].to_numpy(dtype=float) for column in ("time_s", "value"))
        curves[scheme] = thin(times, values, QUEUE_POINTS)
    high = max((float(y.max()) for _, y in curves.values() if y.size), default=0.0)
    factor, y_axis = linear_axis("bytes", high, "queue")
    data = [
        line(
            scheme,
            times,
            values / factor,
            [hover(name(scheme), ("", "bytes", v), ("at", "seconds", t)) for t, v in zip(times, values, strict=True)],
            line={"width": 1.5},
        )
        for scheme, (times, values) in curves.items()
    ]
    return variant(data, {"xaxis": _seconds(curves.values()), "yaxis": y_axis})


def _queue_percentiles(model: Model) -> Figure:
    """A range from median to 99th percentile per scheme, at the ports where packets wait longest."""
    worst = pd.concat(model.ports.values()).groupby("label")["delay_p99_s"].max()
    names = [str(label) for label in worst.sort_values(ascending=False, kind="stable")[:PORTS_TO_CHOOSE].index]
    factor, x_axis = linear_axis("seconds", float(worst.fillna(0.0).max() or 0.0), "queueing delay")
    # Room for the marks of ports where nothing waits.
    x_axis["range"][0] = -0.02 * x_axis["range"][1]
    data: list[Trace] = []
    spread = 0.6 / max(len(model.schemes), 1)
    for place, (scheme, ports) in enumerate(model.ports.items()):
        rows = ports.set_index("label").reindex(names)
        shift = (place - (len(model.schemes) - 1) / 2) * spread
        data += _ranges(scheme, rows, factor, shift)
    y_axis = {
        "tickvals": list(range(len(names))),
        "ticktext": names,
        "autorange": "reversed",
        "automargin": True,
    }
    note = (
        "Per port, from the median (hollow) to the 99th percentile (filled); measure.series = true records the course."
    )
    return Figure("queue", "Queueing delay", note, single(data, {"xaxis": x_axis, "yaxis": y_axis}))


def _ranges(scheme: str, rows: pd.DataFrame, factor: float, shift: float) -> list[Trace]:
    traces: list[Trace] = []
    for index, (p50, p99) in enumerate(rows[["delay_p50_s", "delay_p99_s"]].itertuples(index=False)):
        text = hover(name(scheme), ("median", "seconds", p50), ("99th percentile", "seconds", p99))
        marker = {"size": 9, "symbol": ["circle-open", "circle"]}
        y = [index + shift] * 2
        traces.append(line(scheme, np.array([p50, p99]) / factor, y, [text] * 2, mode="lines+markers", marker=marker))
    return traces


def _of_seed(model: Model) -> str:
    return f"; seed {model.seeds[0]} of {len(model.seeds)}" if len(model.seeds) > 1 else ""


def _seconds(curves: Iterable[Curve | None]) -> dict[str, object]:
    """The time axis, up to where the last curve comes to rest."""
    busy = [float(curve[0][curve[1] > 0].max()) for curve in curves if curve is not None and (curve[1] > 0).any()]
    return {"title": {"text": "time (s)"}} | ({"range": [0, max(busy) * 1.02]} if busy else {})
