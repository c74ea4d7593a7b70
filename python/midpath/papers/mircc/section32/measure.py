"""§3.2: utilisation and completion times of both updates, and how long feedback takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import rcp
from midpath.result import Result
from midpath.result.series import ratio, series

RTT, FAULT = 0.12, 10.0
# Below half the rate of before, above that of after.
HEARD = 5e6
# Which link becomes slower; in the middle all three have 20 ms.
PLACES: dict[str, dict[str, Any]] = {
    "near": {"fault[0].link": ["n0", "n1"]},
    "middle": {"fault[0].link": ["n1", "n2"]} | {f"topology.links[{i}].delay": "20 ms" for i in range(3)},
    "far": {"fault[0].link": ["n2", "n3"]},
}


def measure(lab: Lab) -> Iterator[Measured]:
    """MIRCC beside RCP's update, and the consumer's lag beside IP RCP's."""
    runs = {
        "mircc": lab.runs("objects"),
        "rcp": lab.runs("objects", changes=rcp("0.4-0.4"), label="rcp"),
    }
    ideal = lab.runs("objects", scheme="ideal")
    lags = {place: lab.runs("step", changes=changes, label=place) for place, changes in PLACES.items()}
    backwards = {place: lab.runs("step", scheme="rcp", changes=PLACES[place], label=place) for place in ("near", "far")}
    pairs = zip(runs["mircc"], runs["rcp"], strict=True)
    yield Measured("utilisation", [utilisation(ours) - utilisation(theirs) for ours, theirs in pairs])
    afct = {name: found.summary("afct_s") for name, found in {**runs, "ideal": ideal}.items()}
    yield Measured("fct", list(map(ratio, afct["mircc"], afct["rcp"])))
    yield Measured("fct.short", list(map(ratio, _short(runs["mircc"]), _short(runs["rcp"]))))
    yield Measured("fct.ideal", list(map(ratio, afct["mircc"], afct["ideal"])))
    for place, found in lags.items():
        yield Measured(f"feedback.{place}", found.values(lambda result: (_heard(result, "flow:0") - FAULT) / RTT))
    # Data go from n3 to n0, so that the far link is the one beside IP RCP's sender.
    for place, end, port in (("near", "far", "n3>n2"), ("far", "near", "n1>n0")):
        yield Measured(f"feedback.rcp.{place}", [lag(result, port) for result in backwards[end]])


def utilisation(result: Result) -> float:
    """Data on the first link until the last object has come, as a share of it."""
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == "n1") & (ports.peer == "n0")].utilisation.iloc[0])


def _short(runs: Runs) -> list[float | None]:
    """Mean completion time of the short objects."""
    found: list[float | None] = []
    for result in runs:
        flows = result.flows.to_pandas()
        found.append(float(flows[flows.group == "short"].fct_s.mean()))
    return found


def _heard(result: Result, entity: str) -> float:
    """When a rate has come down."""
    times, values = series(result, entity, "rate_bps")
    return float(times[np.flatnonzero((times > FAULT) & (values < HEARD))[0]])


def lag(result: Result, port: str) -> float:
    """RTTs from the fall of a router's rate until the sender's has fallen, too."""
    return (_heard(result, "flow:0") - _heard(result, f"port:{port}")) / RTT
