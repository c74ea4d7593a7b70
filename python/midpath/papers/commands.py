"""`midpath paper`: reproduction of papers' claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from midpath.console import text
from midpath.console.options import Jobs, Json, Out, print_json
from midpath.console.progress import bar
from midpath.errors import UsageError
from midpath.papers import Figure, Verdict, explained, figures, record, reproduce, table
from midpath.papers.explain import Search, Trial, explain, failing_claims, said_of, try_reading
from midpath.papers.headline import COLUMNS, counts, headline
from midpath.papers.registry import choose, groups
from midpath.papers.runner import row, run_figure
from midpath.papers.sequence import Going, run_until_decided
from midpath.papers.tolerance import Judgement
from midpath.storage import require_replaceable, to_json, write_text
from midpath.topology.tiscali import ROCKETFUEL

# In a directory of kept runs: what they came to.
MARKER = "paper.json"

# What a reader is told the reason of.
SAID = {
    Judgement.FAILS: "does not hold",
    Judgement.UNDECIDED: "is undecided",
    Judgement.UNDECIDABLE: "is not decidable here",
}

IDS = "Figure, paper or scheme; all: the four papers; schemes: newer ones."

app = typer.Typer(help="Reproduce papers' claims, and compare.")

Root = Annotated[
    Path | None,
    typer.Option("--claims", metavar="DIR", help="Claims in DIR instead of the built-in ones.", show_default=False),
]


@app.command("list")
def list_claims(claims: Root = None, json: Json = False) -> None:
    """List runnable tables and figures with their claims."""
    _figures(claims)
    found = [figure for group in groups(claims).values() for figure in group]
    if json:
        print_json([figure.to_json() for figure in found])
        return
    for figure in found:
        count = len(figure.claims)
        typer.echo(f"{figure.id:16}  {figure.title} ({count} {'claim' if count == 1 else 'claims'})")


@app.command("run")
def run_claims(
    name: Annotated[str, typer.Argument(metavar="ID", help=IDS, show_default=False)],
    seeds: Annotated[
        int | None, typer.Option(help="Seeds of random figures; default 10.", min=1, show_default=False)
    ] = None,
    first_seed: Annotated[int, typer.Option(help="First seed.", min=0)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, shorter runs: a preview.")] = False,
    jobs: Jobs = 0,
    out: Out = None,
    rocketfuel: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Rocketfuel's maps; else {ROCKETFUEL}. Without, their claims are skipped."),
    ] = None,
    write_results: Annotated[bool, typer.Option("--write-results", help="Write RESULTS.md beside the claims.")] = False,
    until_decided: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="Add seeds for undecided claims, for at most this core time.",
            show_default=False,
        ),
    ] = None,
    claims: Root = None,
    json: Json = False,
) -> None:
    """Run claims. Exit code 1: one does not hold; 2: none could be run.

    --out keeps every run in DIR/FIGURE/RUN, for midpath report.
    """
    if write_results and quick:
        raise UsageError("--write-results needs whole runs, without --quick")
    _figures(claims)
    chosen = choose(name, claims)
    if until_decided is not None:
        if quick or out or seeds is not None or first_seed != 1:
            raise UsageError("--until-decided continues stored results: not with --seeds, --first-seed, --quick, --out")
        _decide(chosen, until_decided, jobs, rocketfuel, write_results, claims, json)
        return
    if out:
        require_replaceable(out, MARKER)
        write_text(out / MARKER, to_json([]))
    verdicts: list[Verdict] = []
    for figure in chosen:
        found = _run(figure, seeds, first_seed, quick, jobs, out, rocketfuel)
        verdicts += found
        if not json:
            _print(figure, found)
        if write_results:
            record.keep(figure, found)
    _finish(verdicts, out, json)
    if write_results:
        _write_pages(chosen, claims)
    if all(verdict.judgement == Judgement.SKIPPED for verdict in verdicts):
        raise UsageError(f"no claim of {name!r} could run: {verdicts[0].why}")
    if any(verdict.fails for verdict in verdicts):
        raise typer.Exit(1)


def _decide(
    chosen: list[Figure],
    minutes: float,
    jobs: int,
    rocketfuel: Path | None,
    write_results: bool,
    claims: Path | None,
    json: bool,
) -> None:
    """Adds seeds until what is open is decided, and says what has become of it."""
    if not minutes > 0:
        raise UsageError("--until-decided needs more than 0 minutes of core time")
    ended: dict[str, Going] = {}
    for one in run_until_decided(chosen, minutes, jobs=jobs or None, rocketfuel=rocketfuel):
        ended[one.figure.id] = one
        left = "decided" if not one.open else f"{len(one.open)} open"
        typer.echo(f"{one.figure.id}: {one.first - 1} seeds, {one.seconds / 60:.1f} core minutes, {left}", err=True)
        if write_results:
            record.keep(one.figure, one.verdicts, one.added_core_s)
    if not ended:
        raise UsageError("no claim is open that more seeds could decide, or nothing was run yet")
    if write_results:
        _write_pages(chosen, claims)
    found = [verdict for one in ended.values() for verdict in one.verdicts if verdict.ours and verdict.ours.sequential]
    if not json:
        for one in ended.values():
            _print(one.figure, [verdict for verdict in one.verdicts if verdict in found])
            if one.why_not:
                typer.echo(f"{one.figure.id}: skipped: {one.why_not}")
    _finish(found, None, json)
    if any(verdict.fails for verdict in found):
        raise typer.Exit(1)


def _write_pages(chosen: list[Figure], claims: Path | None) -> None:
    """Writes RESULTS.md of each paper that one of these figures is of."""
    for paper in dict.fromkeys(figure.paper for figure in chosen):
        record.write_page(choose(paper, claims))


@app.command("reproduce")
def reproduce_claims(
    name: Annotated[str, typer.Argument(metavar="ID", help=IDS)] = "all",
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output directory.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, shorter runs: a preview.")] = False,
    needs: Annotated[bool, typer.Option("--needs", help="Estimate the cost only.")] = False,
    jobs: Jobs = 0,
    rocketfuel: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Rocketfuel's maps; else {ROCKETFUEL}. Without, their claims are skipped."),
    ] = None,
    claims: Root = None,
    json: Json = False,
) -> None:
    """Rerun papers' claims and compare with the record; resumable.

    Writes reproduced.html and reproduce.json. Exit code 1: a full run's verdict differs.
    """
    _figures(claims)
    chosen = choose(name, claims)
    taking = reproduce.needs(chosen, out, quick=quick, jobs=jobs)
    if needs:
        print_json(asdict(taking)) if json else typer.echo(str(taking))
        return
    typer.echo(str(taking), err=True)
    every: list[reproduce.Reproduced] = []
    run_one = partial(_run, seeds=None, first_seed=1, quick=quick, jobs=jobs, out=None, rocketfuel=rocketfuel)
    for figure, found in reproduce.reproduce(chosen, out, quick=quick, run=run_one):
        every += found
        typer.echo(f"{figure.id}: {reproduce.counted(found)}", err=True)
    if json:
        print_json(reproduce.load(out))
    else:
        text.print_table(COLUMNS, list(counts(one.now for one in every)))
        typer.echo(headline(one.now for one in every))
        typer.echo(reproduce.sentence(every))
        typer.echo(f"results in {out}; {out / reproduce.PAGE} shows them")
    if not quick and any(one.agreement is reproduce.Agreement.OTHER for one in every):
        raise typer.Exit(1)


@app.command("explain")
def explain_claims(
    name: Annotated[str, typer.Argument(metavar="ID", help=IDS, show_default=False)],
    seeds: Annotated[
        int | None, typer.Option(help="Seeds per reading; default: the figure's.", min=1, show_default=False)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Core time per figure, after which no reading starts.", show_default=False),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="NAME=CHOICE", help="One reading, no search."),
    ] = None,
    jobs: Jobs = 0,
    rocketfuel: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Rocketfuel's maps; else {ROCKETFUEL}.", show_default=False)
    ] = None,
    write_results: Annotated[
        bool, typer.Option("--write-results", help="Write EXPLAINED.md beside the claims.")
    ] = False,
    claims: Root = None,
    json: Json = False,
) -> None:
    """Explain failing claims: try readings of what the paper leaves open (open.toml)."""
    if minutes is not None and not minutes > 0:
        raise UsageError("--minutes needs more than 0 minutes of core time")
    _figures(claims)
    chosen = choose(name, claims)
    if reading:
        if write_results or minutes is not None or len(chosen) != 1:
            raise UsageError("--try runs one reading of one figure: not with --minutes or --write-results")
        _print_trial(try_reading(chosen[0], reading, seeds=seeds, jobs=jobs or None, rocketfuel=rocketfuel), json)
        return
    failing = [figure for figure in chosen if failing_claims(figure)]
    if not failing:
        raise UsageError(f"no claim of {name!r} fails in the stored results: nothing to explain")
    found: list[Search] = []
    for figure in failing:
        found.append(
            explain(figure, seeds=seeds, minutes=minutes, jobs=jobs or None, rocketfuel=rocketfuel, on_trial=_tell)
        )
        if write_results:
            explained.keep(found[-1])
            explained.write_page(choose(figure.paper, claims))
        if not json:
            _print_explained(found[-1])
    if json:
        print_json([{"figure": one.figure.id, **explained.to_values(one)} for one in found])


def _tell(trial: Trial, number: int, of: int) -> None:
    typer.echo(f"{trial.verdicts[0].figure}: reading {number} of {of}: {said_of(trial.reading)}", err=True)


def _print_trial(trial: Trial, json: bool) -> None:
    if json:
        print_json({"reading": trial.reading.labels(), "claims": [verdict.to_json() for verdict in trial.verdicts]})
        return
    lines = [(verdict.claim.id, *_short(verdict)) for verdict in trial.verdicts]
    text.print_table(("Claim", "Paper", "Ours", "Ideal", "Holds"), lines, said_of(trial.reading))


def _print_explained(search: Search) -> None:
    tried = f"{len(search.trials)} of {search.of} readings tried"
    lines = [(one.claim.id, str(one.verdict)) for one in search.explanations]
    text.print_table(("Claim", "Verdict"), lines, f"{search.figure.id}: {tried}")
    for one in search.explanations:
        text.console().print(f"{one.claim.id}: {one.text(search)}", soft_wrap=True)


@app.command("table")
def table_of_claims(
    name: Annotated[str, typer.Argument(metavar="ID", help=IDS)] = "all",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write HTML with a plot.", show_default=False)
    ] = None,
    claims: Root = None,
    json: Json = False,
) -> None:
    """Print all claims with the paper's value, ours, tolerance and verdict, from kept results."""
    _figures(claims)
    found = table.kept(choose(name, claims))
    if not found:
        raise UsageError(f"{name!r} was not run yet: midpath paper run {name} --write-results")
    if out:
        write_text(out, table.html(found))
    if json:
        print_json([verdict.to_json() for verdict in found])
        return
    text.print_table(COLUMNS, list(counts(found)))
    text.print_table(table.HEADS, list(table.rows(found)))
    typer.echo(headline(found))


def _figures(root: Path | None) -> list[Figure]:
    found = figures(root)
    if not found and root is not None:
        raise UsageError(f"{root} holds no claims: PAPER/FIGURE/claim.toml")
    return found


def _run(
    figure: Figure,
    seeds: int | None,
    first_seed: int,
    quick: bool,
    jobs: int,
    out: Path | None,
    rocketfuel: Path | None,
) -> list[Verdict]:
    with bar(figure.id) as shown:
        asked: list[str] = []
        ended: list[str] = []

        def ask(run: str) -> None:
            asked.append(run)
            shown.runs = len(asked)

        def end(run: str) -> None:
            ended.append(run)
            shown.ended(run, 0, len(ended), len(asked))

        return run_figure(
            figure,
            seeds=seeds,
            first_seed=first_seed,
            quick=quick,
            jobs=jobs or None,
            out=out / figure.id if out else None,
            rocketfuel=rocketfuel,
            on_asked=ask,
            on_step=lambda run, reached: shown.step(run, 0, reached),
            on_end=end,
        )


def _print(figure: Figure, verdicts: list[Verdict]) -> None:
    lines = [(verdict.claim.id, *_short(verdict)) for verdict in verdicts if verdict.judgement != Judgement.SKIPPED]
    if lines:
        text.print_table(("Claim", "Paper", "Ours", "Ideal", "Holds"), lines, f"{figure.id}: {figure.title}")
    for verdict in verdicts:
        if verdict.judgement in SAID:
            text.console().print(f"{verdict.claim.id} {SAID[verdict.judgement]}: {verdict.why}")
    # What could not be run at all is one line, not one for each claim.
    skipped = Counter(verdict.why for verdict in verdicts if verdict.judgement == Judgement.SKIPPED)
    for why, count in skipped.items():
        claims = "1 claim was" if count == 1 else f"{count} claims were"
        text.console().print(f"{figure.id}: {claims} skipped: {why}", soft_wrap=True)


def _short(verdict: Verdict) -> tuple[str, str, str, str]:
    paper, ours, bound, holds = row(verdict)
    # A shape in the paper's words fills lines; what counts as that shape is short.
    return (
        paper if verdict.claim.number is not None else verdict.claim.tolerance.text(verdict.claim.kind),
        ours,
        bound,
        holds,
    )


def _finish(verdicts: list[Verdict], out: Path | None, json: bool) -> None:
    listed = [verdict.to_json() for verdict in verdicts]
    if out:
        write_text(out / MARKER, to_json(listed))
    if json:
        print_json(listed)
        return
    text.print_table(COLUMNS, list(counts(verdicts)))
    typer.echo(headline(verdicts))
