"""`midpath lab exec`: the user's programs over a scenario."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from midpath.console import text
from midpath.console.options import File, Json, Out, Seed, Set, Variant, changes, print_json, read
from midpath.errors import UsageError
from midpath.lab import budget, clean, expect, machine, programs, real
from midpath.lab.options import Qdisc, Virtual, chosen
from midpath.result import MARKER, Result
from midpath.scenario import Scenario
from midpath.storage import require_replaceable
from midpath.units import quantity

HEADS = ("Program", "Host", "Ended", "Time")
FLOWS = ("Flow", "", "Delivered", "Goodput", "Completion", "Delay p50", "p99", "Lost", "Marked", "Sent again")
# Conversations that a terminal shows, those with most bytes first; the result has all.
SHOWN = 20
EXAMPLE = (
    "Example: midpath lab exec net.toml --expect 'goodput.h0 > 15 Mbps' --serve h1 -- iperf3 -s "
    "--at h0 -- iperf3 -R -c h1"
)
WORDS, GIVEN = "midpath.words", "midpath.programs"


class ProgramsCommand(typer.core.TyperCommand):
    """What stands behind `--at HOST --` is a program's, and no option of ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes programs out."""
        options, given = programs.split(args)
        ctx.meta[WORDS], ctx.meta[GIVEN] = list(args), given
        return super().parse_args(ctx, options)


def execute(
    context: typer.Context,
    file: File,
    at: Annotated[
        list[str] | None,
        typer.Option(
            programs.AT,
            metavar="HOST -- COMMAND…",
            help="A program at a host.",
            show_default=False,
        ),
    ] = None,
    serve: Annotated[
        list[str] | None,
        typer.Option(
            programs.SERVE,
            metavar="HOST -- COMMAND…",
            help="A server: it listens before the others start, and is ended with the run.",
            show_default=False,
        ),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="'FIGURE > VALUE'",
            help="'goodput.h1 > 15 Mbps', 'delay_p99.h0>h1 < 80 ms', 'exit.h0 == 0', …",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    seed: Seed = None,
    variant: Variant = None,
    settings: Set = None,
    virtual: Virtual = False,
    qdisc: Qdisc = None,
    json: Json = False,
) -> None:
    """Run programs over a scenario's network, beside its flows.

    Options come first; a command goes up to the next --at or --serve. Hosts have names (h1; h1.ip6) and
    MIDPATH_ADDRESS_h1. The run ends with the last --at; what still runs at `stop`, or after ten minutes, has failed.
    Exits with 1 if a program failed or an expectation does not hold.

    Needs iproute2, midpath-lab, and root, user namespaces or --virtual.
    """
    given: list[programs.Program] = context.meta[GIVEN]
    _check({programs.AT: at, programs.SERVE: serve}, given)
    linux, discipline = chosen(virtual, qdisc)
    expectations = expect.read(expected or [])
    midpath_lab = machine.program("midpath-lab")
    if out:
        require_replaceable(out, MARKER)
    if linux is None:
        _require_spaces(context)
    scenario = read(file, variant=variant).with_(seed=seed, changes=changes(settings))
    made = _measured(scenario, real.Laboratory(midpath_lab, None, linux=linux, qdisc=discipline), given, expectations)
    verdicts = expect.judge(expectations, made)
    made.run["expectations"] = [verdict.to_json() for verdict in verdicts]
    if out:
        made.save(out)
    if json:
        print_json({"run": made.run, "flows": _flows(made), "note": real.note([made])})
    else:
        _print(made, verdicts, real.note([made]))
        if out:
            typer.echo(f"results in {out}; midpath report {out} draws them")
    if not all(verdict.holds for verdict in verdicts) or _failed(made, expectations):
        raise typer.Exit(1)


def _measured(
    scenario: Scenario,
    laboratory: real.Laboratory,
    given: Sequence[programs.Program],
    expectations: Sequence[expect.Expectation],
) -> Result:
    """The run, if it can be, and if it can tell what is expected."""
    plan = laboratory.prepare(scenario, given)
    expect.check(expectations, plan)
    if laboratory.linux is None and plan.flows:
        laboratory = replace(laboratory, budget=budget.calibrate(laboratory.midpath_lab))
    return real.run(scenario, laboratory, given)


def _failed(made: Result, expectations: Sequence[expect.Expectation]) -> bool:
    """Whether a program did; whoever expects an exit code has judged it."""
    judged = {one.of for one in expectations if one.figure == "exit"}
    return any(programs.failed(row) and row["host"] not in judged for row in made.run["programs"])


def _check(options: dict[str, list[str] | None], given: list[programs.Program]) -> None:
    """Raises `UsageError` where a program has no command, or there is none."""
    for option, words in options.items():
        if words:
            raise UsageError(f"{option} {words[0]}: the command is missing; write {option} {words[0]} -- COMMAND…")
    if not given:
        raise UsageError(f"there is no program; write {programs.AT} HOST -- COMMAND…")


def _require_spaces(context: typer.Context) -> None:
    """Network namespaces can be made from here on: as root, or by this command as root of a user namespace."""
    if os.geteuid() != 0:
        words = machine.as_own_root(sys.executable, "-m", "midpath", "lab", "exec", *context.meta[WORDS])
        os.execvp(words[0], words)
    if (why := machine.no_spaces()) is not None:
        raise UsageError(why)
    # A user's own root has left nothing, and folders of others look to it as if nobody had them.
    if machine.OWN not in os.environ:
        clean.clean()


def _print(made: Result, verdicts: Sequence[expect.Verdict], note: str) -> None:
    rows = made.run["programs"]
    cells = [[Path(row["command"][0]).name, row["host"], row["ending"], _time(row)] for row in rows]
    text.print_table(HEADS, cells, made.title)
    flows = sorted(_flows(made), key=lambda row: (row["protocol"] is None, -row["delivered_bytes"]))
    text.print_table(FLOWS, [_cells(row) for row in flows[:SHOWN]])
    if len(flows) > SHOWN:
        text.console().print(f"and {len(flows) - SHOWN:,} more", style="dim")
    for verdict in verdicts:
        text.console().print(verdict.line(), style="" if verdict.holds else "red", soft_wrap=True)
    text.print_warnings(made.warnings)
    text.console().print(note, style="dim", soft_wrap=True)


def _time(row: dict[str, Any]) -> str:
    ended = row["ended_s"]
    return quantity("seconds", None if ended is None or row["started_s"] is None else ended - row["started_s"])


def _flows(made: Result) -> list[dict[str, Any]]:
    """Flows, with delays of those that programs had."""
    delays = {row["flow"]: row for row in made.tables["datagrams"].to_pylist()}
    return [delays.get(row["flow"], {}) | row for row in made.flows.to_pylist()]


def _cells(row: dict[str, Any]) -> list[str]:
    """A flow's line."""
    which = f"{row['protocol']} {row['src_port']}>{row['dst_port']}" if row["protocol"] else row["group"]
    return [
        f"{row['src']}>{row['dst']}",
        which,
        quantity("bytes", row["delivered_bytes"]),
        quantity("bps", row["goodput_bps"]),
        quantity("seconds", row["fct_s"]),
        *(quantity("seconds", row.get(f"delay_{key}_s")) for key in ("p50", "p99")),
        *(quantity("count", row[f"{key}_packets"]) for key in ("lost", "marked", "retransmitted")),
    ]
