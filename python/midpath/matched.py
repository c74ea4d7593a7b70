"""Figures over the same flows: those that ended under all schemes.

A mean over completed flows favours a scheme that left its slowest flows unfinished. Runs of the same seed have the
same flows, so figures can cover the flows that all schemes completed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from midpath.result import Result

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
FIGURES: dict[str, tuple[str, Callable[[Floats], np.floating]]] = {
    "afct_s": ("fct_s", np.mean),
    "fct_p50_s": ("fct_s", lambda values: np.quantile(values, 0.5)),
    "fct_p99_s": ("fct_s", lambda values: np.quantile(values, 0.99)),
    "slowdown_mean": ("slowdown", np.mean),
    "slowdown_p99": ("slowdown", lambda values: np.quantile(values, 0.99)),
}


def ended_in_all(runs: Sequence[Result]) -> Mask | None:
    """The flows that ended in each of `runs`; `None` if those are the same in all of them."""
    if all(run.summary["completed"] == run.summary["flows"] for run in runs):
        return None
    masks = [ended(run) for run in runs]
    return None if all((mask == masks[0]).all() for mask in masks) else np.logical_and.reduce(masks)


def ended(run: Result) -> Mask:
    """The flows that ended."""
    found: Mask = np.isfinite(column(run, "fct_s"))
    return found


def figure(run: Result, key: str, common: Mask | None) -> float | None:
    """A figure of a run, over the `common` flows if it is one over completed flows."""
    if key not in FIGURES or common is None:
        value: float | None = run.summary.get(key)
        return value
    of, reduce = FIGURES[key]
    values = column(run, of)[common]
    values = values[np.isfinite(values)]
    return float(reduce(values)) if values.size else None


def column(run: Result, key: str) -> Floats:
    """A column of a run's flows, as floats; NaN where nothing is known."""
    values: Floats = run.flows[key].to_numpy().astype(float)
    return values
