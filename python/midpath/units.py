"""Formatting of quantities: three digits and a unit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from midpath.errors import UsageError

# Per kind: (factor, suffix) from small to large; the first whose factor the value reaches from above is used.
SCALES: dict[str, list[tuple[float, str]]] = {
    "seconds": [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
    "bps": [(1.0, "bps"), (1e3, "kbps"), (1e6, "Mbps"), (1e9, "Gbps"), (1e12, "Tbps")],
    "bytes": [(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
    "ratio": [(1e-2, "%")],
    "times": [(1.0, "×")],
    "index": [(1.0, "")],
    "count": [(1.0, "")],
    "dollars": [(1.0, "$")],
    "dollars_per_s": [(1.0, "$/s")],
    "dollars_per_byte": [(1.0, "$/B")],
}

# In which values of a kind stand in files. "1": a fraction of one, a multiple, a number.
UNITS: dict[str, str] = {
    "seconds": "s",
    "bps": "bps",
    "bytes": "B",
    "ratio": "1",
    "times": "1",
    "index": "1",
    "count": "1",
    "dollars": "$",
    "dollars_per_s": "$/s",
    "dollars_per_byte": "$/B",
}

AMOUNT = re.compile(r"\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*(\D*?)\s*")


def parse(kind: str, text: str) -> float:
    """What a user wrote on the command line or in a scenario: `100 Gbps`, `64B`."""
    units = {suffix: factor for factor, suffix in SCALES[kind]}
    # As scenarios and keyboards have it.
    text = text.replace("us", "µs")
    found = AMOUNT.fullmatch(text)
    try:
        if found is not None and found[2] in units:
            return float(found[1]) * units[found[2]]
    except ValueError:
        pass
    raise UsageError(f"{text!r} is not a number and one of {', '.join(units)}")


def scale(kind: str, value: float) -> tuple[float, str]:
    """The unit in which `value` reads best: what to divide by, and its name."""
    steps = SCALES[kind]
    size = abs(value)
    if size == 0 or not math.isfinite(size):
        return (1.0, "s") if kind == "seconds" else steps[0]
    # 999.95 ms is written "1.00 s", not "1000 ms".
    fitting = [step for step in steps if size >= step[0] * 0.9995]
    return fitting[-1] if fitting else steps[0]


def digits(value: float) -> str:
    """Three significant digits, thousands apart, no exponent where none is needed."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    value = float(f"{value:.3g}") if abs(value) < 1000 else value
    places = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-12))
    if places > 6:
        return f"{value:.1e}"
    return f"{value:,.{places}f}"


def quantity(kind: str, value: float | None, ci95: float | None = None) -> str:
    """`61.2 ms`, or `61.2 ± 1.3 ms`; an en dash where there is no value."""
    if value is None or not math.isfinite(value):
        return "–"
    if kind == "count":
        number = f"{round(value):,}" if ci95 is None else digits(value)
        return number if not ci95 else f"{number} ± {digits(ci95)}"
    if kind == "bytes" and 0 < value < 1 and ci95 is None:
        return "<\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}B"
    factor, suffix = scale(kind, value)
    number = f"{value:.3f}" if kind == "index" else digits(value / factor)
    if ci95 is not None:
        number = f"{number} ± {_like(number, ci95 / factor)}"
    space = "" if suffix in ("", "×") else "\N{NO-BREAK SPACE}"
    return f"{number}{space}{suffix}"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def duration(seconds: float) -> str:
    """A time that people wait for: `40 s`, `12 min`, `3.5 h`, `20 days`."""
    for size, name in ((86_400 * 2, "days"), (5400, "h"), (90, "min")):
        if seconds >= size:
            amount = seconds / {"days": 86_400, "h": 3600, "min": 60}[name]
            return f"{amount:,.{0 if name == 'min' or amount >= 10 else 1}f} {name}"
    return f"{seconds:.0f} s"


def plain(kind: str, value: float) -> str:
    """A round number: `10 ms`, not `10.0 ms`."""
    factor, suffix = scale(kind, value)
    return f"{value / factor:g}{'' if suffix in ('', '×') else ' '}{suffix}"


def _like(number: str, error: float) -> str:
    """An error with as many decimals as its mean has."""
    if "e" in number:
        return digits(error)
    return f"{error:,.{len(number.partition('.')[2])}f}"
