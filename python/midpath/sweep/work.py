"""Missing runs of a sweep, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Protocol

from midpath.controller import packed
from midpath.sweep.key import build, named_files, point_key, run_key
from midpath.sweep.plan import Plan, Point
from midpath.sweep.store import Store
from midpath.sweep.task import FAILED, Outcome, Task


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: runs that need no more work, those among them that failed just now, and all."""

    done: int
    failed: int
    runs: int


ProgressCallback = Callable[[Progress], None]


class Backend(Protocol):
    """What does tasks: processes here, or a cluster."""

    @property
    def width(self) -> int:
        """How many tasks it is given at a time."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Has a task done."""


class Runs:
    """The runs of a plan in a store, by key. A task is made when its turn has come: its text would fill memory."""

    def __init__(self, plan: Plan, store: Store, kept: bool, retry_failed: bool) -> None:
        self.plan, self.store, self.kept, self.retry_failed = plan, store, kept, retry_failed
        self._text: tuple[int, str] | None = None
        self.files = [named_files(point.scenario) for point in plan.points]
        points = [point_key(point.scenario, files) for point, files in zip(plan.points, self.files, strict=True)]
        self.runs = list(plan.runs())
        # Of each point and scheme, the controllers in Python that they use.
        self.own = {
            (index, scheme): packed(point.scenario.with_(scheme=scheme).used)
            for index, point in enumerate(plan.points)
            for scheme in plan.schemes
        }
        self.keys = [run_key(points[point], scheme, seed, self.own[point, scheme]) for point, scheme, seed in self.runs]

    def has(self, key: str) -> bool:
        """Whether a run needs no work."""
        flows = self.plan.with_flows
        return self.store.has(key, kept=self.kept, retry_failed=self.retry_failed, with_flows=flows)

    def task(self, index: int) -> Task:
        """What a worker is told of a run."""
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
            with_flows=self.plan.with_flows,
            controllers=self.own[point, scheme],
        )


class Work:
    """The runs that are left to do, and what came of the others."""

    def __init__(self, runs: Runs, on_progress: ProgressCallback | None) -> None:
        self.runs, self.on_progress = runs, on_progress
        keys = set(runs.keys)
        self.total = len(keys)
        self.left = {key for key in keys if not runs.has(key)}
        self.failed = 0

    def pairs(self) -> list[tuple[Point, str]]:
        """The points that have a run to be done, with the scheme; what has been run before needs no check."""
        runs = zip(self.runs.runs, self.runs.keys, strict=True)
        found = dict.fromkeys((point, scheme) for (point, scheme, _), key in runs if key in self.left)
        return [(self.runs.plan.points[point], scheme) for point, scheme in found]

    @property
    def store(self) -> Store:
        """Where runs are kept."""
        return self.runs.store

    def tasks(self) -> Iterator[Task]:
        """The tasks that are to be done, each once.

        A second process on the same store begins at the other end, and both leave out what the other one has done.
        """
        with self.store.alone() as alone:
            indices = range(len(self.runs.keys))
            yield from self._tasks(indices if alone else reversed(indices))

    def _tasks(self, indices: Iterable[int]) -> Iterator[Task]:
        asked = set()
        for index in indices:
            key = self.runs.keys[index]
            if key not in self.left or key in asked:
                continue
            asked.add(key)
            if self.runs.has(key):
                self.end(key, failed=False)
            else:
                yield self.runs.task(index)

    def take(self, outcome: Outcome) -> None:
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


def drive(work: Work, backend: Backend) -> None:
    """Has all tasks done, no more than `backend.width` of them in memory at a time."""
    waiting: set[Future[Outcome]] = set()

    def collect() -> None:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        waiting.difference_update(done)
        for future in done:
            work.take(future.result())

    for task in work.tasks():
        waiting.add(backend.submit(task))
        if len(waiting) >= backend.width:
            collect()
    while waiting:
        collect()
