"""What is kept of a run: figures by group of flows, of the bottleneck, and both over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc

from midpath.result import Result

# The bottleneck of every scenario, the way back, and the group of flows that run the scheme.
CORE, BACK, SUBJECT = "r0>r1", "r1>r0", "subject"
FLOW = "flow:0"
# Significant digits of what is kept over time: it is drawn, or averaged.
DIGITS = 5
# Sums over the flows of a group.
SUMS = ("delivered_bytes", "sent_packets", "retransmitted_packets", "lost_packets", "marked_packets", "timeouts")
OF_PORT = ("rate_bps", "packets", "bytes", "drops_queue", "drops_aqm", "drops_policy", "corrupted", "marks")
DELAYS = ("delay_mean_s", "delay_p95_s", "delay_p99_s")


@dataclass(frozen=True)
class Facts:
    """Of one run, as its record has it."""

    told: Mapping[str, Any]

    def group(self, name: str) -> dict[str, Any]:
        """Sums and times of a group's flows."""
        found: dict[str, Any] = self.told["groups"][name]
        return found

    def figure(self, name: str, key: str) -> float:
        """One of these; NaN if there is none."""
        value = self.group(name)[key]
        return math.nan if value is None else float(value)

    @property
    def groups(self) -> list[str]:
        """The groups' names."""
        return list(self.told["groups"])

    @property
    def core(self) -> dict[str, Any]:
        """The bottleneck's counters."""
        found: dict[str, Any] = self.told["ports"][CORE]
        return found

    @cached_property
    def _times(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        step, first = self.told["interval_s"], self.told["first_s"]
        longest = max((len(one) for one in self.told["series"].values()), default=0)
        return np.asarray(first + step * np.arange(longest), float)

    def series(self, name: str) -> list[float]:
        """A value by interval, such as `group:subject goodput_bps`; the intervals' ends are evenly spaced."""
        found: list[float] = self.told["series"].get(name, [])
        return found

    def mean(self, name: str, start: float, end: float) -> float:
        """The mean of a series over a time; NaN if nothing was recorded then."""
        values = np.asarray(self.series(name), float)
        inside = (self._times[: values.size] > start + 1e-9) & (self._times[: values.size] <= end + 1e-9)
        return float(values[inside].mean()) if inside.any() else math.nan

    def states(self, name: str) -> list[tuple[int, float, float]]:
        """A gauge of the first flow that tells states: each with when it began and ended, as far as samples tell."""
        found: list[tuple[int, float, float]] = []
        step = self.told["interval_s"]
        for end, value in zip(self._times.tolist(), self.series(f"{FLOW} {name}"), strict=False):
            state = round(value)
            # A sample of two states is neither.
            if abs(value - state) > 1e-6:
                continue
            if found and found[-1][0] == state:
                found[-1] = (state, found[-1][1], end)
            else:
                found.append((state, end - step, end))
        return found

    def goodput(self, start: float, end: float, group: str = SUBJECT) -> float:
        """What receivers of a group got, in bits per second."""
        return self.mean(f"group:{group} goodput_bps", start, end)

    def least(self, name: str, start: float, end: float, width: float) -> float:
        """The least mean of a series over any `width` seconds of a time, one after the other."""
        steps = np.arange(start, end - width + 1e-9, width)
        return min(self.mean(name, float(at), float(at + width)) for at in steps)

    def wait(self, start: float, end: float) -> float:
        """The mean time of a byte in the bottleneck's queue, by its length."""
        return self.mean(f"port:{CORE} queue_bytes", start, end) * 8 / float(self.core["rate_bps"])

    @property
    def lost(self) -> float:
        """The share of the packets for the bottleneck that its queue, AQM or policy dropped."""
        drops = sum(self.core[key] for key in ("drops_queue", "drops_aqm", "drops_policy"))
        return float(drops / max(1, drops + self.core["packets"]))

    def lost_of(self, group: str) -> float:
        """The share of a group's packets that was lost, anywhere."""
        own = self.group(group)
        return float(own["lost_packets"] / max(1, own["sent_packets"]))


def facts(result: Result, _: str = "", *watched: str) -> dict[str, Any]:
    """What is kept of a run, and of its first flow the series that are `watched`. The second argument is the code's
    digest: when it changes, runs are repeated.
    """
    series, interval, first = _series(result, watched)
    return {
        "simulated_s": result.run["simulated_s"],
        "groups": {name: _group(result, name) for name in dict.fromkeys(result.flows["group"].to_pylist())},
        "ports": {name: _port(result, name) for name in (CORE, BACK)},
        "interval_s": interval,
        "first_s": first,
        "series": series,
        "datagrams": _datagrams(result),
        "warnings": result.warnings[:8],
    }


def _group(result: Result, name: str) -> dict[str, Any]:
    """A flow that did not end counts with the time that it had."""
    rows = result.flows.filter(pc.equal(result.flows["group"], name))
    found: dict[str, Any] = {key: int(pc.sum(rows[key].cast("int64")).as_py() or 0) for key in SUMS}
    starts = rows["start_s"].to_numpy(zero_copy_only=False).astype(float)
    ends = rows["fct_s"].to_numpy(zero_copy_only=False).astype(float)
    times = np.where(np.isfinite(ends), ends, result.run["simulated_s"] - starts)
    trips = rows["rtt_mean_s"].to_numpy(zero_copy_only=False).astype(float)
    sized = rows["size_bytes"].null_count < rows.num_rows
    return found | {
        "first": int(pc.min(rows["flow"]).as_py()),
        "flows": rows.num_rows,
        "ended": int(np.isfinite(ends).sum()),
        "fct_mean_s": _shown(float(np.nanmean(times))) if sized else None,
        "fct_p99_s": _shown(float(np.nanquantile(times, 0.99))) if sized else None,
        "rtt_mean_s": _shown(float(np.nanmean(trips))) if np.isfinite(trips).any() else None,
    }


def _port(result: Result, name: str) -> dict[str, Any]:
    node, _, peer = name.partition(">")
    own = next(row for row in result.ports.to_pylist() if (row["node"], row["peer"]) == (node, peer))
    return {key: own[key] for key in OF_PORT} | {key: own[key] and _shown(own[key]) for key in DELAYS}


def _datagrams(result: Result) -> dict[str, Any]:
    """Of each group: the mean of the flows' 95th percentiles of delay, and the share that was lost or late."""
    table = result.tables.get("datagrams")
    if table is None:
        return {}
    rows = table.to_pylist()
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row["group"] for row in rows):
        own = [row for row in rows if row["group"] == name]
        delays = [row["delay_p95_s"] for row in own if row["delay_p95_s"] is not None]
        sent = sum(row["sent_packets"] for row in own)
        found[name] = {
            "delay_p95_s": _shown(sum(delays) / len(delays)) if delays else None,
            "lost": sum(row["lost_packets"] for row in own) / max(1, sent),
        }
    return found


def _series(result: Result, watched: Sequence[str]) -> tuple[dict[str, list[float]], float, float]:
    """Goodput of groups, queue and throughput of the bottleneck, and what senders' first links carry."""
    table = result.series
    if not table.num_rows:
        return {}, 0.0, 0.0
    wanted = {f"port:{CORE}": ("queue_bytes", "throughput_bps"), "port:s0>r0": ("throughput_bps",)}
    wanted |= {FLOW: tuple(watched)}
    wanted |= {f"group:{name}": ("goodput_bps",) for name in dict.fromkeys(result.flows["group"].to_pylist())}
    found: dict[str, list[float]] = {}
    ends: Sequence[float] = ()
    for entity, metrics in wanted.items():
        of_entity = table.filter(pc.equal(table["entity"], entity))
        for metric in metrics:
            rows = of_entity.filter(pc.equal(of_entity["metric"], metric))
            if rows.num_rows:
                values = rows["value"].to_numpy(zero_copy_only=False).astype(float)
                found[f"{entity} {metric}"] = [_shown(value) for value in values.tolist()]
                ends = max(ends, rows["time_s"].to_pylist(), key=len)
    interval = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else 0.0
    return found, interval, ends[0] if ends else 0.0


def _shown(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else 0.0
