"""`midpath lab`: measurements on real network stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from midpath.cli import text
from midpath.cli.options import Json, Out, names_in, print_json
from midpath.cli.progress import bar
from midpath.compare import require_comparison
from midpath.errors import UsageError
from midpath.lab import machine
from midpath.units import parse

if TYPE_CHECKING:
    from midpath.lab.testbed import Delays

app = typer.Typer(help="Measure on this machine's own TCP, in network namespaces.")


@app.callback()
def root() -> None:
    """Measure on this machine's own TCP, in network namespaces."""


@app.command()
def rpm(
    modes: Annotated[str, typer.Option(help="none, fwd, rpm, both; with commas between them.")] = "none,fwd,rpm",
    cc: Annotated[str, typer.Option(help="cubic, newreno, bbr, dctcp; with commas between them.")] = "cubic",
    flows: Annotated[int, typer.Option(help="Long flows to each receiver.", min=0)] = 1,
    rtt: Annotated[
        str, typer.Option(help="Round trip without queues; several with commas between them: a receiver for each.")
    ] = "40 ms",
    upstream: Annotated[str, typer.Option(help="The part of it between sender and router.")] = "0 ms",
    rate: Annotated[str, typer.Option(help="The bottleneck's.")] = "100 Mbps",
    buffer: Annotated[str, typer.Option(help="How long a packet may wait.")] = "200 ms",
    aqm: Annotated[str, typer.Option(help="codel, codel-dataplane or step.")] = "codel",
    target: Annotated[str, typer.Option(help="CoDel's target, or the step's threshold.")] = "5 ms",
    interval: Annotated[str, typer.Option(help="CoDel's interval.")] = "100 ms",
    aggregate: Annotated[bool, typer.Option("--aggregate", help="One register for all flows.")] = False,
    paced: Annotated[bool, typer.Option("--paced", help="Senders space their packets out.")] = False,
    short: Annotated[bool, typer.Option("--short", help="Short flows beside the long ones.")] = False,
    seconds: Annotated[float, typer.Option(help="How long each run takes.")] = 10.0,
    repeats: Annotated[int, typer.Option(help="How often each is run.", min=1)] = 3,
    vs_sim: Annotated[bool, typer.Option("--vs-sim", help="Run the same in the simulator, side by side.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Everything that checks/rpm/RESULTS.md shows; takes more than an hour, needs --out."
        ),
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="With --full: these parts of it, with commas between them.", show_default=False)
    ] = None,
    midpathd: Annotated[
        str | None, typer.Option(metavar="PROGRAM", help="The midpathd to measure.", show_default=False)
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """RPM on a real Linux router: build sender, router and receivers, send real TCP through, compare.

    Needs root, the binaries midpathd and midpath-lab, and pyroute2 (pip install 'midpath[lab]').
    """
    wanted, chosen = _names("--cc", cc), _names("--modes", modes)
    machine.require()
    tools = machine.find_tools(midpathd)
    # From here on pyroute2 is there.
    from midpath.lab import simulate, suite, table  # noqa: PLC0415
    from midpath.lab.experiment import Experiment, Short, check_modes  # noqa: PLC0415
    from midpath.lab.router import Bottleneck  # noqa: PLC0415
    from midpath.lab.runner import compare  # noqa: PLC0415

    check_modes(chosen)
    if full or only:
        if out is None:
            raise UsageError("--full needs --out, to keep what was measured")
        machine.check(tools)
        suite.run(out, tools, repeats, _names("--only", only) if only else None, typer.echo)
        return
    experiment = Experiment(
        title=f"RPM on {rate}, RTT {rtt}",
        bottleneck=Bottleneck(
            rate_bps=parse("bps", rate),
            buffer_s=parse("seconds", buffer),
            aqm=aqm,
            target_s=parse("seconds", target),
            interval_s=parse("seconds", interval),
            aggregate=aggregate,
        ),
        delays=_delays(rtt, upstream),
        long=flows,
        seconds=seconds,
        short=Short() if short else None,
        paced=paced,
    )
    experiment.check()
    if vs_sim:
        simulate.require(wanted)
    if out:
        require_comparison(out)
    machine.check(tools)
    with bar(experiment.title, len(wanted) * len(chosen) * repeats) as shown:
        found = compare(experiment, wanted, chosen, repeats, tools, out=out, told=shown.ended)
    sides = simulate.side_by_side(experiment, found, wanted, chosen) if vs_sim else []
    if json:
        print_json(
            {"title": experiment.title, "rows": table.rows(found), "vs_sim": sides, "note": table.footnote(found)}
        )
        return
    text.print_table(table.HEADS, table.cells(found), experiment.title)
    text.console().print(table.footnote(found), style="dim", soft_wrap=True)
    if sides:
        text.print_table(simulate.HEADS, simulate.cells(sides), "Beside the simulator")
    if out:
        typer.echo(f"results in {out}; midpath report {out} draws them")


def _delays(rtt: str, upstream: str) -> Delays:
    from midpath.lab.testbed import Delays  # noqa: PLC0415 - needs pyroute2

    up = parse("seconds", upstream) / 2
    return Delays(up, tuple(parse("seconds", one) / 2 - up for one in _names("--rtt", rtt)))


def _names(option: str, asked: str) -> list[str]:
    names = names_in([asked])
    if not names:
        raise UsageError(f"{option} names none")
    return names
