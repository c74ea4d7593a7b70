"""Windows, delays and throughput where a host takes its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.schemes.common import gain
from midpath.result import Result

# Its first 10 ms are not counted.
WARM = 0.01


def measure(lab: Lab) -> Iterator[Measured]:
    """Swift, and Swift-v0, which has one target for the whole round trip."""
    quick: dict[str, Any] = {"stop": "15 ms"} if lab.quick else {}
    small = lab.runs("writes", changes={**quick, "topology.access.mtu": 1088})
    large = lab.runs("writes", changes=quick)
    two = {**quick, "schemes.swift.endpoint_target": "100 us"}
    table: dict[str, Runs] = {"swift": lab.runs("table4", changes=two)}
    for target in ("100 us", "200 us"):
        table[target] = lab.runs("table4", changes={**quick, "schemes.swift.target": target})
    beside = lab.runs("colocated", changes=two)
    alone = lab.runs("colocated", changes={**quick, "schemes.swift.target": "100 us"})
    yield Measured("windows.small", small.values(lambda result: _median(result, "ecwnd") / _median(result, "fcwnd")))
    yield Measured("windows.large", large.values(lambda result: _median(result, "fcwnd") / _median(result, "ecwnd")))
    yield Measured("delay.small", small.values(_delay))
    yield Measured("table4.throughput", gain(table["100 us"].values(_throughput), table["swift"].values(_throughput)))
    yield Measured("table4.rtt", gain(table["swift"].values(_rtt), table["200 us"].values(_rtt)))
    yield Measured("colocated", gain(alone.values(_busy), beside.values(_busy)))
    yield Measured("colocated.share", gain(beside.values(_idle), beside.values(_busy)))


def _series(result: Result, metric: str) -> np.ndarray:
    series = result.series.to_pandas()
    kept = (series.metric == metric) & (series.time_s > WARM)
    return np.asarray(series[kept].value)


def _median(result: Result, window: str) -> float:
    return float(np.median(_series(result, f"{window}_packets")))


def _delay(result: Result) -> float:
    return float(np.mean(_series(result, "endpoint_delay_s")))


def _throughput(result: Result) -> float:
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == "r0") & (ports.peer == "h0")].utilisation.iloc[0])


def _rtt(result: Result) -> float:
    return float(result.flows.to_pandas().rtt_mean_s.mean())


def _of(result: Result, group: str) -> float:
    flows = result.flows.to_pandas()
    return float(flows[flows.group.astype(str) == group].delivered_bytes.sum())


def _busy(result: Result) -> float:
    return _of(result, "busy")


def _idle(result: Result) -> float:
    return _of(result, "idle")
