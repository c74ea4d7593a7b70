"""Figure 21: multicast congestion control."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fair import Flow, proportional
from midpath.papers.fcp.common import flow
from midpath.papers.lab import Lab, Measured
from midpath.result.series import mean

LINKS = {"1": 10e6, "2": 20e6, "3": 40e6}
FLOWS = {
    "multicast": Flow(1.0, ["1", "2", "3"]),
    "unicast 1": Flow(1.0, ["1"]),
    "unicast 2": Flow(1.0, ["2"]),
    "unicast 3": Flow(1.0, ["3"]),
}
ENDS = {"multicast": ("root", "d1"), "unicast 1": ("u1", "d1"), "unicast 2": ("u2", "d2"), "unicast 3": ("u3", "d3")}
PHASES = {
    "alone": (("multicast",), 1.5, 2.0),
    "one": (("multicast", "unicast 1"), 2.3, 2.5),
    "all": (tuple(FLOWS), 5.0, 6.0),
}


def measure(lab: Lab) -> Iterator[Measured]:
    """Sending rates in three phases."""
    runs = lab.runs("multicast")
    for phase, (present, begin, end) in PHASES.items():
        fair = proportional(LINKS, {name: FLOWS[name] for name in present})
        for name in present:
            values = [mean(r, flow(r, *ENDS[name]), "rate_bps", begin, end) for r in runs]
            yield Measured(f"{phase}.{name}", values, bound=fair[name])
