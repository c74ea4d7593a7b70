"""`midpath run`, `compare` and `report`."""

from __future__ import annotations

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from midpath.compare.comparison import Comparison, require_comparison
from midpath.compare.runs import compare as compare_schemes
from midpath.compare.variants import Variants, chosen, compare_variants, require_variants
from midpath.console import text
from midpath.console.options import (
    Cluster,
    File,
    Ideal,
    Jobs,
    Json,
    Looks,
    Out,
    Seed,
    Seeds,
    Set,
    Variant,
    With,
    changes,
    names_in,
    print_json,
    read,
    use_looks,
)
from midpath.console.progress import bar
from midpath.errors import UsageError
from midpath.loading import load
from midpath.metrics import IDEAL
from midpath.result import MARKER
from midpath.run import cores
from midpath.run import run as run_scenario
from midpath.run.dask import cluster_executor
from midpath.storage import require_replaceable
from midpath.trace.option import as_changes


def run(
    file: File,
    out: Out = None,
    scheme: Annotated[
        str | None,
        typer.Option(help="Scheme, over the scenario's: cubic, cubic+rpm, cubic@fq_codel.", show_default=False),
    ] = None,
    variant: Variant = None,
    seed: Seed = None,
    threads: Annotated[
        int,
        typer.Option(
            help="Maximum threads; 0: as many as are useful.",
            min=0,
        ),
    ] = 0,
    wire: Annotated[bool, typer.Option("--wire", help="Encode and decode each packet on every link.")] = False,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="BOUNDS",
            help="Record packet and flow events: --trace 'from=4.2s,for=200ms,nodes=r1;r2,flows=3;7'.",
            show_default=False,
        ),
    ] = None,
    settings: Set = None,
    code: With = None,
    json: Json = False,
) -> None:
    """Simulate a scenario once."""
    given = read(file, code, variant)
    traced = as_changes(trace) if trace is not None else {}
    scenario = given.with_(scheme=scheme, seed=seed, changes=changes(settings) | traced)
    if out:
        require_replaceable(out, MARKER)
    with bar(file.name) as shown:
        result = run_scenario(
            scenario, threads=threads, wire=wire, progress=lambda reached: shown.step("", 0, reached), out=out
        )
    if (ran := result.run["threads"]) < threads:
        why = f"there are {cores()} cores" if ran == cores() else "the network is too small for more parts"
        typer.echo(f"{ran} of {threads} threads ran: {why}", err=True)
    if json:
        print_json(result.run)
        return
    text.print_result(result)
    if out:
        typer.echo(f"result in {out}; midpath report {out} draws it")


def compare(
    file: File,
    schemes: Annotated[
        list[str],
        typer.Option(help="Comma-separated schemes: cubic,cubic+rpm,cubic@fq_codel.", show_default=False),
    ],
    variants: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated variants; default: all.", show_default=False),
    ] = None,
    seeds: Seeds = 1,
    seed: Seed = None,
    ideal: Ideal = True,
    jobs: Jobs = 0,
    cluster: Cluster = None,
    out: Out = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace the comparison in --out, even with more runs, another version or other defaults.",
        ),
    ] = False,
    settings: Set = None,
    code: With = None,
    json: Json = False,
) -> None:
    """Compare schemes on the same flows.

    Variants of the scenario are compared with the first, scheme by scheme, on the same flows.

    --out reuses runs in the directory, and refuses those of another version or with other defaults.
    """
    names = names_in(schemes)
    if not names:
        raise UsageError("--schemes is empty")
    scenario = read(file, code).with_(seed=seed, changes=changes(settings))
    wanted = chosen(scenario, names_in(variants) if variants else None) if variants or scenario.variants else []
    if out:
        (require_variants if wanted else require_comparison)(out)
    runs = len({*names, *([IDEAL] if ideal else [])}) * seeds
    with bar(file.name, runs * max(len(wanted), 1)) as shown, cluster_executor(cluster) as executor:
        run_all = partial(compare_variants, variants=wanted) if wanted else compare_schemes
        found: Comparison | Variants = run_all(
            scenario,
            names,
            seeds=seeds,
            ideal=ideal,
            replace=replace,
            jobs=jobs or None,
            executor=executor,
            out=out,
            on_run=shown.ended,
            on_step=shown.step,
        )
    if json:
        print_json(found.to_json())
        return
    if isinstance(found, Variants):
        text.print_variants(found)
    else:
        text.print_comparison(found)
    if out:
        typer.echo(f"results in {out}; midpath report {out} draws them")


def report(
    directory: Annotated[Path, typer.Argument(help="A result of run, compare or sweep.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file; else report.html in DIRECTORY.", show_default=False)
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    looks: Looks = None,
    json: Json = False,
) -> None:
    """Draw a result as a self-contained HTML file, with a trace's replay."""
    # Plotting libraries load only here: other commands need not wait for them.
    from midpath.report import write_report  # noqa: PLC0415
    from midpath.trace.replay import write_replays  # noqa: PLC0415

    use_looks(looks)
    source, target = load(directory), out or directory / "report.html"
    path = write_report(source, target, write_replays(source, target.parent))
    if json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(f"report: {path.resolve()}")
    if open_it:
        webbrowser.open(path.resolve().as_uri())
