"""What a store lacks of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from midpath.controller import packed
from midpath.run.key import build, named_files, point_key, run_key
from midpath.run.plan import Plan, Point, Wanted, shown
from midpath.run.store import Store
from midpath.run.task import FAILED, Outcome, Task


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: runs that need no more work, those among them that failed just now, and all."""

    done: int
    failed: int
    runs: int


ProgressCallback = Callable[[Progress], None]


class Work:
    """The runs of a plan in a store, by key: which are left to do, and what came of the others."""

    def __init__(
        self, plan: Plan, store: Store, kept: bool, retry_failed: bool, on_progress: ProgressCallback | None
    ) -> None:
        self.plan, self.store, self.kept, self.retry_failed, self.on_progress = (
            plan,
            store,
            kept,
            retry_failed,
            on_progress,
        )
        self._text: tuple[int, str] | None = None
        self.files = [named_files(point.scenario) for point in plan.points]
        points = [point_key(point.scenario, files) for point, files in zip(plan.points, self.files, strict=True)]
        self.runs = list(plan.runs())
        # Of each point and scheme, the controllers in Python that they use.
        self.own = {
            (index, scheme): packed(point.scenario.with_(scheme=scheme).used)
            for index, point in enumerate(plan.points)
            for scheme in plan.of(index)
        }
        self.keys = [
            run_key(points[point], scheme, seed, self.own[point, scheme], plan.points[point].alone)
            for point, scheme, seed in self.runs
        ]
        self.wanted = {key: self._wanted(point) for key, (point, _, _) in zip(self.keys, self.runs, strict=True)}
        self.total = len(set(self.keys))
        self.left = {key for key in set(self.keys) if not self._has(key)}
        self.failed = 0

    def _wanted(self, point: int) -> Wanted:
        own = self.plan.points[point].wanted
        return self.plan.wanted if own is None else own

    def _has(self, key: str) -> bool:
        return self.store.has(key, self.wanted[key], kept=self.kept, retry_failed=self.retry_failed)

    def pairs(self) -> list[tuple[Point, str]]:
        """The points that have a run to be done, with the scheme; what has been run before needs no check."""
        runs = zip(self.runs, self.keys, strict=True)
        found = dict.fromkeys((point, scheme) for (point, scheme, _), key in runs if key in self.left)
        return [(self.plan.points[point], scheme) for point, scheme in found]

    @cached_property
    def table(self) -> pa.Table:
        """The runs as a table: key, point, parameters, scheme, seed."""
        columns: dict[str, pa.Array] = {
            "key": pa.array(self.keys, pa.string()),
            "point": pa.array([point for point, _, _ in self.runs], pa.int32()),
        }
        for name in self.plan.keys:
            values = _column([point.values.get(name) for point in self.plan.points])
            columns[name] = values.take(columns["point"])
        columns["scheme"] = pa.array([scheme for _, scheme, _ in self.runs], pa.string())
        columns["seed"] = pa.array([seed for _, _, seed in self.runs], pa.uint64())
        return pa.table(columns)

    def open(self, about: Mapping[bytes, bytes]) -> None:
        """Has the store take the plan up; `about` says to its readers what it is of."""
        self.table = self.table.replace_schema_metadata(about)
        self.store.open(self.table)

    def records(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each run, as a row of the table, with its record."""
        return self.store.records(self.table)

    def tasks(self) -> Iterator[Task]:
        """The tasks that are to be done, each once, made when its turn has come: their texts would fill memory.

        A second process on the same store begins at the other end, and both leave out what the other one has done.
        """
        asked = set()
        with self.store.alone() as alone:
            indices = range(len(self.keys))
            for index in indices if alone else reversed(indices):
                key = self.keys[index]
                if key not in self.left or key in asked:
                    continue
                asked.add(key)
                if self._has(key):
                    self.end(key, failed=False)
                else:
                    yield self._task(index)

    def _task(self, index: int) -> Task:
        point, scheme, seed = self.runs[index]
        scenario, key = self.plan.points[point].scenario, self.keys[index]
        if self._text is None or self._text[0] != point:
            # The runs of a point follow each other, and writing TOML takes as long as a short run.
            self._text = point, scenario.effective_text()
        return Task(
            key=key,
            text=self._text[1],
            base_dir=str(scenario.base_dir.absolute()),
            source=scenario.source,
            scheme=scheme,
            seed=seed,
            build=build(),
            files={file.text: file.digest for file in self.files[point]},
            keep=str(self.store.result(key).absolute()) if self.kept else None,
            wanted=self.wanted[key],
            controllers=self.own[point, scheme],
        )

    def take(self, _: Task, outcome: Outcome) -> None:
        """Keeps what came of a run."""
        self.store.put(outcome)
        self.end(outcome.record["key"], failed=outcome.record["status"] == FAILED)

    def end(self, key: str, *, failed: bool) -> None:
        """Counts a run that has ended."""
        self.left.discard(key)
        self.failed += failed
        self.tell()

    def tell(self) -> None:
        """Says how far the sweep is."""
        if self.on_progress is not None:
            self.on_progress(Progress(self.total - len(self.left), self.failed, self.total))


def _column(values: Sequence[Any]) -> pa.Array:
    """Numbers as numbers, if all are; everything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known) and known:
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in known):
        return pa.array(values, pa.int64())
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else shown(value) for value in values], pa.string())
