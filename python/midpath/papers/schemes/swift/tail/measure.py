"""Short RPCs' tail where long flows fill the server's link."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.papers.schemes.common import gain
from midpath.result import Result


def measure(lab: Lab) -> Iterator[Measured]:
    """Swift, and DCTCP beside it, whose ports mark from 65 packets on."""
    changes = {"stop": "16 ms", "workload[0].until": "15 ms"} if lab.quick else {}
    swift = lab.runs("star", changes=changes)
    step = {"queue.kind": "step", "queue.threshold": "65 packets"}
    dctcp = lab.runs("star", scheme="dctcp", changes={**changes, **step})
    yield Measured("tail", swift.values(_tail))
    yield Measured("used", swift.values(_used))
    yield Measured("lost", [float(result.ports["drops_queue"].to_numpy().sum()) for result in swift])
    yield Measured("tail.dctcp", gain(swift.values(_tail), dctcp.values(_tail)))


def _tail(result: Result) -> float | None:
    """The 99th percentile; one that has not ended counts with the time that it had."""
    flows = result.flows.to_pandas()
    short = flows[flows.group.astype(str) == "short"]
    took = short.fct_s.fillna(float(result.run["simulated_s"]) - short.start_s)
    return float(np.quantile(took, 0.99)) if len(took) else None


def _used(result: Result) -> float:
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == "r0") & (ports.peer == "h0")].utilisation.iloc[0])
