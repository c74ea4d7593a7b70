"""Two flows that start apart: how unlike their rates stay."""

from __future__ import annotations

from midpath.papers.lab import Lab
from midpath.result import Result
from midpath.result.series import mean

# How much later the second flow starts, in ms.
APART = (0, 1, 10)


def ratios(lab: Lab) -> dict[str, list[float | None]]:
    """The larger rate over the smaller in the second half of a run, by how far apart the starts are."""
    stop = 0.04 if lab.quick else 0.4
    runs = {
        apart: lab.runs(
            "dumbbell", changes={"flow[1].start": f"{apart} ms", "stop": f"{1e3 * stop:g} ms"}, label=f"{apart}"
        )
        for apart in APART
    }
    return {f"{apart} ms apart": found.values(lambda result: _ratio(result, stop)) for apart, found in runs.items()}


def _ratio(result: Result, stop: float) -> float | None:
    rates = [mean(result, f"flow:{flow}", "goodput_bps", stop / 2, stop) for flow in (0, 1)]
    low, high = min(rate or 0.0 for rate in rates), max(rate or 0.0 for rate in rates)
    return high / low if low else None
