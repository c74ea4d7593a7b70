"""Figure 6: rates of both consumers on the slingshot, over time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.analysis.mircc.cases import slingshot
from midpath.analysis.mircc.solvers import secondary_max_min, stamps_fixed_point
from midpath.papers.lab import Lab, Measured
from midpath.papers.mircc.common import ETA, asked, data, dropped, rates, settled
from midpath.result import Result
from midpath.result.series import ratio

SHARED = 15e6
# The last 10 s of each phase.
PHASES = {"before": (10.0, 20.0), "both": (50.0, 60.0), "after": (80.0, 90.0)}
JOIN, LEAVE = 20.1, 60.0
# Producer 2 at e2, behind the 12 Mbps l_b.
MOVED = {"topology.links[8].b": "e2"}


def measure(lab: Lab) -> Iterator[Measured]:
    """Both classes of consumer 1 alone, the ratio with consumer 2, on l_c and on l_b."""
    runs, moved = lab.runs("slingshot"), lab.runs("slingshot", changes=MOVED, label="moved")
    for phase in ("before", "after"):
        begin, end = PHASES[phase]
        for name in ("primary", "secondary"):
            values = [asked(result, 0, name, begin, end) / ETA for result in runs]
            yield Measured(f"{name}.{phase}", values)
        yield Measured(f"full.{phase}", [data(result, 0, begin, end) / ETA for result in runs])
    yield Measured("full.both", runs.values(full), bound=1.0)
    yield Measured("ratio.paper", runs.values(shares), bound=fixed_point())
    yield Measured("ratio.solver", runs.values(shares), bound=fixed_point())
    yield Measured("ratio.moved", moved.values(shares), bound=1.0)
    yield Measured("moved.full", moved.values(full), bound=1.0)
    yield Measured("settled.join", runs.values(joined))
    yield Measured("settled.leave", runs.values(left))
    yield Measured("dropped", [dropped(a) + dropped(b) for a, b in zip(runs, moved, strict=True)], bound=0.0)


def full(result: Result) -> float:
    """What both get, as a share of what l_a may carry."""
    return sum(data(result, flow, *PHASES["both"]) for flow in (0, 1)) / (ETA * SHARED)


def shares(result: Result) -> float | None:
    """Consumer 1's Data over consumer 2's."""
    one, two = (data(result, flow, *PHASES["both"]) for flow in (0, 1))
    return ratio(one, two)


def fixed_point() -> float:
    """The same where the equations rest, by the solver."""
    network = slingshot("c")
    primary = stamps_fixed_point(network).path
    one, two = network.flow_sum(primary + secondary_max_min(network, primary))
    return float(one / two)


def _settling(result: Result, flows: tuple[int, ...], begin: float, end: float) -> float:
    """Seconds until each flow's rate stays within a tenth of what it has in the last 10 s."""
    found = []
    for flow in flows:
        times, values = rates(result, [flow], "rate_bps")
        last = float(np.mean(values[0, (times > end - 10.0) & (times <= end)]))
        found.append(settled(times, values, last, 0.1, begin, end))
    return max(found)


def joined(result: Result) -> float:
    """After consumer 2 has started."""
    return _settling(result, (0, 1), JOIN, LEAVE)


def left(result: Result) -> float:
    """After it has stopped."""
    return _settling(result, (0,), LEAVE, PHASES["after"][1])
