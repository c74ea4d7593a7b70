"""Results as text on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from midpath import equipment
from midpath.applications import application_tables
from midpath.compare import datagrams, groups
from midpath.compare.comparison import Comparison, Row
from midpath.compare.datagrams import DatagramRow, datagram_rows
from midpath.compare.groups import GroupRow
from midpath.compare.variants import VariantRow, Variants
from midpath.compare.verdict import sentences
from midpath.console.progress import hops as packet_hops
from midpath.equipment import equipment_of
from midpath.metrics import IDEAL, METRICS
from midpath.palette import name
from midpath.result import Result
from midpath.stats import Estimate
from midpath.topology import HostPlace
from midpath.units import digits, quantity

# What the terminal shows; the report shows all.
SHOWN = (
    "afct_s",
    "fct_p50_s",
    "fct_p99_s",
    "slowdown_mean",
    "utilisation_max",
    "loss_ratio",
    "queue_max_bytes",
    "queue_delay_p99_s",
)


def console() -> Console:
    """Standard output; wide enough for our tables when it is not a terminal."""
    found = Console(highlight=False, markup=False)
    if not found.is_terminal:
        found.width = max(found.width, 190)
    return found


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str | Text]], title: str | None = None, *, words: bool = False
) -> None:
    """A table: first column left, others right, but for a last one of `words`."""
    if title:
        console().print(title, style="bold")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=any(heads))
    for index, head in enumerate(heads):
        left = index == 0 or (words and index == len(heads) - 1)
        table.add_column(head, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_result(result: Result) -> None:
    """The figures of one run."""
    run, summary = result.run, result.summary
    print_table(
        ("", ""),
        [(metric.label, quantity(metric.kind, summary.get(metric.key))) for metric in METRICS],
        result.title,
    )
    hops, wall = run.get("packet_hops") or 0, run.get("wall_s") or 0.0
    speed = f", {packet_hops(hops / wall)}/s" if wall else ""
    console().print(
        f"{name(result.scheme)}, seed {result.seed}: {summary['completed']:,} of {summary['flows']:,} flows ended, "
        f"{quantity('seconds', run['simulated_s'])} simulated in {quantity('seconds', wall)}{speed}"
    )

    _print_datagrams(datagram_rows({result.scheme: [result]}), is_random=False)
    _print_applications({result.scheme: [result]})
    if found := equipment_of(result):
        print_table(equipment.HEADS, [found.cells()], words=True)
    for line in _deployed(run.get("deployment") or []):
        console().print(line, style="dim")
    print_warnings(result.warnings)


def _print_applications(runs: Mapping[str, Sequence[Result]]) -> None:
    for table in application_tables(runs):
        print_table(table.heads, table.rows)


def print_warnings(warnings: Iterable[str]) -> None:
    """What a run's user should know beside its figures."""
    for warning in warnings:
        console().print(f"warning: {warning}", style="yellow", soft_wrap=True)


# More nodes than this are counted, not named.
MAX_NAMED = 8


def _deployed(instances: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What runs where, unless one scheme runs everywhere."""
    if all(instance["nodes"] == "all" for instance in instances):
        return
    for instance in instances:
        nodes, ports = instance["nodes"], instance["ports"]
        named = "all nodes" if nodes == "all" else ", ".join(nodes[:MAX_NAMED])
        more = f" and {len(nodes) - MAX_NAMED} more" if nodes != "all" and len(nodes) > MAX_NAMED else ""
        title = "" if instance["instance"] == instance["scheme"] else f"{instance['instance']}: "
        scheme = "plain queues" if instance["scheme"] == "none" else instance["scheme"]
        yield f"{title}{scheme} at {named}{more} ({ports} {'port' if ports == 1 else 'ports'})"


def print_comparison(comparison: Comparison) -> None:
    """One row per scheme."""
    shown = [metric for metric in METRICS if metric.key in SHOWN]
    with_ideal = IDEAL in comparison.schemes
    heads = ["Scheme", "Flows", *(metric.label for metric in shown), *(["AFCT/ideal"] if with_ideal else [])]
    print_table(heads, [_row(row, with_ideal, comparison.is_random) for row in comparison.rows()], comparison.title)
    for note in _notes(comparison):
        console().print(note, style="dim", soft_wrap=True)
    if comparison.groups:
        print_table(groups.HEADS, [_group_row(row, comparison.is_random) for row in comparison.groups])
    _print_datagrams(comparison.datagrams, is_random=comparison.is_random)
    _print_applications({scheme: comparison.of(scheme) for scheme in comparison.schemes})
    if comparison.equipment:
        print_table(equipment.HEADS, [row.cells() for row in comparison.equipment], words=True)
    for sentence in sentences(comparison):
        console().print(sentence, soft_wrap=True)
    print_warnings(comparison.warnings)


def print_variants(found: Variants) -> None:
    """One row per variant and scheme."""
    shown = [metric for metric in METRICS if metric.key in SHOWN]
    heads = ["Variant", "Scheme", "Flows", *(metric.label for metric in shown), f"AFCT/{found.names[0]}"]
    print_table(heads, [_variant_row(found, row) for row in found.rows()], found.title)
    for note in found.notes:
        console().print(note, style="dim", soft_wrap=True)
    for variant, comparison in found.matched.items():
        if comparison.groups:
            print_table(groups.HEADS, [_group_row(row, comparison.is_random) for row in comparison.groups], variant)
        _print_datagrams(comparison.datagrams, variant, is_random=comparison.is_random)
    if found.equipment:
        rows = [(variant, *row.cells()) for variant, row in found.equipment]
        print_table(("Variant", *equipment.HEADS), rows, words=True)
    for sentence in found.verdict():
        console().print(sentence, soft_wrap=True)
    print_warnings(found.warnings)


def _variant_row(found: Variants, row: VariantRow) -> list[str | Text]:
    is_random = found.comparisons[row.variant].is_random
    is_first = row.variant == found.names[0]
    # A ratio is random where either of the two is.
    ratio = "1" if is_first else _shown("times", row.to_first.get("afct_s"), is_random or found.first.is_random)
    return [row.variant, *_row(row.row, False, is_random), ratio]


def _notes(comparison: Comparison) -> Iterator[str]:
    """How the table is to be read."""
    if not comparison.is_random:
        yield "nothing in this scenario is random: no intervals"
    elif len(comparison.seeds) > 1:
        yield f"means over {len(comparison.seeds)} seeds, ± 95 % confidence"
    if comparison.matching:
        yield f"{comparison.matching}; loss, memory and queueing delay cover all flows"


def _shown(kind: str, value: Estimate | None, is_random: bool) -> str:
    return quantity(kind, value.mean, value.ci95 if is_random else None) if value else "–"


def _ended(row: Row | GroupRow) -> str:
    return f"{row.completed:,}" if row.completed == row.flows else f"{row.completed:,}/{row.flows:,}"


def _group_row(row: GroupRow, is_random: bool) -> list[str | Text]:
    figures = (("seconds", row.afct_s), ("seconds", row.fct_p99_s), ("bps", row.goodput_bps))
    return [row.group, name(row.scheme), _ended(row), *(_shown(*figure, is_random) for figure in figures)]


def _print_datagrams(rows: Sequence[DatagramRow], title: str | None = None, *, is_random: bool) -> None:
    if rows:
        print_table(datagrams.HEADS, [[row.group, name(row.scheme), *row.cells(is_random)] for row in rows], title)


def _row(row: Row, with_ideal: bool, is_random: bool) -> list[str | Text]:
    figures = [_shown(metric.kind, row.figures[metric.key], is_random) for metric in METRICS if metric.key in SHOWN]
    cells: list[str | Text] = [Text(name(row.scheme), style="bold"), _ended(row), *figures]
    if with_ideal:
        cells.append(_shown("times", row.to_ideal.get("afct_s"), is_random))
    return cells


def print_topology(found: dict[str, Any], title: str) -> None:
    """A topology in numbers."""
    print_table(("", ""), [(label, value) for label, value in _topology_rows(found) if value], title)
    for note in found["notes"]:
        console().print(f"note: {note}")


def print_hosts(places: Sequence[HostPlace], title: str) -> None:
    """Which host sits where."""
    rows = [
        (
            place.name,
            ", ".join(place.routers) or "–",
            place.label or "–",
            f"{place.place[1]:.2f}, {place.place[0]:.2f}" if place.place else "–",
            quantity("bps", place.rate_bps),
        )
        for place in places
    ]
    print_table(("Host", "Router", "Place", "Latitude, longitude", "Access"), rows, title)


def _topology_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    classes = ", ".join(f"{count:,} {role}" for role, count in found["classes"].items())
    degree, delay, detours = found["degree"], found["delay_s"], found["detours"]
    yield "nodes", f"{found['nodes']:,}: {found['routers']:,} routers, {found['hosts']:,} hosts"
    yield "classes", classes
    yield "links", f"{found['links']:,}"
    yield "degree of routers", f"{degree['min']} to {degree['max']}, mean {digits(degree['mean'])}"
    parts = f"no, {found['component_count']:,} parts of {', '.join(map(str, found['components'][:5]))} … nodes"
    yield "connected", "yes" if found["connected"] else parts
    yield "diameter", f"{found['diameter_hops']} hops" if found["diameter_hops"] is not None else ""
    for rate in found["capacities"]:
        yield f"links of {quantity('bps', rate['rate_bps'])}", f"{rate['links']:,}"
    yield "links without a rate", f"{found['links_without_rate']:,}" if found["links_without_rate"] else ""
    yield "delays", " / ".join(quantity("seconds", delay[key]) for key in ("min", "mean", "max")) if delay else ""
    if detours["percent"] is not None:
        yield (
            "links with a 1-hop detour",
            f"{detours['with_detour']:,} of {detours['links']:,}, {detours['percent']:.2f} %",
        )
    if detours["split_percent"]:
        split = " / ".join(f"{share:.1f}" for share in detours["split_percent"])
        yield "of these with 1/2/3/4/5+", f"{split} %, at most {detours['max']}"
