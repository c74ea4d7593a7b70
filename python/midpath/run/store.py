"""The store of a sweep's runs: a directory, safe to interrupt at any time and to share between processes.

    plan.parquet                the latest requested runs, by key
    table.parquet               the same with their figures, rewritten from new records
    runs/ab/KEY.json            the record of a run, done or failed
    runs/ab/KEY.flows.parquet   completion times of the ideal, of runs with unfinished flows, and where a plan wants all
    results/KEY/                full results, if kept

Each file is written under another name and renamed. A run's record is written last, so a run that has one is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from midpath.errors import OutputError
from midpath.metrics import METRICS
from midpath.result import Result
from midpath.run.plan import Wanted
from midpath.run.task import DONE, FAILED, MISSING, Outcome
from midpath.storage import require_replaceable, to_json, write_bytes, write_text

PLAN, TABLE = "plan.parquet", "table.parquet"
# The key of the plan's metadata that says what it is of.
ABOUT = b"midpath.sweep"
# What a process that was killed left half written is taken away after this time: no file takes as long to write.
STALE_S = 3600.0
FIGURES = {metric.key for metric in METRICS}
ROWS = 4096  # of a plan that are in memory at a time


def about(plan: pa.Table) -> dict[str, Any]:
    """What a plan is of: `title`, `scenario` (its text), `parameters` (its keys), `schemes`, `command`, …"""
    found: dict[str, Any] = json.loads((plan.schema.metadata or {}).get(ABOUT, b"{}"))
    return found


class Store:
    """The runs of sweeps in one directory."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def require(self) -> None:
        """Raises `OutputError` unless the directory is free for a sweep, or one already."""
        # A process that was killed while it wrote the first plan leaves nothing else.
        begun = self.path.is_dir() and all(entry.name.startswith(f".{PLAN}.") for entry in self.path.iterdir())
        if not begun:
            require_replaceable(self.path, PLAN)

    def open(self, plan: pa.Table) -> None:
        """Takes up a plan; the runs of earlier ones stay."""
        self.require()
        self.path.mkdir(parents=True, exist_ok=True)
        self.write_parquet(PLAN, plan)
        self._tidy()

    def plan(self) -> pa.Table:
        """The runs that were asked for last."""
        return self._read(self.path / PLAN)

    def records(self, plan: pa.Table) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each run of a plan with its record; without one its status is `MISSING`."""
        for batch in plan.to_batches(ROWS):
            for row in batch.to_pylist():
                yield row, self.record(row["key"]) or {"status": MISSING, "error": None}

    def record(self, key: str) -> dict[str, Any] | None:
        """The record of a run; none if it has not ended."""
        try:
            record: dict[str, Any] = json.loads(self._run(key, ".json").read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(f"cannot read {self._run(key, '.json')}: {error}") from None
        except ValueError:
            return None  # the machine went down before the file was on the disk
        return record

    def has(self, key: str, wanted: Wanted, *, kept: bool = False, retry_failed: bool = False) -> bool:
        """Whether a run needs no repetition: it is there with what is wanted, with `kept` its whole result, too."""
        record = self.record(key)
        if record is None:
            return False
        if record["status"] == FAILED:
            return not retry_failed
        # A later version may want figures that this one did not keep.
        whole = record["figures"].keys() >= FIGURES and (not kept or self.result(key).is_dir())
        measured = wanted.measure is None or wanted.name in record["measured"]
        return whole and measured and self._has_flows(key, wanted.flows)

    def put(self, outcome: Outcome) -> None:
        """Keeps what came of a run."""
        key = outcome.record["key"]
        if outcome.record["status"] == FAILED and (self.record(key) or {}).get("status") == DONE:
            return  # another process had more luck
        if outcome.flows is not None:
            write_bytes(self._run(key, ".flows.parquet"), outcome.flows)
        write_text(self._run(key, ".json"), to_json(outcome.record))

    def flows(self, key: str) -> pa.Table:
        """Completion times of a run that has them."""
        return self._read(self._run(key, ".flows.parquet"))

    def of(self, record: Mapping[str, Any], *, with_flows: bool = True) -> Result:
        """As much of a run's result as its record and its flows tell."""
        summary = record["figures"] | {key: record[key] for key in ("flows", "completed")}
        told = {"summary": summary, "simulated_s": record["simulated_s"]}
        return Result(told, {"flows": self.flows(record["key"])} if with_flows else {})

    def _has_flows(self, key: str, columns: Sequence[str]) -> bool:
        if not columns:
            return True
        try:
            return {*columns} <= {*pq.read_schema(self._run(key, ".flows.parquet")).names}
        except (OSError, pa.ArrowInvalid):
            return False

    def result(self, key: str) -> Path:
        """Where the whole result of a run is kept."""
        return self.path / "results" / key

    def write_parquet(self, name: str, table: pa.Table) -> None:
        """Writes a table of the store, whole or not at all."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        write_bytes(self.path / name, bytes(sink.getvalue()))

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other process works on this store; held while the block runs."""
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except OSError:  # a timeout is one, too
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _run(self, key: str, suffix: str) -> Path:
        return self.path / "runs" / key[:2] / f"{key}{suffix}"

    def _read(self, path: Path) -> pa.Table:
        try:
            return pq.read_table(path)
        except FileNotFoundError:
            raise OutputError(f"{self.path} is not a sweep: it has no {path.name}") from None
        except (OSError, pa.ArrowInvalid) as error:
            raise OutputError(f"cannot read {path}: {error}") from None

    def _tidy(self) -> None:
        """Takes away what killed processes left half written."""
        for pattern in (".*.parquet.*", "runs/*/.*", "results/.*"):
            for left in self.path.glob(pattern):
                try:
                    if time.time() - left.stat().st_mtime < STALE_S:
                        continue
                    shutil.rmtree(left) if left.is_dir() else os.unlink(left)  # noqa: PTH108
                except OSError:
                    continue  # another process did it
