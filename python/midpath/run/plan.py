"""What is run: points, each under schemes with seeds. Comparisons, sweeps, failures and matrices are plans."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from midpath.errors import ScenarioError
from midpath.extension import _midpath
from midpath.result import Result
from midpath.scenario import Scenario

# One run of a plan: the number of its point, scheme and seed.
Run = tuple[int, str, int]


@dataclass(frozen=True)
class Wanted:
    """What is kept of each run beside its figures: columns of its flows, so that runs of different points can be
    compared flow by flow, and what a function of a module makes of the whole result and of `told`, as JSON.
    """

    flows: Sequence[str] = ()
    measure: Callable[..., dict[str, Any]] | None = None
    told: tuple[Any, ...] = ()
    # A function of a module that runs it, where the simulator does not.
    runner: Callable[[Scenario], Result] | None = None

    @property
    def name(self) -> str:
        """How a record calls what the function made."""
        if self.measure is None:
            return ""
        by = f" by {self.runner.__module__}.{self.runner.__qualname__}" if self.runner else ""
        told = json.dumps(self.told) if self.told else ""
        return f"{self.measure.__module__}.{self.measure.__qualname__}{told}{by}"

    def measured(self, result: Result) -> dict[str, dict[str, Any]]:
        """What the function makes of a result, by its name."""
        return {self.name: self.measure(result, *self.told)} if self.measure else {}


FIGURES_ALONE = Wanted()


@dataclass(frozen=True)
class Point:
    """A scenario with the point's values in it, and the values by key."""

    scenario: Scenario
    values: dict[str, Any]
    # Where it does not run under the plan's.
    schemes: Sequence[str] | None = None
    # Where it is not what the plan wants.
    wanted: Wanted | None = None

    @property
    def alone(self) -> str:
        """What it wants beside the plan: points of one scenario that want different things are different runs."""
        return self.wanted.name if self.wanted else ""

    def __str__(self) -> str:
        """`queue.limit=10 ms, flow.0.size=1 MB`."""
        return ", ".join(f"{key}={shown(value)}" for key, value in self.values.items()) or "the scenario as it is"


@dataclass(frozen=True)
class Plan:
    """Points, with the schemes and seeds under which each of them runs."""

    points: list[Point]
    schemes: list[str]
    # Of each point: seeds start at its scenario's own unless they are listed.
    seeds: list[list[int]]
    wanted: Wanted = FIGURES_ALONE

    @property
    def keys(self) -> list[str]:
        """The columns that the points have values for."""
        return list(dict.fromkeys(key for point in self.points for key in point.values))

    def runs(self) -> Iterator[Run]:
        """Point, scheme and seed of each run: all schemes of a seed together, for they share its flows."""
        for index, seeds in enumerate(self.seeds):
            for seed, scheme in itertools.product(seeds, self.of(index)):
                yield index, scheme, seed

    def of(self, point: int) -> Sequence[str]:
        """The schemes of a point."""
        own = self.points[point].schemes
        return self.schemes if own is None else own

    def scenario(self, run: Run) -> Scenario:
        """What one run runs."""
        point, scheme, seed = run
        return self.points[point].scenario.with_(scheme=scheme, seed=seed)

    def __len__(self) -> int:
        """How many runs."""
        return sum(len(self.of(index)) * len(seeds) for index, seeds in enumerate(self.seeds))


def check(pairs: Sequence[tuple[Point, str]], jobs: int) -> None:
    """Raises `ScenarioError` unless every one of these points can be run under its scheme."""
    with ThreadPoolExecutor(jobs) as pool:
        # The first that cannot be run, in the order of the plan.
        for error in pool.map(cannot, *zip(*pairs, strict=True)) if pairs else ():
            if error is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                raise error


def cannot(point: Point, scheme: str) -> ScenarioError | None:
    """Why a point cannot be run under a scheme."""
    if point.wanted and point.wanted.runner:
        # Whoever plans it asks the runner.
        return None
    try:
        point.scenario.with_(scheme=scheme).check()
    except ScenarioError as error:
        if not point.values:
            return error
        # The point says more than the keys that were set.
        at = f"{error.message.partition(' (after setting ')[0]} (at the point {point})"
        return ScenarioError(error.key, error.line, at, error.source)
    return None


def runnable(plan: Plan, jobs: int) -> tuple[Plan, list[tuple[Point, str]]]:
    """A plan without the points that cannot be run as their scenarios stand, and these, with why."""
    found = refusals(plan.points, jobs)
    kept = [index for index, why in enumerate(found) if not why]
    some = replace(plan, points=[plan.points[one] for one in kept], seeds=[plan.seeds[one] for one in kept])
    return some, [(point, why) for point, why in zip(plan.points, found, strict=True) if why]


def refusals(points: Sequence[Point], jobs: int) -> list[str]:
    """Why each point cannot be run as its scenario stands, for plans that go on without it; nothing where it can."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(_refusal, points))


def _refusal(point: Point) -> str:
    try:
        point.scenario.check()
    except ScenarioError as error:
        return error.told
    return ""


def shown(value: Any) -> str:
    """A value in a table or a message: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def own_scheme(scenario: Scenario) -> str:
    """The scheme that a scenario runs under if nothing else is asked for."""
    return str(scenario.to_dict().get("scheme", _default_scheme()))


@cache
def _default_scheme() -> str:
    return str(json.loads(_midpath.schema())["properties"]["scheme"]["default"])
