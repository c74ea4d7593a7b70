"""Figure 19: TCP beside INRPP, and alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import custody_lost, ratio
from midpath.papers.lab import Lab, Measured, Runs
from midpath.result import Result
from midpath.result.series import mean

# When all flows have started and found their rates.
SETTLED = 20.0


def measure(lab: Lab) -> Iterator[Measured]:
    """Goodput by flow, and TCP's round trips."""
    end = 60.0 if lab.quick else 120.0
    changes = {"stop": f"{end} s"}
    mixed, alone = lab.runs("mixed", changes=changes), lab.runs("alone", changes=changes)
    yield Measured("inrpp", goodput(mixed, "inrpp", 50, end), bound=15e6 / 50)
    yield Measured("tcp.mixed", goodput(mixed, "tcp", 50, end), bound=5e6 / 50)
    yield Measured("tcp.alone", goodput(alone, "tcp", 100, end), bound=10e6 / 100)
    ours, reference = mixed.values(rtt), alone.values(rtt)
    yield Measured("rtt.alone", reference)
    yield Measured("rtt.ratio", list(map(ratio, ours, reference)), bound=1.0)
    yield Measured("custody", mixed.values(custody_lost), bound=0.0)
    yield Measured("refused", mixed.values(inrpp_lost), bound=0.0)


def goodput(runs: Runs, group: str, flows: int, end: float) -> list[float | None]:
    """Mean goodput of a group's flows, payload alone."""
    found = runs.values(lambda result: mean(result, f"group:{group}", "goodput_bps", SETTLED, end))
    return [None if value is None else value / flows for value in found]


def rtt(result: Result) -> float:
    """Mean over TCP's flows of the round trips that their senders measured."""
    flows = result.flows.to_pandas()
    return float(np.mean(flows[flows.group == "tcp"].rtt_mean_s))


def inrpp_lost(result: Result) -> float:
    """Packets of INRPP flows that found no room. Those of TCP are dropped as TCP expects."""
    flows = result.flows.to_pandas()
    return float(flows[flows.group == "inrpp"].lost_packets.sum())
