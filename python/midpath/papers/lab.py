"""The interface of a figure's `measure.py`: runs of its scenarios."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from midpath.papers.openings import Reading
from midpath.result import Result
from midpath.run.drive import Ask, Threads
from midpath.scenario import Scenario
from midpath.stats import Estimate, estimate, extreme
from midpath.topology.tiscali import ROCKETFUEL

# Told now and then what a run has reached, by its name.
StepCallback = Callable[[str, dict[str, Any]], None]
# Told the names of runs as they are asked for, and as they end.
NameCallback = Callable[[str], None]

# A value per seed, with None where there is none; or such values by group.
Values = Sequence[float | None] | Mapping[str, Sequence[float | None]]


class MissingDataError(LookupError):
    """Data that a figure is about, but that cannot be shipped, are not there: its claims are skipped."""


@dataclass(frozen=True)
class Measured:
    """What one claim came to: a value per seed, and the ideal bound where there is one; or why it was skipped.

    A seed without a value has a None: it is counted, not dropped. A claim about the least or the largest of several
    groups has values by group instead; `most` says which of the two.
    """

    id: str
    values: Values
    bound: float | None = None
    skipped: str | None = None
    most: bool = False

    def estimate(self, *, sequential: bool = False) -> Estimate | None:
        """What the values come to; None if there are none. `sequential`: they were looked at as they came."""
        if isinstance(self.values, Mapping):
            return extreme(self.values, most=self.most, sequential=sequential)
        return estimate(self.values, sequential=sequential)


class Runs:
    """The runs of one scenario with all seeds. They have been started; looking at them waits for them."""

    def __init__(self, futures: Sequence[Future[Result]]) -> None:
        self.futures = futures

    def __iter__(self) -> Iterator[Result]:
        """Results by seed."""
        return (future.result() for future in self.futures)

    def __len__(self) -> int:
        """How many seeds."""
        return len(self.futures)

    def first(self) -> Result:
        """The first seed's result."""
        return self.futures[0].result()

    def values(self, figure: Callable[[Result], float | None]) -> list[float | None]:
        """A figure of each run."""
        return [figure(result) for result in self]

    def summary(self, key: str) -> list[float | None]:
        """A figure of each run's summary."""
        return self.values(lambda result: result.summary.get(key))


class Lab:
    """Runs the scenarios of one figure.

    `quick` asks for less: shorter runs, fewer seeds, where a figure can do with them. With `perturb`, flows start late
    by up to that time, at random, with every seed but the first: the run as it stands is the first sample. `more` says
    that the seeds go on from others, so that none of them is the first. `wanted` are the claims that are still open;
    all are, unless it is given. `reading` is what a search tries of what the paper leaves open.
    """

    def __init__(
        self,
        directory: Path,
        seeds: Sequence[int],
        threads: Threads[str],
        *,
        quick: bool = False,
        perturb: str | None = None,
        more: bool = False,
        wanted: Collection[str] | None = None,
        reading: Reading | None = None,
        rocketfuel: Path | None = None,
        on_asked: NameCallback | None = None,
    ) -> None:
        self.directory, self.seeds, self.threads, self.quick = directory, list(seeds), threads, quick
        self.maps, self.perturb, self.more, self.wanted = rocketfuel, perturb, more, wanted
        self.reading, self.on_asked = reading, on_asked

    def wants(self, *claims: str) -> bool:
        """Whether one of these claims is still to be measured. A `*` stands for anything.

        Only where runs are added to decide what is open is anything not wanted. A figure need not ask.
        """
        return self.wanted is None or any(fnmatchcase(one, claim) for one in self.wanted for claim in claims)

    def choice(self, name: str) -> str | None:
        """Which choice a search makes for a thing that `open.toml` has; None where it is what stands."""
        return self.reading.departs().get(name) if self.reading is not None else None

    def scenario(self, name: str) -> Scenario:
        """A scenario of this figure, by the name of its file without `.toml`."""
        return Scenario.from_toml(self.directory / f"{name}.toml")

    def rocketfuel(self, *names: str) -> Path:
        """The first of these files of Rocketfuel's that the user has; raises `MissingDataError` if there is none."""
        folder = self.maps or Path(os.environ.get(ROCKETFUEL, ""))
        if folder == Path():
            raise MissingDataError(
                f"needs Rocketfuel's {names[0]}: give its folder as --rocketfuel DIR or {ROCKETFUEL}"
            )
        found = [folder / name for name in names if (folder / name).is_file()]
        if not found:
            raise MissingDataError(f"there is no {' or '.join(names)} in the folder with Rocketfuel's maps")
        return found[0].resolve()

    def runs(
        self,
        name: str,
        *,
        scheme: str | None = None,
        changes: dict[str, Any] | None = None,
        label: str | None = None,
        seeds: Sequence[int] | None = None,
    ) -> Runs:
        """Starts a run of a scenario for each seed; `label` tells runs apart that differ in `changes` only."""
        scenario, changed = self.scenario(name), dict(changes or {})
        if self.reading is not None:
            changed |= self.reading.changes(name, scheme or scenario.to_dict().get("scheme"))
        title = "-".join(filter(None, (name, label, scheme)))
        return Runs(
            [
                self._start(self._perturbed(scenario.with_(scheme=scheme, seed=seed, changes=changed)), title, seed)
                for seed in (seeds if seeds is not None else self.seeds)
            ]
        )

    def _perturbed(self, scenario: Scenario) -> Scenario:
        if self.perturb is None or (scenario.seed == self.seeds[0] and not self.more):
            return scenario
        flows = scenario.to_dict().get("flow", [])
        return scenario.with_(
            changes={f"flow[{i}].jitter": self.perturb for i, flow in enumerate(flows) if "jitter" not in flow}
        )

    def _start(self, scenario: Scenario, title: str, seed: int) -> Future[Result]:
        name = f"{title}-{seed}"
        if self.on_asked is not None:
            self.on_asked(name)
        return self.threads.submit(Ask(name, scenario))
