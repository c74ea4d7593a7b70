"""Shares with PFC alone, and with DCQCN over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath.papers.lab import Lab, Measured, Runs
from midpath.result import Result
from midpath.result.series import mean, ratio

# Payload of a full packet over its bytes on the wire.
PAYLOAD = 1448 / 1500


def measure(lab: Lab) -> Iterator[Measured]:
    """Both networks, both schemes."""
    stop = 0.04 if lab.quick else 0.2
    unfair = {scheme: _runs(lab, "unfair", scheme, stop) for scheme in ("dcqcn", "fixed-window")}
    victim = {scheme: _runs(lab, "victim", scheme, stop) for scheme in ("dcqcn", "fixed-window")}
    yield Measured("unfair.dcqcn", unfair["dcqcn"].values(lambda result: _own(result, stop)))
    # PFC pauses ports, not flows: each of the two that lead to the receiver has half.
    yield Measured("unfair.pfc", unfair["fixed-window"].values(lambda result: _own(result, stop)), bound=3.0)
    carried = {scheme: runs.values(lambda result: _victim(result, stop)) for scheme, runs in victim.items()}
    yield Measured("victim.gain", list(map(ratio, carried["dcqcn"], carried["fixed-window"])))
    yield Measured("victim.dcqcn", carried["dcqcn"])
    # A third of the receiver's 40 Gbps comes through the link between the switches, where all three have as much.
    yield Measured("victim.pfc", carried["fixed-window"], bound=40e9 / 3 / 2 * PAYLOAD)
    lost = [float(result.ports["drops_queue"].to_numpy().sum()) for result in victim["dcqcn"]]
    yield Measured("lost", lost)


def _runs(lab: Lab, name: str, scheme: str, stop: float) -> Runs:
    changes: dict[str, Any] = {"stop": f"{1e3 * stop:g} ms"}
    if scheme != "dcqcn":
        changes["queue"] = {"limit": "2 MB"}
    return lab.runs(name, scheme=scheme, changes=changes)


def _rates(result: Result, stop: float) -> dict[str, float]:
    """Goodputs of the second half, by sender."""
    flows = result.flows.to_pandas()
    found = {}
    for flow, src in zip(flows.flow, flows.src.astype(str), strict=True):
        found[src] = mean(result, f"flow:{flow}", "goodput_bps", stop / 2, stop) or 0.0
    return found


def _own(result: Result, stop: float) -> float | None:
    """The rate of the sender at the receiver's switch over the others' mean."""
    rates = _rates(result, stop)
    return ratio(rates.pop("h4"), sum(rates.values()) / len(rates))


def _victim(result: Result, stop: float) -> float:
    return _rates(result, stop)["v"]
