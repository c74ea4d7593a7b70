"""BBR's goodput over CUBIC's, and the link that they share, over buffers of half a BDP to sixteen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath.papers.lab import Lab, Measured
from midpath.result import Result

BUFFERS = (0.5, 1, 2, 4, 8, 16)
# Rate in Mbps and round trip in ms.
PATHS = ((20, 40), (100, 20))


def measure(lab: Lab) -> Iterator[Measured]:
    """Each buffer, then the extremes of all."""
    runs = {
        (rate, rtt, bdps): lab.runs("dumbbell", changes=_changes(rate, rtt, bdps, lab.quick), label=f"{rate}-{bdps:g}")
        for rate, rtt in PATHS
        for bdps in BUFFERS
    }
    ratios = {(rate, bdps): found.values(_ratio) for (rate, _, bdps), found in runs.items()}
    for (rate, bdps), values in ratios.items():
        yield Measured(f"ratio.{rate}.{bdps:g}", values)
    named = {f"{rate} Mbps, {bdps:g} BDP": values for (rate, bdps), values in ratios.items()}
    yield Measured("ratio.least", named)
    yield Measured("ratio.most", named, most=True)
    used = {f"{rate} Mbps, {bdps:g} BDP": found.values(_used) for (rate, _, bdps), found in runs.items()}
    yield Measured("used.least", used)


def _changes(rate: int, rtt: int, bdps: float, quick: bool) -> dict[str, Any]:
    return {
        "topology.bottleneck": {"rate": f"{rate} Mbps", "delay": f"{rtt / 2 - 2:g} ms"},
        "queue.limit": f"{int(bdps * rate * rtt * 125)} B",
        "stop": "3 s" if quick else "90 s",
    }


def _ratio(result: Result) -> float | None:
    flows = result.flows.to_pandas()
    got = flows.delivered_bytes.groupby(flows.scheme.astype(str)).sum()
    return float(got["bbr"] / got["cubic"]) if got["cubic"] else None


def _used(result: Result) -> float:
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == "r0") & (ports.peer == "r1")].utilisation.iloc[0])
