"""The page around the figures."""

from __future__ import annotations

import base64
import statistics
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template
from urllib.parse import quote

from midpath.html import embedded
from midpath.palette import looks, name, tints
from midpath.report.figure import Figure
from midpath.report.model import Model
from midpath.report.repeat import file_name, of_model
from midpath.report.tables import bottlenecks, chip, summary
from midpath.report.verdict import verdict
from midpath.units import quantity

# Figures as wide as the page, below the others.
WIDE = ("path", "network", "gauges")


def page(model: Model, figures: list[Figure], replays: dict[str, str]) -> str:
    """The whole report as one self-contained HTML text, with links to replays beside it."""
    drawn = {figure.id: figure.to_json() for figure in figures}
    return filled(
        title=escape(model.title),
        kind="Comparison" if model.comparison else name(model.first.scheme),
        verdict=escape(verdict(model)),
        warnings="".join(f'<p class="warning">Warning: {escape(warning)}</p>' for warning in model.warnings),
        legend="".join(toggle(scheme) for scheme in model.schemes) if len(model.schemes) > 1 else "",
        facts="".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in _facts(model)),
        replays=_replays(replays),
        summary=summary(model),
        figures="".join(card(figure) for figure in figures if figure.id not in WIDE),
        wide="".join(card(figure, bottlenecks(model) if figure.id == "network" else "") for figure in _wide(figures)),
        command=escape(of_model(model)),
        file=escape(file_name(model.source)),
        scenario=escape(model.scenario.strip()),
        data=embedded({"figures": drawn, "looks": looks(model.schemes), "tints": tints()}),
    )


def filled(**parts: str) -> str:
    """The page of any result: these parts, and what is the same in all."""
    same = {"style": asset("report.css"), "script": asset("report.js"), "plotly": plotly()}
    return Template(asset("page.html")).substitute({"legend": "", "replays": "", "figures": ""} | same | parts)


def _facts(model: Model) -> list[tuple[str, str]]:
    run, topology = model.first.run, model.topology
    hops = sum(int(result.run.get("packet_hops") or 0) for runs in model.runs.values() for result in runs)
    first, last = model.seeds[0], model.seeds[-1]
    flows = round(statistics.mean(result.summary["flows"] for runs in model.runs.values() for result in runs))
    return [
        ("Topology", f"{len(topology['nodes'])} nodes, {len(topology['links'])} links"),
        ("Flows", f"{flows:,}{' per run' if model.comparison else ''}"),
        ("Measured" if run.get("kind") == "lab" else "Simulated", quantity("seconds", run["simulated_s"])),
        ("Packet-hops", f"{hops:,}"),
        ("Seed" if first == last else "Seeds", str(first) if first == last else f"{first} – {last}"),
        ("Midpath", str(run["midpath"])),
    ]


def _replays(files: dict[str, str]) -> str:
    if not files:
        return ""
    links = ", ".join(f'<a href="{escape(quote(file))}">{escape(said)}</a>' for said, file in files.items())
    return f'<p class="note replays">Packets move in the replay: {links}.</p>'


def toggle(scheme: str) -> str:
    """The button of a scheme in the legend."""
    return f'<button type="button" aria-pressed="true" data-toggle="{escape(scheme)}">{chip(scheme)}</button>'


def _wide(figures: list[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.id in WIDE]


def card(figure: Figure, below: str = "", above: str = "") -> str:
    """A figure with its heading, its choices and what is said of it."""
    choice = ""
    if len(figure.variants) > 1:
        choice = f'<label>{escape(figure.choose)} <select data-figure="{figure.id}">{_options(figure)}</select></label>'
    ramp = '<p class="ramp"><span>0</span><i></i><span>100 %</span></p>' if figure.id == "network" else ""
    return (
        f'<section class="card {figure.id}"><header><h2>{escape(figure.title)}</h2>{choice}</header>'
        f'<p class="note">{escape(figure.note)}</p>{ramp}{_keys(figure)}{above}'
        f'<div class="plot" id="plot-{figure.id}" style="--height:{figure.height}px"></div>'
        f"{_notes(figure)}{below}</section>"
    )


def _options(figure: Figure) -> str:
    """The choices, under their heads if they have any."""
    text = ""
    for head, keys in groupby(figure.variants, lambda key: figure.groups.get(key, "")):
        options = "".join(f'<option value="{escape(k)}">{escape(figure.options.get(k, k))}</option>' for k in keys)
        text += f'<optgroup label="{escape(head)}">{options}</optgroup>' if head else options
    return text


def _keys(figure: Figure) -> str:
    """What colours mean, in words."""
    chips = "".join(
        f'<span class="chip" data-tint="{escape(tint)}"><i></i>{escape(text)}</span>' for tint, text in figure.keys
    )
    return f'<p class="keys">{chips}</p>' if chips else ""


def _notes(figure: Figure) -> str:
    return "".join(
        f'<p class="note" data-variant="{figure.id}" data-choice="{escape(key)}">{escape(text)}</p>'
        for key, text in figure.notes.items()
        if text
    )


@cache
def asset(file: str) -> str:
    """A file of ours that the page is made of."""
    return files("midpath.report").joinpath("assets", file).read_text(encoding="utf-8")


@cache
def plotly() -> str:
    """plotly.js, embedded so that a report works anywhere and for ever; compressed, for it is most of the page."""
    packed = files("midpath.report").joinpath("assets", "plotly-basic.min.js.gz").read_bytes()
    return base64.b64encode(packed).decode("ascii")
