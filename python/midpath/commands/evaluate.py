"""`midpath evaluate`: RFC 9743's questions to a congestion control."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from midpath.commands.options import Cluster, Jobs, Json, Set, With, changes, loaded, names_in, print_json
from midpath.commands.sweep import runs_bar
from midpath.errors import UsageError
from midpath.evaluate import QUICK_SEEDS, SEEDS, save
from midpath.evaluate import evaluate as run_evaluation
from midpath.evaluate.found import MARKER, Evaluation, beside, load_evaluation
from midpath.evaluate.items import MUST, REFERENCES
from midpath.evaluate.platform import Platform
from midpath.evaluate.suites import DEFAULT, QUEUES, SUITES
from midpath.evaluate.text import bound, differences, interval, off, summary
from midpath.evaluate.verdict import HOLDS, NOT
from midpath.scenario import LARGEST_SEED, MOST_SEEDS

# Where schemes run besides: what stands before the colon of their names, and what makes it. The houses above fill it.
PLATFORMS: dict[str, Callable[[], Platform]] = {}


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
            "--beside", metavar="NAME|DIR", help="Compare with this scheme or evaluation.", show_default=False
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

    --set schemes.NAME.KEY=VALUE changes a parameter. Resumable with --out. Exit code 1 if a MUST does not hold.
    """
    if not schemes and aqm is None:
        raise UsageError("no scheme is named: midpath evaluate cubic")
    names = [f"{name}@{aqm}" if aqm else name for name in names_in(schemes or REFERENCES)]
    folder = Path(other) if other and (Path(other) / MARKER).is_file() else None
    asked = [*names, *([other] if other and folder is None else [])]
    controllers = loaded(code)
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
            platforms=PLATFORMS,
            on_progress=show,
        )
    if out:
        save(found, out, controllers)
    if json:
        print_json(found.told)
    elif other is not None:
        print_beside(found, load_evaluation(folder) if folder else found)
    else:
        for scheme in found.told["subjects"]:
            print_scheme(found, scheme)
        if out:
            typer.echo(f"report: {out / 'report.html'}")
    measures = [one for row in found.told["rows"] for one in row["measures"]]
    if any(one["verdict"] == NOT and one["level"] == MUST for one in measures):
        raise typer.Exit(1)


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


def print_beside(found: Evaluation, two: Evaluation) -> None:
    """What differs between the first scheme and the last one, or between it and its earlier evaluation."""
    one = found.told["subjects"][0]
    name = found.told["schemes"][one]["name"]
    before = [title for title, about in two.told["schemes"].items() if about["name"] == name]
    is_before = two is not found
    theirs = before[0] if is_before and before else two.told["subjects"][-1]
    for said in differences(list(beside(found, one, two, theirs)), one, f"{theirs}, before" if is_before else theirs):
        typer.echo(said)
