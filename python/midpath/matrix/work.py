"""Runs what a matrix lacks, and stores the results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath.controller import Named, packed
from midpath.errors import ScenarioError
from midpath.matrix.cell import Cell, measured
from midpath.matrix.entries import Entry
from midpath.matrix.rows import Row
from midpath.result import Result
from midpath.run import cores, run
from midpath.scenario import Scenario
from midpath.storage import to_json, write_text
from midpath.sweep.key import named_files, point_key, run_key

# Row, column, seed.
Key = tuple[str, str, int]
# How many runs are done, of how many; and which it was.
Progress = Callable[[int, int, Key], None]


@dataclass(frozen=True)
class Task:
    """The runs of all columns with one row and seed: they share the ideal's run."""

    row: Row
    seed: int
    entries: Sequence[Entry]


class Work:
    """What is to be run. Runs that the folder has, of the same build and scenario, are not run again."""

    def __init__(self, out: Path | None, small: bool, progress: Progress | None, own: Named = ()) -> None:
        self.out, self.small, self.progress, self.own = out, small, progress, own
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.cells: dict[Key, Cell] = {}
        self.total = 0

    def all(self, tasks: Sequence[Task], jobs: int | None) -> dict[Key, Cell]:
        """Every run, `jobs` at a time, on threads: the simulator works outside Python's lock."""
        self.total = sum(len(task.entries) for task in tasks)
        with ThreadPoolExecutor(jobs or cores()) as pool:
            futures = [pool.submit(self.task, task) for task in tasks]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                self.stop.set()
                for future in futures:
                    future.cancel()
                raise
        return self.cells

    def task(self, task: Task) -> None:
        """The columns of a row with one seed."""
        missing = []
        for entry in task.entries:
            stored = self.stored(task.row, entry, task.seed)
            if stored is None:
                missing.append(entry)
            else:
                self.ended((task.row.name, entry.name, task.seed), stored)
        if not missing:
            return
        ideal = run(self.scenario(task.row, None), seed=task.seed, progress=self.going)
        for entry in missing:
            if self.stop.is_set():
                return
            cell = self.one(task.row, entry, task.seed, ideal)
            self.keep(task.row, entry, task.seed, cell)
            self.ended((task.row.name, entry.name, task.seed), cell)

    def one(self, row: Row, entry: Entry, seed: int, ideal: Result) -> Cell:
        """One run; what cannot be run is a result, too."""
        try:
            return measured(run(self.scenario(row, entry), seed=seed, progress=self.going), ideal)
        except ScenarioError as error:
            return Cell(error=f"{error.key}: {error.message}" if error.key else error.message)

    def scenario(self, row: Row, entry: Entry | None) -> Scenario:
        """What is run for a column, or for the ideal."""
        return row.scenario(entry, small=self.small).with_(controllers=dict(self.own))

    def ended(self, key: Key, cell: Cell) -> None:
        """Counts one run."""
        with self.lock:
            self.cells[key] = cell
            if self.progress is not None:
                self.progress(len(self.cells), self.total, key)

    def going(self, _: dict[str, Any]) -> bool:
        """`False` stops a run."""
        return not self.stop.is_set()

    def stored(self, row: Row, entry: Entry, seed: int) -> Cell | None:
        """What the folder has of exactly this run."""
        if self.out is None:
            return None
        try:
            record = json.loads(self.path(row, entry, seed).read_bytes())
        except (OSError, ValueError):
            return None
        return Cell(**record["cell"]) if record["key"] == self.key(row, entry, seed) else None

    def keep(self, row: Row, entry: Entry, seed: int, cell: Cell) -> None:
        """Writes a run, whole or not at all."""
        if self.out is not None:
            record = {"key": self.key(row, entry, seed), "cell": cell.to_json()}
            write_text(self.path(row, entry, seed), to_json(record))

    def key(self, row: Row, entry: Entry, seed: int) -> str:
        """All that a run's figures depend on: its scenario and the ideal's, their files, seed and build."""
        both = [self.scenario(row, one) for one in (entry, None)]
        points = "".join(point_key(scenario, named_files(scenario)) for scenario in both)
        return run_key(points, entry.scheme, seed, packed(both[0].used))

    def path(self, row: Row, entry: Entry, seed: int) -> Path:
        """Where a run is kept."""
        return Path(self.out or ".") / "runs" / row.name / f"{entry.name}-{seed}.json"
