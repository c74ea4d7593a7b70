"""The matrix as one picture: a strip for each scenario, a mark for each scheme, on a scale of completion times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from midpath.entries import ENDS, MIDPATH, QUEUES
from midpath.matrix.found import Matrix, Verdict
from midpath.matrix.rows import Row
from midpath.matrix.text import title

# Okabe and Ito's blue and orange, and an amber between them; shapes say the same.
HUES = {ENDS: "#0072B2", QUEUES: "#8A6100", MIDPATH: "#D55E00"}
WIDTH, TOP, ROW = 540, 128, 66
LEFT, RIGHT = 46, 340
LEAST, MOST = 0.7, 16.0
TICKS = (1, 2, 4, 8, 16)
STRIPS = {"mean_ratio": "mean", "p99_ratio": "p99"}
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #16202B }
.title { font-size: 15px; font-weight: bold } .name { font-weight: bold }
.axis, .strip { font-size: 12px; fill: #4A5560 }
.grid { stroke: #D5DBE1; stroke-width: 1 } .one { stroke: #7A828C; stroke-width: 1.5; stroke-dasharray: 3 3 }
.none { fill: #4A5560 }
"""


def svg(matrix: Matrix) -> str:
    """The picture."""
    height = TOP + ROW * len(matrix.rows) + 8
    label = (
        "Completion times over the ideal's by situation: hosts alone, queues that mark or drop early, mid-path schemes"
    )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{label}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        *_head(height),
        *(part for index, row in enumerate(matrix.rows) for part in _row(matrix, row, TOP + ROW * index)),
        "</svg>\n",
    ])  # fmt: skip


def _head(height: int) -> Iterator[str]:
    yield '<text x="8" y="22" class="title">Where help on the path pays, and where ends suffice</text>'
    words = "Time over the ideal’s, applications’ over alone; left is better. Filled: class best."
    yield f'<text x="8" y="42">{words}</text>'
    x = 16.0
    for kind, words in ((ENDS, "hosts alone"), (QUEUES, "queues mark or drop"), (MIDPATH, "mid-path")):
        yield _mark(kind, x, 60, filled=True)
        yield f'<text x="{x + 11}" y="64">{words}</text>'
        x += 28 + 7.2 * len(words)
    yield '<text x="8" y="86">Right: who beats the other side’s best at 95 %, and the time saved; filled: all.</text>'
    for tick in TICKS:
        label = f"{tick:g}" if tick < MOST else f"≥{tick:g}"
        yield f'<text x="{_x(tick):.1f}" y="{TOP - 14}" class="axis" text-anchor="middle">{label}</text>'
        yield f'<path d="M{_x(tick):.1f} {TOP - 8} V{height - 8}" class="{"one" if tick == 1 else "grid"}"/>'


def _row(matrix: Matrix, row: Row, top: int) -> Iterator[str]:
    yield f'<rect x="0" y="{top - 1}" width="{WIDTH}" height="19" fill="#fff"/>'
    yield f'<text x="8" y="{top + 13}" class="name">{escape(row.title)}</text>'
    for index, (figure, label) in enumerate(STRIPS.items()):
        y = top + 29 + 20 * index
        yield f'<text x="8" y="{y + 4}" class="strip">{label}</text>'
        verdict = matrix.verdict(row.name, figure)
        best = {name for name, _ in verdict.best.values()}
        found = [(one, value) for one in matrix.ran(row.name) if (value := matrix.estimate(row.name, one.name, figure))]
        # The best are drawn last, on top.
        for one, value in sorted(found, key=lambda item: item[0].name in best):
            words = f"{one.title}: {value.mean:.3g}"
            yield f"<g><title>{escape(words)}</title>{_mark(one.kind, _x(value.mean), y, filled=one.name in best)}</g>"
        yield _said(verdict, y)


def _said(verdict: Verdict, y: int) -> str:
    if verdict.winner is None:
        return f'<text x="{RIGHT + 18}" y="{y + 4}" class="none">undecided</text>'
    kind, name, saved = verdict.winner
    words = f"{escape(title(name))} −{100 * saved:.0f} %"
    return f'{_mark(kind, RIGHT + 24, y, filled=verdict.told)}<text x="{RIGHT + 34}" y="{y + 4}">{words}</text>'


def _mark(kind: str, x: float, y: float, *, filled: bool) -> str:
    """A circle, a square, a triangle."""
    # A white edge keeps apart what lies on each other.
    fill, edge = (HUES[kind], "#fff") if filled else ("none", HUES[kind])
    shape = {
        ENDS: f'<circle cx="{x:.1f}" cy="{y}" r="5"',
        QUEUES: f'<rect x="{x - 4.5:.1f}" y="{y - 4.5}" width="9" height="9"',
        MIDPATH: f'<path d="M{x:.1f} {y - 5.5} l5.2 9.5 h-10.4 z"',
    }[kind]
    return f'{shape} fill="{fill}" stroke="{edge}"/>'


def _x(value: float) -> float:
    """Along the scale, which is logarithmic; what is beyond stands at its end."""
    share = math.log(min(max(value, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + 10 + share * (RIGHT - LEFT - 10)
