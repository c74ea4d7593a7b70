"""Estimates for more flows than can be simulated at packet level: the fluid model of all flows, corrected by a
short packet-level run.

The run's first flows, the pilot, are run in both models. The pilot's ratio of packet to fluid times is applied to
similar flows (`carry`). The error was measured on random scenarios, in units of the disagreement between parts of
the pilot, and with a pilot of half its flows (`bands`). Pilots grow until bands are narrow, or until they are a
quarter of the run; if the band is then wider than 30 %, no figure is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from midpath.errors import UsageError
from midpath.estimate import bands
from midpath.estimate.bands import NARROW, WIDEST, Band
from midpath.estimate.carry import Carried, carried
from midpath.estimate.pilots import Flows, cut, pilot_of, require_drawn, size_of
from midpath.metrics import IDEAL
from midpath.run import One, as_names, as_scenario, run
from midpath.scenario import Scenario

# A workload is cut off after so many flows: some minutes on a fat-tree of 1,024 hosts.
MOST = 500_000
# Flows of the first pilot, and the share of all flows that the last one has at most.
PILOT, SHARE = 1_000, 0.25
# A tail of fewer flows is none.
FEWEST = 100
# Bands were measured on runs of so many flows or more.
MEASURED = 4_000


@dataclass(frozen=True)
class Figure:
    """An estimate in seconds, with what packets would say with a chance of 95 %; `refused` says why there is none."""

    figure: str
    value: float | None
    low: float | None
    high: float | None
    refused: str = ""


@dataclass(frozen=True)
class Estimates:
    """What one scheme would come to on a scenario, from a pilot of so many flows."""

    scheme: str
    flows: int
    pilot: int
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As the command prints it."""
        return asdict(self)


def estimate(
    scenario: One,
    schemes: Iterable[str] | str,
    *,
    flows: int = MOST,
    pilot: int = PILOT,
    share: float = SHARE,
    seed: int | None = None,
    at: Callable[[str], object] = lambda _: None,
) -> list[Estimates]:
    """Estimates the completion times of a scenario under each scheme, in seconds.

    The fluid runs the first `flows` flows of each workload once; where the run has more, bands allow for those. Packets
    run the first `pilot` flows of these under each scheme, then twice as many, and so on, twice at least, until all
    bands are narrow or the next pilot would be more than `share` of the whole. `at` is called with each step that
    begins.

    Raises `UsageError` for a scheme without a band, and for what a short run does not tell of: faults, links that vary,
    single flows, lists, flows that start all at once, workloads that start at different times.
    """
    if pilot < FEWEST or not 0 < share <= 1:
        raise UsageError(f"a pilot needs at least {FEWEST} flows, and a share above 0 and at most 1")
    uncut, names = as_scenario(scenario).with_(seed=seed), as_names(schemes)
    asked = cut(uncut, flows)
    require_drawn(asked)
    require_measured(names)
    at("all flows in the fluid model")
    whole = Flows.from_result(run(asked.with_(scheme=IDEAL)))
    pilot = min(pilot, int(share * whole.fct.size / 2))
    if pilot < FEWEST:
        raise UsageError(
            f"half of {share:.0%} of {whole.fct.size:,} flows is too few for a pilot: run all at packet level"
        )
    size = size_of(uncut, whole, flows)
    notes = tuple(_notes(whole.fct.size, size))
    return [
        Estimates(name, whole.fct.size, *_grown(asked, name, whole, size, pilot, share, at), notes) for name in names
    ]


def require_measured(names: Iterable[str]) -> None:
    """Refuses schemes that nothing was measured under."""
    known = bands.schemes()
    for one in names:
        if one not in known:
            raise UsageError(f"{one} has no band: estimation errors were measured for {', '.join(known)}")


def _grown(
    asked: Scenario, scheme: str, whole: Flows, size: float, count: int, share: float, at: Callable[[str], object]
) -> tuple[int, tuple[Figure, ...]]:
    """Of one scheme, from pilots that grow: the last one's flows, and the figures."""

    def told() -> Carried:
        at(f"{scheme}: {count:,} flows at packet level")
        return carried(whole, pilot_of(asked, scheme, whole, count), size)

    last = told()
    while True:
        former, count = last, 2 * count
        last = told()
        found = bands.of(former, last, bands.measured())
        enough = all(isinstance(one, Band) and one.width <= NARROW for one in found.values())
        if enough or 2 * count > share * whole.fct.size:
            more = "--flows or --share" if size > whole.fct.size else "--share"
            return count, tuple(_figure(name, one, more) for name, one in found.items())


def _figure(name: str, band: Band | str, more: str) -> Figure:
    if isinstance(band, str):
        return Figure(name, None, None, None, band)
    if band.width > WIDEST:
        return Figure(name, None, None, None, f"the band is {band.width:.0%} wide: a larger {more} narrows it")
    return Figure(name, band.value, band.low, band.high)


def _notes(seen: int, size: float) -> Iterator[str]:
    if seen < size:
        whole = f"of {size:,.0f}" if math.isfinite(size) else "of more"
        yield f"from the first {seen:,} {whole} flows: bands allow for the others"
    if seen < MEASURED:
        yield f"{seen:,} flows, but bands were measured on runs of {MEASURED:,} or more: fewer than 95 % may lie inside"
