"""One run of a sweep in a worker: a process here, a Dask worker, or a Slurm job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from midpath.controller import Packed, unpacked
from midpath.errors import UsageError
from midpath.metrics import IDEAL, METRICS
from midpath.result import MARKER, Result
from midpath.run import run
from midpath.run.key import build, file_digest
from midpath.run.plan import FIGURES_ALONE, Wanted
from midpath.scenario import Scenario

# What ratios over common flows need (`midpath.matched`).
FLOW_COLUMNS = ("fct_s", "slowdown")
DONE, FAILED, MISSING = "done", "failed", "missing"


@dataclass(frozen=True)
class Task:
    """What a worker is told of a run."""

    key: str
    text: str
    base_dir: str
    source: str | None
    scheme: str
    seed: int
    build: str
    # The files that the scenario names, as it writes them, with the hash of the contents that the key stands for.
    files: dict[str, str] = field(default_factory=dict)
    # Where to keep the whole result.
    keep: str | None = None
    # What to keep beside its figures, whatever came of the run.
    wanted: Wanted = FIGURES_ALONE
    # The controllers in Python that it uses.
    controllers: Packed = ()


@dataclass(frozen=True)
class Outcome:
    """What came of it: the record, and the flows where ratios need them, as Parquet."""

    record: dict[str, Any]
    flows: bytes | None = None


def perform(task: Task) -> Outcome:
    """Runs a task. A run that fails is an outcome, too; what else goes wrong is raised."""
    if task.build != build():
        raise UsageError(f"a worker has another build of midpath: {build()}, not {task.build}")
    try:
        own = unpacked(task.controllers)
        scenario = Scenario(task.text, Path(task.base_dir), task.source, controllers=own)
        if task.wanted.runner is None:
            result = run(scenario, scheme=task.scheme, seed=task.seed)
        else:
            result = task.wanted.runner(scenario.with_(scheme=task.scheme, seed=task.seed))
        _require_same(task)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return failed(task, f"{type(error).__name__}: {error}")
    if task.keep is not None:
        _keep(result, Path(task.keep))
    return Outcome(_record(task, result), _flows(result, task.wanted.flows))


def failed(task: Task, why: str) -> Outcome:
    """The outcome of a run that came to nothing."""
    return Outcome(_head(task, FAILED) | {"error": " ".join(why.split())})


def _head(task: Task, status: str) -> dict[str, Any]:
    return {
        "format": 1,
        "key": task.key,
        "status": status,
        "scheme": task.scheme,
        "seed": task.seed,
        "build": task.build,
        "kept": task.keep is not None and status == DONE,
    }


def _record(task: Task, result: Result) -> dict[str, Any]:
    summary, told = result.summary, result.run
    return _head(task, DONE) | {
        "flows": summary["flows"],
        "completed": summary["completed"],
        "figures": {metric.key: summary.get(metric.key) for metric in METRICS},
        "warnings": result.warnings,
        "cites": told.get("cites"),
        "simulated_s": told.get("simulated_s"),
        "packet_hops": told.get("packet_hops"),
        "wall_s": told.get("wall_s"),
        "measured": task.wanted.measured(result),
    }


def _flows(result: Result, wanted: Sequence[str]) -> bytes | None:
    """Columns of flows, where they are wanted, or where a ratio to the ideal may be over some flows only."""
    summary = result.summary
    if not wanted and result.scheme != IDEAL and summary["completed"] == summary["flows"]:
        return None
    sink = pa.BufferOutputStream()
    pq.write_table(result.flows.select(list(dict.fromkeys((*FLOW_COLUMNS, *wanted)))), sink, compression="zstd")
    return bytes(sink.getvalue())


def _keep(result: Result, path: Path) -> None:
    try:
        result.save(path)
    except OSError:
        # Another process on the same store may have put the same result there.
        if not (path / MARKER).is_file():
            raise


def _require_same(task: Task) -> None:
    """Raises `UsageError` if a file has other contents now than when the run was planned."""
    for name, digest in task.files.items():
        if file_digest(Path(task.base_dir) / name) != digest:
            raise UsageError(f"{name} changed while the sweep ran: give the same command again")
