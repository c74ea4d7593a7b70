"""Display names of columns."""

from __future__ import annotations

from typing import Any

from midpath.metrics import BY_KEY
from midpath.palette import name
from midpath.run.plan import shown

WORDS = {
    "fct_s": "flow completion time",
    "ideal_fct_s": "completion time on an empty path",
    "start_s": "start",
    "time_s": "time",
    "rtt_min_s": "least round-trip time",
    "rtt_mean_s": "mean round-trip time",
    "rtt_max_s": "longest round-trip time",
    "srtt_s": "smoothed round-trip time",
    "cwnd_bytes": "congestion window",
    "size_bytes": "flow size",
    "delivered_bytes": "delivered",
    "goodput_bps": "goodput",
    "rate_bps": "rate",
    "throughput_bps": "throughput",
    "queue_bytes": "queue",
    "queue_mean_bytes": "mean queue",
    "queue_max_bytes": "longest queue",
    "carried_by": "scheme of the flow",
}
ENDS = ("_bps", "_bytes", "_s")


def value_in_words(column: str, value: Any) -> str:
    """A value of a column: schemes have names, and flows numbers that say nothing alone."""
    if column == "scheme":
        return name(str(value))
    if column == "flow":
        return f"flow {shown(value)}"
    return shown(value).replace(">", " → ") if column == "port" else shown(value)


def words(column: str) -> str:
    """`fct_s` is "flow completion time"; of a scenario's key the last two parts: `workload.0.arrivals.load`."""
    if column in WORDS:
        return WORDS[column]
    if column in BY_KEY:
        return BY_KEY[column].label
    last = " ".join([part for part in column.split(".") if not part.isdigit()][-2:])
    for end in ENDS:
        last = last.removesuffix(end)
    return last.replace("_", " ")
