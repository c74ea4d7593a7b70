"""Runs as rows: medians and ranges of the repeats."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from midpath.compare.comparison import Comparison
from midpath.units import digits

# Key of the summary, head, what to divide by. Signals are the AQM's decisions, CE and ECE what the router wrote, echoed
# the packets that their senders were told of. "Waited" is how long signals waited in registers for an ACK to mark; then
# they are half a round trip between router and sender away from it.
COLUMNS = (
    ("goodput_total_bps", "Goodput Mbps", 1e6),
    ("queue_delay_p50_s", "Sojourn p50 ms", 1e-3),
    ("queue_delay_p99_s", "p99 ms", 1e-3),
    ("rtt_mean_s", "RTT ms", 1e-3),
    ("jain_goodput", "Jain", 1.0),
    ("signals", "Signals", 1.0),
    ("marks", "CE", 1.0),
    ("marks_back", "ECE", 1.0),
    ("signal_wait_s", "Waited ms", 1e-3),
    ("echoed_packets", "Echoed", 1.0),
    ("lost_packets", "Drops", 1.0),
    ("afct_s", "Short FCT ms", 1e-3),
)
HEADS = ("", *(head for _, head, _ in COLUMNS))


def rows(found: Comparison) -> list[dict[str, Any]]:
    """One row a scheme: of each figure `median`, `min`, `max`; null where there is none."""
    return [
        {"scheme": scheme} | {key: spread(found.values(scheme, key)) for key, _, _ in COLUMNS}
        for scheme in found.schemes
    ]


def spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Median and range of what there is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"median": statistics.median(known), "min": min(known), "max": max(known)}


def cells(found: Comparison) -> list[list[str]]:
    """The same as text."""
    return [[row["scheme"], *(cell(row[key], divisor) for key, _, divisor in COLUMNS)] for row in rows(found)]


def cell(value: dict[str, float] | None, divisor: float = 1.0) -> str:
    """`93.1 (92.8–93.2)`; without a range where there was one run, or all were alike."""
    if value is None:
        return "–"
    median, low, high = (digits(value[key] / divisor) for key in ("median", "min", "max"))
    return median if low == high else f"{median} ({low}–{high})"
