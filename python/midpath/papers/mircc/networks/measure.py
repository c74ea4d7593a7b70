"""Random networks: rates in packets against solvers that run none of the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from midpath.analysis.mircc.network import Floats
from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import asked, dropped, params
from midpath.papers.mircc.layered import DATA, Layered, Run, draw, rest
from midpath.result.series import mean

NETWORKS, QUICK = 100, 3
# Those that are run with all links ten times as fast as well.
FASTER, TIMES = 20, 10.0
# Ours: bookings pace Interests, and T is no shorter than 40 Data of the link.
VARIANT = params(pacing="booked", min_packets=40.0)
# Seconds over which rates are means. Several paths have to be found first, by 3 % of the Interests.
SINGLE, SEVERAL = (12.0, 20.0), (40.0, 60.0)
# Bytes on the link per byte of payload of a full Data.
WIRE = DATA / 1428
# Secondary rates below this share of their flow's primary one are compared with that share: 5 % of nothing is nothing.
SMALL = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """One path per flow; up to four, as by default and with the variant; and some of these with faster links."""
    single, several = _drawn(lab, 1), _drawn(lab, 4)
    faster = [one.faster(TIMES) for one in several[:FASTER]]
    started = [
        _start(lab, "single", single, SINGLE),
        _start(lab, "several", several, SEVERAL),
        _start(lab, "variant", several, SEVERAL, VARIANT),
        _start(lab, "faster", faster, SINGLE),
    ]
    of_one, of_several, of_variant, of_faster = ([run() for run in runs] for runs in started)
    yield from _single(of_one)
    yield from _several(of_several)
    yield Measured("secondary.faster", _secondary(of_faster))
    yield Measured("secondary.slower", _secondary(of_several[:FASTER]))
    yield from _deviations("variant.primary", _primary(of_variant), 0.05)
    yield from _deviations("variant.secondary", _secondary(of_variant), 0.05)
    yield from _deviations("variant.total", _total(of_variant), 0.05)
    yield Measured("variant.dropped", [run.dropped for run in of_variant], bound=0.0)


def _first(lab: Lab) -> int:
    """The first seed says which networks, and their runs' seeds: the next ones where seeds go on."""
    return (lab.seeds[0] - 1) * NETWORKS


def _drawn(lab: Lab, most_paths: int) -> list[Layered]:
    first = _first(lab)
    return [draw(first + number, most_paths) for number in range(QUICK if lab.quick else NETWORKS)]


def _start(
    lab: Lab, name: str, found: list[Layered], over: tuple[float, float], changes: dict[str, Any] | None = None
) -> list[Callable[[], Run]]:
    """Starts a run of each; it is there when it is called."""
    more = {"stop": f"{over[1]:g} s"} | (changes or {})
    started = [
        lab.runs("network", changes=one.scenario() | more, label=f"{name}-{i}", seeds=[_first(lab) + 1 + i])
        for i, one in enumerate(found)
    ]
    return [partial(_run, one, runs, over) for one, runs in zip(found, started, strict=True)]


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
    yield Measured("single.dropped", [run.dropped for run in found], bound=0.0)


def _primary(found: list[Run]) -> list[float]:
    return [_worst(run.primary, run.rest.primary) for run in found]


def _total(found: list[Run]) -> list[float]:
    return [_worst(run.data, run.rest.primary + run.rest.secondary) for run in found]


def _secondary(found: list[Run]) -> list[float]:
    return [_worst(run.secondary, run.rest.secondary, SMALL * run.rest.primary) for run in found]


def _several(found: list[Run]) -> Iterator[Measured]:
    yield from _deviations("primary", _primary(found), 0.05)
    yield from _deviations("secondary", _secondary(found), 0.05)
    yield from _deviations("total", _total(found), 0.05)
    short = [float((1.0 - run.primary / run.rest.fair).max()) for run in found]
    yield Measured("fair", [float(value <= 0.05) for value in short])
    yield Measured("fair.solver", [float((1.0 - run.rest.primary / run.rest.fair).max() <= 0.05) for run in found])
    yield Measured("optimum", [float(run.data.sum() / run.rest.optimum) for run in found])
    yield Measured(
        "optimum.solver", [float((run.rest.primary + run.rest.secondary).sum() / run.rest.optimum) for run in found]
    )
    yield Measured("several.dropped", [run.dropped for run in found], bound=0.0)
