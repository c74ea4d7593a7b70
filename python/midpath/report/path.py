"""Along a path: the state and the stored bytes of each port that a flow crosses, on one time axis. Each scheme
declares which gauges are the state, the store and its thresholds (`midpath.schemes`).

Lanes are in the order in which data crosses the ports, so that backpressure visibly moves upstream, hop by hop. All
lanes are in one plot: a lane is one unit of the vertical axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from midpath.palette import SEVERAL, name, tone_tint
from midpath.report.figure import Figure, Layout, Trace, compact, variant
from midpath.report.model import Model
from midpath.report.tracks import Curve, Floats, Tracks, label, thin
from midpath.schemes import Gauge, State, gauges_of
from midpath.topology.layout import is_map
from midpath.units import quantity

CACHE_POINTS = 240
# More cannot be read at a glance, and would make the page heavy.
MOST_PATHS = 8
MOST_LANES = 8
AXIS_PX = 60
# Up to where the store's area reaches in a lane, from its bottom at 0 to the next one's at 1.
AREA = 0.56
BAND_PX, LOOP_PX = 13, 4
# Thresholds nearer to each other than this share of a lane would have their names one over the other.
APART = 0.16
# A store that never held this share of its upper threshold would be a line at the bottom if that were in the picture.
NEAR = 0.25
# Room above the highest value.
ROOM = 1.05
ALARM = "alarm"
EVERYWHERE = "everywhere"


@dataclass(frozen=True)
class Room:
    """How high a lane is, and where in it are the line of what is slowed down, the band of the state, and the name."""

    px: int
    loop: float
    band: float
    title: float


WITH_STORE = Room(104, 0.62, 0.72, 0.9)
# Without an area below the band.
WITHOUT = Room(50, 0.12, 0.34, 0.76)


@dataclass(frozen=True)
class Stage:
    """What a scheme's ports show along a path: the name of its gauge of states, the states, the gauges of the store."""

    scheme: str
    state: str
    states: tuple[State, ...]
    parts: dict[str, Gauge]

    @property
    def alarms(self) -> list[float]:
        """The states in which a port asks others to slow down."""
        return [float(index) for index, state in enumerate(self.states) if state.tone == ALARM]

    @property
    def room(self) -> Room:
        """How its lanes are laid out."""
        return WITH_STORE if "store" in self.parts else WITHOUT

    def symbol(self, part: str) -> str:
        """What the paper calls a part, or what we do."""
        return (self.parts[part].symbol if part in self.parts else "") or part

    def tint(self, state: float) -> str:
        """The colour of a state, by its number."""
        return tone_tint(self.states[int(state)].tone)

    def word(self, state: float) -> str:
        """The name of a state, by its number."""
        return self.states[int(state)].name if state % 1 == 0 and state < len(self.states) else "several states"


@dataclass(frozen=True)
class Lane:
    """One port over time."""

    entity: str
    state: Curve
    cache: Curve
    closed: Curve
    high: float | None
    low: float | None
    alarms: tuple[float, ...]

    @property
    def eventful(self) -> bool:
        """Whether its state changed, its cache held something, or the hop after it slowed flows down here."""
        return any(bool((curve[1] > 0).any()) for curve in (self.state, self.cache, self.closed))

    @property
    def pressed_s(self) -> float | None:
        """When it first asked others to slow down."""
        at = self.state[0][np.isin(self.state[1], self.alarms)]
        return float(at[0]) if at.size else None

    @property
    def busy(self) -> float:
        """The share of time in which something was going on."""
        return float(np.mean((self.state[1] > 0) | (self.cache[1] > 0)))

    @property
    def most(self) -> float:
        """The most bytes that it stored."""
        return float(self.cache[1].max(initial=0.0))

    @property
    def near_high(self) -> bool:
        """Whether its store was so full that the upper threshold belongs into the picture."""
        return self.high is not None and self.most >= NEAR * self.high


def staged(model: Model) -> Stage | None:
    """The first scheme whose ports have told of their states, and what they show."""
    for scheme in model.schemes:
        gauges = gauges_of(model.runs[scheme][0].run, "port")
        recorded = {metric for entity, metric in model.tracks[scheme] if entity.startswith("port:")}
        state = next((gauge for gauge in gauges.values() if gauge.states and gauge.name in recorded), None)
        if state is not None:
            parts = {gauge.along: gauge for gauge in gauges.values() if gauge.along}
            return Stage(scheme, state.name, state.states, parts)
    return None


def state_timeline(model: Model) -> Figure | None:
    """The figure, if a scheme whose states have names has recorded them."""
    stage = staged(model)
    if stage is None:
        return None
    lanes = _lanes(stage, model.tracks[stage.scheme])
    run = model.runs[stage.scheme][0].run
    chosen, missing = _paths(run.get("paths") or [], lanes, _places(model.topology))
    if not chosen:
        return None
    end = _end(lanes)
    variants, options, notes = {}, {}, {}
    for key, (title, entities) in chosen.items():
        shown, note = _choose(stage, entities, lanes)
        variants[key] = variant(*_draw(stage, shown, end))
        options[key], notes[key] = title, note
    note = _note(stage) + (f" {missing} more paths are not drawn." if missing else "")
    keys = [(tone_tint(state.tone), state.name) for state in stage.states]
    if _joined(lanes):
        keys.append((tone_tint(SEVERAL), "several within one point"))
    if "slowed" in stage.parts:
        keys.append(("ink", LOOP_TEXT))
    return Figure("path", "Along a path", note, variants, "Path", options, keys=keys, notes=notes)


LOOP_TEXT = "thin line: slowed down by the next hop"


def _note(stage: Stage) -> str:
    """What there is to see."""
    order = "ports in the order in which data crosses them" + (", so backpressure moves up" if stage.alarms else "")
    text = f"{name(stage.scheme)}: {order}. Band: state"
    if "store" in stage.parts:
        meaning = stage.parts["store"].meaning
        text += f"; area: {meaning[:1].lower()}{meaning[1:]}"
    thresholds = [stage.symbol(part) for part in ("high", "low") if part in stage.parts]
    text += f", with dashed lines at {' and '.join(thresholds)}" if thresholds else ""
    return f"{text}."


def _lanes(stage: Stage, tracks: Tracks) -> dict[str, Lane]:
    """Ports that say what state they are in."""
    ports = (entity for entity, metric in tracks if metric == stage.state and entity.startswith("port:"))
    return {entity: _lane(stage, entity, tracks) for entity in ports}


def _lane(stage: Stage, entity: str, tracks: Tracks) -> Lane:
    state = tracks[entity, stage.state]
    nothing = (state[0], np.zeros_like(state[0]))

    def curve(part: str) -> Curve:
        return tracks.get((entity, stage.parts[part].name), nothing) if part in stage.parts else nothing

    def most(part: str) -> float | None:
        values = curve(part)[1]
        return float(values.max()) if values is not nothing[1] and values.size else None

    return Lane(entity, state, curve("store"), curve("slowed"), most("high"), most("low"), tuple(stage.alarms))


def _joined(lanes: dict[str, Lane]) -> bool:
    """Whether points are means over several samples, so that some hold several states."""
    return any(bool((lane.state[1] % 1 != 0).any()) for lane in lanes.values())


def _end(lanes: dict[str, Lane]) -> float:
    """When the last port has come to rest."""
    curves = [curve for lane in lanes.values() for curve in (lane.state, lane.cache, lane.closed)]
    ends = [float(times[values > 0].max()) for times, values in curves if (values > 0).any()]
    return max(ends, default=max(float(lane.state[0].max(initial=0.0)) for lane in lanes.values()))


def _paths(
    found: list[dict[str, Any]], lanes: dict[str, Lane], where: dict[str, str]
) -> tuple[dict[str, tuple[str, list[str]]], int]:
    """Paths by key, with a title and their ports; and how many are left out. Those that pushed back most come first."""
    flows: dict[tuple[str, ...], list[int]] = {}
    for path in found:
        flows.setdefault(tuple(path["nodes"]), []).append(int(path["flow"]))
    entities = {nodes: [f"port:{a}>{b}" for a, b in pairwise(nodes)] for nodes in flows}
    known = [nodes for nodes in flows if any(entity in lanes for entity in entities[nodes])]

    def rank(nodes: tuple[str, ...]) -> tuple[int, float]:
        mine = [lanes[entity] for entity in entities[nodes] if entity in lanes]
        return -sum(lane.pressed_s is not None for lane in mine), -sum(lane.busy for lane in mine)

    known.sort(key=rank)
    chosen = {
        f"flow:{flows[nodes][0]}": (_title(nodes, flows[nodes], where), entities[nodes]) for nodes in known[:MOST_PATHS]
    }
    drawn = {entity for _, ports in chosen.values() for entity in ports}
    pressed = {entity: lane.pressed_s for entity, lane in lanes.items() if lane.pressed_s is not None}
    if pressed.keys() - drawn:
        in_time = sorted(pressed, key=lambda entity: (pressed[entity], entity))
        chosen[EVERYWHERE] = ("all ports that pushed back, the first at the top", in_time)
    return chosen, len(known) - min(len(known), MOST_PATHS)


def _places(topology: dict[str, Any]) -> dict[str, str]:
    """Where each node of a map is, in words that people use; nothing for drawings without places."""
    if not is_map(topology):
        return {}
    return {node["name"]: node.get("label") or node["name"] for node in topology["nodes"] if node.get("x") is not None}


def _title(nodes: tuple[str, ...], flows: list[int], where: dict[str, str]) -> str:
    """Both ends; of a host without a place that of its router, and the host."""
    shown = ", ".join(map(str, flows[:3])) + (" …" if len(flows) > 3 else "")
    shown = f"flow{'s' if len(flows) > 1 else ''} {shown}"
    ends = f"{nodes[0]} → {nodes[-1]}"
    places = [where.get(end) or where.get(router) for end, router in ((nodes[0], nodes[1]), (nodes[-1], nodes[-2]))]
    if None in places:
        return f"{ends} ({shown})"
    named = f"{places[0]} → {places[1]}"
    return f"{named} ({shown})" if named == ends else f"{named} ({ends}, {shown})"


def _choose(stage: Stage, entities: list[str], lanes: dict[str, Lane]) -> tuple[list[Lane], str]:
    """The ports worth a lane, in their order, and what to say about the others."""
    known = [lanes[entity] for entity in entities if entity in lanes]
    eventful = [lane for lane in known if lane.eventful] or known
    busiest = sorted(eventful, key=lambda lane: -lane.busy)[:MOST_LANES]
    shown = [lane for lane in eventful if lane in busiest]
    left = {
        "Nothing happened at": [lane.entity for lane in known if lane not in eventful],
        "Less happened at": [lane.entity for lane in eventful if lane not in busiest],
        f"Without dashed lines, because {stage.symbol('high')} is far above:": [
            lane.entity for lane in shown if _far(lane)
        ],
        "Not recorded (measure.ports says how many are):": [entity for entity in entities if entity not in lanes],
    }
    return shown, " ".join(f"{what} {_listed(which)}." for what, which in left.items() if which)


def _listed(entities: list[str]) -> str:
    shown = ", ".join(label(entity) for entity in entities[:MOST_LANES])
    return shown + (f" and {len(entities) - MOST_LANES} more" if len(entities) > MOST_LANES else "")


def _draw(stage: Stage, lanes: list[Lane], end: float) -> tuple[list[Trace], Layout]:
    bottoms = [float(len(lanes) - 1 - index) for index in range(len(lanes))]
    # From the bottom, because the box that lists what is hovered over begins with the last.
    tops = _tops(lanes)
    upwards = list(zip(lanes, bottoms, tops, strict=True))[::-1]
    data = [trace for lane, bottom, top in upwards for trace in _areas(stage, lane, bottom, top)]
    data += [*_bands(stage, lanes, bottoms), *_loops(stage, lanes, bottoms)]
    marks = [mark for lane, bottom, top in upwards for mark in _marks(stage, lane, bottom, top)]
    layout = {
        "height": stage.room.px * len(lanes) + AXIS_PX,
        "margin": {"l": 8, "r": 10, "t": 4, "b": 44},
        "xaxis": {
            "title": {"text": "time (s)"},
            "range": [0, end * 1.01 or 1.0],
            "unifiedhovertitle": {"text": "at %{x:.4~g} s"},
        },
        "yaxis": {
            "range": [-0.04, len(lanes)],
            "fixedrange": True,
            "showgrid": False,
            "tickvals": [y for y, _, _ in marks],
            "ticktext": [text for _, text, _ in marks],
        },
        "hovermode": "x unified",
        "annotations": [_name(stage, lane, bottom) for lane, bottom in zip(lanes, bottoms, strict=True)],
        "shapes": [_dashes(y) for y, _, threshold in marks if threshold],
    }
    return data, layout


def _far(lane: Lane) -> bool:
    return lane.most > 0 and lane.high is not None and not lane.near_high


def _tops(lanes: list[Lane]) -> list[float]:
    """Bytes at the top of each lane: above its own threshold, or, where stores never came near it, the same for all."""
    common = max((lane.most for lane in lanes if not lane.near_high), default=0.0)
    return [ROOM * max(lane.most, lane.high or 0.0) if lane.near_high else ROOM * max(common, 1.0) for lane in lanes]


def _areas(stage: Stage, lane: Lane, bottom: float, top: float) -> Iterator[Trace]:
    """What the port stores, over its base; the hover text of the whole lane is here."""
    times, values = thin(*lane.cache, CACHE_POINTS)
    states = lane.state[1][np.searchsorted(lane.state[0], times).clip(max=lane.state[0].size - 1)]
    closed = lane.closed[1][np.searchsorted(lane.closed[0], times).clip(max=lane.closed[0].size - 1)]
    hover = {"hovertemplate": f"<b>{label(lane.entity)}</b>: %{{text}}<extra></extra>", "hoverinfo": "all"}
    base = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "meta": {"tint": "cache"}, "line": {"width": 1}}
    slowed = [", slowed down" if value > 0 else "" for value in closed]
    if "store" not in stage.parts:
        # Unseen, on the band.
        line = {"x": compact(times), "y": [bottom + stage.room.band] * times.size, "line": {"width": 0}}
        words = [f"{stage.word(state)}{text}" for state, text in zip(states, slowed, strict=True)]
        yield base | hover | line | {"text": words}
        return
    yield base | {"x": compact(times[[0, -1]]), "y": [bottom, bottom]}
    yield (
        base
        | {
            "x": compact(times),
            "y": compact(bottom + AREA * values / top),
            "fill": "tonexty",
            "text": [
                f"{stage.word(state)}, {quantity('bytes', held)}{text}"
                for state, held, text in zip(states, values, slowed, strict=True)
            ],
        }
        | hover
    )


def _bands(stage: Stage, lanes: list[Lane], bottoms: list[float]) -> Iterator[Trace]:
    """One trace per state, whatever the number of lanes and of changes."""
    tints = [*((float(index), stage.tint(index)) for index in range(len(stage.states))), (None, tone_tint(SEVERAL))]
    for number, tint in tints:
        xs: list[float] = []
        ys: list[float] = []
        for lane, bottom in zip(lanes, bottoms, strict=True):
            within = lane.state[1] == number if number is not None else lane.state[1] % 1 != 0
            for begin, end in _stretches(lane.state[0], within):
                xs += [begin, end, float("nan")]
                ys += [bottom + stage.room.band] * 2 + [float("nan")]
        if xs:
            yield _strip(xs, ys, tint, BAND_PX)


def _loops(stage: Stage, lanes: list[Lane], bottoms: list[float]) -> Iterator[Trace]:
    xs: list[float] = []
    ys: list[float] = []
    for lane, bottom in zip(lanes, bottoms, strict=True):
        for begin, end in _stretches(lane.closed[0], lane.closed[1] > 0):
            xs += [begin, end, float("nan")]
            ys += [bottom + stage.room.loop] * 2 + [float("nan")]
    if xs:
        yield _strip(xs, ys, "ink", LOOP_PX)


def _strip(xs: list[float], ys: list[float], tint: str, width: int) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": compact(xs),
        "y": compact(ys),
        "hoverinfo": "skip",
        "line": {"width": width},
        "meta": {"tint": tint},
    }


def _stretches(times: Floats, within: Any) -> Iterator[tuple[float, float]]:
    """From when to when a condition held; a point stands for the interval that ends at its time."""
    if not times.size:
        return
    edges = np.diff(np.concatenate([[0], np.asarray(within, dtype=int), [0]]))
    starts = np.concatenate([[max(2 * times[0] - times[1], 0.0) if times.size > 1 else 0.0], times])
    for begin, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        yield float(starts[begin]), float(times[end - 1])


def _marks(stage: Stage, lane: Lane, bottom: float, top: float) -> list[tuple[float, str, bool]]:
    """Heights with a name, and whether they are thresholds: the upper, the lower if there is room; else the scale."""
    if not lane.most:
        return []
    if lane.high is None or not lane.near_high:
        return [(bottom + AREA / ROOM, quantity("bytes", top / ROOM), False)]
    high = (bottom + AREA * lane.high / top, f"{_subscript(stage.symbol('high'))} {quantity('bytes', lane.high)}", True)
    if lane.low is None or (lane.high - lane.low) * AREA / top < APART:
        return [high]
    low = f"{_subscript(stage.symbol('low'))} {quantity('bytes', lane.low)}"
    return [high, (bottom + AREA * lane.low / top, low, True)]


def _subscript(symbol: str) -> str:
    """A paper's symbol for plotly: `S_high` with its index below the line."""
    letter, _, index = symbol.partition("_")
    return f"{letter}<sub>{index}</sub>" if index else letter


def _dashes(y: float) -> Layout:
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": {"width": 1, "dash": "dash"}}


def _name(stage: Stage, lane: Lane, bottom: float) -> Layout:
    return {
        "text": f"<b>{label(lane.entity)}</b>",
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": bottom + stage.room.title,
        "yanchor": "middle",
        "showarrow": False,
    }
