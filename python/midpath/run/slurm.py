"""A sweep's runs as jobs of Slurm, by submitit: the extra `slurm`. The store must be on a disk that all nodes share."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from midpath.errors import UsageError, WorkerError
from midpath.run.store import Store
from midpath.run.task import DONE, FAILED, Task, perform
from midpath.run.work import Work

POLL_S = 2.0
# A traceback's last line.
ERROR = re.compile(r"[\w.]+(Error|Exception|Interrupt)\b")


@dataclass(frozen=True)
class Slurm:
    """How many jobs share the runs, and what submitit is told of them (`slurm_partition`, `timeout_min`, …).

    `executor` is submitit's: `local` runs the jobs as processes here.
    """

    jobs: int = 16
    parameters: Mapping[str, Any] = field(default_factory=dict)
    executor: str | None = None
    poll_s: float = POLL_S


def run_jobs(work: Work, slurm: Slurm) -> None:
    """Has all tasks done by jobs, each with its part of them, which write into the store themselves."""
    executor = _executor(work.store.path / "slurm", slurm)
    tasks = list(work.tasks())
    count = min(slurm.jobs, len(tasks))
    # Every n-th: neighbours in the plan cost about the same, so the jobs do, too.
    parts = [tasks[index::count] for index in range(count)]
    jobs = executor.map_array(perform_part, [str(work.store.path.absolute())] * count, parts)
    try:
        _await(work, jobs, slurm.poll_s)
    except BaseException:
        for job in jobs:
            job.cancel()
        raise


def perform_part(store: str, tasks: Sequence[Task]) -> int:
    """A job: runs its tasks one after another. What another job or sweep has done is left out."""
    found = Store(store)
    for task in tasks:
        if not found.has(task.key, task.wanted, kept=task.keep is not None, retry_failed=True):
            found.put(perform(task))
    return len(tasks)


def _executor(folder: Path, slurm: Slurm) -> Any:
    try:
        import submitit  # noqa: PLC0415 - only installed with the extra
    except ImportError:
        raise UsageError("--slurm needs submitit: pip install 'midpath[slurm]'") from None
    if slurm.jobs < 1:
        raise UsageError("--slurm: must be at least 1")
    try:
        executor = submitit.AutoExecutor(folder, cluster=slurm.executor or "slurm")
        executor.update_parameters(**slurm.parameters)
    except (RuntimeError, NameError, ValueError, AssertionError, TypeError) as error:
        # What submitit raises where there is no Slurm, and for what it doesn't know.
        raise UsageError(f"--slurm: {error}") from None
    return executor


def _await(work: Work, jobs: Sequence[Any], poll_s: float) -> None:
    """Counts what is in the store until all jobs have ended."""
    while True:
        ended = all(job.done() for job in jobs)
        for key in list(work.left):
            record = work.store.record(key)
            # A failure of an earlier sweep that is tried again counts when the jobs are through with it.
            if record is not None and (ended or record["status"] == DONE):
                work.end(key, failed=record["status"] == FAILED)
        if ended:
            break
        time.sleep(poll_s)
    if work.left:
        why = next((_why(job, error) for job in jobs if (error := job.exception())), "no job reported a reason")
        raise WorkerError(f"jobs ended with {len(work.left):,} runs left; repeat the command to continue. {why}")


def _why(job: Any, error: Exception) -> str:
    """The last line of what a job says of its error: above it there is a traceback."""
    lines = [line for line in str(error).splitlines() if ERROR.match(line)]
    return f"{lines[-1] if lines else str(error).partition(chr(10))[0]} (see {job.paths.stderr})"
