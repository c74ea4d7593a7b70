"""Comparisons as plans: every scheme with every seed, of one scenario or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from midpath import stats
from midpath.compare.comparison import MARKER, Comparison, no_ideal, require_comparison
from midpath.controller import Controllers
from midpath.errors import UsageError
from midpath.metrics import IDEAL
from midpath.result import Result, load
from midpath.run import One, as_names, as_scenario, cores
from midpath.run.plan import Plan, Point, Run, check
from midpath.run.whole import RunCallback, StepCallback, run_directory, whole_results
from midpath.scenario import MOST_SEEDS, Scenario
from midpath.storage import read_json, to_json, write_text


def compare(
    scenario: One,
    schemes: Sequence[str] | str,
    *,
    seeds: int | Sequence[int] = 1,
    ideal: bool = True,
    replace: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    on_run: RunCallback | None = None,
    on_step: StepCallback | None = None,
    controllers: Controllers | None = None,
) -> Comparison:
    """Runs every scheme with every seed, `jobs` at a time, on threads: the simulator works outside Python's lock.

    `seeds` is how many, from the scenario's own upwards, or which. With `out`, each run is stored as it ends, and runs
    that are already there (same scenario, files that it names, scheme and seed) are not run again. Runs of another
    version or with other defaults, and a comparison that has runs which this one lacks, are errors without `replace`.
    An `executor` (of processes, or of a Dask cluster) takes the place of the threads; it reports no steps.

    `controllers` are as in `run`. Their runs follow each other, and are taken from `out` if their file is the same.
    """
    asked = as_scenario(scenario).with_(controllers=controllers)
    plan, folders = planned([asked], schemes, seeds, ideal, jobs), [Path(out)] if out is not None else []
    require_folders(plan, folders, replace)
    results = whole_results(
        plan, jobs=jobs, executor=executor, folders=folders, replace=replace, on_run=on_run, on_step=on_step
    )
    return compared(plan, results, folders)[0]


def planned(
    scenarios: Sequence[Scenario],
    schemes: Sequence[str] | str,
    seeds: int | Sequence[int],
    ideal: bool,
    jobs: int | None,
) -> Plan:
    """The comparisons of several scenarios as one plan with a point for each, all of which can be run."""
    # The fluid model starts flows at times, not after others; the comparison says so (`Comparison.warnings`).
    ideal = ideal and not any(no_ideal(one.to_dict()) for one in scenarios)
    wanted = list(dict.fromkeys([*as_names(schemes), *([IDEAL] if ideal else [])]))
    points = [Point(one, {}) for one in scenarios]
    # All of them before the first runs: an error in the last should not come after an hour.
    check([(point, scheme) for point in points for scheme in wanted], jobs or cores())
    numbers = [_seeds(one, seeds) for one in scenarios]
    if not wanted or not all(numbers):
        raise UsageError("a comparison needs a scheme and a seed")
    return Plan(points, wanted, numbers)


def require_folders(plan: Plan, folders: Sequence[Path], replace: bool) -> None:
    """Raises `OutputError` unless each point's folder is free for its comparison."""
    for path, seeds in zip(folders, plan.seeds, strict=False):
        require_comparison(path, None if replace else {(scheme, seed) for scheme in plan.schemes for seed in seeds})


def compared(plan: Plan, results: Mapping[Run, Result], folders: Sequence[Path]) -> list[Comparison]:
    """The comparison of each point, written into its folder."""
    found = []
    for i, (point, seeds) in enumerate(zip(plan.points, plan.seeds, strict=True)):
        asked, pairs = point.scenario, [(scheme, seed) for scheme in plan.schemes for seed in seeds]
        runs = {pair: results[i, *pair] for pair in pairs}
        found.append(Comparison(asked.effective_text(), asked.file_name, plan.schemes, seeds, runs))
    for path, one in zip(folders, found, strict=False):
        write_text(path / MARKER, to_json(one.to_json()))
    return found


def _seeds(scenario: Scenario, seeds: int | Sequence[int]) -> list[int]:
    """So many from the scenario's own upwards, or those that are listed."""
    if isinstance(seeds, int) and seeds > MOST_SEEDS:
        raise UsageError(f"{seeds:,} seeds; at most {MOST_SEEDS:,} are possible")
    if not isinstance(seeds, int) or seeds > 1:
        stats.require()
    return [scenario.base_seed() + i for i in range(seeds)] if isinstance(seeds, int) else list(seeds)


def load_comparison(directory: str | Path) -> Comparison:
    """Reads what `compare(out=…)` or `Comparison.save` wrote."""
    path = Path(directory)
    head = read_json(path / MARKER)
    pairs = [(scheme, seed) for scheme in head["schemes"] for seed in head["seeds"]]
    results = {pair: load(run_directory(path, *pair)) for pair in pairs}
    return Comparison(head["scenario"], head.get("source"), head["schemes"], head["seeds"], results)
