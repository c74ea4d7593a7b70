"""Missing runs of a sweep, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from midpath.controller import packed
from midpath.run.key import build, named_files, point_key, run_key
from midpath.run.plan import Plan, Point
from midpath.run.store import Store, Wanted
from midpath.run.task import FAILED, Outcome, Task


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: runs that need no more work, those among them that failed just now, and all."""

    done: int
    failed: int
    runs: int


ProgressCallback = Callable[[Progress], None]


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
            for scheme in plan.of(index)
        }
        self.keys = [run_key(points[point], scheme, seed, self.own[point, scheme]) for point, scheme, seed in self.runs]

    def has(self, key: str) -> bool:
        """Whether a run needs no work."""
        wanted = Wanted(self.kept, self.plan.flows, self.plan.measure)
        return self.store.has(key, wanted, retry_failed=self.retry_failed)

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
            flows=self.plan.flows,
            measure=self.plan.measure,
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
