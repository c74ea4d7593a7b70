"""Reaction time: from a signal at the bottleneck to the first packets of the smaller window there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.papers.rpm.common import MODES, mode
from midpath.result import Result
from midpath.result.series import ratio, series

# τ_f, and the delays behind the bottleneck of table I: of all three experiments.
BEFORE = 0.010
BEHIND = (10, 20, 40, 60, 80, 100)
# The first slow start is over; a signal counts if there was none for longer than any reaction takes.
BEGIN, QUIET = 4.0, 0.3
COUNTERS = {"fwd": "rpm_marked", "rpm": "rpm_signals"}


def measure(lab: Lab) -> Iterator[Measured]:
    """Reaction over the delays of table I, and what is left of it beyond propagation."""
    runs = {
        (name, pacing, behind): lab.runs(
            "line", changes=_changes(name, pacing, behind), label=f"{name}-{behind}-{'paced' if pacing else 'bursts'}"
        )
        for name in MODES
        for pacing in (False, True)
        for behind in BEHIND
    }
    took = {key: [reaction(run, key[0]) for run in found] for key, found in runs.items()}
    for prefix, pacing in (("", False), ("paced.", True)):
        rpm = {_behind(behind): took["rpm", pacing, behind] for behind in BEHIND}
        yield Measured(f"{prefix}rpm.least", rpm, bound=2 * BEFORE)
        yield Measured(f"{prefix}rpm.most", rpm, bound=2 * BEFORE, most=True)
    beyond = {
        _behind(behind): [at - 2 * (BEFORE + behind / 1e3) for at in took["fwd", False, behind]] for behind in BEHIND
    }
    yield Measured("fwd.least", beyond, bound=0.0)
    yield Measured("fwd.most", beyond, bound=0.0, most=True)
    for behind in (BEHIND[0], BEHIND[-1]):
        times = list(map(ratio, took["fwd", True, behind], took["rpm", True, behind]))
        yield Measured(f"times.{behind}", times, bound=1.0 + behind / 1e3 / BEFORE)


def _behind(delay: int) -> str:
    return f"{delay} ms behind"


def _changes(name: str, pacing: bool, behind: int) -> dict[str, Any]:
    return mode(name) | {"topology.links[3].delay": f"{behind} ms", "schemes.cubic.pacing": pacing}


def reaction(result: Result, name: str) -> float:
    """Seconds from a signal to the sender's smaller window, the median, and on to the bottleneck."""
    times, counted = series(result, "port:r1>s2", COUNTERS[name])
    _, windows = series(result, "flow:0", "cwnd_bytes")
    signals = times[1:][np.diff(counted) > 0]
    lowered = times[1:][np.diff(windows[-times.size :]) < 0]
    alone = signals[np.diff(signals, prepend=0.0) > QUIET]
    found = [lowered[lowered >= at][0] - at for at in alone if at > BEGIN and lowered[-1] >= at]
    return float(np.median(found)) + BEFORE
