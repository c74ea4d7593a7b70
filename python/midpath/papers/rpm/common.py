"""Measurements shared by RPM's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from midpath import stats
from midpath.result import Result
from midpath.result.series import MissingSeriesError, series

# How the senders of packets that CoDel has chosen are told: `CoDel-FWD` and `RPM` of the paper.
MODES = ("fwd", "rpm")


def mode(name: str) -> dict[str, Any]:
    """The change that makes a scenario's switch tell senders so."""
    return {"deploy[0].params.mode": name}


def jain(result: Result, end: float, flows: int) -> float:
    """Jain's index of what each flow has got from the run's start to `end`, in seconds."""
    return stats.jain([_got(result, f"flow:{flow}", end) for flow in range(flows)])


def _got(result: Result, flow: str, end: float) -> float:
    try:
        times, goodput = series(result, flow, "goodput_bps")
    except MissingSeriesError:  # It has not started.
        return 0.0
    return float(np.nansum(goodput[times <= end * (1 + 1e-9)]))


def differences(values: Sequence[float | None], others: Sequence[float | None]) -> list[float | None]:
    """Value less other, seed by seed: what both have in common cancels."""
    pairs = zip(values, others, strict=True)
    return [a - b if a is not None and b is not None else None for a, b in pairs]


def port(result: Result, node: str, peer: str) -> dict[str, Any]:
    """A port's row of the table of ports."""
    rows = [row for row in result.ports.to_pylist() if (row["node"], row["peer"]) == (node, peer)]
    found: dict[str, Any] = rows[0]
    return found
