"""`midpath bench`: the table, as it is measured and as it is printed."""

from __future__ import annotations

import json as json_module
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from midpath import stats
from midpath.benchmark import (
    Bench,
    Measurement,
    NotMeasuredError,
    Ns3,
    beside,
    choose,
    find_ns3,
    measure,
    picture,
    suite,
    with_goals,
)
from midpath.benchmark.beside import Beside
from midpath.benchmark.curves import Curve, Found, curves, measured
from midpath.benchmark.curves import choose as choose_curves
from midpath.console.options import Json, print_json
from midpath.console.text import console, print_table
from midpath.errors import UsageError
from midpath.extension import _midpath
from midpath.stats import Estimate
from midpath.topology.tiscali import MAP, ROCKETFUEL
from midpath.units import digits, quantity

Row = Measurement | tuple[Bench, str]


def bench(
    only: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Rows by name or prefix: long,fat-tree-4.", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Include large rows (minutes, gigabytes).")] = False,
    ns3: Annotated[bool, typer.Option("--ns3", help="Also run ns-3, if installed (minutes).")] = False,
    repeat: Annotated[int, typer.Option(help="Repetitions, for median and best.", min=1)] = 3,
    threads: Annotated[int, typer.Option(help="Threads; goals are for one.", min=1)] = 1,
    rocketfuel: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Rocketfuel's maps, for rows map-…; else {ROCKETFUEL}, else GÉANT's map."),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Plot cost over flows, nodes, hops, threads, schemes.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="With --plot: directory.  [default: bench]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="With --plot: seconds only.")] = False,
    rev: Annotated[
        str | None,
        typer.Option("--beside", metavar="REV", help="Also build that git revision, and compare in turns."),
    ] = None,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="With --beside: short rows, instructions alone, by valgrind.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure the simulator's speed: CPU time, memory, and hardware counters if available.

    With --plot, --only names curves. With --beside, a row is worse that needs 2 % more instructions than at REV, or,
    where none are counted, more CPU time beyond the interval; the command then exits with 1.
    """
    if rev:
        if ns3 or plot or out or quick or threads != 1:
            raise UsageError("--beside takes --only, --all, --rocketfuel, --repeat, --instructions and --json")
        _beside(rev, choose(suite(_map(rocketfuel)), only, every), repeat, instructions, json)
        return
    if instructions:
        raise UsageError("--instructions applies to --beside")
    if plot:
        if every or ns3 or rocketfuel or threads != 1:
            raise UsageError("--plot takes --only, --out, --quick, --repeat and --json")
        _plot(only, out or Path("bench"), quick, repeat, json)
        return
    if out or quick:
        raise UsageError("--out and --quick apply to --plot")
    chosen = choose(suite(_map(rocketfuel)), only, every)
    peer = find_ns3() if ns3 else None
    rows: list[Row] = []
    for number, row in enumerate(chosen, 1):
        with _note(f"{row.id} ({number} of {len(chosen)}) …"):
            rows.append(_measured(row, repeat, threads, peer))
    found = with_goals([row for row in rows if isinstance(row, Measurement)], {row.id: row.goal for row in chosen})
    failed = [row for row in rows if isinstance(row, tuple)]
    if json:
        print_json([one.to_json() for one in found] + [{"id": row.id, "not_measured": why} for row, why in failed])
    elif found:
        print_benchmarks(found)
    for row, why in failed:
        typer.echo(f"{row.id} not measured: {why}", err=True)
    if not found:
        raise typer.Exit(1)


def _beside(rev: str, chosen: Sequence[Bench], repeat: int, only_instructions: bool, json: bool) -> None:
    stats.require()
    if only_instructions:
        chosen = [row for row in chosen if row.id in beside.SHORT]
    found: list[Beside] = []
    with _note(f"building here and {rev} …"), beside.both(rev) as sides:
        for row in chosen:
            try:
                found.append(beside.beside(row, sides, repeat, only_instructions=only_instructions))
            except NotMeasuredError as error:
                typer.echo(f"{row.id} not measured: {error}", err=True)
                continue
            # Rows take minutes: each is told when it ends, the table comes last.
            typer.echo("  ".join(_beside_cells(found[-1])).rstrip(), err=True)
    if json:
        print_json([one.to_json() for one in found])
    else:
        print_beside(rev, found)
    if worse := beside.worse(found):
        typer.echo(f"worse than {rev} by 2 % or more: {', '.join(worse)}", err=True)
    if worse or not found:
        raise typer.Exit(1)


def print_beside(rev: str, found: Sequence[Beside]) -> None:
    """One row per benchmark: what it needs here over what it needs there."""
    heads = ["Benchmark", "Instr./hop", f"at {rev}", "instructions, ratio", "CPU time, ratio", ""]
    print_table(heads, [_beside_cells(one) for one in found])


def _beside_cells(one: Beside) -> list[str]:
    def ratio(found: Estimate | None) -> str:
        return (
            NONE if found is None else f"{found.mean:.3f}" + (f" ± {found.ci95:.3f}" if found.ci95 is not None else "")
        )

    return [
        one.id,
        *([digits(count) for count in one.counted] if one.counted else [NONE, NONE]),
        ratio(one.instructions),
        ratio(one.cpu),
        "worse" if one.is_worse else "",
    ]


def _plot(only: str | None, out: Path, quick: bool, repeat: int, json: bool) -> None:
    picture.require()
    chosen = choose_curves(curves(quick), only)
    out.mkdir(parents=True, exist_ok=True)
    values = out / "curves.json"
    found = _points(chosen, values, repeat)
    if not found:
        raise typer.Exit(1)
    note = f"midpath {_midpath.version()}, {platform.machine()}, minimum of up to {repeat} runs, one process each"
    picture.write(picture.draw(chosen, found, note), out / "curves.png")
    if json:
        print_json([one.to_json() for one in found])
    else:
        print_points(found)
        typer.echo(f"figure: {out / 'curves.png'}, values: {values}")


def _points(chosen: Sequence[Curve], values: Path, repeat: int) -> list[Found]:
    """Measures all points, and keeps after each what there is: together they take long."""
    points = [(curve, point) for curve in chosen for point in curve.points]
    found: list[Found] = []
    for number, (curve, point) in enumerate(points, 1):
        with _note(f"{curve.id}: {point.line}, {point.x} ({number} of {len(points)}) …"):
            try:
                found.append(measured(curve, point, repeat))
            except NotMeasuredError as error:
                typer.echo(f"{curve.id}, {point.line}, {point.x} not measured: {error}", err=True)
                continue
        text = json_module.dumps([one.to_json() for one in found], indent=1, ensure_ascii=False)
        values.write_text(text + "\n", encoding="utf-8")
    return found


def print_points(found: Sequence[Found]) -> None:
    """One row per point."""
    heads = ["Curve", "Line", "At", "Flows", "Packet-hops", "CPU ns/hop", "wall ns/hop", "Set-up", "Peak memory"]
    print_table(heads, [_point(one) for one in found])


def _point(found: Found) -> list[str]:
    return [
        found.curve,
        found.line,
        found.x if isinstance(found.x, str) else f"{found.x:,}",
        f"{found.flows:,}",
        f"{found.packet_hops:,}",
        digits(found.cpu_ns_per_hop),
        digits(found.wall_ns_per_hop),
        quantity("seconds", found.set_up_cpu_s),
        quantity("bytes", found.peak_bytes),
    ]


def _map(folder: Path | None) -> Path | None:
    """The file with Rocketfuel's map; `None` if the user has said nothing of it."""
    given = folder or Path(os.environ.get(ROCKETFUEL, ""))
    if given == Path():
        return None
    if not (given / MAP).is_file():
        raise UsageError(f"there is no {MAP} in {given}, the folder with Rocketfuel's maps")
    return given / MAP


def _measured(row: Bench, repeat: int, threads: int, peer: Ns3 | None) -> Row:
    try:
        found = measure(row, repeat=repeat, threads=threads)
    except NotMeasuredError as error:
        return row, str(error)
    return peer.beside(row, found) if peer else found


@contextmanager
def _note(text: str) -> Iterator[None]:
    """What is being measured, on a terminal."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield
        return
    with errors.status(text):
        yield


def print_benchmarks(found: Sequence[Measurement]) -> None:
    """One row per benchmark; columns that no row has are left out."""
    cells = [_cells(measurement) for measurement in found]
    heads = [head for head in cells[0] if any(row[head] != NONE for row in cells)] if cells else []
    print_table([LABELS.get(head, head) for head in heads], [[row[head] for head in heads] for row in cells])
    if why := next((one.counters_missing for one in found if one.counters_missing), None):
        console().print(f"No cycles, instructions or cache misses: {why}.", style="dim")


NONE = "–"
LABELS = {"title": ""}


def _cells(found: Measurement) -> dict[str, str]:
    per_hop = found.counters_per_hop

    def speed(value: float | None) -> str:
        return digits(value / 1e6) if value else NONE

    return {
        "Benchmark": found.id,
        "title": found.title,
        "Packet-hops": f"{found.packet_hops:,}" if found.packet_hops else NONE,
        "Mhop/s": speed(found.hops_per_s),
        "best": speed(found.best_hops_per_s),
        "per CPU s": speed(found.hops_per_cpu_s),
        "CPU ns/hop": digits(found.cpu_ns_per_hop) if found.cpu_ns_per_hop else NONE,
        "Set-up": quantity("seconds", found.set_up_cpu_s),
        "All CPU": quantity("seconds", found.total_cpu_s),
        "Peak memory": quantity("bytes", found.peak_bytes),
        "per flow": quantity("bytes", found.bytes_per_flow),
        "Cycles/hop": digits(per_hop["cycles"]) if "cycles" in per_hop else NONE,
        "Instr./hop": digits(per_hop["instructions"]) if "instructions" in per_hop else NONE,
        "Cache misses": digits(per_hop["cache_misses"]) if "cache_misses" in per_hop else NONE,
        "2 threads": quantity("times", found.speedup),
        "Goal": found.goal or NONE,
        "reached": f"{found.share:.0%}" if found.share is not None else NONE,
        "ns-3": found.ns3_version or NONE,
        "its per CPU s": speed(found.ns3_hops_per_cpu_s),
        "ratio": quantity("times", found.ratio_to_ns3),
    }
