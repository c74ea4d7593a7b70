"""Runs on the workers of a Dask cluster: the extra `cluster`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from midpath.errors import UsageError, WorkerError
from midpath.run.bundle import bundle_of, perform_away
from midpath.run.key import build
from midpath.run.task import Outcome, Task, failed

# Tasks that a worker's thread has waiting, so that none waits for the network.
AHEAD = 4
FEWEST = 16


@contextmanager
def cluster_executor(address: str | None) -> Iterator[Executor | None]:
    """An executor on the workers of the scheduler at `address`; none without an address.

    Workers need midpath in the same version, and the files that a scenario names at the same paths.
    """
    if address is None:
        yield None
        return
    with cluster_client(address) as client:
        yield client.get_executor()


@contextmanager
def cluster_client(address: str) -> Iterator[Any]:
    """Dask's client for the scheduler at `address`."""
    try:
        from distributed import Client  # noqa: PLC0415 - only installed with the extra
    except ImportError:
        raise UsageError("--cluster needs Dask: pip install 'midpath[cluster]'") from None
    try:
        connect: Callable[..., Any] = Client
        client = connect(address, timeout=10)
    except (OSError, ValueError) as error:
        raise UsageError(f"--cluster {address}: {error}") from None
    with client:
        yield client


@contextmanager
def dask_workers(address: str) -> Iterator[DaskWorkers]:
    """The workers of the scheduler at `address`."""
    with cluster_client(address) as client:
        yield DaskWorkers(client, address)


class DaskWorkers:
    """Does tasks on a cluster. Files go along; whole results don't come back."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._executor = client, client.get_executor()
        self._bundles: dict[tuple[str, ...], Any] = {}
        self._require_build(address)

    @property
    def width(self) -> int:
        """How many tasks the cluster is given at a time; it may grow and shrink."""
        threads: dict[str, int] = self._client.nthreads()
        return max(FEWEST, AHEAD * sum(threads.values()))

    def submit(self, task: Task) -> Future[Outcome]:
        """Has a task done by a worker, elsewhere again if that is lost."""
        answer: Future[Outcome] = Future()
        answer.set_running_or_notify_cancel()  # from here on only the cluster ends it
        self._executor.submit(perform_away, task, self._bundle(task)).add_done_callback(
            lambda done: pass_on(done, task, answer)
        )
        return answer

    def _bundle(self, task: Task) -> Any:
        """The task's files on the cluster, sent once."""
        digests = tuple(sorted(task.files.values()))
        if digests not in self._bundles:
            self._bundles[digests] = self._client.scatter(bundle_of(task), broadcast=True) if digests else {}
        return self._bundles[digests]

    def _require_build(self, address: str) -> None:
        """Raises `UsageError` unless all workers run the simulator that runs here."""
        try:
            builds = self._client.run(build)
        except Exception as error:
            raise UsageError(f"--cluster {address}: a worker cannot import midpath: {error}") from None
        for worker, found in builds.items():
            if found != build():
                raise UsageError(f"--cluster {address}: {worker} has midpath {found}, not {build()} as here")


def pass_on(done: Future[Outcome], task: Task, answer: Future[Outcome]) -> None:
    """A run that took several workers down has failed; any other error stops the sweep."""
    from distributed import KilledWorker  # noqa: PLC0415 - only installed with the extra

    try:
        answer.set_result(done.result())
    except KilledWorker as error:
        answer.set_result(failed(task, f"lost the workers: {error}"))
    except (UsageError, OSError) as error:
        answer.set_exception(error)
    except BaseException as error:
        answer.set_exception(WorkerError(f"the cluster lost a run: {type(error).__name__}: {error}"))
