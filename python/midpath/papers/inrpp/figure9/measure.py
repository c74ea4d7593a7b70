"""Figure 9: goodput of three flows at their receivers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import WITHOUT, custody_lost, refused, wire
from midpath.papers.lab import Lab, Measured, Runs
from midpath.result import Result
from midpath.result.series import Numbers, mean, series

# When there are how many flows, from when a newcomer's first data have arrived.
PHASES = {"alone": (1.3, 2.0, 1), "two": (2.3, 3.0, 2), "three": (3.3, 10.0, 3)}
SCHEMES = {"inrpp": "inrpp", "rcp": "rcp", "tcp": "newreno"}
POOLED = 20e6
FLOWS = (0, 1, 2)
# "Immediately": flows are within 10 % of their share.
WITHIN = 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """Rates on the wire in each phase, and the time that a newcomer takes to its share."""
    runs = {name: lab.runs("dumbbell", scheme=scheme) for name, scheme in SCHEMES.items()}
    without = {name: lab.runs("dumbbell", scheme="inrpp", changes=c, label=name) for name, c in WITHOUT.items()}
    for phase, (begin, end, count) in PHASES.items():
        yield from extremes(phase, "", runs["inrpp"], (begin, end, count), POOLED)
    yield Measured("after", runs["inrpp"].values(lambda run: rate(run, 2, 11.9, 12.8)), bound=None)
    for name, found in runs.items():
        yield from joining(name, found, POOLED if name == "inrpp" else POOLED / 2)
    for name, found in without.items():
        total = POOLED if name == "literal" else POOLED / 2
        yield from extremes("three", f".{name}", found, PHASES["three"], total)
        yield from joining(name, found, total)
        yield Measured(f"refused.{name}", found.values(refused), bound=0.0)
    yield Measured("custody", runs["inrpp"].values(custody_lost), bound=0.0)
    yield Measured("refused", runs["inrpp"].values(refused), bound=0.0)


def extremes(phase: str, suffix: str, runs: Runs, span: tuple[float, float, int], total: float) -> Iterator[Measured]:
    """The slowest and the fastest flow's rate; both must be near the share, so that the extremes favour nobody."""
    begin, end, count = span
    found = [[rate(run, flow, begin, end) for flow in range(count)] for run in runs]
    yield Measured(f"{phase}.least{suffix}", [min(rates) for rates in found], bound=total / count)
    yield Measured(f"{phase}.most{suffix}", [max(rates) for rates in found], bound=total / count)


def joining(name: str, runs: Runs, total: float) -> Iterator[Measured]:
    """How long the third flow's arrival is felt, and how goodput swings after that."""
    yield Measured(f"joined.{name}", runs.values(lambda run: joined(run, total)), bound=0.0)
    yield Measured(f"swing.{name}", runs.values(swing), bound=0.0)


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
