"""Waits and throughput at the one port that all messages go to."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.lab import Lab, Measured
from midpath.result import Result


def measure(lab: Lab) -> Iterator[Measured]:
    """The two schemes for which the artefact's analysis prints numbers."""
    flows = lab.scenario("incast").to_dict()["flow"]
    changes = {"flow": [flow | {"count": 10} for flow in flows]} if lab.quick else None
    runs = {scheme: lab.runs("incast", scheme=scheme, changes=changes) for scheme in ("bolt", "swift")}
    for scheme, found in runs.items():
        yield Measured(f"wait.{scheme}", found.values(_wait))
        yield Measured(f"throughput.{scheme}", found.values(_throughput))
    yield Measured("line_rate", runs["bolt"].values(_throughput))


def _wait(result: Result) -> float:
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == "r0") & (ports.peer == "h0")].delay_p99_s.max())


def _throughput(result: Result) -> float:
    """Payload from the first start to the last end."""
    flows = result.flows.to_pandas()
    took = flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s)
    return 8 * float(flows.delivered_bytes.sum()) / float((flows.start_s + took).max() - flows.start_s.min())
