"""`midpath failures`: effect of each single-link failure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from midpath.commands.sweep import print_failures, runs_bar
from midpath.console import text
from midpath.console.options import (
    Cluster,
    File,
    Jobs,
    Json,
    Schemes,
    Seed,
    Seeds,
    Set,
    Variant,
    With,
    changes,
    names_in,
    print_json,
    read,
)
from midpath.palette import name
from midpath.run.slurm import Slurm
from midpath.sweep.failures import HEADS, Failures, Harm, label
from midpath.sweep.failures import failures as run_failures

# As many links are shown; --all shows the others, --json and the report have them.
MOST_LINKS = 20


def failures(
    file: File,
    out: Annotated[Path, typer.Option(metavar="STORE", help="Directory for the runs.", show_default=False)],
    schemes: Schemes = None,
    variant: Variant = None,
    seeds: Seeds = 1,
    seed: Seed = None,
    ideal: Annotated[bool, typer.Option("--ideal", help="Add the fluid ideal.")] = False,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Fail links at this time, not from the start.", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help=f"Show all links, not the worst {MOST_LINKS} alone.")] = False,
    jobs: Jobs = 0,
    cluster: Cluster = None,
    slurm: Annotated[int, typer.Option(metavar="JOBS", help="Run as that many Slurm jobs.", min=0)] = 0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Rerun failed runs.")] = False,
    settings: Set = None,
    code: With = None,
    json: Json = False,
) -> None:
    """Remove each router–router link in turn: which hurt, and how much?

    Compares with the intact network on the same flows. Resumable: runs in the store are not repeated. Exit code 1
    if a run failed. midpath report STORE draws the map.
    """
    given = read(file, code, variant)
    scenario = given.with_(seed=seed, changes=changes(settings))
    with runs_bar(out.name) as show:
        found = run_failures(
            scenario,
            names_in(schemes) if schemes else None,
            out=out,
            seeds=seeds,
            ideal=ideal,
            at=at,
            jobs=jobs or None,
            cluster=cluster,
            slurm=Slurm(slurm) if slurm else None,
            retry_failed=retry_failed,
            on_progress=show,
        )
    failed = found.failed_runs()
    if json:
        print_json(found.to_json())
    else:
        print_harms(found, every)
        typer.echo(f"results in {out}; midpath report {out} draws the map")
        print_failures(found.sweep, failed)
    if failed:
        raise typer.Exit(1)


def print_harms(found: Failures, every: bool) -> None:
    """A row per link and scheme, worst links first."""
    links = list(dict.fromkeys(harm.link for harm in found.harms))
    shown = set(links if every else links[:MOST_LINKS])
    rows = [_row(harm) for harm in found.harms if harm.link in shown]
    text.print_table(HEADS, rows, found.title)
    notes = found.notes
    if len(shown) < len(links):
        notes.append(f"{len(links) - len(shown)} more links hurt less: --all shows them.")
    for note in notes:
        text.console().print(note, style="dim", soft_wrap=True)
    for sentence in found.verdict():
        text.console().print(sentence, soft_wrap=True)


def _row(harm: Harm) -> list[str | Text]:
    return [label(harm.link), Text(name(harm.scheme), style="bold"), *harm.cells]
