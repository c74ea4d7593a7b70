"""The data format of figures from Python to the page, and shared helpers. A figure holds data and its specific
settings. Fonts, grid, and colours belong to the page: a trace only names its scheme (`meta.scheme`), its colour
(`meta.tint`) or its step on the ramp (`meta.ramp`), so that one legend and one theme rule all figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from midpath.units import plain, quantity, scale

Trace = dict[str, Any]
Layout = dict[str, Any]

# Below this ratio of its ends, a logarithmic axis has too few decades and halves to be read by.
NARROW = 8.0
# Above this one, decades are enough.
WIDE = 300.0
MOST_TICKS = 5


@dataclass(frozen=True)
class Figure:
    """One plot; with several variants, the page lets the reader choose."""

    id: str
    title: str
    note: str
    variants: dict[str, dict[str, Any]]
    choose: str = ""
    options: dict[str, str] = field(default_factory=dict)
    height: int = 360
    # What colours mean (`meta.tint`), under which head each choice is, and what to say below the plot of each.
    keys: list[tuple[str, str]] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """What report.js reads; the rest is in the page as text."""
        return {"variants": self.variants}


def variant(data: list[Trace], layout: Layout) -> dict[str, Any]:
    """One state of a figure."""
    return {"data": data, "layout": layout}


def single(data: list[Trace], layout: Layout) -> dict[str, dict[str, Any]]:
    """The variants of a figure that has only one."""
    return {"": variant(data, layout)}


def line(scheme: str, x: Iterable[float], y: Iterable[float], text: list[str], **more: Any) -> Trace:
    """A line in the colour of its scheme."""
    trace: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": compact(x),
        "y": compact(y),
        "text": text,
        "hoverinfo": "text",
        "meta": {"scheme": scheme},
    }
    return trace | more


def compact(values: Iterable[float]) -> list[float | None]:
    """Numbers to five digits: nobody sees more, and the page stays small. What is not a number is left out."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]


def log_axis(kind: str, low: float, high: float, title: str) -> Layout:
    """A logarithmic axis with decades named in units people use."""
    ticks = log_ticks(low, high)
    pad = 0.03 * max(math.log10(high / low), 0.5)
    return {
        "type": "log",
        "title": {"text": title},
        "tickvals": ticks,
        "ticktext": [plain(kind, tick) for tick in ticks],
        "range": [math.log10(low) - pad, math.log10(high) + pad],
    }


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`: decades, their halves and fifths, or even steps where the range is narrow."""
    if high / low < NARROW:
        step = 10.0 ** math.floor(math.log10(high - low))
        step *= next(times for times in (0.2, 0.5, 1.0, 2.0) if (high - low) / (step * times) <= MOST_TICKS)
        return [round(number * step, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [1.0] if high / low > WIDE else [1.0, 2.0, 5.0]
    return [step * 10.0**decade for decade in range(first, last + 1) for step in steps]


def linear_axis(kind: str, high: float, title: str, low: float = 0.0) -> tuple[float, Layout]:
    """What to divide values by, and an axis that names the unit: from zero, or from the end of a bar below it."""
    factor, suffix = scale(kind, high)
    top = high / factor * 1.06 if high > 0 else 1.0
    return factor, {"title": {"text": f"{title} ({suffix})"}, "range": [min(low / factor * 1.06, 0), top]}


def hover(head: str, *pairs: tuple[str, str, float]) -> str:
    """A hover text: what it is about, then figures as (label, kind, value)."""
    return "<br>".join([f"<b>{head}</b>", *(f"{label} {quantity(kind, value)}" for label, kind, value in pairs)])
