"""The whole results of a plan: run here or taken from folders that have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from midpath.controller import origins
from midpath.errors import OutputError, ScenarioError
from midpath.provenance import ran_under, require_now, unlike
from midpath.result import MARKER, Result, load
from midpath.run.drive import Ask, Elsewhere, Threads, drive
from midpath.run.key import digests
from midpath.run.plan import Plan, Run
from midpath.scenario import Scenario

# Where a comparison keeps its runs. A folder that has it but no compare.json is a comparison that was interrupted.
RUNS = "runs"

# Told after each run: its scheme and seed, how many are done, how many there are.
RunCallback = Callable[[str, int, int, int], None]
# Told now and then what one run has reached.
StepCallback = Callable[[str, int, dict[str, Any]], None]


def run_directory(path: Path, scheme: str, seed: int) -> Path:
    """Where a comparison keeps one of its runs."""
    return path / RUNS / f"{scheme}-{seed}"


def whole_results(
    plan: Plan,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    folders: Sequence[Path] = (),
    replace: bool = False,
    on_run: RunCallback | None = None,
    on_step: StepCallback | None = None,
    names: Sequence[str] = (),
) -> dict[Run, Result]:
    """Every run of a plan, `jobs` at a time on threads, or on an executor, which tells no steps.

    With `folders`, one for each point, a result is saved there as its run ends, with the hashes of the files that its
    scenario names, and taken from there if it is of exactly this run. Of points with `names` callbacks are told these
    beside the scheme.
    """

    def place(run: Run) -> Path:
        return run_directory(folders[run[0]], *run[1:])

    def name(run: Run) -> str:
        return f"{names[run[0]]}, {run[1]}" if names else run[1]

    def take(ask: Ask[Run], result: Result) -> None:
        found[ask.name] = result
        if folders:
            if named[ask.name[0]]:
                result.run["files"] = named[ask.name[0]]
            result.save(place(ask.name))
        if on_run is not None:
            on_run(name(ask.name), ask.name[2], len(found), len(asks))

    def reached(run: Run, progress: dict[str, Any]) -> None:
        if on_step is not None:
            on_step(name(run), run[2], progress)

    asks = {run: Ask(run, plan.scenario(run)) for run in plan.runs()}
    named = [_digests(point.scenario) for point in plan.points] if folders else []
    found = {
        run: kept
        for run, ask in asks.items()
        if folders and (kept := stored(ask.scenario, named[run[0]], place(run), replace))
    }
    missing = [ask for run, ask in asks.items() if run not in found]
    if executor is not None:
        drive(missing, Elsewhere(executor), take)
    else:
        with Threads(jobs, reached) as threads:
            drive(missing, threads, take)
    return {run: found[run] for run in asks}


def _digests(scenario: Scenario) -> dict[str, str]:
    try:
        return digests(scenario)
    except ScenarioError:
        return {}  # the simulator says what is wrong, and where


def stored(scenario: Scenario, files: dict[str, str], directory: Path, replace: bool) -> Result | None:
    """The result that a folder has, if it is of exactly this scenario, its files, controllers, scheme and seed.

    Controllers in Python that are in no file are run again: nothing tells what they do. A result of another version or
    with other defaults is an error, or with `replace` run again.
    """
    own = origins(scenario.used)
    if not (directory / MARKER).is_file() or not all(one["sha256"] for one in own.values()):
        return None
    try:
        result = load(directory)
    except OutputError:
        return None
    asked = scenario.effective_text(), scenario.scheme, scenario.seed, own, files
    told = result.run
    if asked != (told.get("scenario"), result.scheme, result.seed, told.get("controllers", {}), told.get("files", {})):
        return None
    if not replace:
        require_now(directory, told, "choose another directory, or run all again (--replace)")
    return None if unlike(told, ran_under()) else result
