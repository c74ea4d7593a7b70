"""`midpath matrix`: every scheme in every situation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.commands.sweep import runs_bar
from midpath.console import text
from midpath.console.options import Jobs, Json, With, loaded, names_in, print_json
from midpath.entries import CLASSES
from midpath.matrix import SEEDS, Matrix
from midpath.matrix import matrix as run_matrix
from midpath.matrix.found import TIMES
from midpath.matrix.picture import svg
from midpath.matrix.text import results, verdict
from midpath.scenario import MOST_SEEDS
from midpath.storage import write_text


def matrix(
    schemes: Annotated[
        list[str] | None,
        typer.Option(help="Columns: fcp,cubic+rpm,cubic@fq_codel; default: all.", show_default=False),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated scenarios; default: all.", show_default=False),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 1.", min=1, max=MOST_SEEDS)] = SEEDS,
    quick: Annotated[bool, typer.Option("--quick", help="Small flows, as a test.")] = False,
    jobs: Jobs = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for RESULTS.md, matrix.svg, runs.csv and the runs.", show_default=False),
    ] = None,
    code: With = None,
    json: Json = False,
) -> None:
    """Run every scheme in every scenario at equal buffers: where does in-network support pay?

    Ten minutes on two cores. Resumable with --out.
    """
    with runs_bar("matrix") as show:
        found = run_matrix(
            schemes=names_in(schemes or []) or None,
            rows=names_in(rows or []) or None,
            seeds=seeds,
            small=quick,
            jobs=jobs or None,
            out=out,
            controllers=loaded(code),
            on_progress=show,
        )
    if out:
        write_text(out / "RESULTS.md", "\n".join(results(found)) + "\n")
        write_text(out / "matrix.svg", svg(found))
    if json:
        print_json(found.to_json() | {"means": means(found)})
        return
    print_verdicts(found)
    if out:
        typer.echo(f"tables in {out / 'RESULTS.md'}, picture in {out / 'matrix.svg'}, runs in {out / 'runs.csv'}")


def means(found: Matrix) -> dict[str, dict[str, dict[str, float | None]]]:
    """By row, column and figure: the mean over the seeds."""
    return {
        row.name: {
            one.name: {key: value.mean if (value := found.estimate(row.name, one.name, key)) else None for key in TIMES}
            for one in found.ran(row.name)
        }
        for row in found.rows
    }


def print_verdicts(found: Matrix) -> None:
    """A line for each row, and what could not be run."""
    lines = []
    for row in found.rows:
        lines.append([row.name, *(cell.replace("*", "") for cell in verdict(found, row))])
    text.print_table(["Situation", *CLASSES, "Mean", "p99"], lines, "Completion time / ideal, best of each class")
    for row in found.rows:
        for name, note in found.notes[row.name].items():
            if note["error"]:
                typer.echo(f"{row.name}: {name} cannot run: {note['error']}")
            if note["same_as"]:
                typer.echo(f"{row.name}: {name} is the same as {note['same_as'][0]}, flow by flow")
