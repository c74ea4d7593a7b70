"""The report of variants: a row per variant and scheme, their figures side by side, and each on the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from midpath.compare.variants import VariantRow, Variants
from midpath.html import embedded
from midpath.metrics import BY_KEY, METRICS, Metric
from midpath.palette import looks, name, tints
from midpath.report.curves import curves, variant_looks
from midpath.report.figure import Figure, Trace, hover, linear_axis, variant
from midpath.report.model import model_of
from midpath.report.network import drawn
from midpath.report.page import card, filled, toggle
from midpath.report.repeat import file_name, of_variants
from midpath.report.tables import after_first, chip, head, variants_equipment, whole
from midpath.stats import Estimate
from midpath.units import quantity

# What is drawn, in the order of the page.
DRAWN = ("afct_s", "fct_p99_s", "goodput_total_bps", "loss_ratio", "queue_delay_p99_s", "queue_max_bytes")
# What part of the room between two variants their means take.
SPREAD = 0.5


def variants_page(found: Variants) -> str:
    """The whole report as one self-contained HTML text."""
    figures = [*_figures(found), *curves(found)]
    own = variant_looks(found)
    wide = _maps(found)
    drawn_all = {figure.id: figure.to_json() for figure in [*figures, wide]}
    return filled(
        title=escape(found.title),
        kind="Variants",
        verdict=escape(" ".join(found.verdict())),
        warnings="".join(f'<p class="warning">Warning: {escape(text)}</p>' for text in found.warnings),
        legend="".join(toggle(scheme) for scheme in found.schemes) if len(found.schemes) > 1 else "",
        facts="".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in _facts(found)),
        summary=_summary(found) + variants_equipment(found.equipment),
        figures="".join(card(figure) for figure in figures),
        wide=card(wide),
        command=escape(of_variants(found)),
        file=escape(file_name(found.source)),
        scenario=escape(found.scenario.strip()),
        data=embedded({"figures": drawn_all, "looks": looks(found.schemes) | own, "tints": tints() | own}),
    )


def _facts(found: Variants) -> list[tuple[str, str]]:
    run = found.first.of(found.schemes[0])[0].run
    return [
        ("Variants", str(len(found.names))),
        ("Schemes", str(len(found.schemes))),
        ("Seeds", str(len(found.seeds))),
        ("Topology", f"{len(run['topology']['nodes'])} nodes, {len(run['topology']['links'])} links"),
        ("Midpath", str(run["midpath"])),
    ]


def _summary(found: Variants) -> str:
    rows = found.rows()
    shown = [metric for metric in METRICS if metric.headline and any(row.row.figures[metric.key] for row in rows)]
    heads = "".join(after_first([head(metric) for metric in shown], "<th>Flows ended</th>"))
    body = "".join(_row(found, row, shown) for row in rows)
    notes = " ".join(f"{note[0].upper()}{note[1:]}." for note in found.notes)
    return (
        '<div class="scroll"><table id="summary"><thead><tr><th>Variant</th><th class="text">Scheme</th>'
        f"{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<p class="note">{escape(notes)}</p>'
    )


def _row(found: Variants, row: VariantRow, shown: Sequence[Metric]) -> str:
    ended, flows = row.row.completed, row.row.flows
    cells = [_cell(found, row, metric) for metric in shown]
    share = f"<td>{f'{ended:,}' if ended == flows else f'{ended:,} of {flows:,}'}</td>"
    return (
        f'<tr><th>{escape(row.variant)}</th><td class="text">{chip(row.row.scheme)}</td>'
        f"{''.join(after_first(cells, share))}</tr>"
    )


def _cell(found: Variants, row: VariantRow, metric: Metric) -> str:
    value = row.row.figures[metric.key]
    if value is None:
        return "<td>–</td>"
    below = ""
    ratio = row.to_first.get(metric.key)
    if ratio is not None and row.variant != found.names[0]:
        below = f"<small>{whole(f'{found.times(row.variant, ratio)} × {escape(found.names[0])}')}</small>"
    return f"<td><span>{quantity(metric.kind, value.mean)}</span>{below}</td>"


def _figures(found: Variants) -> Iterator[Figure]:
    rows = found.rows()
    for key in DRAWN:
        metric = BY_KEY[key]
        values = {(row.variant, row.row.scheme): row.row.figures[key] for row in rows}
        known = [value for value in values.values() if value is not None]
        if known:
            note = f"{metric.about}."
            yield Figure(key, metric.label, note, {"": _variant(found, metric, values, known)}, height=330)


def _variant(
    found: Variants, metric: Metric, values: dict[tuple[str, str], Estimate | None], known: list[Estimate]
) -> dict[str, Any]:
    low, high = (of(value.interval[end] for value in known) for end, of in ((0, min), (1, max)))
    factor, axis = linear_axis(metric.kind, high, metric.label, low)
    data = [_trace(found, metric, scheme, values, factor) for scheme in found.schemes]
    places = list(range(len(found.names)))
    ticks = {"tickvals": places, "ticktext": found.names, "range": [-0.5, len(places) - 0.5]}
    return variant(data, {"xaxis": ticks, "yaxis": axis})


def _trace(
    found: Variants, metric: Metric, scheme: str, values: dict[tuple[str, str], Estimate | None], factor: float
) -> Trace:
    middle = (len(found.schemes) - 1) / 2
    aside = (found.schemes.index(scheme) - middle) * SPREAD / len(found.schemes)
    own = [(index, values[variant, scheme]) for index, variant in enumerate(found.names)]
    line = [(index, value) for index, value in own if value is not None]
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [index + aside for index, _ in line],
        "y": [value.mean / factor for _, value in line],
        "text": [_hover(found.names[index], metric, scheme, value) for index, value in line],
        "hoverinfo": "text",
        "marker": {"size": 9},
        "meta": {"scheme": scheme},
    }
    if any(value.ci95 for _, value in line):
        errors = [(value.ci95 or 0.0) / factor for _, value in line]
        trace["error_y"] = {"type": "data", "array": errors, "thickness": 1.3, "width": 3}
    return trace


def _hover(of: str, metric: Metric, scheme: str, value: Estimate) -> str:
    head = hover(f"{escape(of)}, {escape(name(scheme))}")
    return f"{head}<br>{metric.label} {quantity(metric.kind, value.mean, value.ci95 or None)}"


def _maps(found: Variants) -> Figure:
    """Where the load is, in each variant under each scheme."""
    maps = {of: drawn(model_of(comparison)) for of, comparison in found.comparisons.items()}
    pictures = {f"{of} {scheme}": picture for of, one in maps.items() for scheme, picture in one.variants.items()}
    labels = {f"{of} {scheme}": f"{of}, {name(scheme)}" for of, one in maps.items() for scheme in one.variants}
    first = next(iter(maps.values()))
    return Figure(first.id, first.title, first.note, pictures, "Variant", labels, height=first.height)
