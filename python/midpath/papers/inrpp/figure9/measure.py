"""Figure 9: goodput of three flows at their receivers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import WITHOUT, custody_lost, refused, wire
from midpath.papers.lab import Lab, Measured
from midpath.papers.series import Numbers, mean, series
from midpath.result import Result

# When there are how many flows, from when a newcomer's first data have arrived.
PHASES = {"alone": (1.3, 2.0, 1), "two": (2.3, 3.0, 2), "three": (3.3, 10.0, 3)}
POOLED = 20e6
FLOWS = (0, 1, 2)
# "Immediately": flows are within 10 % of their share.
WITHIN = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """Rates on the wire in each phase, and the time that a newcomer takes to its share."""
    ours = lab.runs("dumbbell", scheme="inrpp").first()
    for phase, (begin, end, count) in PHASES.items():
        found = [rate(ours, flow, begin, end) for flow in range(count)]
        yield Measured(f"{phase}.least", [min(found)], bound=POOLED / count)
        yield Measured(f"{phase}.most", [max(found)], bound=POOLED / count)
    yield Measured("after", [rate(ours, 2, 11.9, 12.8)], bound=None)
    for name, scheme in (("inrpp", "inrpp"), ("rcp", "rcp"), ("tcp", "newreno")):
        run = lab.runs("dumbbell", scheme=scheme).first()
        total = POOLED if name == "inrpp" else POOLED / 2
        yield Measured(f"joined.{name}", [joined(run, total)], bound=0.0)
        yield Measured(f"swing.{name}", [swing(run)], bound=0.0)
    for name, changes in WITHOUT.items():
        run = lab.runs("dumbbell", scheme="inrpp", changes=changes, label=name).first()
        found = [rate(run, flow, *PHASES["three"][:2]) for flow in FLOWS]
        total = POOLED if name == "literal" else POOLED / 2
        yield Measured(f"three.least.{name}", [min(found)], bound=total / 3)
        yield Measured(f"three.most.{name}", [max(found)], bound=total / 3)
        yield Measured(f"joined.{name}", [joined(run, total)], bound=0.0)
        yield Measured(f"swing.{name}", [swing(run)], bound=0.0)
        yield Measured(f"refused.{name}", [refused(run)], bound=0.0)
    yield Measured("custody", [custody_lost(ours)], bound=0.0)
    yield Measured("refused", [refused(ours)], bound=0.0)


def rate(result: Result, flow: int, begin: float, end: float) -> float:
    """A flow's mean rate on the wire in a window, bit/s."""
    return (mean(result, f"flow:{flow}", "goodput_bps", begin, end) or 0.0) * wire(result)


def rates(result: Result) -> tuple[Numbers, Numbers]:
    """Times, and rates on the wire by flow and time."""
    found = [series(result, f"flow:{flow}", "goodput_bps") for flow in FLOWS]
    shortest = min(len(times) for times, _ in found)
    values = np.array([values[-shortest:] if len(values) > shortest else values for _, values in found])
    return found[0][0][-shortest:], values * wire(result)


def joined(result: Result, total: float) -> float:
    """Seconds from the third start until all three flows stay within 10 % of their share for a second."""
    times, values = rates(result)
    near = np.abs(values / (total / 3) - 1.0).max(axis=0) <= WITHIN
    for at in np.flatnonzero((times > 3.0) & near):
        if near[(times >= times[at]) & (times < times[at] + 1.0)].all():
            return float(times[at] - 3.0)
    return float(times[-1] - 3.0)


def swing(result: Result) -> float:
    """Standard deviation of a flow's goodput over its mean, from 5 to 10 s, when all three are there."""
    times, values = rates(result)
    chosen = values[:, (times > 5.0) & (times <= 10.0)]
    return float(np.mean(chosen.std(axis=1) / chosen.mean(axis=1)))
