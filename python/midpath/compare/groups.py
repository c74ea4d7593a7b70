"""Figures per group of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from midpath.matched import Floats, Mask, column
from midpath.result import Result
from midpath.stats import Estimate, estimate

HEADS = ("Group", "Scheme", "Flows ended", "AFCT", "FCT p99", "Goodput")


@dataclass(frozen=True)
class GroupRow:
    """One group of flows under one scheme: times over flows that ended under all schemes, goodput over all flows."""

    group: str
    scheme: str
    flows: int
    completed: int
    afct_s: Estimate | None
    fct_p99_s: Estimate | None
    goodput_bps: Estimate | None

    def to_json(self) -> dict[str, Any]:
        """As it stands in compare.json."""
        figures = {"afct_s": self.afct_s, "fct_p99_s": self.fct_p99_s, "goodput_bps": self.goodput_bps}
        head = {"group": self.group, "scheme": self.scheme, "flows": self.flows, "completed": self.completed}
        return head | {key: value and value.to_json() for key, value in figures.items()}


def group_rows(runs: Mapping[str, Sequence[Result]], common: Sequence[Mask | None]) -> list[GroupRow]:
    """Group by group, a row for each scheme. None where there is but one group."""
    names = dict.fromkeys(group for results in runs.values() for run in results for group in _groups(run))
    if len(names) < 2:
        return []
    return [_row(group, scheme, results, common) for group in names for scheme, results in runs.items()]


def _groups(run: Result) -> list[str]:
    return list(dict.fromkeys(run.flows["group"].to_pylist()))


def _row(group: str, scheme: str, results: Sequence[Result], common: Sequence[Mask | None]) -> GroupRow:
    flows = completed = 0
    means, tails, rates = [], [], []
    for run, mask in zip(results, common, strict=True):
        mine = np.array(run.flows["group"].to_pylist(), dtype=object) == group
        times = column(run, "fct_s")
        ended = mine & np.isfinite(times)
        flows, completed = flows + int(mine.sum()), completed + int(ended.sum())
        compared = times[ended if mask is None else ended & mask]
        means.append(_reduced(compared, 0.0))
        tails.append(_reduced(compared, 0.99))
        rates.append(float(np.nansum(column(run, "delivered_bytes")[mine])) * 8 / run.run["simulated_s"])
    return GroupRow(group, scheme, flows, completed, estimate(means), estimate(tails), estimate(rates))


def _reduced(times: Floats, quantile: float) -> float | None:
    """The mean, or a quantile above zero; nothing of nothing."""
    if not times.size:
        return None
    return float(np.quantile(times, quantile) if quantile else times.mean())
