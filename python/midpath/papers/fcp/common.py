"""Measurements shared by figures of the FCP paper."""

from __future__ import annotations

from midpath.result import Result
from midpath.result.series import Numbers, mean, series, wire


def rate(result: Result, group: str, begin: float, end: float) -> float | None:
    """A group's mean rate on the wire in a window, in bits per second."""
    found = mean(result, f"group:{group}", "goodput_bps", begin, end)
    return None if found is None else found * wire(result)


def flow(result: Result, src: str, dst: str) -> str:
    """The entity of the first flow between two hosts."""
    flows = result.flows.to_pandas()
    found = flows[(flows.src == src) & (flows.dst == dst)].flow
    return f"flow:{int(found.iloc[0])}"


def flow_rate(result: Result, src: str, dst: str, begin: float, end: float) -> float | None:
    """A flow's mean rate on the wire in a window, in bits per second."""
    found = mean(result, flow(result, src, dst), "goodput_bps", begin, end)
    return None if found is None else found * wire(result)


def rates(result: Result, group: str) -> tuple[Numbers, Numbers]:
    """Times and rates on the wire of a group."""
    times, values = series(result, f"group:{group}", "goodput_bps")
    return times, values * wire(result)


def utilisation(result: Result, port: str, begin: float, end: float) -> float | None:
    """Mean utilisation of a port in a window."""
    return mean(result, f"port:{port}", "utilisation", begin, end)
