"""Faults of a run, marked in the figures over time: a band while a link is down, a line for the rest."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from midpath.report.figure import Figure, Layout
from midpath.report.model import Model
from midpath.units import quantity

# As the simulator reads a time, which has accepted these already (crates/core/src/units.rs).
TIME = re.compile(r"\s*\+?([\d._]+(?:[eE][+-]?\d+)?)\s*(\D*?)\s*")
SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("us", "µs", "μs"), 1e-6),
    "ms": 1e-3,
    "ns": 1e-9,
    "ps": 1e-12,
    "min": 60.0,
    "h": 3600.0,
}
# More would hide the curves, and fill the note.
MOST_MARKS, MOST_NAMED = 60, 4
# Grey that is seen in the light and in the dark, and lets curves through.
BAND = "rgba(128,138,150,.2)"


@dataclass(frozen=True)
class Fault:
    """What happened, from when on, and until when if it was undone."""

    what: str
    at: float
    until: float | None = None

    @property
    def said(self) -> str:
        """In words."""
        if self.until is None:
            return f"{self.what} at {quantity('seconds', self.at)}"
        return f"{self.what} from {quantity('seconds', self.at)} to {quantity('seconds', self.until)}"


def faults_of(model: Model) -> list[Fault]:
    """The faults of the scenario that happened before the run ended, in order."""
    try:
        given = tomllib.loads(model.scenario).get("fault", [])
    except tomllib.TOMLDecodeError:
        # A measurement's result says in other words what was measured.
        return []
    end = float(model.first.run["simulated_s"])
    found = sorted(given, key=lambda fault: seconds(fault["at"]))
    faults = [_fault(fault, found, end) for fault in found if fault["kind"] != "link-up"]
    return [fault for fault in faults if fault.at < end]


def _fault(fault: dict[str, Any], every: list[dict[str, Any]], end: float) -> Fault:
    at, kind = seconds(fault["at"]), fault["kind"]
    if kind == "restart":
        return Fault(f"{fault['node']} restarts", at)
    link = " – ".join(fault["link"])
    if kind != "link-down":
        return Fault(f"{link} changes to {fault[kind]}", at)
    back = [fault["until"]] if "until" in fault else []
    back += [other["at"] for other in every if other["kind"] == "link-up" and set(other["link"]) == set(fault["link"])]
    return Fault(f"{link} is down", at, min((t for t in map(seconds, back) if t > at), default=end))


def seconds(text: str) -> float:
    """A time of a scenario."""
    number, unit = TIME.fullmatch(text).groups()  # type: ignore[union-attr]
    return float(number.replace("_", "")) * SECONDS[unit]


def marked(figure: Figure, faults: list[Fault]) -> Figure:
    """The figure with its faults, if it is one over time."""
    shown = faults[:MOST_MARKS]
    if not shown or not all(_over_time(state["layout"]) for state in figure.variants.values()):
        return figure
    shapes = [_shape(fault) for fault in shown]
    variants = {key: state | {"layout": _with(state["layout"], shapes)} for key, state in figure.variants.items()}
    named = "; ".join(fault.said for fault in shown[:MOST_NAMED])
    more = len(faults) - min(len(faults), MOST_NAMED)
    note = f"{figure.note} Marked in grey: {named}{f'; and {more} more faults' if more else ''}."
    return dataclasses.replace(figure, variants=variants, note=note)


def _over_time(layout: Layout) -> bool:
    title: dict[str, Any] = layout.get("xaxis", {}).get("title", {})
    return bool(title.get("text") == "time (s)")


def _with(layout: Layout, shapes: list[Layout]) -> Layout:
    return layout | {"shapes": [*shapes, *layout.get("shapes", [])]}


def _shape(fault: Fault) -> Layout:
    place = {"x0": fault.at, "x1": fault.at, "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    if fault.until is None:
        return place | {"type": "line", "line": {"width": 1.5, "dash": "dot"}}
    return place | {"type": "rect", "x1": fault.until, "fillcolor": BAND, "line": {"width": 0}}
