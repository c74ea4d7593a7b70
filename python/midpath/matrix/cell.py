"""Results of one run of the matrix, relative to the ideal with the same flows, or to an application alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from midpath.equipment import equipment_of
from midpath.matched import Floats, column
from midpath.matrix.rows import DEPLOYED, OTHERS, Row
from midpath.result import Result
from midpath.stats import jain

# A port that carried less than this share of what the busiest carried tells nothing of waiting.
BUSY = 0.01
# Columns of flows that figures are of.
FLOWS = ("fct_s", "start_s", "group")
# What an application does again and again, as run.json counts it.
UNITS = {"clients": "requests", "pages": "loads", "videos": "views", "jobs": "iterations"}
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
        **{kind: run.run[kind] for kind in UNITS if run.run.get(kind)},
        "datagrams": delays(run),
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
        # Of each flow's rate over the ideal's: one where all are as near to it.
        "jain": jain(best / times),
        "use": told["use"],
        "deployed_ratio": of_group(run, DEPLOYED, times, best),
        "cubic_ratio": of_group(run, OTHERS, times, best),
    }
    return _cell(run, figures, told)


@dataclass(frozen=True)
class Waits:
    """What an application waited: how often it asked and was answered, the mean, and the 99th percentile, s."""

    asked: float
    ended: float
    mean: float
    p99: float


def waited(of: str, told: Mapping[str, Any]) -> Waits | None:
    """What the applications of a run waited; of several the mean. None where one was never answered."""
    if of == "datagrams":
        return Waits(**told[of]) if told[of] else None
    found = told[of]
    asked, ended = (sum(one[key] for one in found) for key in (UNITS[of], "completed"))
    if of == "videos":
        stopped = [one["startup_mean_s"] and one["startup_mean_s"] + one["stalled_s"] / one["views"] for one in found]
        times = list(zip(stopped, stopped, strict=True))
    else:
        times = [(one["mean_s"], one["p99_s"]) for one in found]
    if any(time is None for both in times for time in both):
        return None
    mean, tail = np.mean(times, axis=0)
    return Waits(asked, ended, float(mean), float(tail))


def measured_application(row: Row, run: Result, told: Mapping[str, Any], alone: Mapping[str, Any]) -> Cell:
    """The figures of a run of which an application is judged: over those where it is alone, or at the line's rate."""
    own = waited(row.of, told)
    if own is None:
        return _cell(run, {}, told)
    if row.line:
        # What a collective's bus carries in that time, at the line's rate.
        best = float(np.mean([job["bus_bandwidth_bps"] * job["mean_s"] for job in told["jobs"]])) / row.line
        base: Waits | None = Waits(0, 0, best, best)
    else:
        base = waited(row.of, alone)
    figures = {"flows": own.asked, "ended": own.ended, "fct_mean_s": own.mean, "fct_p99_s": own.p99}
    ratios = {"mean_ratio": own.mean / base.mean, "p99_ratio": own.p99 / base.p99} if base else {}
    return _cell(run, figures | ratios, told)


def _cell(run: Result, figures: Mapping[str, float | None], told: Mapping[str, Any]) -> Cell:
    """With what is the same for flows and applications."""
    both = {"wait_p99_s": told["wait_p99_s"], "loss": run.summary["loss_ratio"]}
    digest = hashlib.sha256(durations(run).tobytes()).hexdigest()[:16]
    whole = dict.fromkeys(FIGURES) | dict(figures) | both if figures else {}
    return Cell(whole, told["warnings"], told["equipment"], told["memory"], digest)


def delays(run: Result) -> dict[str, float] | None:
    """Of the datagrams of flows with a table: packets, those that came, their mean delay, and the 99th percentile."""
    table = run.tables["datagrams"].to_pylist() if "datagrams" in run.tables else []
    sent, received = (float(sum(flow[key] for flow in table)) for key in ("sent_packets", "received_packets"))
    mean = sum(flow["delay_mean_s"] * flow["received_packets"] for flow in table if flow["received_packets"])
    tail = max((flow["delay_p99_s"] for flow in table if flow["received_packets"]), default=0.0)
    return {"asked": sent, "ended": received, "mean": mean / received, "p99": tail} if received else None


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
    # Not of flows that wait for what never comes.
    # At most: a link that is down for most of the rest of the run could not have sent more then.
    return float(min(busiest * run.run["simulated_s"] / (np.nanmax(ends) - np.nanmin(starts)), 1.0))


def of_group(run: Result, group: str, times: Floats, best: Floats) -> float | None:
    """The mean completion time of a group of flows over the ideal's."""
    mine = np.array(run.flows["group"].to_pylist(), dtype=object) == group
    return float(times[mine].mean() / best[mine].mean()) if mine.any() else None


def _router_ports(run: Result) -> list[dict[str, Any]]:
    routers = {node["name"] for node in run.run["topology"]["nodes"] if node["kind"] == "router"}
    return [port for port in run.ports.to_pylist() if port["node"] in routers]
