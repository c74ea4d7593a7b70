"""Figure 3: convergence of MIRCC and of RCP's update when three flows join one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import ETA, RCP_SETS, dropped, params, rates, rcp, settled
from midpath.result import Result
from midpath.result.series import mean, ratio

FLOWS, JOIN, END = 4, 83.1, 140.0
FAIR = ETA * 1e6 / FLOWS
# T: d(t), and a half and a quarter of it.
INTERVALS = {"d": "mean", "d2": "80 ms", "d4": "40 ms"}
# As in the model (evidence/papers/mircc/STABILITY.md): settled means within a tenth for good.
WITHIN = 0.1
# The bottleneck beside the producer, the others ten times faster.
BESIDE = {f"topology.links[{i}].rate": "10 Mbps" for i in (0, 1)}
SHORT = params(interests=10)


def measure(lab: Lab) -> Iterator[Measured]:
    """Settling times over RCP's, how far the long flow's rate falls, and how it swings in the end."""
    both = {name: _each(lab, name, params(interval=value)) for name, value in INTERVALS.items()}
    beside, short = _each(lab, "beside", BESIDE), _each(lab, "short", SHORT)
    for name, runs in {**both, "beside": beside, "short": short}.items():
        times = {update: found.values(settling) for update, found in runs.items()}
        yield Measured(f"settled.{name}", times["mircc"])
        for one in RCP_SETS:
            yield Measured(f"settled.{one}.{name}", times[one])
            yield Measured(f"faster.{one}.{name}", list(map(ratio, times["mircc"], times[one])))
    shallow = {update: found.values(undershoot) for update, found in both["d"].items()}
    swings = {update: found.values(swing) for update, found in both["d"].items()}
    for one in RCP_SETS:
        yield Measured(f"undershoot.{one}", list(map(_difference, shallow["mircc"], shallow[one])))
        yield Measured(f"oscillation.{one}", list(map(ratio, swings["mircc"], swings[one])))
    for update in ("mircc", "0.4-0.4"):
        found = both["d"][update]
        yield Measured(f"share.{update}", found.values(share), bound=FAIR)
        yield Measured(f"dropped.{update}", found.values(dropped), bound=0.0)


def _each(lab: Lab, label: str, changes: dict[str, Any]) -> dict[str, Runs]:
    """MIRCC and RCP with each of its sets, on the same network."""
    found = {"mircc": lab.runs("chain", changes=changes, label=f"mircc-{label}")}
    return found | {one: lab.runs("chain", changes=changes | rcp(one), label=f"rcp-{one}-{label}") for one in RCP_SETS}


def _difference(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs


def settling(result: Result) -> float:
    """Seconds from the joining until all four rates stay near their fair share, or to the end."""
    times, values = rates(result, range(FLOWS))
    return settled(times, values, FAIR, WITHIN, JOIN, END)


def _long(result: Result, begin: float, end: float) -> Any:
    times, values = rates(result, [0])
    return values[0, (times > begin) & (times <= end)]


def undershoot(result: Result) -> float | None:
    """How far the long flow's rate falls below the fair share, as a share of it."""
    return float(1.0 - np.min(_long(result, JOIN, END)) / FAIR)


def swing(result: Result) -> float | None:
    """Standard deviation of the long flow's rate over its mean, from 20 s after the joining on."""
    values = _long(result, JOIN + 20.0, END)
    return float(np.std(values) / np.mean(values))


def share(result: Result) -> float | None:
    """The long flow's rate in the last 20 s."""
    return mean(result, "flow:0", "primary_rate_bps", END - 20.0, END)
