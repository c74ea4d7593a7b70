"""Shares, idle time and queues as flows join and leave."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.lab import Lab, Measured
from midpath.papers.schemes.common import gain
from midpath.result import Result
from midpath.result.series import mean, series
from midpath.stats import jain

STEP, FLOWS = 2e-3, 5
# How long after a flow has ended, or begun, is looked at.
AFTER, LOOK = 600e-6, 800e-6
PORT = "port:x>y"
# What is off in the variants of `leaves`.
VARIANTS = {"idle": (), "idle.neither": ("sm", "pru"), "idle.no_pru": ("pru",), "idle.no_sm": ("sm",)}


def measure(lab: Lab) -> Iterator[Measured]:
    """Each of the three scenarios."""
    shares = lab.runs("fairness")
    left = {
        name: lab.runs("leaves", changes={f"schemes.bolt.{key}": False for key in off}, label=name)
        for name, off in VARIANTS.items()
    }
    joined = lab.runs("joins")
    swift = lab.runs("joins", scheme="swift", changes={"deploy": []})
    yield Measured("fairness.jain", [min(_jain(result, k) for k in range(2 * FLOWS - 1)) for result in shares])
    yield Measured("fairness.use", [min(_use(result, k) for k in range(2 * FLOWS - 1)) for result in shares])
    for name, runs in left.items():
        yield Measured(f"leaves.{name}", runs.values(_idle))
    yield Measured("joins.sooner", gain(swift.values(_drained), joined.values(_drained)))


def _half(k: int) -> tuple[float, float]:
    """The second half of a step."""
    return (k + 0.5) * STEP, (k + 1) * STEP


def _jain(result: Result, k: int) -> float:
    """Jain's index of the flows that are there."""
    there = range(max(0, k - FLOWS + 1), min(k + 1, FLOWS))
    return jain([mean(result, f"flow:{i}", "goodput_bps", *_half(k)) or 0.0 for i in there])


def _use(result: Result, k: int) -> float:
    return mean(result, PORT, "utilisation", *_half(k)) or 0.0


def _idle(result: Result) -> float:
    """How long the link is idle after the first of two flows has ended."""
    flows = result.flows.to_pandas()
    ended = float((flows.start_s + flows.fct_s).min())
    return AFTER * (1 - (mean(result, PORT, "utilisation", ended, ended + AFTER) or 0.0))


def _drained(result: Result) -> float:
    """How long after its start a second flow's queue is below half of its peak for good."""
    began = float(result.flows.to_pandas().start_s.max())
    times, waiting = series(result, PORT, "queue_bytes")
    chosen = (times > began) & (times <= began + LOOK)
    most = waiting[chosen].max()
    return float(times[chosen & (waiting > most / 2)].max()) - began
