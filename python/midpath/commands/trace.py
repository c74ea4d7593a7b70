"""`midpath packet`, `why`, `replay`, `perfetto` and `qlog`."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from midpath.console import text
from midpath.console.options import Json, print_json
from midpath.errors import UsageError
from midpath.result import load
from midpath.trace.critical import CriticalPath, Way, applications
from midpath.trace.datagrams import DatagramWay, groups
from midpath.trace.life import packet_life
from midpath.trace.perfetto import write_perfetto
from midpath.trace.qlog import write_qlog
from midpath.trace.record import Trace
from midpath.trace.why import why as reasons
from midpath.units import parse

Directory = Annotated[Path, typer.Argument(help="A run's result with trace.", show_default=False)]


def packet(
    directory: Directory,
    number: Annotated[int, typer.Argument(metavar="ID", help="Packet number.", show_default=False)],
    json: Json = False,
) -> None:
    """Print a packet's life, hop by hop, with delays."""
    life = packet_life(Trace.of(directory), number)
    if json:
        shown = [asdict(event) | {"value": None if isnan(event.value) else event.value} for event in life.events]
        print_json({"about": life.about, "events": shown})
        return
    for sentence in life.about:
        typer.echo(sentence)
    text.print_table(("Time", "After", "Where", "What", ""), list(life.rows()), words=True)


def why(
    directory: Annotated[
        Path, typer.Argument(help="A run's result; with trace for --flow and datagrams.", show_default=False)
    ],
    flow: Annotated[
        int | None, typer.Option(help="Flow number, in order of start (not its line).", show_default=False)
    ] = None,
    at: Annotated[str | None, typer.Option(help="The time: 4.31s, 20 ms.", show_default=False)] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A client, a job or datagrams (their group), in place of a flow.", show_default=False
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            help="Its request, load, view, iteration or packet; else the one that took longest.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a flow's window or rate at a time, or how long a request, page, view, iteration or datagram took."""
    if of is not None:
        if flow is not None or at is not None:
            raise UsageError("--of explains a client, a job or datagrams, --flow with --at a flow; leave one out")
        way = explained(directory, of, number)
        sentences, about = way.sentences(), way.about()
    elif flow is None or at is None:
        raise UsageError("give --flow and --at to explain a flow, or --of a client or job")
    elif number is not None:
        raise UsageError("--number is of a client or job, which --of names")
    else:
        sentences, about = reasons(Trace.of(directory), flow, parse("seconds", at)), {"flow": flow}
    if json:
        print_json({**about, "sentences": sentences})
        return
    for sentence in sentences:
        typer.echo(sentence)


def explained(directory: Path, of: str, number: int | None) -> Way:
    """The way of what a group names."""
    result = load(directory)
    if of in groups(result) and of not in applications(result):
        return DatagramWay(Trace.of(directory), of, number)
    return CriticalPath(result, of, number)


def replay(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIRECTORY...", help="Runs' results with traces.", show_default=False),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file; else replay.html in the first DIRECTORY.", show_default=False)
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    json: Json = False,
) -> None:
    """Animate traces in a self-contained HTML file, side by side."""
    # Layouts load only here: other commands need not wait for them.
    from midpath.trace.replay import write_beside, write_replay  # noqa: PLC0415

    traces, target = [Trace.of(directory) for directory in directories], out or directories[0] / "replay.html"
    path = write_replay(traces[0], target) if len(traces) == 1 else write_beside(traces, target)
    if json:
        print_json({"replay": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(f"replay: {path.resolve()}")
    if open_it:
        webbrowser.open(path.resolve().as_uri())


def perfetto(
    directory: Directory,
    out: Annotated[
        Path | None, typer.Option(help="The file; else trace.perfetto-trace in DIRECTORY.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Export a trace for Perfetto (ui.perfetto.dev): nodes, ports, queues, flows."""
    path = write_perfetto(Trace.of(directory), out or directory / "trace.perfetto-trace")
    if json:
        print_json({"trace": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(f"trace: {path.resolve()}")


def qlog(
    directory: Directory,
    out: Annotated[
        Path | None, typer.Option(help="The file; else trace.qlog in DIRECTORY.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Export a trace as IETF qlog: one per sender, one for the network."""
    path = write_qlog(Trace.of(directory), out or directory / "trace.qlog")
    if json:
        print_json({"trace": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(f"trace: {path.resolve()}")
