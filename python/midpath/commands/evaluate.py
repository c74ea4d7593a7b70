"""`midpath evaluate`: RFC 9743's questions to a congestion control."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from midpath.commands.before import before
from midpath.commands.sweep import runs_bar
from midpath.console.options import Cluster, Jobs, Json, Set, With, changes, loaded, names_in, print_json
from midpath.controller import Controller, named
from midpath.errors import UsageError
from midpath.evaluate import QUICK_SEEDS, SEEDS, save
from midpath.evaluate import evaluate as run_evaluation
from midpath.evaluate.found import Evaluation, beside
from midpath.evaluate.items import MUST, REFERENCES
from midpath.evaluate.platform import Platform
from midpath.evaluate.suites import DEFAULT, QUEUES, SUITES
from midpath.evaluate.text import bound, changed, differences, interval, off, summary
from midpath.evaluate.verdict import HOLDS, NOT
from midpath.scenario import LARGEST_SEED, MOST_SEEDS
from midpath.schemes import column, shipped
from midpath.storage import write_text

# What --beside says, in the folder of --out.
BESIDE = "BESIDE.md"

# Where schemes run besides, by what stands before the colon of their names: other houses', imported when named.
PLATFORMS = {"linux": "midpath.lab.evaluated:linux"}


def evaluate(
    schemes: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Schemes; with --aqm TCPs over it.", show_default=False),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated items: 5.1.1,7 (all of §7); default: all.", show_default=False),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--beside",
            metavar="NAME|DIR|REV|PROGRAM",
            help="Compare with a scheme, an evaluation, a git revision of --with's code, or another midpath.",
            show_default=False,
        ),
    ] = None,
    suite: Annotated[str, typer.Option(help=f"Items of {', '.join(SUITES)}.")] = DEFAULT,
    aqm: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help=f"Evaluate this queue under NAME by {QUEUES}.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help=f"{QUICK_SEEDS} seeds in place of {SEEDS}.")] = False,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds.", min=1, max=MOST_SEEDS, show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="First seed.", min=0, max=LARGEST_SEED)] = 1,
    settings: Set = None,
    code: With = None,
    jobs: Jobs = 0,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for report.html, REPORT.md, evaluation.json and the runs.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Hold schemes to RFC 9743's criteria, item by item, beside NewReno and CUBIC.

    --set schemes.NAME.KEY=VALUE changes a parameter. Resumable with --out. Exit code 1 if a MUST does not hold; beside
    an earlier version, if it did not fail there as well.
    """
    if not schemes and aqm is None:
        raise UsageError("no scheme is named: midpath evaluate cubic")
    names = [f"{name}@{aqm}" if aqm else name for name in names_in(schemes or REFERENCES)]
    controllers = loaded(code)
    two = None
    if other and not _is_scheme(other, controllers):
        words = ["evaluate", *(schemes or []), *(["--aqm", aqm] if aqm else ["--suite", suite]), "--seed", str(seed)]
        words += [f"--items={','.join(items)}"] if items else []
        words += [f"--seeds={seeds or (QUICK_SEEDS if quick else SEEDS)}", f"--jobs={jobs}"]
        words += [f"--set={one}" for one in settings or []]
        two = before(other, words, code or [])
    asked = [*names, *([other] if other and two is None else [])]
    with runs_bar("evaluate") as show:
        found = run_evaluation(
            asked,
            items=names_in(items or []) or None,
            suite=QUEUES if aqm else suite,
            quick=quick,
            seeds=seeds,
            first_seed=seed,
            changes=changes(settings),
            jobs=jobs or None,
            cluster=cluster,
            out=out,
            controllers=controllers,
            platforms={name: partial(_platform, where) for name, where in PLATFORMS.items()},
            on_progress=show,
        )
    if out:
        save(found, out, controllers)
    compared = list(said_beside(found, two or found, other)) if other else []
    if out and compared:
        write_text(out / BESIDE, "\n".join(compared) + "\n")
    if json:
        print_json(found.told)
    elif compared:
        typer.echo("\n".join(compared))
    else:
        for scheme in found.told["subjects"]:
            print_scheme(found, scheme)
        if out:
            typer.echo(f"report: {out / 'report.html'}")
    if broken(found) - (broken(two) if two else set()):
        raise typer.Exit(1)


def _platform(where: str) -> Platform:
    found: Platform = pkgutil.resolve_name(where)()
    return found


def _is_scheme(name: str, controllers: list[type[Controller]]) -> bool:
    """Whether a scheme has the name, over whatever network or queue, or on whatever platform."""
    bare = name.partition(":")[2] or name
    return column(bare).transport in {*shipped(), *(one for one, _ in named(controllers))} and not Path(name).exists()


def broken(found: Evaluation) -> set[tuple[str, str]]:
    """The measures of a MUST that do not hold, by item."""
    rows = [(row["item"], one) for row in found.told["rows"] for one in row["measures"]]
    return {(item, one["measure"]) for item, one in rows if one["verdict"] == NOT and one["level"] == MUST}


def print_scheme(found: Evaluation, scheme: str) -> None:
    """A line for each item, and one for each measure that does not hold."""
    typer.echo(scheme)
    width = max(len(name) for name in found.told["items"]) + 2
    for row in found.told["rows"]:
        if row["scheme"] != scheme:
            continue
        why = f": {row['why']}" if not row["measures"] else ""
        typer.echo(f"{row['item']:<{width}}{row['title']:<50} {row['level']:<9} {row['verdict']}{why}")
        for one in row["measures"]:
            if one["verdict"] != HOLDS:
                where = f" ({one['worst']['case']})" if one["worst"] else ""
                said = f"{one['measure']}{where}: {interval(one)}, {bound(one)}"
                typer.echo(f"{'':<{width}}{one['verdict']} ({one['level']}): {said}")
        for line in off(row):
            typer.echo(f"{'':<{width}}{line}")
    typer.echo(summary(found, scheme) + ".")


def said_beside(found: Evaluation, two: Evaluation, other: str) -> Iterator[str]:
    """What differs between the first scheme and the last one, or between it and its earlier evaluation."""
    one = found.told["subjects"][0]
    name = found.told["schemes"][one]["name"]
    before = [title for title, about in two.told["schemes"].items() if about["name"] == name]
    is_before = two is not found
    theirs = before[0] if is_before and before else two.told["subjects"][-1]
    shown = f"{theirs} ({other})" if is_before else theirs
    yield from changed(found, one, two, theirs, shown)
    yield from differences(list(beside(found, one, two, theirs)), one, shown)
