"""Runs on many machines, by Dask: the extra `cluster`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from midpath.errors import UsageError


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
