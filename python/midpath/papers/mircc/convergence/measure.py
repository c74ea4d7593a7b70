"""Settling times and overshoot after each arrival and departure, MIRCC beside RCP's update."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.lab import Lab, Measured
from midpath.papers.mircc.common import ETA, rates, rcp, settled
from midpath.result import Result

LINK, RTT, SPAN = ETA * 10e6, 0.06, 10.0
# When, the flows that are there from then on, and by when all have started. Flows are numbered by their start.
EVENTS = {
    "join.1": (10.0, 2, 0.05),
    "join.2": (20.0, 4, 0.05),
    "join.4": (30.0, 8, 0.05),
    "leave.4": (40.0, 4, 0.0),
    "leave.3": (50.0, 1, 0.0),
}
UPDATES = ("0.4-0.4", "0.4-0.226", "0.1-1")


def measure(lab: Lab) -> Iterator[Measured]:
    """Both figures of each event, for each update."""
    runs = {"mircc": lab.runs("dumbbell")}
    runs |= {update: lab.runs("dumbbell", changes=rcp(update), label=f"rcp-{update}") for update in UPDATES}
    for update, found in runs.items():
        for event in EVENTS:
            values = [after(result, event) for result in found]
            yield Measured(f"settled.{event}.{update}", [settling for settling, _ in values])
            yield Measured(f"overshoot.{event}.{update}", [over for _, over in values])


def after(result: Result, event: str) -> tuple[float, float]:
    """RTTs until all rates have settled, and the largest sum of rates over ηC, less one."""
    at, flows, late = EVENTS[event]
    times, values = rates(result, range(flows))
    # A flow that has not begun has no rate yet.
    present = np.nan_to_num(values)
    settling = settled(times, present, LINK / flows, 0.1, at + late, at + SPAN)
    total = present.sum(axis=0)[(times > at + late) & (times <= at + SPAN)]
    return settling / RTT, max(0.0, float(total.max() / LINK - 1.0))
