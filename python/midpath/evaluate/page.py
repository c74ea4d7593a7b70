"""An evaluation as one HTML file: a row for each item with its measures, a picture, and the command behind it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from midpath.evaluate.found import Evaluation
from midpath.evaluate.picture import MARKS, is_drawn, over_time, overview
from midpath.evaluate.text import READ, bound, command, interval, off, packets, said_seeds, summary, title
from midpath.evaluate.verdict import Row

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #16202B; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
details { border-top: 1px solid #D5DBE1; padding: .35rem 0 } summary { cursor: pointer }
.level { color: #4A5560; font-size: 13px; margin-left: .5rem } .verdict { float: right; font-weight: 600 }
table { border-collapse: collapse; margin: .6rem 0; font-size: 14px } th { color: #4A5560; font-weight: 500 }
td, th { text-align: left; padding: .15rem .9rem .15rem 0; vertical-align: top }
code { font-size: 13px; background: #F2F4F6; padding: .1rem .25rem; overflow-wrap: anywhere }
.note { color: #4A5560; font-size: 14px } svg { max-width: 100%; height: auto }
"""


def html(found: Evaluation) -> str:
    """The page."""
    told = found.told
    return "\n".join([
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title(found)}: {escape(', '.join(told['subjects']))}</title><style>{STYLE}</style>",
        f"<h1>{title(found)}</h1>",
        f"<p>Midpath {escape(told['midpath'])}, {said_seeds(told['seeds'])}. {READ} There is no score.</p>",
        *([overview(found)] if len(told["subjects"]) > 1 else []),
        *(part for scheme in told["subjects"] for part in _scheme(found, scheme)),
        "</html>\n",
    ])  # fmt: skip


def _scheme(found: Evaluation, scheme: str) -> Iterator[str]:
    yield f"<h2>{escape(scheme)}</h2><p>{escape(summary(found, scheme))}.</p>"
    yield f'<p class="note"><code>{escape(command(found, scheme))}</code></p>'
    for row in found.rows:
        if row.subject.title == scheme:
            yield from _row(row, found)


def _row(row: Row, found: Evaluation) -> Iterator[str]:
    told, colour = row.to_json(), MARKS[row.verdict][0]
    yield (
        f"<details><summary>{escape(row.item.name)} {escape(row.item.title)}"
        f'<span class="level">{row.item.level}</span>'
        f'<span class="verdict" style="color:{colour}">{row.verdict}</span></summary>'
    )
    yield f'<p class="note">Asked for: {escape(row.item.asks)}.</p>'
    if row.why:
        yield f"<p>{escape(row.why)}</p>"
    if row.measures:
        yield "<table><tr><th>measure<th>case<th>level<th>interval<th>bound<th>from<th>verdict</tr>"
        for one in told["measures"]:
            cells = (
                one["measure"],
                (one["worst"] or {}).get("case", ""),
                one["level"],
                interval(one),
                bound(one),
                one["bound_from"],
                one["verdict"],
            )
            yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        yield "</table>"
    if row.runs is not None:
        mine, theirs = row.runs.me(row.case), row.runs.facts.get((row.case, "newreno"))
        if is_drawn(mine):
            yield (
                f'<p class="note">{escape(row.case)}, seed {found.told["seeds"][0]}: goodput above, the bottleneck’s '
                "queue below. Blue: the scheme. Orange: other flows. Grey: NewReno in its place.</p>"
            )
            yield over_time(row.case, mine, theirs if is_drawn(theirs) else None)
        yield f"<p><code>{escape(packets(found.told, told))}</code></p>"
    yield from (f'<p class="note">{escape(text)}.</p>' for text in off(told))
    if row.item.missing:
        yield f'<p class="note">Not built: {escape(row.item.missing)}.</p>'
    yield "</details>"
