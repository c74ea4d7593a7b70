"""Measurements shared by figures of the MIRCC paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from midpath.result import Result
from midpath.result.series import Numbers, mean, series, wire

# η of Midpath's MIRCC: what rates are a share of. The paper names it and gives no value.
ETA = 0.95

# MIRCC for single-path flows (§3), and RCP's update in its place (equation (1), §3.2).
SINGLE: dict[str, Any] = {"paths": "one", "sending": "best-subflow"}
# α and β of RCP: those of its authors' simulator, of their stability analysis, and of two evaluations by others.
RCP_SETS = {"0.4-0.4": (0.4, 0.4), "0.4-0.226": (0.4, 0.226), "0.4-1": (0.4, 1.0), "0.1-1": (0.1, 1.0)}


def params(**values: Any) -> dict[str, Any]:
    """Changes of a scenario that set MIRCC's parameters."""
    return {f"schemes.mircc.{name}": value for name, value in values.items()}


def rcp(name: str) -> dict[str, Any]:
    """Changes that take RCP's update with one of its published sets of parameters."""
    alpha, beta = RCP_SETS[name]
    return params(update="rcp", rcp_alpha=alpha, rcp_beta=beta)


def asked(result: Result, flow: int, traffic_class: str, begin: float, end: float) -> float:
    """What a flow's Interests ask for in a class, in bits per second of Data."""
    return mean(result, f"flow:{flow}", f"{traffic_class}_rate_bps", begin, end) or 0.0


def data(result: Result, flow: int, begin: float, end: float) -> float:
    """Data that a flow gets, headers included, in bits per second."""
    return (mean(result, f"flow:{flow}", "goodput_bps", begin, end) or 0.0) * wire(result)


def rates(result: Result, flows: Iterable[int], metric: str = "primary_rate_bps") -> tuple[Numbers, Numbers]:
    """Times, and a row of rates for each flow."""
    found = [series(result, f"flow:{flow}", metric) for flow in flows]
    least = min(times.size for times, _ in found)
    return found[0][0][-least:], np.array([values[-least:] for _, values in found])


def settled(times: Numbers, values: Numbers, target: float, within: float, begin: float, end: float) -> float:
    """Seconds from `begin` until all rows stay within a share of a target; to `end` if they never do."""
    chosen = (times > begin) & (times <= end)
    away = np.flatnonzero((np.abs(values[:, chosen] / target - 1.0) > within).any(axis=0))
    return float(times[chosen][away[-1]] - begin) if away.size else 0.0


def dropped(result: Result) -> float:
    """Packets that a queue or a policy refused. A Nacked Interest is none: it turns back."""
    ports = result.ports
    return float(sum(np.sum(ports[name].to_numpy()) for name in ("drops_queue", "drops_aqm", "drops_policy")))


def nacked(result: Result) -> float:
    """Share of Interests that were sent again: Nacked ones, where nothing is lost."""
    return float(result.summary["retransmitted_packets"]) / float(result.summary["sent_packets"])


def slowdowns(result: Result, least: float, most: float) -> float | None:
    """Mean slowdown of the completed flows of these sizes: completion time over that in an idle network."""
    flows = result.flows.to_pandas()
    found = flows[(flows.size_bytes >= least) & (flows.size_bytes < most)].slowdown.dropna()
    return float(found.mean()) if len(found) else None


def average(values: Sequence[float | None]) -> float | None:
    """The mean of what is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
