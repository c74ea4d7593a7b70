"""Has tasks done many at a time: on threads here, on an executor, by worker processes or a cluster."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from midpath.result import Result
from midpath.run import One, as_scenario, cores, run
from midpath.scenario import Scenario

Job = TypeVar("Job")
Job_contra = TypeVar("Job_contra", contravariant=True)


class Backend(Protocol[Job_contra]):
    """Does tasks."""

    @property
    def width(self) -> int:
        """How many tasks it is given at a time."""

    def submit(self, task: Job_contra) -> Future[Any]:
        """Has a task done."""


def drive(tasks: Iterable[Job], backend: Backend[Job], take: Callable[[Job, Any], None]) -> None:
    """Has all tasks done, no more than `backend.width` of them in memory at a time. An error ends it."""
    waiting: dict[Future[Any], Job] = {}

    def collect() -> None:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            take(waiting.pop(future), future.result())

    try:
        for task in tasks:
            waiting[backend.submit(task)] = task
            if len(waiting) >= backend.width:
                collect()
        while waiting:
            collect()
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


Name = TypeVar("Name")


@dataclass(frozen=True)
class Ask(Generic[Name]):
    """One run whose whole result is wanted, and what tells it from the others."""

    name: Name
    scenario: Scenario


class Threads(Generic[Name]):
    """Runs scenarios on threads: the simulator works outside Python's lock. Whole results stay in memory.

    `on_step` is told now and then what a run has reached, `on_end` what it gave, on the run's thread. Once a run fails,
    or the block ends, the others stop; what is asked of them then is answered by the first error.
    """

    width = sys.maxsize

    def __init__(
        self,
        jobs: int | None,
        on_step: Callable[[Name, dict[str, Any]], None] | None = None,
        on_end: Callable[[Name, Result], None] | None = None,
    ) -> None:
        self._pool, self._on_step, self._on_end = ThreadPoolExecutor(jobs or cores()), on_step, on_end
        self._stop = threading.Event()
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Runs are taken until the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nobody waits for the runs that are left."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, task: Ask[Name]) -> Future[Result]:
        """Has a scenario run."""
        return self._pool.submit(self._run, task)

    def _run(self, ask: Ask[Name]) -> Result:
        try:
            if self._stop.is_set():
                raise KeyboardInterrupt
            result = run(ask.scenario, progress=lambda reached: self._step(ask.name, reached))
            if self._on_end is not None:
                self._on_end(ask.name, result)
        except BaseException as error:
            if self._failure is None and not self._stop.is_set():
                self._failure = error
            self._stop.set()
            raise self._failure or error from None
        return result

    def _step(self, name: Name, reached: dict[str, Any]) -> bool:
        if self._on_step is not None:
            self._on_step(name, reached)
        return not self._stop.is_set()


def results(scenarios: Iterable[One], jobs: int | None = None) -> Iterator[Result]:
    """The results of scenarios, in their order, `jobs` at a time on threads; few are in memory."""
    waiting: deque[Future[Result]] = deque()
    with Threads[int](jobs) as threads:
        for number, scenario in enumerate(scenarios):
            waiting.append(threads.submit(Ask(number, as_scenario(scenario))))
            if len(waiting) > 2 * (jobs or cores()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class Elsewhere:
    """Runs scenarios on an executor whose workers share no memory with us: of processes, or of a Dask cluster."""

    width = sys.maxsize

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, task: Ask[Any]) -> Future[Result]:
        """Has a scenario run."""
        return self._executor.submit(run, task.scenario)
