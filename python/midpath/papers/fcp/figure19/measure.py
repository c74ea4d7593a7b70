"""Figure 19: background flows."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.fair import Flow, proportional
from midpath.papers.fcp.common import rate
from midpath.papers.lab import Lab, Measured
from midpath.result.series import ratio

LINKS = {"1": 50e6, "2": 100e6}
# A background flow's share of its host's budget (§6.2).
SMALL = 1e-4
FLOWS = {
    "0": Flow(1.0, ["1", "2"]),
    "1": Flow(1.0, ["1"]),
    "2": Flow(SMALL, ["2"]),
    "3": Flow(1.0, ["2"]),
}
# Who is there, from when to when it is settled.
PHASES = {
    "alone": (("0",), 1.5, 2.0),
    "shared": (("0", "1"), 3.0, 5.0),
    "background": (("0", "1", "2"), 7.0, 10.0),
    "full": (("0", "1", "2", "3"), 12.0, 15.0),
}


def measure(lab: Lab) -> Iterator[Measured]:
    """Each flow's rate in each phase."""
    runs = lab.runs("background")
    ours = {}
    for phase, (present, begin, end) in PHASES.items():
        fair = proportional(LINKS, {name: FLOWS[name] for name in present})
        for name in present:
            ours[phase, name] = [rate(result, f"flow {name}", begin, end) for result in runs]
            yield Measured(f"{phase}.{name}", ours[phase, name], bound=fair[name])
    pairs = zip(ours["background", "0"], ours["shared", "0"], strict=True)
    yield Measured("unmoved", [ratio(after, before) for after, before in pairs], bound=1.0)
