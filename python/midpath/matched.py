"""Figures over the flows that ended in both of two runs.

A mean over completed flows flatters a scheme that left its slowest flows unfinished. Runs of the same seed have the
same flows, so a ratio between two of them can be taken over the flows that both completed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from midpath.result import Result

Floats = NDArray[np.float64]
FIGURES: dict[str, tuple[str, Callable[[Floats], np.floating]]] = {
    "afct_s": ("fct_s", np.mean),
    "fct_p50_s": ("fct_s", lambda values: np.quantile(values, 0.5)),
    "fct_p99_s": ("fct_s", lambda values: np.quantile(values, 0.99)),
    "slowdown_mean": ("slowdown", np.mean),
    "slowdown_p99": ("slowdown", lambda values: np.quantile(values, 0.99)),
}


def figures(run: Result, other: Result, key: str) -> tuple[float | None, float | None]:
    """A figure of both runs, over the same flows if it is one over completed flows."""
    if key not in FIGURES or (_complete(run) and _complete(other)):
        return run.summary.get(key), other.summary.get(key)
    column, figure = FIGURES[key]
    values, others = (result.flows[column].to_numpy().astype(float) for result in (run, other))
    both = np.isfinite(values) & np.isfinite(others)
    if not both.any():
        return None, None
    return float(figure(values[both])), float(figure(others[both]))


def _complete(run: Result) -> bool:
    return bool(run.summary["completed"] == run.summary["flows"])
