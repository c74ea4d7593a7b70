"""Gauges of ports and flows over time: any series that no other figure draws.

Where one scheme has a metric, one plot has several of its ports or flows; where several schemes have it, a plot is of
one port or flow and has a line per scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from midpath.palette import ENTITIES, name
from midpath.report.figure import Figure, Layout, Trace, compact, variant
from midpath.report.model import Model
from midpath.report.path import staged
from midpath.report.tracks import Curve, label, thin
from midpath.schemes import Gauge as Described
from midpath.schemes import gauges_of
from midpath.units import SCALES, scale

POINTS = 240
MOST_ENTITIES = len(ENTITIES)
# Drawn by figures of their own.
ELSEWHERE = {("port", "queue_bytes")}
# What the simulator itself records of every scheme; a scheme's own numbers come first.
COMMON = {"throughput_bps", "utilisation", "goodput_bps", "cwnd_bytes", "srtt_s", "rate_bps"}
# What a metric is measured in that its scheme says nothing of: by the end of its name, as in the tables.
SUFFIXES = {"_bps": "bps", "_bytes": "bytes", "_s": "seconds"}
KINDS = {"utilisation": "ratio"}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CLICK = " Click a name to hide its line, twice to see it alone."
GROUPS = {"port": "Ports", "flow": "Flows"}


@dataclass(frozen=True)
class Gauge:
    """One metric of ports or of flows: curves by scheme and entity."""

    entity: str
    metric: str
    curves: Mapping[str, Mapping[str, Curve]]
    about: Described | None = None

    @property
    def title(self) -> str:
        """The metric in words; its unit is on the axis."""
        suffix = next((suffix for suffix in SUFFIXES if self.metric.endswith(suffix)), "")
        return self.metric.removesuffix(suffix).replace("_", " ")

    @property
    def kind(self) -> str:
        """What it is measured in, as `midpath.units` calls it."""
        if self.about is not None and self.about.unit in SCALES:
            return self.about.unit
        suffix = next((suffix for suffix in SUFFIXES if self.metric.endswith(suffix)), "")
        return KINDS.get(self.metric) or SUFFIXES.get(suffix, "count")

    @property
    def busiest(self) -> list[str]:
        """Ports and flows where it moves, most first."""
        moves: dict[str, float] = {}
        for curves in self.curves.values():
            for entity, (_, values) in curves.items():
                finite = values[np.isfinite(values)]
                moves[entity] = max(moves.get(entity, 0.0), float(np.ptp(finite)) if finite.size else 0.0)
        return sorted((entity for entity in moves if moves[entity] > 0), key=lambda entity: -moves[entity])


def gauges(model: Model) -> Figure | None:
    """The figure; nothing where nothing was recorded."""
    found = list(_gauges(model))
    moving = sorted((gauge for gauge in found if gauge.busiest), key=_rank)
    if not moving:
        return None
    variants, options, groups, notes = {}, {}, {}, {}
    for gauge in moving:
        for key, (text, data, layout, note) in _variants(gauge, len(model.schemes)).items():
            variants[key], options[key], notes[key] = variant(data, layout), text, note
            groups[key] = GROUPS[gauge.entity]
    still = dict.fromkeys(gauge.metric for gauge in found if not gauge.busiest)
    note = f"What else was recorded{_of_seed(model)}."
    note += f" Never changed, so not drawn: {', '.join(still)}." if still else ""
    return Figure(
        "gauges", "Ports and flows over time", note, variants, "Show", options, height=400, groups=groups, notes=notes
    )


def _gauges(model: Model) -> Iterator[Gauge]:
    found: dict[tuple[str, str], dict[str, dict[str, Curve]]] = {}
    about: dict[tuple[str, str], Described] = {}
    along_paths = staged(model)
    for scheme, tracks in model.tracks.items():
        own = {kind: gauges_of(model.runs[scheme][0].run, kind) for kind in GROUPS}
        elsewhere = ELSEWHERE | (
            {("port", along_paths.state)} if along_paths and along_paths.scheme == scheme else set()
        )
        for (entity, metric), curve in tracks.items():
            kind = entity.partition(":")[0]
            if kind not in GROUPS or (kind, metric) in elsewhere:
                continue
            if metric in own[kind]:
                about.setdefault((kind, metric), own[kind][metric])
            found.setdefault((kind, metric), {}).setdefault(scheme, {})[entity] = curve
    return (Gauge(kind, metric, curves, about.get((kind, metric))) for (kind, metric), curves in found.items())


def _rank(gauge: Gauge) -> tuple[bool, bool, bool, str]:
    """A scheme's own numbers first, ports before flows, quantities before counts."""
    return gauge.entity != "port", gauge.metric in COMMON, gauge.kind == "count", gauge.metric


def _variants(gauge: Gauge, schemes: int) -> dict[str, tuple[str, list[Trace], Layout, str]]:
    key, shown = f"{gauge.entity}/{gauge.metric}", gauge.busiest[:MOST_ENTITIES]
    if len(gauge.curves) == 1:
        ((scheme, curves),) = gauge.curves.items()
        factor, layout = _axes(gauge, shown)
        data = [
            _line(gauge, label(entity), curves[entity], factor, {"tint": tint, "legend": True})
            for entity, tint in zip(shown, ENTITIES, strict=False)
        ]
        title = gauge.title if schemes == 1 else f"{gauge.title} ({name(scheme)})"
        return {key: (title, data, layout, _left(gauge, scheme, curves))}
    return {
        f"{key}/{entity}": (f"{gauge.title}: {label(entity)}", *_by_scheme(gauge, entity), _choice(gauge, shown))
        for entity in shown
    }


def _by_scheme(gauge: Gauge, entity: str) -> tuple[list[Trace], Layout]:
    factor, layout = _axes(gauge, [entity])
    data = [
        _line(gauge, name(scheme), curves[entity], factor, {"scheme": scheme})
        for scheme, curves in gauge.curves.items()
        if entity in curves
    ]
    return data, layout


def _left(gauge: Gauge, scheme: str, curves: Mapping[str, Curve]) -> str:
    moving, what = len(gauge.busiest), GROUPS[gauge.entity].lower()
    shown = min(moving, MOST_ENTITIES)
    still = len(curves) - moving
    text = f"{name(scheme)}, {_words(gauge)}: "
    text += f"the {shown} of {moving} {what} where it moves most" if shown < moving else f"{shown} {what}"
    return text + (f"; at {still} more it never changed." if still else ".") + CLICK


def _choice(gauge: Gauge, shown: list[str]) -> str:
    left = len(gauge.busiest) - len(shown)
    more = f"; {left} more {GROUPS[gauge.entity].lower()} where it moves less are left out" if left else ""
    return f"{_words(gauge)}, a line per scheme{more}."


def _words(gauge: Gauge) -> str:
    """The metric and what it says."""
    about = gauge.about
    if about is None or not about.meaning:
        return gauge.metric
    symbol = f"{about.symbol}, " if about.symbol else ""
    return f"{gauge.metric} ({symbol}{about.meaning[:1].lower()}{about.meaning[1:]})"


def _axes(gauge: Gauge, entities: list[str]) -> tuple[float, Layout]:
    """What to divide values by, and the axes."""
    curves = [curves[entity] for curves in gauge.curves.values() for entity in entities if entity in curves]
    values = np.concatenate([thin(*curve, POINTS)[1] for curve in curves])
    values = values[np.isfinite(values)]
    low, high = min(0.0, float(values.min(initial=0.0))), float(values.max(initial=0.0))
    factor, unit = _unit(gauge.kind, max(-low, high))
    y_axis: Layout = {
        "title": {"text": f"{gauge.title} ({unit})" if unit else gauge.title},
        "range": [low / factor * 1.06, high / factor * 1.06],
    }
    if gauge.about is not None and gauge.about.states:
        names = [state.name for state in gauge.about.states]
        y_axis |= {"title": {"text": gauge.title}, "tickvals": list(range(len(names))), "ticktext": names}
    ends = [float(times[values != 0].max()) for times, values in curves if (values != 0).any()]
    x_axis: Layout = {"title": {"text": "time (s)"}} | ({"range": [0, max(ends) * 1.02]} if ends else {})
    return factor, {"xaxis": x_axis, "yaxis": y_axis, "showlegend": True}


def _unit(kind: str, high: float) -> tuple[float, str]:
    """A unit in which the largest value has few digits; powers of ten where the unit has no names for them."""
    if len(SCALES[kind]) > 1 or kind == "ratio":
        return scale(kind, high)
    suffix = scale(kind, high)[1]
    power = 3 * math.floor(math.log10(high) / 3) if high > 0 else 0
    if -3 <= power <= 3:
        return 1.0, suffix
    return 10.0**power, f"10{str(power).translate(RAISED)} {suffix}".strip()


def _line(gauge: Gauge, text: str, curve: Curve, factor: float, meta: dict[str, object]) -> Trace:
    times, values = thin(*curve, POINTS)
    unit = _unit(gauge.kind, factor)[1]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text,
        "x": compact(times),
        "y": compact(values / factor),
        "hovertemplate": f"<b>{text}</b><br>%{{y:.4~g}} {unit}<br>at %{{x:.4~g}} s<extra></extra>",
        "line": {"width": 1.75},
        "meta": meta,
    }


def _of_seed(model: Model) -> str:
    return f"; seed {model.seeds[0]} of {len(model.seeds)}" if len(model.seeds) > 1 else ""
