"""Random networks: rates in packets against solvers that run none of the equations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.analysis.mircc.network import Floats
from midpath.papers.lab import Lab, Measured
from midpath.papers.mircc.common import asked, dropped
from midpath.papers.mircc.layered import DATA, Layered, Run, draw, rest
from midpath.papers.series import mean
from midpath.result import Result

NETWORKS, QUICK = 8, 3
BEGIN, END = 12.0, 20.0
# Bytes on the link per byte of payload of a full Data.
WIRE = DATA / 1428
# Secondary rates below this share of their flow's primary one are compared with that share: 5 % of nothing is nothing.
SMALL = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """One path per flow, then up to four."""
    yield from _single(runs(lab, most_paths=1))
    yield from _several(runs(lab, most_paths=4))


def runs(lab: Lab, most_paths: int) -> list[Run]:
    """All networks, run."""
    drawn = [draw(seed, most_paths) for seed in range(QUICK if lab.quick else NETWORKS)]
    started = [
        lab.runs("network", changes=one.scenario(), label=f"{most_paths}-{i}", seeds=[1 + i])
        for i, one in enumerate(drawn)
    ]
    return [_run(one, started.first()) for one, started in zip(drawn, started, strict=True)]


def _run(found: Layered, result: Result) -> Run:
    entities = range(len(found.flows))
    data = [WIRE * (mean(result, f"group:{consumer}", "goodput_bps", BEGIN, END) or 0.0) for _, consumer in found.flows]
    # All flows start at once, so that they are numbered in their order.
    primary, secondary = ([asked(result, i, name, BEGIN, END) for i in entities] for name in ("primary", "secondary"))
    return Run(found, rest(found), np.array(data), np.array(primary), np.array(secondary), dropped(result))


def _worst(got: Floats, wanted: Floats, least: Floats | float = 0.0) -> float:
    """The largest deviation among a network's flows, as a share of what is wanted, or of `least`."""
    return float((np.abs(got - wanted) / np.maximum(wanted, least)).max())


def _deviations(name: str, values: list[float], within: float) -> Iterator[Measured]:
    yield Measured(f"{name}.mean", values)
    yield Measured(f"{name}.within", [float(value <= within) for value in values])
    yield Measured(f"{name}.worst", [max(values)])


def _single(found: list[Run]) -> Iterator[Measured]:
    yield from _deviations("single", [_worst(run.data, run.rest.max_min) for run in found], 0.03)
    yield Measured("single.dropped", [sum(run.dropped for run in found)], bound=0.0)


def _several(found: list[Run]) -> Iterator[Measured]:
    yield from _deviations("primary", [_worst(run.primary, run.rest.primary) for run in found], 0.05)
    secondary = [_worst(run.secondary, run.rest.secondary, SMALL * run.rest.primary) for run in found]
    yield from _deviations("secondary", secondary, 0.05)
    total = [_worst(run.data, run.rest.primary + run.rest.secondary) for run in found]
    yield from _deviations("total", total, 0.05)
    short = [float((1.0 - run.primary / run.rest.fair).max()) for run in found]
    yield Measured("fair", [float(value <= 0.05) for value in short])
    yield Measured("fair.solver", [float((1.0 - run.rest.primary / run.rest.fair).max() <= 0.05) for run in found])
    yield Measured("optimum", [float(run.data.sum() / run.rest.optimum) for run in found])
    yield Measured(
        "optimum.solver", [float((run.rest.primary + run.rest.secondary).sum() / run.rest.optimum) for run in found]
    )
    yield Measured("several.dropped", [sum(run.dropped for run in found)], bound=0.0)
