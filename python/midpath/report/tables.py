"""The tables of the report, as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from midpath import equipment
from midpath.applications import application_tables
from midpath.compare import datagrams, groups
from midpath.compare.comparison import Comparison, Row
from midpath.compare.datagrams import DatagramRow, datagram_rows
from midpath.equipment import Equipment, equipment_of
from midpath.metrics import IDEAL, METRICS, Metric
from midpath.palette import name
from midpath.report.model import Model
from midpath.units import quantity

BOTTLENECKS = 10
# Of these the ratio to the ideal says something: the ideal has no queues and loses nothing.
COMPARED_TO_IDEAL = {"afct_s", "fct_p50_s", "fct_p99_s", "slowdown_mean", "goodput_total_bps"}


def summary(model: Model) -> str:
    """Schemes as rows; for one run, its figures as tiles."""
    if model.comparison is None:
        had = equipment_of(model.first)
        delays = datagram_table(datagram_rows(model.runs), is_random=False)
        more = applications(model) + delays
        return _tiles(model.first.summary) + more + equipment_table([had] if had else [])
    found = model.comparison
    delays = datagram_table(found.datagrams, is_random=found.is_random)
    return _comparison(found) + group_table(found) + applications(model) + delays + equipment_table(found.equipment)


def applications(model: Model) -> str:
    """Requests of clients, their pages and iterations of jobs, a row per scheme."""
    return "".join(
        f"<h3>{escape(table.title)}</h3>"
        + _table(table.title.lower(), table.heads, [[escape(cell) for cell in row] for row in table.rows])
        for table in application_tables(model.runs)
    )


def datagram_table(rows: list[DatagramRow], *, is_random: bool) -> str:
    """Delays of datagrams, group by group, where there are any."""
    cells = [[escape(row.group), chip(row.scheme), *row.cells(is_random)] for row in rows]
    return f"<h3>Datagrams</h3>{_table('datagrams', datagrams.HEADS, cells)}" if rows else ""


def group_table(comparison: Comparison) -> str:
    """A row per group of flows and scheme, where there are several groups."""
    if not comparison.groups:
        return ""
    rows = [
        [escape(row.group), chip(row.scheme), f"{row.completed:,} of {row.flows:,}"]
        + [
            quantity(kind, value.mean, value.ci95 if comparison.is_random else None) if value else "–"
            for kind, value in (("seconds", row.afct_s), ("seconds", row.fct_p99_s), ("bps", row.goodput_bps))
        ]
        for row in comparison.groups
    ]
    return f"<h3>Groups of flows</h3>{_table('groups', groups.HEADS, rows)}"


def equipment_table(found: list[Equipment]) -> str:
    """What each scheme had to work with."""
    rows = [[chip(row.scheme), *map(escape, row.cells()[1:])] for row in found]
    return f"<h3>Equipment</h3>{_table('equipment', equipment.HEADS, rows)}" if rows else ""


def variants_equipment(found: list[tuple[str, Equipment]]) -> str:
    """The same in each variant."""
    rows = [[escape(variant), chip(row.scheme), *map(escape, row.cells()[1:])] for variant, row in found]
    heads = ("Variant", *equipment.HEADS)
    return f"<h3>Equipment</h3>{_table('equipment', heads, rows)}" if rows else ""


def _table(ident: str, heads: Sequence[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for first, *cells in rows
    )
    return f'<div class="scroll"><table id="{ident}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _tiles(figures: dict[str, Any]) -> str:
    tiles = [
        f'<div class="tile" title="{escape(metric.about)}"><span>{escape(metric.label)}</span>'
        f"<strong>{quantity(metric.kind, figures.get(metric.key))}</strong></div>"
        for metric in METRICS
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _comparison(comparison: Comparison) -> str:
    rows = sorted(comparison.rows(), key=lambda row: row.scheme == IDEAL)
    shown = [metric for metric in METRICS if metric.headline and any(row.figures[metric.key] for row in rows)]
    best = {metric.key: _best(comparison, rows, metric) for metric in shown}
    random = comparison.is_random
    longer = _longer(comparison, rows)
    heads = "".join(after_first([head(metric) for metric in shown], "<th>Flows ended</th>"))
    body = "".join(_row(row, shown, best, random, longer.get(row.scheme, "")) for row in rows)
    return (
        f'<div class="scroll"><table id="summary"><thead><tr><th>Scheme</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_footnote(comparison)}"
    )


def _longer(comparison: Comparison, rows: list[Row]) -> dict[str, str]:
    """Of each scheme but the fastest, how much longer its flows take, where seeds tell that."""
    times = {row.scheme: found.mean for row in rows if row.scheme != IDEAL and (found := row.figures["afct_s"])}
    if len(times) < 2 or (comparison.is_random and len(comparison.seeds) == 1):
        return {}
    best = min(times, key=lambda scheme: times[scheme])
    told = [scheme for scheme in times.keys() - {best} if comparison.told_apart(scheme, best, "afct_s")]
    more = {scheme: comparison.excess(scheme, best, "afct_s") for scheme in told}
    return {
        scheme: f"<small>+{whole(quantity('ratio', one.mean, one.ci95 if comparison.is_random else None))}</small>"
        for scheme, one in more.items()
        if one is not None
    }


def _row(row: Row, shown: list[Metric], best: dict[str, str | None], random: bool, longer: str) -> str:
    kind = ' class="bound"' if row.scheme == IDEAL else ""
    cells = [
        _cell(row, metric, row.scheme == best[metric.key], random, longer if metric.key == "afct_s" else "")
        for metric in shown
    ]
    ended = f"{row.completed:,}" if row.completed == row.flows else f"{row.completed:,} of {row.flows:,}"
    return f"<tr{kind}><th>{chip(row.scheme)}</th>{''.join(after_first(cells, f'<td>{ended}</td>'))}</tr>"


def after_first(cells: list[str], more: str) -> list[str]:
    """With one more cell in the second place: where a screen is narrow, the time is seen first."""
    return [*cells[:1], more, *cells[1:]]


def head(metric: Metric) -> str:
    """The head of a figure's column."""
    return f'<th title="{escape(metric.about)}">{escape(metric.label)}</th>'


def _cell(row: Row, metric: Metric, is_best: bool, random: bool, more: str) -> str:
    value, ratio = row.figures[metric.key], row.to_ideal.get(metric.key)
    if value is None:
        return "<td>–</td>"
    number, _, error = quantity(metric.kind, value.mean, value.ci95 if random else None).partition(" ± ")
    if error:
        # "61.2 ± 1.3 ms" is set as "61.2 ms" over "± 1.3 ms".
        number = quantity(metric.kind, value.mean)
        error = f"<small>± {error}</small>"
    below = ""
    if ratio and row.scheme != IDEAL and metric.key in COMPARED_TO_IDEAL:
        times = quantity("times", ratio.mean, ratio.ci95 if random else None).removesuffix("×")
        below = f"<small>{whole(f'{times} × ideal')}</small>"
    mark = ' class="best"' if is_best else ""
    return f"<td{mark}><span>{number}</span>{error}{below}{more}</td>"


def _best(comparison: Comparison, rows: list[Row], metric: Metric) -> str | None:
    """The scheme with the best mean, if seeds tell it apart from every other."""
    found = {row.scheme: value for row in rows if row.scheme != IDEAL and (value := row.figures[metric.key])}
    if metric.better is None or len(found) < 2 or (comparison.is_random and len(comparison.seeds) == 1):
        return None
    pick = min if metric.better == "lower" else max
    top = pick(found, key=lambda scheme: found[scheme].mean)
    others = found.keys() - {top}
    return top if all(comparison.told_apart(scheme, top, metric.key) for scheme in others) else None


def _footnote(comparison: Comparison) -> str:
    parts = []
    if not comparison.is_random:
        parts.append("Nothing in this scenario is random, so there are no intervals. Shaded: best.")
    elif len(comparison.seeds) > 1:
        parts.append(f"Means over {len(comparison.seeds)} seeds, ± 95 % confidence (Student's t).")
        parts.append("Shaded: best, if significantly better than every other scheme. +: longer than the fastest.")
    else:
        parts.append("One seed: differences may be chance, so there are no intervals, and nothing is shaded as best.")
    if IDEAL in comparison.schemes:
        parts.append("Ideal: fluid processor sharing on the same paths and flows; ratios are per seed, then averaged.")
    if comparison.matching:
        parts.append(f"{comparison.matching}; loss, memory and queueing delay cover all flows.")
    return f'<p class="note">{" ".join(parts)}</p>'


def chip(scheme: str) -> str:
    """A scheme's name with its colour."""
    return f'<span class="chip" data-scheme="{escape(scheme)}"><i></i>{escape(name(scheme))}</span>'


def whole(text: str) -> str:
    """The text, that breaks before "±" and "×" where a cell is too narrow for it, and not after."""
    return re.sub(r"([±×]) ", "\\1\N{NO-BREAK SPACE}", text)


def bottlenecks(model: Model) -> str:
    """The most used ports, a table per scheme; the page shows the one chosen for the drawing."""
    return "".join(_ports(scheme, ports) for scheme, ports in model.ports.items())


def _ports(scheme: str, ports: pd.DataFrame) -> str:
    top = ports.sort_values("utilisation", ascending=False, kind="stable").head(BOTTLENECKS)
    heads = ["Port", "Rate", "Utilisation", "Mean queue", "Delay p99", "Drops", "Marks"]
    body = "".join(_port(port) for port in top.itertuples())
    head = "".join(f"<th>{text}</th>" for text in heads)
    return (
        f'<div class="scroll" data-variant="network" data-choice="{escape(scheme)}">'
        f'<table class="ports"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _port(port: Any) -> str:
    used = float(np.nan_to_num(port.utilisation).clip(0, 1))
    bar = f'<span class="bar" style="--share:{used:.4f}">{quantity("ratio", port.utilisation)}</span>'
    cells = [
        quantity("bps", port.rate_bps),
        bar,
        escape(quantity("bytes", port.queue_mean_bytes)),
        quantity("seconds", port.delay_p99_s),
        quantity("count", port.drops_queue + port.drops_aqm + port.drops_fault),
        quantity("count", port.marks),
    ]
    values = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><th>{escape(port.label)}</th>{values}</tr>"
