"""The whole results of a plan: run here or taken from folders that have them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from midpath.controller import origins
from midpath.errors import OutputError
from midpath.provenance import ran_under, require_now, unlike
from midpath.result import MARKER, Result, load
from midpath.run.drive import Ask, Elsewhere, Threads, drive
from midpath.run.key import digests
from midpath.run.plan import Plan, Run
from midpath.scenario import Scenario

# Where a comparison keeps its runs. A folder that has it but no compare.json is a comparison that was interrupted.
RUNS = "runs"

# Told after each run which it was, how many are done, and how many there are.
RunCallback = Callable[[Run, int, int], None]
# Told now and then what one run has reached.
StepCallback = Callable[[Run, dict[str, Any]], None]


def run_directory(path: Path, scheme: str, seed: int) -> Path:
    """Where a comparison keeps one of its runs."""
    return path / RUNS / f"{scheme}-{seed}"


def whole_results(
    plan: Plan,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    place: Callable[[Run], Path] | None = None,
    replace: bool = False,
    on_run: RunCallback | None = None,
    on_step: StepCallback | None = None,
) -> dict[Run, Result]:
    """Every run of a plan, `jobs` at a time on threads, or on an executor, which tells no steps.

    With `place`, each result is saved there as its run ends, and taken from there if it is of exactly this run.
    """
    asks = {key: Ask(key, plan.scenario(key)) for key in plan.runs()}
    found = {key: kept for key, ask in asks.items() if place and (kept := stored(ask.scenario, place(key), replace))}

    def take(ask: Ask, result: Result) -> None:
        key: Run = ask.name  # type: ignore[assignment]
        found[key] = result
        if place is not None:
            result.save(place(key))
        if on_run is not None:
            on_run(key, len(found), len(asks))

    missing = [ask for key, ask in asks.items() if key not in found]
    if executor is not None:
        drive(missing, Elsewhere(executor), take)
    else:
        with Threads(jobs, on_step) as threads:
            drive(missing, threads, take)
    return {key: found[key] for key in asks}


def stored(scenario: Scenario, directory: Path, replace: bool) -> Result | None:
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
    asked = scenario.effective_text(), scenario.scheme, scenario.seed, own, digests(scenario)
    told = result.run
    if asked != (told.get("scenario"), result.scheme, result.seed, told.get("controllers", {}), told.get("files", {})):
        return None
    if not replace:
        require_now(directory, told, "choose another directory, or run all again (--replace)")
    return None if unlike(told, ran_under()) else result
