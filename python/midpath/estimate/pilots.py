"""Runs a scenario's first flows in the fluid model and at packet level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midpath.errors import UsageError
from midpath.matched import Floats, column
from midpath.metrics import IDEAL
from midpath.result import Result
from midpath.run.plan import Plan, Point
from midpath.run.whole import whole_results
from midpath.scenario import Scenario

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Flows:
    """A run's flows in order of start: how long they take, how long alone, in seconds, and their group.

    A flow that did not end takes for ever.
    """

    fct: Floats
    alone: Floats
    group: NDArray[np.str_]

    @classmethod
    def from_result(cls, result: Result) -> Flows:
        """Of a run."""
        fct, group = column(result, "fct_s"), result.flows["group"].to_numpy().astype(str)
        return cls(np.where(np.isfinite(fct), fct, np.inf), column(result, "ideal_fct_s"), group)


@dataclass(frozen=True)
class Pilot:
    """Some flows of a run, as if no others came: which, and what they take by the fluid and by packets."""

    which: Indices
    fluid: Floats
    packets: Floats


def pilot_of(scenario: Scenario, scheme: str, whole: Flows, count: int) -> Pilot:
    """Runs the first flows of a run, with one of each workload at least."""
    which = [
        np.flatnonzero(whole.group == name)[: max(1, np.count_nonzero(whole.group[:count] == name))]
        for name in _groups(scenario)
    ]
    asked = scenario.with_(changes={f"workload.{i}.flows": one.size for i, one in enumerate(which)})
    runs = whole_results(Plan([Point(asked, {})], [IDEAL, scheme], [[asked.base_seed()]]))
    fluid, packets = map(Flows.from_result, runs.values())
    return Pilot(np.sort(np.concatenate(which)), fluid.fct, packets.fct)


def _groups(scenario: Scenario) -> list[str]:
    """Of each workload."""
    return [one.get("group", f"workload{i}") for i, one in enumerate(scenario.to_dict().get("workload", []))]


def cut(scenario: Scenario, flows: int) -> Scenario:
    """The scenario with the first flows of each workload."""
    loads = scenario.to_dict().get("workload", [])
    return scenario.with_(
        changes={f"workload.{i}.flows": min(one.get("flows", flows), flows) for i, one in enumerate(loads)}
    )


def size_of(scenario: Scenario, first: Flows, flows: int) -> float:
    """The flows of a scenario, of each of whose workloads so many were run at most; infinite if it does not say."""
    loads, seen = scenario.to_dict()["workload"], [np.count_nonzero(first.group == one) for one in _groups(scenario)]
    return sum(float(one.get("flows", math.inf) if n >= flows else n) for one, n in zip(loads, seen, strict=True))


def require_drawn(scenario: Scenario) -> None:
    """Refuses what a short run tells nothing about."""
    given, name = scenario.to_dict(), scenario.file_name or "the scenario"
    for key in _unlike(given):
        raise UsageError(f"{name}: {key}: a short run does not predict a long one")
    if len(set(_groups(scenario))) < len(_groups(scenario)):
        raise UsageError(f"{name}: two workloads have the same group: give each its own")


def _unlike(given: dict[str, Any]) -> Iterator[str]:
    yield from (f"{key} is there" for key in ("fault", "vary", "flow", "client", "job") if given.get(key))
    loads = given.get("workload", [])
    if not loads:
        yield "no workload is there"
    yield from (f"workload[{i}] is a list" for i, one in enumerate(loads) if "list" in one)
    kinds = [(i, one["arrivals"]["kind"]) for i, one in enumerate(loads) if "arrivals" in one]
    yield from (f'workload[{i}].arrivals.kind is "{kind}"' for i, kind in kinds if kind in ("once", "periodic"))
    if len({one.get("start") for one in loads}) > 1:
        yield "workloads start at different times"
