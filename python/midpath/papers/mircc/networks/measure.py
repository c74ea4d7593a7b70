"""Random networks: rates in packets against solvers that run none of the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from midpath.analysis.mircc.network import Floats
from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import asked, dropped
from midpath.papers.mircc.layered import DATA, Layered, Run, draw, rest
from midpath.papers.series import mean

NETWORKS, QUICK = 100, 3
# Those that are run with all links ten times as fast as well.
FASTER, TIMES = 20, 10.0
# Seconds over which rates are means. Several paths have to be found first, by 3 % of the Interests.
SINGLE, SEVERAL = (12.0, 20.0), (40.0, 60.0)
# Bytes on the link per byte of payload of a full Data.
WIRE = DATA / 1428
# Secondary rates below this share of their flow's primary one are compared with that share: 5 % of nothing is nothing.
SMALL = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """One path per flow, then up to four, then some of these with faster links."""
    started = [_start(lab, 1, SINGLE), _start(lab, 4, SEVERAL), _start(lab, 4, SINGLE, FASTER, TIMES)]
    single, several, faster = ([run() for run in runs] for runs in started)
    yield from _single(single)
    yield from _several(several)
    yield Measured("secondary.faster", _secondary(faster))
    yield Measured("secondary.slower", _secondary(several[: len(faster)]))


def _start(
    lab: Lab, most_paths: int, over: tuple[float, float], most: int = NETWORKS, times: float = 1.0
) -> list[Callable[[], Run]]:
    """Starts all networks; each is there when it is called."""
    found = [draw(seed, most_paths).faster(times) for seed in range(QUICK if lab.quick else most)]
    return [
        partial(_run, one, _runs(lab, one, f"{most_paths}-{times:g}-{i}", over, 1 + i), over)
        for i, one in enumerate(found)
    ]


def _runs(lab: Lab, one: Layered, label: str, over: tuple[float, float], seed: int) -> Runs:
    return lab.runs("network", changes=one.scenario() | {"stop": f"{over[1]:g} s"}, label=label, seeds=[seed])


def _run(found: Layered, started: Runs, over: tuple[float, float]) -> Run:
    result = started.first()
    entities = range(len(found.flows))
    data = [WIRE * (mean(result, f"group:{consumer}", "goodput_bps", *over) or 0.0) for _, consumer in found.flows]
    # All flows start at once, so that they are numbered in their order.
    primary, secondary = ([asked(result, i, name, *over) for i in entities] for name in ("primary", "secondary"))
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


def _secondary(found: list[Run]) -> list[float]:
    return [_worst(run.secondary, run.rest.secondary, SMALL * run.rest.primary) for run in found]


def _several(found: list[Run]) -> Iterator[Measured]:
    yield from _deviations("primary", [_worst(run.primary, run.rest.primary) for run in found], 0.05)
    yield from _deviations("secondary", _secondary(found), 0.05)
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
