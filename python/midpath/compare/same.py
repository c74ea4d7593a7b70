"""Detects identical runs: an option that was to make a difference had no effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from midpath.metrics import METRICS
from midpath.result import Result


def groups(runs: Mapping[str, Sequence[Result]]) -> list[list[str]]:
    """Names whose runs are the same, flow by flow and figure by figure, in every seed; those alone in this left out."""
    found: list[list[str]] = []
    for name, own in runs.items():
        like = next((group for group in found if _alike(runs[group[0]], own)), None)
        if like is None:
            found.append([name])
        else:
            like.append(name)
    return [group for group in found if len(group) > 1]


def _alike(some: Sequence[Result], others: Sequence[Result]) -> bool:
    return all(
        figures(one) == figures(other) and _same_flows(one, other) for one, other in zip(some, others, strict=True)
    )


def figures(run: Result) -> list[Any]:
    """All figures of a run."""
    return [run.summary.get(metric.key) for metric in METRICS]


def _same_flows(one: Result, other: Result) -> bool:
    ends = [np.asarray(run.flows["fct_s"].to_numpy(zero_copy_only=False), dtype=float) for run in (one, other)]
    return np.array_equal(ends[0], ends[1], equal_nan=True)
