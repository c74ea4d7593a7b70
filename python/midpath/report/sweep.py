"""The report of a sweep: means over one parameter, panels for another, a choice of the rest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from html import escape
from typing import Any

from midpath.html import embedded
from midpath.metrics import METRICS, Metric
from midpath.palette import looks, name, tints
from midpath.report.figure import Figure, Layout, Trace, hover, linear_axis, variant
from midpath.report.page import card, filled, toggle
from midpath.report.tables import chip, whole
from midpath.run.plan import shown
from midpath.sweep.export import Point, means, seeds_note
from midpath.sweep.facets import Facets, Mean, Panel, facets, figures, free, is_over_ended
from midpath.sweep.no_effect import unchanged
from midpath.sweep.plan import SCENARIO
from midpath.sweep.quantity import numbers
from midpath.sweep.result import Sweep
from midpath.sweep.table import ratio_column
from midpath.units import quantity

# What is drawn, in the order of the page.
DRAWN = (
    "afct_s",
    ratio_column("afct_s"),
    "fct_p99_s",
    "slowdown_mean",
    "goodput_total_bps",
    "jain_goodput",
    "loss_ratio",
    "queue_delay_p99_s",
    "queue_max_bytes",
)
# More panels than these are a choice instead: side by side they would be too narrow.
MOST_PANELS = 4
# More choices, or more rows of the table, than these are left to `midpath sweep plot` and `table`.
MOST_CHOICES = 200
MOST_ROWS = 400
GAP = 0.04


def sweep_page(sweep: Sweep) -> str:
    """The whole report as one self-contained HTML text."""
    drawn = list(_figures(sweep))
    failures = sweep.failures()
    return filled(
        title=escape(sweep.about["title"]),
        kind="Sweep",
        verdict=escape(_opening(sweep, len(failures))),
        warnings="".join(f'<p class="warning">{escape(text)}</p>' for text in _warnings(sweep, failures)),
        legend="".join(toggle(scheme) for scheme in sweep.schemes) if len(sweep.schemes) > 1 else "",
        facts="".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in _facts(sweep)),
        summary=_table(sweep),
        figures="" if _wide(sweep) else "".join(card(figure) for figure in drawn),
        wide="".join(card(figure) for figure in drawn) if _wide(sweep) else "",
        command=escape(sweep.about["command"]),
        file="The scenario",
        scenario=escape(sweep.about["scenario"].strip()),
        data=embedded(
            {
                "figures": {figure.id: figure.to_json() for figure in drawn},
                "looks": looks(sweep.schemes),
                "tints": tints(),
            }
        ),
    )


def _opening(sweep: Sweep, failed: int) -> str:
    parameters = [f"{key} at {len(values)} values" for key, values in free(sweep).items()]
    over = f" over {', '.join(parameters)}" if parameters else ""
    done = len(sweep) - failed
    return f"{done:,} of {len(sweep):,} runs{over}. {seeds_note(sweep)}"


def _warnings(sweep: Sweep, failures: list[dict[str, Any]]) -> Iterator[str]:
    columns = sweep.dataset().to_table(["status", "unfinished", "warnings"])
    unfinished = sum(1 for count in columns["unfinished"].to_pylist() if count)
    if failures:
        yield f"{len(failures):,} runs failed; the first: {failures[0]['error']}"
    if missing := columns["status"].to_pylist().count("missing"):
        yield f"{missing:,} runs are still missing: the sweep was stopped."
    if unfinished:
        yield (
            f"In {unfinished:,} runs some flows did not end. Completion times are over flows that ended (hollow), "
            "ratios to the ideal over flows that ended in both."
        )
    texts = dict.fromkeys(part for text in columns["warnings"].to_pylist() if text for part in text.split(" | "))
    yield from (f"Warning: {text}" for text in (*unchanged(sweep), *list(texts)[:5]))


def _facts(sweep: Sweep) -> list[tuple[str, str]]:
    table = sweep.dataset().to_table(["point", "seed", "wall_s", "packet_hops"])
    wall = sum(value or 0.0 for value in table["wall_s"].to_pylist())
    hops = sum(value or 0 for value in table["packet_hops"].to_pylist())
    return [
        ("Runs", f"{len(sweep):,}"),
        ("Points", f"{len(table['point'].unique()):,}"),
        ("Schemes", f"{len(sweep.schemes)}"),
        ("Seeds", f"{len(table['seed'].unique()):,}"),
        ("Packet-hops", f"{hops:,}"),
        ("Time in the simulator", quantity("seconds", wall)),
        ("Midpath", str(sweep.about["midpath"])),
    ]


def _axes(sweep: Sweep) -> tuple[str | None, str | None, list[str]]:
    """What goes along x, what into panels, and what is left to choose from."""
    found = free(sweep)

    def use(key: str) -> tuple[bool, bool, int]:
        # Scenarios differ by more than one scale can show: they are chosen from, unless nothing else varies.
        return key == SCENARIO, numbers(found[key]) is None, -len(found[key])

    by_use = sorted(found, key=use)
    if not by_use:
        return None, None, []
    x, *others = by_use
    facet = next((key for key in others if len(found[key]) <= MOST_PANELS and key != SCENARIO), None)
    return x, facet, [key for key in others if key != facet]


def _wide(sweep: Sweep) -> bool:
    """Whether figures have more panels than half the page holds."""
    facet = _axes(sweep)[1]
    return facet is not None and len(free(sweep)[facet]) > 2


def _figures(sweep: Sweep) -> Iterator[Figure]:
    x, facet, others = _axes(sweep)
    if x is None:
        return
    values = free(sweep)
    fixed = [dict(zip(others, choice, strict=True)) for choice in itertools.product(*(values[key] for key in others))]
    drawn = {_title(choice): facets(sweep, x, DRAWN, facet, choice) for choice in fixed[:MOST_CHOICES]}
    for index, key in enumerate(DRAWN):
        metric = figures()[key]
        variants = {
            title: _variant(found, found.rows[index]) for title, found in drawn.items() if _means(found.rows[index])
        }
        if variants:
            note = f"{metric.about}." + (" Hollow: some flows did not end." if is_over_ended(metric) else "")
            yield Figure(key, metric.label, note, variants, choose="at", height=330)


def _title(choice: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {shown(value)}" for key, value in choice.items())


def _means(panels: list[Panel]) -> list[Mean]:
    return [mean for panel in panels for line in panel.lines.values() for mean in line]


def _variant(found: Facets, panels: list[Panel]) -> dict[str, Any]:
    metric = panels[0].figure
    high = max(mean.value.interval[1] for mean in _means(panels))
    low = min(mean.value.interval[0] for mean in _means(panels))
    factor, y_axis = linear_axis(metric.kind, high, metric.label, low)
    if metric.kind in ("times", "index"):
        y_axis["title"] = {"text": metric.label}
    layout: Layout = {"annotations": []}
    data: list[Trace] = []
    width = (1 - GAP * (len(panels) - 1)) / len(panels)
    for index, panel in enumerate(panels):
        end = "" if index == 0 else str(index + 1)
        left = index * (width + GAP)
        layout[f"xaxis{end}"] = _x_axis(found) | {"domain": [left, left + width], "anchor": f"y{end}"}
        layout[f"yaxis{end}"] = y_axis if index == 0 else {"matches": "y", "anchor": f"x{end}", "showticklabels": False}
        if found.facet:
            layout["annotations"].append(_heading(found.heading(panel), left + width / 2) | {"panel": index})
        data += [_trace(found, panel, scheme, line, factor, end) for scheme, line in panel.lines.items()]
    if found.facet:
        layout["margin"] = {"l": 56, "r": 14, "t": 30, "b": 48}
    return variant(data, layout)


def _heading(text: str, x: float) -> dict[str, Any]:
    place = {
        "x": x,
        "xref": "paper",
        "xanchor": "center",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
    }
    return {"text": escape(text)} | place


def _x_axis(found: Facets) -> Layout:
    ticks = found.ticks()
    layout: Layout = {"title": {"text": escape(found.x)}, "tickvals": list(ticks), "ticktext": list(ticks.values())}
    if found.amounts is None:
        layout["range"] = [-0.5, len(found.values) - 0.5]
    elif found.logarithmic:
        low, high = (math.log10(found.place(value)) for value in (found.values[0], found.values[-1]))
        pad = 0.04 * (high - low)
        layout |= {"type": "log", "range": [low - pad, high + pad]}
    return layout


def _trace(found: Facets, panel: Panel, scheme: str, line: list[Mean], factor: float, end: str) -> Trace:
    metric = panel.figure
    trace: Trace = {
        "type": "scatter",
        # Between categories there is nothing for a line to pass through.
        "mode": "lines+markers" if found.amounts else "markers",
        "x": found.places(scheme, line),
        "y": [mean.value.mean / factor for mean in line],
        "text": [_hover(found, metric, scheme, mean) for mean in line],
        "hoverinfo": "text",
        "marker": {"size": 7, "symbol": ["circle-open" if mean.unfinished else "circle" for mean in line]},
        "xaxis": f"x{end}",
        "yaxis": f"y{end}",
        "meta": {"scheme": scheme},
    }
    if any(mean.value.ci95 for mean in line):
        errors = [(mean.value.ci95 or 0.0) / factor for mean in line]
        trace["error_y"] = {"type": "data", "array": errors, "thickness": 1.3, "width": 3}
    return trace


def _hover(found: Facets, metric: Metric, scheme: str, mean: Mean) -> str:
    head = f"{escape(name(scheme))}, {escape(found.x)} = {escape(shown(mean.at))}"
    value = quantity(metric.kind, mean.value.mean, mean.value.ci95 or None)
    seeds = f"{mean.value.n} seed{'s' if mean.value.n != 1 else ''}"
    unfinished = f"<br>{mean.unfinished:,} flows did not end" if mean.unfinished else ""
    return f"{hover(head)}<br>{metric.label} {value}<br>{seeds}{unfinished}"


def _table(sweep: Sweep) -> str:
    shown_metrics = [metric for metric in METRICS if metric.headline]
    rows = means(sweep)
    heads = "".join(f"<th>{escape(key)}</th>" for key in sweep.parameters)
    heads += '<th class="text">Scheme</th><th>Runs</th><th>Unfinished</th>'
    heads += "".join(f'<th title="{escape(metric.about)}">{escape(metric.label)}</th>' for metric in shown_metrics)
    body = "".join(_row(sweep, row, shown_metrics) for row in rows[:MOST_ROWS])
    more = f" The first {MOST_ROWS} of {len(rows):,} rows." if len(rows) > MOST_ROWS else ""
    table = f'<table id="summary"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return (
        f'<div class="scroll tall">{table}</div>'
        f'<p class="note">{seeds_note(sweep)}{more} '
        "<code>midpath sweep table STORE --out table.csv</code> writes all figures of all runs.</p>"
    )


def _row(sweep: Sweep, row: Point, metrics: list[Metric]) -> str:
    cells = "".join(f"<td>{escape(shown(row.values[key]))}</td>" for key in sweep.parameters)
    cells += f'<th class="text">{chip(row.scheme)}</th><td>{row.runs:,}</td><td>{row.unfinished:,}</td>'
    for metric in metrics:
        value = row.figures[metric.key]
        text = quantity(metric.kind, value.mean, value.ci95 or None) if value else "–"
        cells += f"<td>{escape(whole(text))}</td>"
    return f"<tr>{cells}</tr>"
