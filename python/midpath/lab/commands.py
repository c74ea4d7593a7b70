"""`midpath lab`: measurements on real network stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from midpath.compare.comparison import Comparison, require_comparison
from midpath.console import text
from midpath.console.options import (
    File,
    Json,
    Out,
    Seed,
    Seeds,
    Set,
    Variant,
    changes,
    names_in,
    print_json,
    read,
)
from midpath.console.progress import bar
from midpath.errors import UsageError
from midpath.lab import beside, budget, execute, machine, real, table
from midpath.lab import clean as cleaning
from midpath.lab import kernel as kernels
from midpath.lab import rpm as scenarios
from midpath.lab.options import Qdisc, Virtual, chosen
from midpath.units import parse


class ScenarioGroup(typer.core.TyperGroup):
    """`midpath lab FILE.toml` is `midpath lab run FILE.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A scenario where a command would stand."""
        if args and (args[0] == "-" or args[0].endswith(".toml")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=ScenarioGroup, help="Measure on this machine's own TCP, in network namespaces.")


@app.callback()
def root() -> None:
    """Measure on this machine's own TCP, in network namespaces."""


@app.command()
def run(
    file: File,
    out: Out = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated schemes; default: the scenario's.", show_default=False),
    ] = None,
    seeds: Seeds = 1,
    seed: Seed = None,
    variant: Variant = None,
    vs_sim: Annotated[bool, typer.Option("--vs-sim", help="Also simulate each run, and compare.")] = False,
    offloads: Annotated[bool, typer.Option("--offloads", help="Hosts send GSO super-frames.")] = False,
    virtual: Virtual = False,
    qdisc: Qdisc = None,
    nodes: Annotated[
        bool,
        typer.Option("--nodes", help="Use Midpath's nodes for all schemes."),
    ] = False,
    settings: Set = None,
    json: Json = False,
) -> None:
    """Run a scenario with a kernel's TCP or Midpath's nodes (short: `midpath lab FILE`).

    Needs iproute2, midpath-lab, and root or user-mode Linux; nodes need midpathd.
    """
    linux, discipline = chosen(virtual, qdisc)
    if nodes and virtual:
        raise UsageError("--nodes is without --virtual: nodes do not run in virtual time")
    if linux is None and (why := machine.no_spaces()) is not None:
        raise UsageError(why)
    midpath_lab = machine.program("midpath-lab")
    scenario = read(file, variant=variant).with_(seed=seed, changes=changes(settings))
    names = names_in(schemes) if schemes is not None else [str(scenario.to_dict().get("scheme", "newreno"))]
    if not names:
        raise UsageError("--schemes is empty")
    laboratory = real.Laboratory(midpath_lab, None, offloads, linux, discipline, nodes)
    plans = [laboratory.prepare(scenario.with_(scheme=name)) for name in names]
    if any(plan.by_nodes for plan in plans):
        machine.program("midpathd")
    if out:
        require_comparison(out)
    cleaning.clean()
    if linux is None:
        laboratory = replace(laboratory, budget=budget.calibrate(midpath_lab))
    asked = real.cases(scenario, names)
    first = scenario.base_seed()
    _measure(
        file.name,
        asked,
        range(first, first + seeds),
        laboratory,
        vs_sim=vs_sim,
        out=out,
        json=json,
        to_json=lambda found: {"runs": [found.results[name, one].run for name in names for one in found.seeds]},
        show=text.print_comparison,
    )


def _measure(
    title: str,
    cases: Sequence[real.Case],
    seeds: Sequence[int],
    laboratory: real.Laboratory,
    *,
    vs_sim: bool,
    out: Path | None,
    json: bool,
    to_json: Callable[[Comparison], dict[str, Any]],
    show: Callable[[Comparison], None],
) -> None:
    """Runs cases, and says what came of them."""
    with bar(title, len(cases) * len(seeds)) as shown:
        found = real.compare(cases, seeds, laboratory, out=out, told=shown.ended)
    lines = beside.beside(cases, found, laboratory) if vs_sim else []
    note = real.footnote(found)
    if json:
        print_json({**to_json(found), "vs_sim": [line.to_json() for line in lines], "note": note})
        return
    show(found)
    text.console().print(note, style="dim", soft_wrap=True)
    if lines:
        text.print_table(beside.HEADS, beside.cells(lines), "Compared with the simulator")
    if out:
        typer.echo(f"results in {out}; midpath report {out} draws them")


app.command("exec", cls=execute.ProgramsCommand, epilog=execute.EXAMPLE)(execute.execute)


@app.command()
def kernel(
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Source, instead of Debian's linux-source-6.1.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Parallel compilers.", min=1)] = 2,
) -> None:
    """Build user-mode Linux 6.1 for `--virtual` (minutes, 7 MB)."""
    made = kernels.build(source or kernels.SOURCE, jobs, typer.echo)
    typer.echo(f"Linux {kernels.version()} as a program: {made}")


@app.command()
def clean(json: Json = False) -> None:
    """Remove leftovers of killed laboratories."""
    if (why := machine.no_spaces()) is not None:
        raise UsageError(why)
    gone = cleaning.clean()
    if json:
        print_json({"removed": gone})
    else:
        typer.echo("\n".join(f"removed {name}" for name in gone) or "nothing to clean up")


@app.command()
def rpm(
    modes: Annotated[str, typer.Option(help="Comma-separated: none, fwd, rpm, both.")] = "none,fwd,rpm",
    cc: Annotated[str, typer.Option(help="Comma-separated: cubic, newreno, bbr, dctcp.")] = "cubic",
    flows: Annotated[int, typer.Option(help="Long flows per receiver.", min=0)] = 1,
    rtt: Annotated[str, typer.Option(help="Unloaded RTT; comma-separated for several receivers.")] = "40 ms",
    upstream: Annotated[str, typer.Option(help="Part of it upstream of the router.")] = "0 ms",
    rate: Annotated[str, typer.Option(help="Bottleneck rate.")] = "100 Mbps",
    buffer: Annotated[str, typer.Option(help="Maximum queueing delay.")] = "200 ms",
    aqm: Annotated[str, typer.Option(help="codel, codel-dataplane or step.")] = "codel",
    target: Annotated[str, typer.Option(help="CoDel's target, or the step's threshold.")] = "5 ms",
    interval: Annotated[str, typer.Option(help="CoDel's interval.")] = "100 ms",
    aggregate: Annotated[bool, typer.Option("--aggregate", help="One register for all flows.")] = False,
    paced: Annotated[bool, typer.Option("--paced", help="Pace senders.")] = False,
    short: Annotated[bool, typer.Option("--short", help="Add short flows.")] = False,
    seconds: Annotated[float, typer.Option(help="Run length.")] = 10.0,
    repeats: Annotated[int, typer.Option(help="Repetitions.", min=1)] = 3,
    vs_sim: Annotated[bool, typer.Option("--vs-sim", help="Also simulate.")] = False,
    midpathd: Annotated[
        str | None, typer.Option(metavar="PROGRAM", help="midpathd binary.", show_default=False)
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Test RPM on a Linux router in namespaces with real TCP.

    Needs root, midpathd and midpath-lab.
    """
    wanted, chosen = _names("--cc", cc), _names("--modes", modes)
    if (why := machine.no_spaces()) is not None:
        raise UsageError(why)
    tools = machine.find_tools(midpathd)
    scenarios.check_modes(chosen)
    up = parse("seconds", upstream) / 2
    experiment = scenarios.Experiment(
        title=f"RPM on {rate}, RTT {rtt}",
        bottleneck=scenarios.Bottleneck(
            rate_bps=parse("bps", rate),
            buffer_s=parse("seconds", buffer),
            aqm=aqm,
            target_s=parse("seconds", target),
            interval_s=parse("seconds", interval),
            aggregate=aggregate,
        ),
        delays=scenarios.Delays(up, tuple(parse("seconds", one) / 2 - up for one in _names("--rtt", rtt))),
        long=flows,
        seconds=seconds,
        short=scenarios.Short() if short else None,
        paced=paced,
    )
    experiment.check()
    if out:
        require_comparison(out)
    machine.check(tools)
    asked, laboratory = scenarios.cases(experiment, wanted, chosen), real.Laboratory.of(tools)
    _measure(
        experiment.title,
        asked,
        range(1, repeats + 1),
        laboratory,
        vs_sim=vs_sim,
        out=out,
        json=json,
        to_json=lambda found: {"title": experiment.title, "rows": table.rows(found)},
        show=lambda found: text.print_table(table.HEADS, table.cells(found), experiment.title),
    )


def _names(option: str, asked: str) -> list[str]:
    names = names_in([asked])
    if not names:
        raise UsageError(f"{option} is empty")
    return names
