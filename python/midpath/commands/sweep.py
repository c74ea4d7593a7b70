"""`midpath sweep`: a scenario at many points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text
from typer.core import TyperGroup

from midpath.console import text
from midpath.console.options import (
    Cluster,
    Ideal,
    Jobs,
    Json,
    Looks,
    Schemes,
    Seed,
    Seeds,
    Set,
    With,
    changes,
    loaded,
    names_in,
    print_json,
    read,
    use_looks,
)
from midpath.errors import UsageError
from midpath.metrics import BY_KEY
from midpath.palette import name
from midpath.run import as_names
from midpath.run.plan import shown
from midpath.run.slurm import Slurm
from midpath.run.work import Progress, ProgressCallback
from midpath.scenario import Scenario
from midpath.sweep.export import Point, means, seeds_note, write_table
from midpath.sweep.facets import facets
from midpath.sweep.no_effect import unchanged
from midpath.sweep.plan import read_listed, split, value_of
from midpath.sweep.result import Sweep
from midpath.sweep.run import sweep as run_sweep
from midpath.units import quantity

# As many failures are shown; the table has all.
MOST_FAILURES = 5
# What the terminal shows of a point; the table has all figures.
SHOWN = [
    BY_KEY[key]
    for key in ("afct_s", "fct_p99_s", "slowdown_mean", "goodput_total_bps", "loss_ratio", "queue_delay_p99_s")
]


class Group(TyperGroup):
    """`midpath sweep FILE` is `midpath sweep run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `run` before what names no other command."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


app = typer.Typer(cls=Group, help="Run a scenario at many points, and store the results.")

Store = Annotated[Path, typer.Argument(metavar="STORE", help="Output of `midpath sweep`.", show_default=False)]


@app.command("run")
def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenarios.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="STORE", help="Directory for the runs.", show_default=False)],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE…",
            help="Values of a key: --vary queue.limit=10ms,50ms. Repeatable.",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Points: CSV with keys in the first line, or [[point]] in TOML.", show_default=False
        ),
    ] = None,
    schemes: Schemes = None,
    variants: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated variants of each scenario.", show_default=False),
    ] = None,
    seeds: Seeds = 1,
    seed: Seed = None,
    ideal: Ideal = True,
    jobs: Jobs = 0,
    cluster: Cluster = None,
    slurm: Annotated[int, typer.Option(metavar="JOBS", help="Run as that many Slurm jobs.", min=0)] = 0,
    slurm_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="submitit option: --slurm-set slurm_partition=short.", show_default=False
        ),
    ] = None,
    keep_results: Annotated[bool, typer.Option("--keep-results", help="Keep full results.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Rerun failed runs.")] = False,
    settings: Set = None,
    code: With = None,
    json: Json = False,
) -> None:
    """Run every combination of --vary values, schemes and seeds.

    Resumable: runs in the store are not repeated. Stores of another version or with other defaults are refused.
    Exit code 1 if a run failed.

    Then: midpath sweep table STORE, midpath sweep plot STORE --x KEY --y FIGURE, midpath report STORE.
    """
    given = [variant for file in files for variant in _variants(read(file), variants)]
    scenarios = [scenario.with_(seed=seed, changes=changes(settings)) for scenario in given]
    points = read_listed(plan) if plan else None
    with runs_bar(out.name) as show:
        found = run_sweep(
            scenarios,
            _varied(vary or []),
            out=out,
            plan=points,
            schemes=names_in(schemes) if schemes else None,
            seeds=seeds,
            ideal=ideal,
            jobs=jobs or None,
            cluster=cluster,
            slurm=_slurm(slurm, slurm_set or []),
            keep_results=keep_results,
            retry_failed=retry_failed,
            on_progress=show,
            controllers=loaded(code),
        )
    failures = found.failures()
    if json:
        told = {"runs": len(found), "failed": len(failures), "failures": failures, "warnings": unchanged(found)}
        print_json({"store": str(out)} | told)
    else:
        typer.echo(f"{len(found) - len(failures):,} of {len(found):,} runs done; midpath report {out} draws them")
        print_failures(found, failures)
        text.print_warnings(unchanged(found))
    if failures:
        raise typer.Exit(1)


@app.command("table")
def table(
    store: Store,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".csv, .parquet or .arrow.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Print means over the seeds per point and scheme; with --out write all runs."""
    found = Sweep(store)
    if out:
        write_table(found, out)
        if json:
            print_json({"table": str(out), "rows": len(found)})
        else:
            typer.echo(f"{len(found):,} rows in {out}")
        return
    rows = means(found)
    if json:
        print_json([row.to_json() for row in rows])
        return
    heads = [*found.parameters, "Scheme", "Runs", "Unfinished", *(metric.label for metric in SHOWN)]
    text.print_table(heads, [_cells(found, row) for row in rows], found.about["title"])
    text.print_warnings(unchanged(found))
    typer.echo(f"{seeds_note(found)} --out FILE writes all figures of all runs.")


@app.command("plot")
def plot(
    store: Store,
    x: Annotated[str, typer.Option(help="Parameter of the x axis.", show_default=False)],
    y: Annotated[str, typer.Option(help="Comma-separated figures, a row of panels each.")] = "afct_s",
    facet: Annotated[
        str | None, typer.Option(metavar="KEY", help="A column of panels per value.", show_default=False)
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only runs with this value.", show_default=False)
    ] = None,
    schemes: Annotated[
        str | None, typer.Option(help="Comma-separated schemes; default: all.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The figure, .svg, .png or .pdf; else plot.svg in STORE.", show_default=False
        ),
    ] = None,
    looks: Looks = None,
    json: Json = False,
) -> None:
    """Plot figures over a parameter, with 95 % confidence intervals. Needs matplotlib."""
    from midpath.plot.draw import draw, write  # noqa: PLC0415 - an extra
    from midpath.plot.sweep import rows_of, style_of  # noqa: PLC0415

    use_looks(looks)
    found = Sweep(store)
    fixed = changes(where, "--where")
    drawn = facets(found, x, as_names(y), facet, fixed, as_names(schemes) if schemes else None)
    path = out or store / "plot.svg"
    note = ", ".join(f"{key} = {shown(value)}" for key, value in fixed.items())
    write(draw(rows_of(drawn), style_of(drawn, found.about["title"], note)), path)
    if json:
        print_json({"figure": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(f"figure: {path}")


def _variants(scenario: Scenario, names: list[str] | None) -> list[Scenario]:
    return [scenario.with_variant(name) for name in names_in(names)] if names else [scenario]


def _varied(settings: list[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for setting in settings:
        key, equals, values = setting.partition("=")
        parts = split(values)
        if not equals or not key.strip() or not all(parts):
            raise UsageError(f"--vary {setting}: write KEY=VALUE,VALUE")
        found.setdefault(key.strip(), []).extend(value_of(part) for part in parts)
    return found


def _slurm(jobs: int, settings: list[str]) -> Slurm | None:
    if not jobs and settings:
        raise UsageError("--slurm-set is for --slurm JOBS")
    return Slurm(jobs, changes(settings)) if jobs else None


def print_failures(found: Sweep, failures: list[dict[str, Any]]) -> None:
    """What failed: how often each error came, and where it came first."""
    counts = Counter(failure["error"] for failure in failures)
    for error, count in counts.most_common(MOST_FAILURES):
        first = next(failure for failure in failures if failure["error"] == error)
        at = ", ".join(f"{key}={shown(first[key])}" for key in [*found.parameters, "scheme", "seed"])
        typer.echo(f"{count:,} failed: {error} (first: {at})")
    if len(counts) > MOST_FAILURES:
        typer.echo(
            f"and {len(counts) - MOST_FAILURES:,} other errors: midpath sweep table {found.store.path} --out t.csv"
        )


def _cells(found: Sweep, row: Point) -> list[str | Text]:
    figures = [
        quantity(metric.kind, value.mean, value.ci95 or None) if (value := row.figures[metric.key]) else "–"
        for metric in SHOWN
    ]
    values = [shown(row.values[key]) for key in found.parameters]
    return [*values, name(row.scheme), f"{row.runs:,}", f"{row.unfinished:,}", *figures]


@contextmanager
def runs_bar(label: str) -> Iterator[ProgressCallback | None]:
    """Runs done of all on stderr while the block runs, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, note="checking the plan")

        def show(reached: Progress) -> None:
            note = f"{reached.failed:,} failed" if reached.failed else ""
            bar.update(task, total=reached.runs, completed=reached.done, note=note)

        yield show
