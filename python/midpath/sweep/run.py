"""`midpath.sweep`: runs what is missing of a plan, and stores the results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from midpath.controller import Controllers, files_of, loading, with_options
from midpath.metrics import IDEAL
from midpath.run import One, as_names, as_scenario, follow_each_other
from midpath.run.execute import Where, begun, described, perform
from midpath.run.plan import Plan
from midpath.run.slurm import Slurm
from midpath.run.work import ProgressCallback
from midpath.scenario import Scenario
from midpath.sweep.plan import plan_of, split, value_of
from midpath.sweep.result import Sweep


def sweep(
    scenarios: One | Sequence[One],
    vary: Mapping[str, Sequence[Any]] | None = None,
    *,
    out: str | Path,
    plan: Sequence[Mapping[str, Any]] | None = None,
    schemes: Sequence[str] | None = None,
    seeds: int | Sequence[int] = 1,
    ideal: bool = True,
    jobs: int | None = None,
    cluster: str | None = None,
    slurm: Slurm | None = None,
    keep_results: bool = False,
    retry_failed: bool = False,
    on_progress: ProgressCallback | None = None,
    controllers: Controllers | None = None,
) -> Sweep:
    """Runs every combination of the values in `vary`, or every point of `plan`, under every scheme with every seed.

    `vary` has lists of values by key (`{"queue.limit": ["10 ms", "50 ms"]}`), `plan` one dictionary of values per
    point. Keys are dotted, with the index of an element of a list: `flow.0.size`. `schemes` are the scenario's own
    unless said; `seeds` is how many, or which.

    `out` is the store. Runs that it has are not run again: they are known by the scenario with its values, the contents
    of the files that it names, scheme, seed and build of the simulator. A run that fails is kept with its error, and
    the others go on; `retry_failed` runs such runs again. A store that was begun under another version, or
    other defaults, is an error.

    Runs go on `jobs` processes (one per core unless said), on the workers of the Dask scheduler at `cluster`, or as
    jobs of `slurm`. With `keep_results` each whole result is kept, not its figures alone.

    `controllers` are as in `run`, from files: the key has their code, which workers load. Data that it reads are not in
    the key.
    """
    names = None if schemes is None else as_names(schemes)
    asked = [as_scenario(one).with_(controllers=controllers) for one in _listed(scenarios)]
    planned = plan_of(asked, vary or {}, plan, names, seeds, ideal)
    about = described(planned, asked, command(asked, vary or {}, plan, planned.schemes, seeds, Path(out)))
    where = Where(jobs, cluster, slurm)
    return swept(planned, about, out, where, keep_results, retry_failed, on_progress)


def swept(
    planned: Plan,
    about: Mapping[bytes, bytes],
    out: str | Path,
    where: Where,
    keep_results: bool = False,
    retry_failed: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Sweep:
    """Runs what the store at `out` lacks of a plan, and writes the table, of what is there, whatever stops it."""
    work = begun(
        planned, about, out, where, keep_results=keep_results, retry_failed=retry_failed, on_progress=on_progress
    )
    found = Sweep(work.store.path, work.table)
    try:
        perform(work, where)
    finally:
        found.write_table()
    return found


def _listed(scenarios: One | Sequence[One]) -> Sequence[One]:
    return [scenarios] if isinstance(scenarios, (Scenario, Mapping, str, Path)) else scenarios


def command(
    scenarios: Sequence[Scenario],
    vary: Mapping[str, Sequence[Any]],
    plan: Sequence[Mapping[str, Any]] | None,
    schemes: Sequence[str],
    seeds: int | Sequence[int],
    out: Path,
) -> str:
    """What to type for the same sweep; a listed plan is a file whose name we don't know."""
    if not isinstance(seeds, int) and not follow_each_other(sorted(seeds)):
        return _in_python(scenarios, vary, plan, schemes, seeds, out)
    variants = dict.fromkeys(s.variant for s in scenarios if s.variant is not None)
    words = ["midpath", "sweep", *dict.fromkeys(s.shown_file for s in scenarios)]
    words += ["--variants", ",".join(variants)] if variants else []
    words += settings(scenarios[0])
    for key, values in vary.items():
        words += ["--vary", f"{key}={','.join(_typed(value) for value in values)}"]
    words += ["--plan", "points.csv"] if plan is not None else []
    words += ["--schemes", ",".join(scheme for scheme in schemes if scheme != IDEAL)]
    words += [] if IDEAL in schemes else ["--no-ideal"]
    words += [*_seeds(scenarios[0], seeds), *with_files(scenarios), "--out", out.name]
    return shlex.join(words)


def with_files(scenarios: Sequence[Scenario]) -> list[str]:
    """The options that load controllers in Python."""
    return with_options(_files(scenarios))


def _files(scenarios: Sequence[Scenario]) -> list[str]:
    return list(dict.fromkeys(file for scenario in scenarios for file in files_of(scenario.controllers)))


def _in_python(
    scenarios: Sequence[Scenario],
    vary: Mapping[str, Sequence[Any]],
    plan: Sequence[Mapping[str, Any]] | None,
    schemes: Sequence[str],
    seeds: Sequence[int],
    out: Path,
) -> str:
    """The same as a line of Python: seeds that do not follow each other have no option."""
    given = []
    for one in scenarios:
        variant = f".with_variant({one.variant!r})" if one.variant is not None else ""
        changes = f".with_(changes={dict(changed)!r})" if (changed := _changed(one)) else ""
        given.append(f"midpath.Scenario.from_toml({one.shown_file!r}){variant}{changes}")
    words = [f"[{', '.join(given)}]", repr({key: list(values) for key, values in vary.items()})]
    words += [f"plan={[dict(point) for point in plan]!r}"] if plan is not None else []
    words += [f"schemes={[scheme for scheme in schemes if scheme != IDEAL]}", f"seeds={list(seeds)}"]
    words += [f"ideal={IDEAL in schemes}", f"out={out.name!r}"]
    head, loaded = loading(_files(scenarios))
    words += [f"controllers={loaded}"] if loaded else []
    return shlex.join(["python", "-c", f"{head}; midpath.sweep({', '.join(words)})"])


def settings(scenario: Scenario) -> list[str]:
    """The options `--set` of what was changed beside the file; what a variant changes is in the file."""
    return [word for key, value in _changed(scenario) for word in ("--set", f"{key}={_typed(value)}")]


def _changed(scenario: Scenario) -> Sequence[tuple[str, Any]]:
    own = scenario.variants[scenario.variant] if scenario.variant is not None else {}
    return scenario.changes[len(own) :]


def _seeds(scenario: Scenario, seeds: int | Sequence[int]) -> list[str]:
    """The options for seeds."""
    first = scenario.seed if isinstance(seeds, int) else min(seeds)
    count = seeds if isinstance(seeds, int) else len(seeds)
    return [*(["--seed", str(first)] if first is not None else []), "--seeds", str(count)]


def _typed(value: Any) -> str:
    """A value as `--vary` reads it: TOML, but for a text that can only be one."""
    if isinstance(value, str) and value_of(value) == value and split(value) == [value]:
        return value
    return tomli_w.dumps({"value": value}).partition("=")[2].strip()
