"""Runs: one scenario here, and many of them below.

plan      points, each under schemes and seeds: what comparisons, sweeps, failures and matrices run
key       what tells one run from another
drive     has tasks done: on `Threads` here, by `workers` (processes), on an executor, by `dask` or `slurm`
whole     whole results of a plan, in memory and in folders
store     records of runs by key; `work` is what a store lacks of a plan
execute   runs that, and gives the records of the whole plan
task      one run, as a worker does it; `bundle` is a run whose files came along
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from midpath.citing import sources
from midpath.controller import Controllers, origins, told
from midpath.errors import ScenarioError, UsageError
from midpath.extension import _midpath
from midpath.policy import Policies, makers
from midpath.provenance import ran_under
from midpath.result import MARKER, Result
from midpath.result.pieces import FlowsFile
from midpath.scenario import Scenario
from midpath.storage import require_replaceable
from midpath.tables import SERIES, to_arrow

# What stands for a scenario.
One = Scenario | Mapping[str, Any] | str | Path
ProgressCallback = Callable[[dict[str, Any]], bool | None]
# Classes of controllers may share what they like, so in one process their runs follow each other.
_one_at_a_time = threading.Lock()


def run(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    *,
    scheme: str | None = None,
    seed: int | None = None,
    threads: int = 1,
    wire: bool = False,
    progress: ProgressCallback | None = None,
    policies: Policies | None = None,
    controllers: Controllers | None = None,
    out: str | Path | None = None,
) -> Result:
    """Simulates a scenario, given as an object, a file or a text.

    The result does not depend on `threads` (0: one per core; never more; one where several would not be faster, by a
    guess from links and flows). `progress` is called about ten times a second
    with `simulated_s`, `stop_s` (None if not known), `packet_hops` and `flows`; returning `False` stops the run.

    With `wire`, links carry bytes: each packet is encoded and decoded on every link, as `docs/wire.md` says. The result
    is the same, later.

    `policies` are endpoint policies for FCP, by the names that the scenario uses: see `midpath.policy`.

    `controllers` are classes that extend `midpath.Controller`, and so more schemes. They run on one thread.

    With `out` the result is saved there, as by `Result.save`. Its table of flows is written piece by piece and read
    when somebody asks for it: ten million flows then take 1.6 GB.
    """
    if out is None:
        return _run(scenario, scheme, seed, threads, wire, progress, policies, controllers, None)
    path = Path(out)
    require_replaceable(path, MARKER)
    with FlowsFile(path) as flows:
        found = _run(scenario, scheme, seed, threads, wire, progress, policies, controllers, flows.add)
        return found.save_with(path, flows)


def _run(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    scheme: str | None,
    seed: int | None,
    threads: int,
    wire: bool,
    progress: ProgressCallback | None,
    policies: Policies | None,
    controllers: Controllers | None,
    rows: Callable[[dict[str, tuple[Any, ...]]], None] | None,
) -> Result:
    """The run; the table of flows goes to `rows`, if that is given."""
    asked = as_scenario(scenario).with_(scheme=scheme, seed=seed, controllers=controllers)
    if asked.controllers and threads > 1:
        raise UsageError("a Python controller runs on one thread: leave threads out")
    used = asked.used
    try:
        with _one_at_a_time if used else nullcontext():
            run_json, tables, files = _midpath.run(
                asked.effective_text(),
                asked.base_dir,
                scheme=asked.scheme,
                seed=asked.seed,
                threads=min(threads or cores(), cores()),
                wire=wire,
                progress=progress,
                policies=makers(policies) if policies else None,
                controllers=told(asked.controllers),
                rows=rows,
            )
    except ScenarioError as error:
        raise asked.locate(error) from None
    found = json.loads(run_json) | {"source": asked.file_name}
    found |= ran_under(found.get("schemes", ()))
    found["cites"] = sources(found)
    if asked.variant is not None:
        found["variant"] = asked.variant
    if used:
        found["controllers"] = origins(used)
    arrow = {name: to_arrow(table) for name, table in tables.items()}
    # A run that recorded no series has a table of none.
    arrow.setdefault("series", SERIES.empty_table())
    return Result(found, arrow, files)


def follow_each_other(seeds: Sequence[int]) -> bool:
    """Whether each seed is one more than the one before it, so that `--seed` and `--seeds` can say them."""
    return list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))


def as_names(given: Iterable[str] | str) -> list[str]:
    """Names from a list of them, or from one text with commas between them."""
    return [text.strip() for text in (given.split(",") if isinstance(given, str) else given)]


def as_scenario(scenario: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
    """A scenario from whatever stands for one."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(dict(scenario))
    if isinstance(scenario, (str, os.PathLike)):
        return Scenario.from_toml(scenario)
    raise UsageError(
        f"{scenario!r:.80} is not a scenario: give a Scenario, a file, a TOML text, or nested dictionaries"
    )


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
