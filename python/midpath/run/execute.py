"""Runs what a store lacks of a plan, wherever its runs go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath.errors import UsageError
from midpath.provenance import ran_under, require_now
from midpath.run import cores
from midpath.run.dask import dask_workers
from midpath.run.drive import drive
from midpath.run.plan import Plan, check
from midpath.run.slurm import Slurm, run_jobs
from midpath.run.store import ABOUT, PLAN, Store, about
from midpath.run.work import ProgressCallback, Work
from midpath.run.workers import Workers
from midpath.scenario import Scenario


@dataclass(frozen=True)
class Where:
    """Where runs go: to so many processes here, to the workers of a Dask scheduler, or to Slurm. Here a run that takes
    longer than `limit_s` has failed.
    """

    jobs: int | None = None
    cluster: str | None = None
    slurm: Slurm | None = None
    limit_s: float | None = None

    @property
    def width(self) -> int:
        """Processes here, and threads that check a plan."""
        return self.jobs or cores()


def described(
    plan: Plan, scenarios: Sequence[Scenario], command: str, more: Mapping[str, Any] | None = None
) -> dict[bytes, bytes]:
    """What a plan is of, as the metadata of its table; `more` is for plans of a kind of their own."""
    title = scenarios[0].to_dict().get("title") or "Untitled scenario"
    about = {
        **ran_under(),
        "format": 1,
        "title": str(title) if len(scenarios) == 1 else f"{len(scenarios)} scenarios",
        "scenario": "\n".join(scenario.to_toml() for scenario in scenarios),
        "parameters": plan.keys,
        "schemes": plan.schemes,
        "command": command,
        **(more or {}),
    }
    return {ABOUT: json.dumps(about, ensure_ascii=False).encode()}


def begun(
    plan: Plan,
    of: Mapping[bytes, bytes],
    out: str | Path,
    where: Where,
    *,
    keep_results: bool = False,
    retry_failed: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Work:
    """Has the store at `out` take up a plan, `described` by `of`, unless a run that it lacks cannot be run."""
    if where.cluster is not None and where.slurm is not None:
        raise UsageError("a sweep runs on a Dask cluster or by Slurm, not on both")
    if where.cluster is not None and keep_results:
        raise UsageError("a Dask cluster does not return full results: leave out --keep-results")
    store = Store(out)
    store.require()
    if (store.path / PLAN).is_file():
        # Begun under another version or other defaults, none of its runs would do.
        require_now(store.path, about(store.plan()), "choose another directory for the sweep")
    work = Work(plan, store, keep_results, retry_failed, on_progress)
    check(work.pairs(), where.width)
    work.open(of)
    return work


def perform(work: Work, where: Where) -> None:
    """Runs what is left."""
    work.tell()
    if not work.left:
        return
    if where.slurm is not None:
        run_jobs(work, where.slurm)
    elif where.cluster is not None:
        with dask_workers(where.cluster) as remote:
            drive(work.tasks(), remote, work.take)
    else:
        workers = Workers(min(where.width, len(work.left)), where.limit_s)
        try:
            drive(work.tasks(), workers, work.take)
        finally:
            workers.close()


def execute(
    plan: Plan, of: Mapping[bytes, bytes], out: str | Path, where: Where, *, on_progress: ProgressCallback | None = None
) -> Work:
    """Both: afterwards `Work.records` has all runs of the plan."""
    work = begun(plan, of, out, where, on_progress=on_progress)
    perform(work, where)
    return work
