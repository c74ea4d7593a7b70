"""Short runs of a scenario, by the fluid and by packets: what packets make of the fluid's figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from midpath.errors import UsageError
from midpath.matched import FIGURES as OF_FLOWS
from midpath.matched import column
from midpath.metrics import IDEAL
from midpath.result import Result
from midpath.run import run
from midpath.scenario import LARGEST_SEED, Scenario

# The figures that are estimated, all of completion times.
FIGURES = ("afct_s", "fct_p50_s", "fct_p99_s")


def figures(result: Result, *, from_start: bool = True) -> dict[str, float]:
    """The figures of a run; else those of its second half, for the first finds an empty network.

    A flow that did not end takes for ever.
    """
    fct, start = column(result, "fct_s"), column(result, "start_s")
    if not from_start:
        fct = fct[start >= np.median(start)]
    if np.isfinite(fct).all():
        return {name: float(OF_FLOWS[name][1](fct)) for name in FIGURES}
    endless = np.where(np.isfinite(fct), fct, np.inf)
    median, tail = (float(np.quantile(endless, share, method="higher")) for share in (0.5, 0.99))
    return dict(zip(FIGURES, (math.inf, median, tail), strict=True))


def cut(scenario: Scenario, flows: int) -> Scenario:
    """The scenario with the first flows of each workload."""
    loads = scenario.to_dict().get("workload", [])
    return scenario.with_(
        changes={f"workload.{i}.flows": min(one.get("flows", flows), flows) for i, one in enumerate(loads)}
    )


def seeds(scenario: Scenario, count: int) -> list[int]:
    """Other seeds than the scenario's own, one for each pilot."""
    first = scenario.base_seed()
    return [(first + 1 + i) % (LARGEST_SEED + 1) for i in range(count)]


@dataclass(frozen=True)
class Short:
    """A pilot by the fluid: its figures, and for how long flows start in its second half, in seconds."""

    figures: dict[str, float]
    span: float


def fluid_of(scenario: Scenario, flows: int, seed: int) -> Short:
    """One pilot by the fluid."""
    found = run(cut(scenario, flows).with_(scheme=IDEAL, seed=seed))
    start = column(found, "start_s")
    return Short(figures(found, from_start=False), float(start.max() - np.median(start)))


def packets_of(scenario: Scenario, scheme: str, flows: int, seed: int) -> dict[str, float]:
    """The packets' figures of one pilot."""
    return figures(run(cut(scenario, flows).with_(scheme=scheme, seed=seed)), from_start=False)


@dataclass(frozen=True)
class Told:
    """What pilots tell of a whole run."""

    # By figure, the logarithms of packets over fluid, pilot by pilot.
    logs: dict[str, list[float]]
    # By figure, that of the whole run over the pilots, both by the fluid.
    growth: dict[str, float]
    # For how long flows start in a pilot, over what its slowest hundredth takes by packets.
    lasting: float


def told(whole: dict[str, float], fluid: Sequence[Short], packets: Sequence[dict[str, float]]) -> Told:
    """Compares pilots with each other, and with the whole."""
    pairs = [(short.figures, found) for short, found in zip(fluid, packets, strict=True)]
    logs = {name: [math.log(found[name] / short[name]) for short, found in pairs] for name in FIGURES}
    growth = {name: math.log(whole[name]) - fmean(math.log(short[name]) for short, _ in pairs) for name in FIGURES}
    tail = fmean(short["fct_p99_s"] for short, _ in pairs) * math.exp(min(fmean(logs["fct_p99_s"]), 50))
    return Told(logs, growth, fmean(short.span for short in fluid) / tail)


def require_drawn(scenario: Scenario) -> None:
    """Refuses what a short run tells nothing about."""
    given, name = scenario.to_dict(), scenario.file_name or "the scenario"
    for key in _unlike(given):
        raise UsageError(f"{name}: {key}: a short run does not tell of a long one")


def _unlike(given: dict[str, Any]) -> Iterator[str]:
    yield from (f"{key} is there" for key in ("fault", "vary", "flow") if given.get(key))
    loads = given.get("workload", [])
    if not loads:
        yield "no workload is there"
    yield from (f"workload[{i}] is a list" for i, one in enumerate(loads) if "list" in one)
    kinds = [(i, one["arrivals"]["kind"]) for i, one in enumerate(loads) if "arrivals" in one]
    yield from (f'workload[{i}].arrivals.kind is "{kind}"' for i, kind in kinds if kind in ("once", "periodic"))
