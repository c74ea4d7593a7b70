"""Pictures: what came of a case over time, and verdicts of many schemes as a table of marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from midpath.evaluate.facts import CORE, SUBJECT, Facts
from midpath.evaluate.found import Evaluation
from midpath.evaluate.verdict import FAILED, HOLDS, NOT, OFF, TEXT, UNBUILT, UNDECIDED
from midpath.units import quantity

# Okabe and Ito's: the scheme, TCP in its place, other groups.
MINE, THEIRS, OTHERS = "#0072B2", "#7A828C", "#D55E00"
WIDTH, HEIGHT, LEFT, GAP, BELOW = 576, 150, 78, 96, 18
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#4A5560}.grid{stroke:#D5DBE1}"
    "path{fill:none;stroke-width:1.4;vector-effect:non-scaling-stroke}"
)
# Shapes say the same as colours.
MARKS = {
    HOLDS: ("#0072B2", "M-5 0 l4 4 l7 -8"),
    NOT: ("#D55E00", "M-5 -5 L5 5 M5 -5 L-5 5"),
    UNDECIDED: ("#8A6100", "M-6 0 q3 -5 6 0 t6 0"),
    FAILED: ("#9B0000", "M0 -6 V2 M0 5 V6"),
    OFF: ("#AEB6BF", "M-4 0 H4"),
    TEXT: ("#AEB6BF", "M-4 0 H4"),
    UNBUILT: ("#AEB6BF", "M-4 0 H4"),
}


def over_time(case: str, mine: Facts, theirs: Facts | None) -> str:
    """Goodput by group above, the bottleneck's queue below; NewReno's in the scheme's place is grey."""
    stop = float(mine.told["simulated_s"])
    rate = float(mine.core["rate_bps"])
    groups = [(f"group:{SUBJECT} goodput_bps", MINE)] if SUBJECT in mine.groups else []
    groups += [(f"group:{name} goodput_bps", OTHERS) for name in mine.groups if name != SUBJECT]
    queue = f"port:{CORE} queue_bytes"
    above = [(mine.series(name), colour) for name, colour in groups]
    below = [(mine.series(queue), MINE)]
    if theirs:
        above.insert(0, (theirs.series(groups[0][0]), THEIRS))
        below.insert(0, (theirs.series(queue), THEIRS))
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(case)}: goodput and queue over time"><style>{STYLE}</style>',
        *_panel(above, 4, GAP - 24, stop, mine, "bps"),
        *_panel(below, GAP, HEIGHT - GAP - BELOW, stop, mine, "seconds", 8 / rate),
        f'<text x="{LEFT}" y="{HEIGHT - 3}">0</text>',
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 3}" text-anchor="end">{quantity("seconds", stop)}</text></svg>',
    ])  # fmt: skip


def _panel(
    lines: Sequence[tuple[Sequence[float], str]],
    top: int,
    height: int,
    stop: float,
    facts: Facts,
    kind: str,
    factor: float = 1.0,
) -> Iterator[str]:
    most = max((max(values) * factor for values, _ in lines if values), default=0.0) or 1.0
    yield f'<path class="grid" d="M{LEFT} {top} H{WIDTH} M{LEFT} {top + height} H{WIDTH}"/>'
    yield f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{quantity(kind, most)}</text>'
    first, step = facts.told["first_s"], facts.told["interval_s"]
    for values, colour in lines:
        points = (
            f"{LEFT + (first + step * i) / stop * (WIDTH - LEFT):.1f} {top + height * (1 - value * factor / most):.1f}"
            for i, value in enumerate(values)
        )
        yield f'<path stroke="{colour}" d="M{" L".join(points)}"/>' if values else ""


def overview(found: Evaluation) -> str:
    """Every scheme in every item: a mark each."""
    schemes, items = found.told["subjects"], found.told["items"]
    left, top, cell, line = 150, 96, 30, 24
    width, height = left + cell * len(items) + 8, top + line * len(schemes) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="Verdicts of schemes by item of RFC 9743">',
        "<style>text{font:13px system-ui,sans-serif;fill:#16202B}path{fill:none;stroke-width:2.4}"
        ".grid{stroke:#E3E8EC;stroke-width:1}.must{font-weight:bold}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    levels = {row["item"]: row["level"] for row in found.told["rows"]}
    titles = {row["item"]: row["title"] for row in found.told["rows"]}
    for i, item in enumerate(items):
        x = left + cell * i + cell / 2
        css = ' class="must"' if levels[item] == "MUST" else ""
        parts.append(
            f'<g transform="translate({x:.0f} {top - 10}) rotate(-60)"><title>{escape(titles[item])}</title>'
            f"<text{css}>{item}</text></g>"
        )
    for j, scheme in enumerate(schemes):
        y = top + line * j + line / 2
        parts.append(f'<path class="grid" d="M8 {y + line / 2:.0f} H{width - 8}"/>')
        parts.append(f'<text x="8" y="{y + 4:.0f}">{escape(scheme)}</text>')
        verdicts = found.verdicts(scheme)
        for i, item in enumerate(items):
            x = left + cell * i + cell / 2
            parts.append(_mark(verdicts[item], x, y, f"{scheme}, {item} {titles[item]}: {verdicts[item]}"))
    x = 8.0
    for verdict in (HOLDS, NOT, UNDECIDED, FAILED, OFF):
        parts.append(_mark(verdict, x + 8, height - 18, verdict))
        parts.append(f'<text x="{x + 20:.0f}" y="{height - 14}">{verdict}</text>')
        x += 34 + 7.2 * len(verdict)
    parts.append(f'<text x="{x:.0f}" y="{height - 14}">bold: MUST</text>')
    return "\n".join([*parts, "</svg>\n"])


def _mark(verdict: str, x: float, y: float, words: str) -> str:
    colour, shape = MARKS[verdict]
    return (
        f'<g transform="translate({x:.1f} {y:.1f})"><title>{escape(words)}</title>'
        f'<path d="{shape}" stroke="{colour}"/></g>'
    )


def is_drawn(facts: Facts | None) -> bool:
    """Whether a run has what is drawn."""
    return facts is not None and bool(facts.told["series"]) and math.isfinite(facts.told["simulated_s"])
