"""Draws docs/images/bbr-fairness.svg: BBR's goodput over CUBIC's by buffer, from the committed results of the claims.

python scripts/fairness_picture.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from midpath.papers.record import verdicts
from midpath.papers.registry import Figure, choose
from midpath.papers.runner import Verdict

PICTURE = Path(__file__).parents[1] / "docs/images/bbr-fairness.svg"
# Okabe and Ito's blue and orange; shapes say the same.
HUES = {"20": "#0072B2", "100": "#D55E00"}
NAMES = {"20": "20 Mbps, 40 ms", "100": "100 Mbps, 20 ms"}
WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 508, 66, 250
BUFFERS = (0.5, 1, 2, 4, 8, 16)
RATIOS = (0.25, 0.5, 1, 2, 4)
# The ends of both scales, which are logarithmic. An interval that goes beyond ends there.
ACROSS, UP = (0.4, 20.0), (0.2, 5.0)
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #16202B }
.title { font-size: 15px; font-weight: bold }
.axis { font-size: 12px; fill: #4A5560 }
.grid { stroke: #D5DBE1; stroke-width: 1 } .one { stroke: #7A828C; stroke-width: 1.5; stroke-dasharray: 3 3 }
"""


def svg(figure: Figure) -> str:
    """The picture: a point with its interval for each buffer and link."""
    label = "BBR's goodput over CUBIC's for buffers of half a BDP to sixteen, two flows of each"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    found = {verdict.claim.id: verdict for verdict in verdicts(figure)}
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_around(),
        *(part for rate in HUES for part in _line(rate, found)),
        "</svg>\n",
    ])  # fmt: skip


def _around() -> Iterator[str]:
    """Title, keys, scales."""
    yield '<text x="8" y="22" class="title">BBR’s goodput over CUBIC’s, two flows of each on one link</text>'
    for number, (rate, name) in enumerate(NAMES.items()):
        x = 16 + 150 * number
        yield f'{_mark(rate, x, 41)}<text x="{x + 11}" y="45">{name}</text>'
    yield f'<text x="{RIGHT}" y="45" class="axis" text-anchor="end">bars: 95 %; 1 is fair</text>'
    for ratio in RATIOS:
        y = _y(ratio)
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" class="axis" text-anchor="end">{ratio:g}</text>'
        yield f'<path d="M{LEFT} {y:.1f} H{RIGHT}" class="{"one" if ratio == 1 else "grid"}"/>'
    for buffer in BUFFERS:
        yield f'<text x="{_x(buffer):.1f}" y="{BOTTOM + 18}" class="axis" text-anchor="middle">{buffer:g}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle:g}" y="{BOTTOM + 40}" class="axis" text-anchor="middle">buffer, in BDP of the link</text>'


def _line(rate: str, found: dict[str, Verdict]) -> Iterator[str]:
    """One link's points, a little apart from the other's, so that bars don't hide each other."""
    aside = -4 if rate == "20" else 4
    for buffer in BUFFERS:
        ours = found[f"ratio.{rate}.{buffer:g}"].ours
        if ours is None:
            raise ValueError(f"{rate} Mbps, {buffer:g} BDP has not been measured")
        x, (low, high) = _x(buffer) + aside, ours.interval
        words = f"{NAMES[rate]}, {buffer:g} BDP: {ours.mean:.2f} ± {ours.ci95 or 0:.2f}"
        bar = f'<path d="M{x:.1f} {_y(low):.1f} V{_y(high):.1f}" stroke="{HUES[rate]}" stroke-width="2"/>'
        yield f"<g><title>{words}</title>{bar}{_mark(rate, x, _y(ours.mean))}</g>"


def _mark(rate: str, x: float, y: float) -> str:
    """A circle, or a square."""
    if rate == "20":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{HUES[rate]}" stroke="#fff"/>'
    return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{HUES[rate]}" stroke="#fff"/>'


def _x(buffer: float) -> float:
    return LEFT + _share(buffer, ACROSS) * (RIGHT - LEFT)


def _y(ratio: float) -> float:
    return BOTTOM - _share(ratio, UP) * (BOTTOM - TOP)


def _share(value: float, ends: tuple[float, float]) -> float:
    """Where a value lies between the ends of a logarithmic scale."""
    low, high = ends
    return math.log(min(max(value, low), high) / low) / math.log(high / low)


if __name__ == "__main__":
    PICTURE.write_text(svg(choose("bbr/fairness")[0]), encoding="utf-8")
