"""All papers' claims on one page, from kept results: the paper's value, ours, the bound, the verdict, and a plot.

Each row of the plot has a scale of its own: what is allowed is a band, the paper's number and the bound are lines, ours
is a point with its 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from string import Template

from midpath.extension import _midpath
from midpath.papers.headline import COLUMNS, counts, headline
from midpath.papers.record import stored, verdicts
from midpath.papers.registry import Figure, Says
from midpath.papers.runner import Verdict, row

# Beyond this ratio of the largest value to the smallest, a row's scale is logarithmic.
DECADES = 30.0
WIDTH, HEIGHT, EDGE = 260.0, 18.0, 8.0

HEADS = ("claim", "paper", "ours", "bound", "verdict")


def kept(figures: Iterable[Figure]) -> list[Verdict]:
    """The verdicts of all figures that have been run, as they are kept beside their claims."""
    return [verdict for figure in figures if stored(figure) for verdict in verdicts(figure)]


def rows(found: Iterable[Verdict]) -> Iterator[tuple[str, ...]]:
    """A claim's id, the paper's value (for a shape, what counts as it), ours, the bound, the verdict."""
    for verdict in found:
        paper, ours, bound, _ = row(verdict)
        said = paper if verdict.claim.number is not None else verdict.claim.tolerance.text(verdict.claim.kind)
        yield f"{verdict.figure}/{verdict.claim.id}", said, ours, bound, str(verdict.judgement)


# Further columns: their heads, and of a claim, by figure and id, its cells.
Beside = tuple[Sequence[str], Mapping[tuple[str, str], Sequence[str]]]


def html(found: list[Verdict], *, above: str = "", beside: Beside = ((), {})) -> str:
    """The page: the counts per kind of claim first, then a table for each figure."""
    papers = groupby(found, key=lambda verdict: verdict.figure.partition("/")[0])
    return Template(PAGE).substitute(
        version=escape(_midpath.version()),
        headline=escape(headline(found)),
        counts=_table(COLUMNS, ([escape(cell) for cell in cells] for cells in counts(found))),
        above=above,
        papers="".join(_paper(paper, list(of), beside) for paper, of in papers),
    )


def _paper(name: str, found: list[Verdict], beside: Beside) -> str:
    figures = groupby(found, key=lambda verdict: verdict.figure)
    heads = (*HEADS, "", *beside[0])
    body = "".join(f"<h3>{escape(figure)}</h3>{_table(heads, _cells(of, beside))}" for figure, of in figures)
    return f"<h2>{escape(name)}</h2><p>{escape(headline(found))}.</p>{body}"


def _cells(found: Iterable[Verdict], beside: Beside) -> Iterator[list[str]]:
    for verdict in found:
        paper, ours, bound, _ = row(verdict)
        said = f'<span title="{escape(verdict.why)}">{escape(verdict.claim.claim)}</span>'
        mark = f'<b class="{verdict.judgement.name.lower()}">{escape(verdict.judgement)}</b>'
        more = beside[1].get((verdict.figure, verdict.claim.id), ())
        yield [said, escape(paper), escape(ours), escape(bound), mark, plot(verdict), *map(escape, more)]


def _table(heads: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def plot(verdict: Verdict) -> str:
    """One row of the plot, as SVG; nothing where there is no value."""
    ours, claim = verdict.ours, verdict.claim
    if ours is None or not math.isfinite(ours.mean):
        return ""
    limits = claim.tolerance.limits(claim.number, verdict.bound) if claim.says is not Says.INFORMATION else None
    low, high = ours.interval
    values = [low, high, *(v for v in (claim.number, verdict.bound, *(limits or ())) if v is not None)]
    scale = Scale([value for value in values if math.isfinite(value)])
    parts = [f'<svg width="{WIDTH:g}" height="{HEIGHT:g}" role="img" aria-label="{escape(claim.claim)}">']
    if limits:
        left, right = scale.at(limits[0]), scale.at(limits[1])
        width = max(right - left, 2.0)
        parts.append(f'<rect class="band" x="{left:.1f}" y="1" width="{width:.1f}" height="{HEIGHT - 2:g}"/>')
    for kind, value in (("bound", verdict.bound), ("paper", claim.number)):
        if value is not None:
            parts.append(_line(kind, scale.at(value), 1, scale.at(value), HEIGHT - 1))
    middle, judged = HEIGHT / 2, verdict.judgement.name.lower()
    parts.append(_line("ours", scale.at(low), middle, scale.at(high), middle))
    parts.append(f'<circle class="{judged}" cx="{scale.at(ours.mean):.1f}" cy="{middle:g}" r="3.5"/>')
    return "".join(parts) + "</svg>"


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}"/>'


class Scale:
    """From values to places in a row: linear, or logarithmic where the values are far apart and all above zero."""

    def __init__(self, values: list[float]) -> None:
        low, high = min(values), max(values)
        self.log = low > 0 and high / low > DECADES
        low, high = self._map(low), self._map(high)
        pad = 0.08 * (high - low) or abs(low) * 0.08 or 1.0
        self.low, self.high = low - pad, high + pad

    def _map(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def at(self, value: float) -> float:
        """The place of a value; one beyond the row is at its edge."""
        if self.log and value <= 0:
            return EDGE / 2
        share = (self._map(value) - self.low) / (self.high - self.low) if math.isfinite(value) else float(value > 0)
        return EDGE / 2 + min(max(share, 0.0), 1.0) * (WIDTH - EDGE)


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>What papers claim, and what came out · Midpath</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; max-width: 1280px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5em }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #8884; vertical-align: middle }
td:first-child { width: 36% }
td:nth-child(n + 3) { white-space: nowrap }
.holds { color: #009E73; fill: #009E73 }
.fails { color: #D55E00; fill: #D55E00 }
.undecided, .undecidable { color: #C98500; fill: #C98500 }
.information, .skipped { color: #7A828C; fill: #7A828C; font-weight: normal }
.band { fill: #009E7330 }
.paper { stroke: currentColor; stroke-width: 2 }
.bound { stroke: #7A828C; stroke-width: 2; stroke-dasharray: 3 2 }
.ours { stroke: currentColor; stroke-width: 1.5 }
</style>
</head>
<body>
<h1>What papers claim, and what came out</h1>
<p>$headline. Midpath $version; values are means over seeds, intervals of 95 %.</p>
$above
$counts
<p>In each row, on a scale of its own: the band is what counts as the same, the solid line is the paper's number, the
dashed line is the bound, the point is ours with its interval. A claim's reason shows where the pointer rests on it.</p>
$papers
</body>
</html>
"""
