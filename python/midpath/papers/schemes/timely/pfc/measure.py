"""Short messages' tail beside flows of TIMELY, and beside flows that PFC alone holds back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.papers.schemes.common import gain
from midpath.result import Result
from midpath.result.series import ratio

# Payload of a full packet, and its bytes on the wire.
PAYLOAD, PACKET = 1448, 1500


def measure(lab: Lab) -> Iterator[Measured]:
    """Both schemes over the same fabric."""
    changes = {"stop": "70 ms", "workload[0].until": "70 ms"} if lab.quick else None
    timely = lab.runs("incast", changes=changes)
    alone = lab.runs("incast", scheme="fixed-window", changes=changes)
    yield Measured("tail", gain(timely.values(_tail), alone.values(_tail)))
    yield Measured("rate", timely.values(_rate))
    yield Measured("rate.pfc", alone.values(_rate))
    yield Measured("tail.timely", timely.values(_tail))
    yield Measured("tail.pfc", alone.values(_tail))
    yield Measured("lost", [float(result.ports["drops_queue"].to_numpy().sum()) for result in timely])


def _tail(result: Result) -> float | None:
    """The 99th percentile of what a message takes; each flow has had time to settle."""
    flows = result.flows.to_pandas()
    took = flows[flows.group.astype(str) == "messages"].fct_s.dropna()
    return float(np.quantile(took, 0.99)) if len(took) else None


def _rate(result: Result) -> float | None:
    """Payload of the ten flows over what the link can carry of it."""
    flows = result.flows.to_pandas()
    long = flows[flows.group.astype(str) != "messages"]
    carried = 8 * float(long.delivered_bytes.sum()) / float(result.run["simulated_s"])
    return ratio(carried, 10e9 * PAYLOAD / PACKET)
