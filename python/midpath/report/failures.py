"""The report of failures: the map of links by the effect of their failure, and the table, worst links first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from midpath.html import embedded
from midpath.palette import looks, name, tints
from midpath.report.figure import Figure, Trace, compact, variant
from midpath.report.network import hover_points, layout_of, nodes_of, shrink
from midpath.report.page import card, filled
from midpath.report.tables import chip, whole
from midpath.sweep.failures import HEADS, Failures, Harm, label, said
from midpath.topology.layout import Place, places
from midpath.units import digits

# More rows than these are left to `midpath failures --json`.
MOST_ROWS = 400
# In maps of up to so many links, those that hurt have their ratio written on them; in denser ones it would hide others.
MOST_LABELS = 30
# Room at the sides of the map: without the fans of hosts, names stand at its very edge.
ROOM = 0.18


@dataclass(frozen=True)
class Step:
    """How bad a failure is, in words, and how its link is drawn: its place on the ramp of colours, width, dash."""

    key: str
    text: str
    ramp: float
    width: float
    dash: str = "solid"


CALM = Step("calm", "takes no longer", 0.0, 2)
UNUSED = Step("unused", "carries no traffic", 0.0, 1, "dash")
# No difference found is not no difference: another dash, not only another colour.
UNKNOWN = Step("unknown", "no difference found", 0.0, 2, "dot")
# The last that a mean ratio reaches: from 1, 1.1, 1.5 and 2 times as long.
LONGER = (
    (1.0, Step("little", "flows take up to 1.1 times as long", 0.25, 3.5)),
    (1.1, Step("some", "up to 1.5 times", 0.5, 5)),
    (1.5, Step("much", "up to twice", 0.75, 6.5)),
    (2.0, Step("most", "longer, or some never end", 1.0, 8)),
)
CUT = Step("cut", "flows have no route left", 1.0, 8, "dash")
STEPS = (UNUSED, CALM, UNKNOWN, *(step for _, step in LONGER), CUT)


def step_of(harm: Harm) -> Step:
    """How a link is drawn."""
    if harm.cut:
        return CUT
    if harm.unended:
        return LONGER[-1][1]
    if harm.unused:
        return UNUSED
    if not harm.hurts or harm.afct is None:
        return CALM if harm.is_harmless else UNKNOWN
    ratio = harm.afct.mean
    return next(step for least, step in reversed(LONGER) if ratio >= least)


def failures_page(found: Failures) -> str:
    """The whole report as one self-contained HTML text."""
    figure = _map(found)
    return filled(
        title=escape(found.title),
        kind="Failures",
        verdict=escape(" ".join(found.verdict())),
        warnings="".join(f'<p class="warning">{escape(text)}</p>' for text in _warnings(found)),
        facts="".join(f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in _facts(found)),
        summary=_table(found),
        wide=card(figure, above=_legend()),
        command=escape(str(found.about["command"])),
        file="The scenario",
        scenario=escape(str(found.about["scenario"]).strip()),
        data=embedded({"figures": {figure.id: figure.to_json()}, "looks": looks(found.schemes), "tints": tints()}),
    )


def _warnings(found: Failures) -> Iterator[str]:
    failed = found.failed_runs()
    if failed:
        yield f"{len(failed):,} runs failed; the first: {failed[0]['error']}"
    if found.missing:
        yield f"{found.missing:,} runs are still missing: the command was stopped."
    if len(found.about["seeds"]) == 1:
        yield "One seed: differences may be chance. Links count as hurt whatever the difference."


def _facts(found: Failures) -> list[tuple[str, str]]:
    return [
        ("Links", f"{len(found.links):,}"),
        ("Runs", f"{len(found.sweep):,}"),
        ("Seeds", str(len(found.about["seeds"]))),
        ("Links fail", f"at {found.at}" if found.at is not None else "before the start"),
        ("Midpath", str(found.about["midpath"])),
    ]


def _legend() -> str:
    """What colours, widths and dashes of links mean."""
    chips = "".join(
        f'<span class="chip" data-step="{step.key}" style="--wide: {step.width:g}px; '
        f'--scheme: var(--ramp-{round(step.ramp * 4)})"><i></i>{escape(step.text)}</span>'
        for step in STEPS
    )
    return f'<p class="keys">{chips}</p>'


def _map(found: Failures) -> Figure:
    whole = found.network
    routers = [node for node in whole.found["nodes"] if not whole.is_host(node["name"])]
    topology = {"nodes": routers, "links": [{"a": a, "b": b} for a, b in found.links]}
    where = places(topology)
    variants = {scheme: _variant(found, topology, where, scheme) for scheme in found.schemes}
    note = "Effect of each link's failure: warmer and wider is worse."
    if len(found.links) <= MOST_LABELS:
        note += " Numbers: ratio of completion times."
    labels = {scheme: name(scheme) for scheme in found.schemes}
    return Figure("failures", "Links by effect of their failure", note, variants, "Scheme", labels, height=560)


def _variant(found: Failures, topology: dict[str, Any], where: dict[str, Place], scheme: str) -> dict[str, Any]:
    harms = [harm for harm in found.harms if harm.scheme == scheme]
    degrees: dict[str, int] = {}
    for node in (end for link in found.links for end in link):
        degrees[node] = degrees.get(node, 0) + 1
    middles = [_middle(where, harm) for harm in harms]
    texts = [_hover(harm) for harm in harms]
    points = hover_points([x for x, _ in middles], [y for _, y in middles], texts)
    data = [*_links(where, harms), nodes_of(topology, where, degrees), points]
    return variant(data, layout_of(topology, where, ROOM) | {"annotations": _numbers(where, harms)})


def _links(where: dict[str, Place], harms: list[Harm]) -> Iterator[Trace]:
    """One trace per step, the worst on top."""
    for step in STEPS:
        own = [harm.link for harm in harms if step_of(harm) is step]
        if own:
            yield {
                "type": "scatter",
                "mode": "lines",
                "x": compact(x for a, b in own for x in (where[a][0], where[b][0], float("nan"))),
                "y": compact(y for a, b in own for y in (where[a][1], where[b][1], float("nan"))),
                "hoverinfo": "skip",
                "line": {"width": step.width * shrink(len(where)), "dash": step.dash},
                "meta": {"ramp": step.ramp},
            }


def _numbers(where: dict[str, Place], harms: list[Harm]) -> list[dict[str, Any]]:
    """How bad it is, on the links that hurt: colours alone would not do in print."""
    hurting = [harm for harm in harms if harm.hurts]
    if len(harms) > MOST_LABELS:
        return []
    return [
        {"x": x, "y": y, "text": _number(harm), "showarrow": False, "plate": True}
        for harm in hurting
        for x, y in [_middle(where, harm)]
    ]


def _number(harm: Harm) -> str:
    if harm.cut:
        return "cut"
    if harm.unended or harm.afct is None:
        return "stuck"
    return f"×{digits(harm.afct.mean)}"


def _middle(where: dict[str, Place], harm: Harm) -> Place:
    (x, y), (to_x, to_y) = (where[end] for end in harm.link)
    return (x + to_x) / 2, (y + to_y) / 2


def _hover(harm: Harm) -> str:
    return f"<b>{escape(label(harm.link))}</b> out<br>{escape(said(harm))}"


def _table(found: Failures) -> str:
    link, scheme, *figures = HEADS
    head = f'<th>{link}</th><th class="text">{scheme}</th>' + "".join(f"<th>{escape(text)}</th>" for text in figures)
    body = "".join(_row(harm) for harm in found.harms[:MOST_ROWS])
    more = len(found.harms) - MOST_ROWS
    notes = found.notes
    notes += [f"{more:,} more rows: midpath failures --json."] if more > 0 else []
    return (
        '<div class="scroll tall"><table id="summary">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<p class="note">{escape(" ".join(notes))}</p>'
    )


def _row(harm: Harm) -> str:
    values = "".join(f"<td>{escape(whole(cell))}</td>" for cell in harm.cells)
    return f'<tr><th>{escape(label(harm.link))}</th><td class="text">{chip(harm.scheme)}</td>{values}</tr>'
