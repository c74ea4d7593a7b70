"""Parallel execution of runs, skipping finished ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from midpath.controller import origins
from midpath.errors import OutputError
from midpath.provenance import ran_under, require_now, unlike
from midpath.result import MARKER, Result, load
from midpath.run import run
from midpath.scenario import Scenario

# Where a comparison keeps its runs. A directory that has it but no compare.json is a comparison that was interrupted:
# it can be gone on with.
RUNS = "runs"

Pair = tuple[str, int]
# Told after each run: its scheme and seed, how many are done, how many there are.
RunCallback = Callable[[str, int, int, int], None]
# Told now and then what one run has reached.
StepCallback = Callable[[str, int, dict[str, Any]], None]


def run_directory(path: Path, scheme: str, seed: int) -> Path:
    """Where a comparison keeps one of its runs."""
    return path / RUNS / f"{scheme}-{seed}"


def run_pair(scenario: Scenario, scheme: str, seed: int) -> Result:
    """One run, for executors whose workers share no memory with us."""
    return run(scenario, scheme=scheme, seed=seed)


class Work:
    """The runs of one scenario under several schemes and seeds."""

    def __init__(
        self,
        scenario: Scenario,
        out: Path | None,
        on_run: RunCallback | None,
        on_step: StepCallback | None,
        replace: bool = False,
    ) -> None:
        self.scenario, self.out, self.on_run, self.on_step = scenario, out, on_run, on_step
        self.replace = replace
        self.stop = threading.Event()
        self.failure: BaseException | None = None

    def all(self, pairs: list[Pair], jobs: int | None, executor: Executor | None) -> dict[Pair, Result]:
        """Every pair's result, in the order of `pairs`."""
        results = {pair: stored for pair in pairs if (stored := self.stored(*pair))}
        missing = [pair for pair in pairs if pair not in results]
        if executor is not None:
            futures = {executor.submit(run_pair, self.scenario, *pair): pair for pair in missing}
            self.gather(futures, results, len(pairs))
        else:
            with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
                self.gather({pool.submit(self.here, *pair): pair for pair in missing}, results, len(pairs))
        return {pair: results[pair] for pair in pairs}

    def gather(self, futures: dict[Future[Result], Pair], results: dict[Pair, Result], total: int) -> None:
        """Stores and reports what is done; if one run fails, stops the others."""
        try:
            for future in as_completed(futures):
                pair = futures[future]
                results[pair] = future.result()
                if self.out is not None:
                    results[pair].save(run_directory(self.out, *pair))
                if self.on_run is not None:
                    self.on_run(*pair, len(results), total)
        except BaseException as caught:
            self.stop.set()
            for future in futures:
                future.cancel()
            raise self.failure or caught from None

    def here(self, scheme: str, seed: int) -> Result:
        """One run on a thread of ours; the first that fails is the one that is reported."""
        if self.stop.is_set():
            raise KeyboardInterrupt
        try:
            return run(self.scenario, scheme=scheme, seed=seed, progress=lambda step: self.step(scheme, seed, step))
        except BaseException as error:
            if not self.stop.is_set():
                self.failure = error
                self.stop.set()
            raise

    def stored(self, scheme: str, seed: int) -> Result | None:
        """The stored result of exactly this run, if there is one; not of controllers in Python that are in no file.

        One of another version or other defaults is refused, or with `replace` run again.
        """
        own = origins(self.scenario.with_(scheme=scheme).used)
        if self.out is None or not all(one["sha256"] for one in own.values()):
            return None
        directory = run_directory(self.out, scheme, seed)
        if not (directory / MARKER).is_file():
            return None
        try:
            result = load(directory)
        except OutputError:
            return None
        if (result.run.get("scenario"), result.scheme, result.seed) != (self.scenario.effective_text(), scheme, seed):
            return None
        if result.run.get("controllers", {}) != own:
            return None
        if not self.replace:
            require_now(directory, result.run, "choose another directory, or run all again (--replace)")
        return None if unlike(result.run, ran_under()) else result

    def step(self, scheme: str, seed: int, progress: dict[str, Any]) -> bool:
        """Passes progress on; `False` stops the run when another one failed or Ctrl-C was pressed."""
        if self.on_step is not None:
            self.on_step(scheme, seed, progress)
        return not self.stop.is_set()
