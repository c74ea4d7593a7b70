"""`midpath cost`: cost of a scheme's hardware."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from midpath.bill import Bill, bills, of_comparison, of_scenario
from midpath.compare.asked import Asked, asked_by, gained
from midpath.compare.comparison import Comparison
from midpath.compare.variants import Variants
from midpath.console import text
from midpath.console.options import Json, Set, changes, names_in, print_json, read
from midpath.cost import DRAM, PACKET_BYTES, RATE_BPS, SRAM, CacheCost, Memory, in_gigabits, inrpp_cache
from midpath.errors import UsageError
from midpath.loading import load
from midpath.metrics import IDEAL
from midpath.palette import name
from midpath.prices import ITEMS, UNITS
from midpath.prices import load as load_prices
from midpath.prices import shipped as shipped_prices
from midpath.run import as_names
from midpath.schemes import shipped
from midpath.units import digits, parse, quantity

PricesFile = Annotated[
    Path | None,
    typer.Option(
        "--prices", metavar="FILE", help="Your prices instead of the built-in ones, as TOML or CSV.", show_default=False
    ),
]

# By variant and scheme.
Gains = dict[str, dict[str, dict[str, Any]]]

app = typer.Typer(help="Show what schemes require, and what the hardware costs.")


@app.callback()
def root() -> None:
    """Show what schemes require, and what the hardware costs."""


@app.command("schemes")
def schemes(
    names: Annotated[str | None, typer.Argument(help="Comma-separated schemes; default: all.")] = None,
    of: Annotated[Path | None, typer.Option(metavar="DIR", help="A comparison.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Cost of each scheme in hosts, routers and packets; with --of, next to its gain."""
    found = _compared(of) if of is not None else None
    wanted = as_names(names) if names else list(found.schemes if found else shipped())
    rows = [asked_by(scheme) for scheme in wanted if scheme != IDEAL]
    variants = found.matched if isinstance(found, Variants) else {}
    gains = gained(found) if isinstance(found, Comparison) else {}
    by_variant = {variant: gained(one) for variant, one in variants.items()}
    if json:
        print_json([row.to_json() | gains.get(row.scheme, {}) | _by_variant(row, by_variant) for row in rows])
        return
    for line in (line for row in rows for line in _priced(row, gains, by_variant)):
        text.console().print(line, soft_wrap=True)


def _compared(directory: Path) -> Comparison | Variants:
    found = load(directory)
    if not isinstance(found, Comparison | Variants):
        raise UsageError(f"{directory} holds no comparison: midpath compare --out DIR writes one")
    return found


def _by_variant(row: Asked, gains: Gains) -> dict[str, Any]:
    """What a scheme gained in each variant."""
    own = {variant: of[row.scheme] for variant, of in gains.items() if row.scheme in of}
    return {"variants": own} if own else {}


def _gain(own: dict[str, Any]) -> str:
    memory = quantity("bytes", own["queue_max_bytes"])
    return f"AFCT {quantity('seconds', own['afct_s'])} with {memory} at the fullest port"


def _priced(row: Asked, gains: dict[str, dict[str, Any]], by_variant: Gains) -> Iterator[str]:
    own = gains.get(row.scheme)
    parts = [f"hosts run {row.hosts}"] if row.hosts else []
    parts += [f"routers run {row.routers or 'plain queues'}"]
    parts += [_gain(own)] if own else []
    parts += [f"{variant}: {_gain(of[row.scheme])}" for variant, of in by_variant.items() if row.scheme in of]
    yield f"{name(row.scheme)}: {'; '.join(parts)}"
    yield from (f"  - {cost}" for cost in row.costs)


@app.command("prices")
def prices(of: PricesFile = None, json: Json = False) -> None:
    """Print the table of prices, as a file to change; what has no price is listed on stderr."""
    found = load_prices(of)
    if json:
        print_json([{"item": item, "measure": measure, **asdict(one)} for (item, measure), one in found.of.items()])
    else:
        typer.echo(of.read_text(encoding="utf-8") if of else shipped_prices(), nl=False)
    for item, measure in found.missing():
        typer.echo(f"no {measure} for {item} ({ITEMS[item]})", err=True)


@app.command("bill")
def bill_of(
    file: Annotated[
        Path | None,
        typer.Argument(help="A scenario: requirements of schemes there, without a run.", show_default=False),
    ] = None,
    schemes: Annotated[
        list[str] | None, typer.Option(help="Comma-separated schemes for FILE.", show_default=False)
    ] = None,
    of: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="A comparison: its options, with their gain.", show_default=False),
    ] = None,
    prices_file: PricesFile = None,
    settings: Set = None,
    json: Json = False,
) -> None:
    """What each option takes beyond the first: links, ports, memory, cards; dollars, watts, and gain per each.

    Options are schemes, in each of the scenario's variants. An item that has no price leaves its sum open.
    """
    if (file is None) == (not of):
        raise UsageError("give a scenario with --schemes, or comparisons with --of DIR")
    if file is not None:
        scenario = read(file).with_(changes=changes(settings))
        named = names_in(schemes or []) or [str(scenario.to_dict().get("scheme", "newreno"))]
        options = [of_scenario(scenario, named)]
    else:
        options = [of_comparison(_compared(directory)) for directory in of or []]
    known = load_prices(prices_file)
    found = [bills(one, known) for one in options]
    if json:
        print_json([one.to_json() for bill in found for one in bill])
        return
    for bill in found:
        text.print_table(BILL_HEADS, [_bill_row(one) for one in bill], f"beside {bill[0].name}", words=True)
    for line in _open([one for bill in found for one in bill]):
        text.console().print(line, soft_wrap=True)


BILL_HEADS = ("option", "dollars", "watts", "AFCT", "% per $1,000", "% per W", "buys")


def _bill_row(one: Bill) -> tuple[str, ...]:
    gains = (one.per("dollars"), one.per("watts"))
    return (
        one.name,
        "open" if one.dollars is None else dollars(one.dollars),
        "open" if one.watts is None else digits(one.watts),
        quantity("ratio", one.time.mean, one.time.ci95) if one.time else "–",
        "–" if gains[0] is None else digits(1000 * gains[0]),
        "–" if gains[1] is None else digits(gains[1]),
        ", ".join(f"{digits(amount)} {UNITS[item]} {item}" for item, amount in one.buys.items()) or "nothing",
    )


def _open(found: list[Bill]) -> Iterator[str]:
    """Which prices the user has to fill in."""
    lacking = {(item, measure) for one in found for measure, items in one.open.items() for item in items}
    for item, measure in sorted(lacking):
        yield (
            f"no {measure} for {item} ({ITEMS[item]}): add a row with your source to a file "
            "from `midpath cost prices`, and pass it with --prices"
        )


@app.command("inrpp-cache")
def cache(
    rate: Annotated[str, typer.Option(help="Port rate.")] = "100 Gbps",
    packet: Annotated[str, typer.Option(help="Smallest packet at that rate.")] = "64 B",
    sram: Annotated[
        str | None,
        typer.Option(help="SRAM at head and tail each; default: one chip.", show_default=False),
    ] = None,
    sram_access_ns: Annotated[float, typer.Option(help="Nanoseconds per access.")] = 0.45,
    sram_capacity: Annotated[str, typer.Option(help="Of one SRAM chip.")] = "260 MB",
    sram_price: Annotated[float, typer.Option(help="Dollars per MB.")] = 27.0,
    dram_access_ns: Annotated[float, typer.Option(help="Nanoseconds per access.")] = 11.25,
    dram_capacity: Annotated[str, typer.Option(help="Of one DRAM.")] = "8 GB",
    dram_price: Annotated[float, typer.Option(help="Dollars per MB.")] = 0.054,
    json: Json = False,
) -> None:
    """The cache of one INRPP port: DRAMs in parallel between two SRAMs.

    Defaults: the paper's §III-D and table IV.
    """
    rate_bps, packet_bytes = parse("bps", rate), parse("bytes", packet)
    fast = Memory(sram_access_ns / 1e9, parse("bytes", sram_capacity), sram_price)
    slow = Memory(dram_access_ns / 1e9, parse("bytes", dram_capacity), dram_price)
    sram_bytes = None if sram is None else parse("bytes", sram)
    found = inrpp_cache(rate_bps, packet_bytes, fast, slow, sram_bytes)
    papers = (rate_bps, packet_bytes, fast, slow) == (RATE_BPS, PACKET_BYTES, SRAM, DRAM)
    if json:
        print_json(found.to_json())
        return
    heading = f"INRPP cache of a port of {quantity('bps', rate_bps)}, packets of {quantity('bytes', packet_bytes)}"
    text.print_table(("", "", ""), list(_rows(found, fast, slow)), heading, words=True)
    for note in _notes(found, papers):
        text.console().print(f"note: {note}", soft_wrap=True)


def _rows(found: CacheCost, fast: Memory, slow: Memory) -> Iterator[tuple[str, str, str]]:
    packet, dram = quantity("seconds", found.packet_s), quantity("bytes", slow.capacity_bytes)
    access = f"{slow.access_s * 1e9:g} ns / {fast.access_s * 1e9:g} ns"
    chips = f"head and tail: {quantity('bytes', found.sram_bytes / 2)} each"
    yield "needed access time", quantity("seconds", found.needed_access_s), f"one write and one read per {packet}"
    yield "DRAMs", str(found.drams), f"{access}: as fast as SRAM; the rate alone needs {found.drams_for_rate}"
    yield "storage", quantity("bytes", found.storage_bytes), f"{found.drams} × {dram}"
    yield "traffic", quantity("seconds", found.storage_s), "at the port's rate"
    yield "DRAM", dollars(found.dram_dollars), f"{found.drams} × {dollars(slow.dollars)}"
    yield "SRAM", dollars(found.sram_dollars), chips
    yield "total", dollars(found.total_dollars), ""
    yield "SRAM alone", dollars(found.all_sram_dollars), "of the same size"
    yield "saved", _percent(found.saved), f"{_percent(found.saved_without_sram)} if SRAM at head and tail cost nothing"


def _notes(found: CacheCost, papers: bool) -> Iterator[str]:
    if not found.sram_is_fast_enough:
        yield "the SRAM is too slow for this rate and packet: neither cache keeps up"
    if papers:
        bits = inrpp_cache(dram=in_gigabits())
        yield (
            f"§III-D says the DRAMs cost around $1350; the prices of table IV make it {dollars(found.dram_dollars)}. "
            f"With DRAMs of 8 Gbit it would be {dollars(bits.dram_dollars)}, but then they hold "
            f"{quantity('bytes', bits.storage_bytes)}, {quantity('seconds', bits.storage_s)}, "
            "not the paper's 200 GB and 16 s"
        )
    yield "chips only: no controller, pins, board or energy"


def dollars(value: float) -> str:
    """Whole dollars where there are many, else three digits."""
    return f"${value:,.0f}" if value >= 100 else f"${digits(value)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}\N{NO-BREAK SPACE}%"
