"""Results of one run of the matrix, relative to the ideal with the same flows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from midpath.equipment import equipment_of
from midpath.matched import Floats, column
from midpath.matrix.rows import DEPLOYED, OTHERS
from midpath.result import Result
from midpath.stats import jain

# A port that carried less than this share of what the busiest carried tells nothing of waiting.
BUSY = 0.01
# Columns of flows that figures are of.
FLOWS = ("fct_s", "start_s", "group")
# What is kept of each run, in the order of the columns of runs.csv.
FIGURES = (
    "flows",
    "ended",
    "fct_mean_s",
    "fct_p99_s",
    "mean_ratio",
    "p99_ratio",
    "wait_p99_s",
    "loss",
    "jain",
    "use",
    "deployed_ratio",
    "cubic_ratio",
)


@dataclass(frozen=True)
class Cell:
    """One run. `error` says why there is none; `digest` is the same where all flows ended at the same times."""

    figures: dict[str, float | None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    equipment: dict[str, Any] | None = None
    memory: int | None = None
    digest: str = ""
    error: str = ""


def at_routers(run: Result) -> dict[str, Any]:
    """What only the whole result tells."""
    equipment = equipment_of(run)
    return {
        "wait_p99_s": wait(run),
        "use": use(run),
        "equipment": equipment.to_json() if equipment else None,
        "memory": equipment.memory if equipment else None,
        "warnings": run.warnings,
    }


def measured(run: Result, ideal: Result, told: Mapping[str, Any]) -> Cell:
    """The figures of a run, from its flows, the ideal's, and what was `told` of it (`at_routers`)."""
    times, best = durations(run), durations(ideal)
    mean, tail = float(times.mean()), float(np.quantile(times, 0.99))
    figures: dict[str, float | None] = {
        "flows": run.summary["flows"],
        "ended": run.summary["completed"],
        "fct_mean_s": mean,
        "fct_p99_s": tail,
        "mean_ratio": mean / float(best.mean()),
        "p99_ratio": tail / float(np.quantile(best, 0.99)),
        "wait_p99_s": told["wait_p99_s"],
        "loss": run.summary["loss_ratio"],
        # Of each flow's rate over the ideal's: one where all are as near to it.
        "jain": jain(best / times),
        "use": told["use"],
        "deployed_ratio": of_group(run, DEPLOYED, times, best),
        "cubic_ratio": of_group(run, OTHERS, times, best),
    }
    digest = hashlib.sha256(times.tobytes()).hexdigest()[:16]
    return Cell(figures, told["warnings"], told["equipment"], told["memory"], digest)


def durations(run: Result) -> Floats:
    """How long each flow took; of one that did not end, how long it had: it took longer than that."""
    times, had = column(run, "fct_s"), run.run["simulated_s"] - column(run, "start_s")
    return np.where(np.isfinite(times), times, had)


def wait(run: Result) -> float | None:
    """The 99th percentile of a packet's wait at the router's port where that is longest, custody included."""
    ports = [port for port in _router_ports(run) if port["delay_p99_s"] is not None]
    busy = BUSY * max((port["packets"] for port in ports), default=0)
    return max((float(port["delay_p99_s"]) for port in ports if port["packets"] >= busy), default=None)


def use(run: Result) -> float:
    """The use of the router's port that is used most, from the first start until the last flow has ended."""
    starts = column(run, "start_s")
    ends = starts + durations(run)
    busiest = max(port["utilisation"] for port in _router_ports(run))
    return float(busiest * run.run["simulated_s"] / (ends.max() - starts.min()))


def of_group(run: Result, group: str, times: Floats, best: Floats) -> float | None:
    """The mean completion time of a group of flows over the ideal's."""
    mine = np.array(run.flows["group"].to_pylist(), dtype=object) == group
    return float(times[mine].mean() / best[mine].mean()) if mine.any() else None


def _router_ports(run: Result) -> list[dict[str, Any]]:
    routers = {node["name"] for node in run.run["topology"]["nodes"] if node["kind"] == "router"}
    return [port for port in run.ports.to_pylist() if port["node"] in routers]
