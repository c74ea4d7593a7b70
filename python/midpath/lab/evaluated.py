"""Linux's TCPs as subjects of `midpath evaluate` (`linux:cubic`): all flows of a run are user-mode Linux's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from midpath.errors import ScenarioError
from midpath.evaluate.found import Evaluation
from midpath.evaluate.platform import Platform
from midpath.evaluate.scenes import MTU
from midpath.lab import kernel, machine, real
from midpath.lab.beside import is_within
from midpath.lab.congestion import KERNEL
from midpath.lab.guest import PATIENCE_S
from midpath.result import Result
from midpath.run.key import file_digest
from midpath.scenario import Scenario
from midpath.units import quantity

# How near the simulator's means have to be to Linux's, fixed before the first run: docs/lab.md's margins of `--vs-sim`.
# A rate, and a time that flows take: a tenth.
RATE, TIME = ("bps", 0.1, 0.0), ("seconds", 0.1, 0.0)
# A queue: three tenths, or a millisecond. Losses: half, or 0.2 points.
WAIT, LOSS = ("seconds", 0.3, 1e-3), ("ratio", 0.5, 2e-3)
# One flow's share among others, which chance moves more, and a flow whose packets overtake each other.
SHARE = ("bps", 0.3, 0.0)
MARGINS = {
    ("5.1.1", "sent while nothing comes back, from 5 s on"): ("bytes", 0.5, 3.0 * MTU),
    ("5.1.1", "packets sent over TCP's"): ("count", 0.5, 0.0),
    ("5.1.2", "mean wait over TCP's"): WAIT,
    ("5.1.2", "least wait of any 5 s"): WAIT,
    ("5.1.4", "Jain's index over TCP's"): ("ratio", 0.0, 0.1),
    ("5.1.4", "the late flow's rate over TCP's, 20 to 60 s later"): SHARE,
    ("5.1.4", "the far flow's rate over TCP's"): SHARE,
    ("5.1.5", "short flows' completion over TCP's"): TIME,
    ("5.1.5", "the long flow's rate over TCP's"): RATE,
    ("7.4", "rate over TCP's"): RATE,
    ("7.4", "loss above TCP's"): LOSS,
    ("7.4", "bytes back per byte over TCP's"): ("times", 0.3, 0.0),
    ("7.5", "rate over TCP's"): RATE,
    ("7.5", "loss above TCP's"): LOSS,
    ("7.7", "rate over its own in order"): SHARE,
    ("7.9", "rate over TCP's on the other path"): RATE,
    ("7.9", "rate over TCP's back again"): RATE,
    ("7.9", "its packets lost above TCP's"): LOSS,
}
# A guest says by itself why it has not ended.
LIMIT_S = PATIENCE_S + 60.0


def linux() -> Platform:
    """Linux 6.1, if it is built here; else an error says how to get it."""
    digest = file_digest(Path(machine.program("midpath-lab")))[:16]
    return Platform(
        "Linux 6.1",
        f"{kernel.find() and kernel.version()} {digest}",
        tuple(KERNEL),
        run,
        cannot,
        "midpath lab {file} --virtual --out run  # measure.pcap in the file: captures",
        has_references=True,
        limit_s=LIMIT_S,
    )


def run(scenario: Scenario) -> Result:
    """Runs one in a guest."""
    return real.run(scenario, _laboratory())


def cannot(scenario: Scenario) -> str:
    """The first key that the laboratory refuses, with the reason."""
    try:
        _laboratory().prepare(scenario)
    except ScenarioError as error:
        return error.told
    return ""


@cache
def _laboratory() -> real.Laboratory:
    return real.Laboratory(machine.program("midpath-lab"), None, linux=kernel.find())


@dataclass(frozen=True)
class Agreement:
    """What a measure is of, in Linux and in the simulator: means over the same seeds."""

    item: str
    measure: str
    case: str
    scheme: str
    kind: str
    margin: str
    linux: float
    simulated: float
    is_within: bool


def agreements(found: Evaluation) -> Iterator[Agreement]:
    """Of all schemes that were evaluated in both, in cases that have a margin."""
    names = {about["name"]: title for title, about in found.told["schemes"].items()}
    for name, title in names.items():
        scheme = name.removeprefix("linux:")
        if scheme == name or scheme not in names:
            continue
        for item in found.told["items"]:
            measured, simulated = (found.row(item, one)["measures"] for one in (title, names[scheme]))
            for one, other in zip(measured, simulated, strict=True):
                yield from _agreement(item, names[scheme], one, other)


def _agreement(item: str, scheme: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Agreement]:
    if (margin := MARGINS.get((item, one["measure"]))) is None:
        return
    kind, share, least = margin
    said = " or ".join([*([f"{share:.0%}"] if share else []), *([quantity(kind, least)] if least else [])])
    for case, values in one["figures"].items():
        a, b = (sum(v) / len(v) for v in (values, other["figures"][case]))
        yield Agreement(item, one["measure"], case, scheme, kind, said, a, b, is_within(a, b, share, least))
