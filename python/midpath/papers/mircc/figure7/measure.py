"""Figures 7 and 8: utilisation of the cut, and slowdowns by size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.papers.mircc.common import dropped, nacked, slowdowns
from midpath.result import Result
from midpath.result.series import Numbers, ratio, series

BEGIN, END, INTERVAL = 20.0, 150.0, 10.0
# Between the two sizes, in bytes.
BETWEEN = 5e6
QUICK = {f"workload[{i}].until": "30 s" for i in (0, 1)}


def measure(lab: Lab) -> Iterator[Measured]:
    """MIRCC, and TCP and the ideal for comparison."""
    changes = QUICK if lab.quick else None
    runs = lab.runs("objects", changes=changes)
    others = {scheme: lab.runs("objects", scheme=scheme, changes=changes) for scheme in ("newreno", "ideal")}
    yield Measured("utilisation", runs.values(lambda result: float(cut(result).mean())))
    yield Measured("stable", runs.values(stability))
    yield Measured("even", runs.values(evenness))
    yield Measured("dropped", runs.values(dropped), bound=0.0)
    yield Measured("nacked", runs.values(nacked))
    yield Measured("short", runs.values(unfairness))
    yield Measured("short.newreno", others["newreno"].values(unfairness))
    yield Measured("slowdown", runs.values(_short))
    for scheme, found in others.items():
        yield Measured(f"slowdown.{scheme}", found.values(_short))
    yield Measured("completed", runs.values(lambda result: ratio(result.summary["completed"], result.summary["flows"])))


def cut(result: Result) -> Numbers:
    """Utilisation of l_c and l_d over time: a row for each."""
    rows = []
    for port in ("c>a", "d>a"):
        times, values = series(result, f"port:{port}", "utilisation")
        rows.append(values[(times > BEGIN) & (times <= END)])
    return np.array(rows)


def stability(result: Result) -> float:
    """Standard deviation of the links' means over intervals of 10 s."""
    rows = cut(result)
    whole = rows[:, : rows.shape[1] // int(INTERVAL) * int(INTERVAL)]
    return float(np.mean(np.std(whole.reshape(len(rows), -1, int(INTERVAL)).mean(axis=2), axis=1)))


def evenness(result: Result) -> float | None:
    """How alike both links are used."""
    low, high = sorted(cut(result).mean(axis=1).tolist())
    return ratio(low, high)


def unfairness(result: Result) -> float | None:
    """Mean slowdown of short objects over that of long ones; None in a run without long ones."""
    return ratio(_short(result), slowdowns(result, BETWEEN, np.inf))


def _short(result: Result) -> float | None:
    return slowdowns(result, 0.0, BETWEEN)
