"""An answer for more flows than packets can be simulated for: the fluid of all of them, corrected by short packet runs.

Pilots, short runs with other seeds, go by the fluid and by packets. How much longer flows take by packets, times the
fluid's figure of the whole run, is the estimate. How far it is off was measured on random scenarios, in units of what
the pilots disagree by (`bands`). Where the band is wider than 30 % no figure is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from midpath.errors import UsageError
from midpath.estimate import bands
from midpath.estimate.bands import WIDEST
from midpath.estimate.pilots import FIGURES, Told, cut, figures, fluid_of, packets_of, require_drawn, seeds, told
from midpath.metrics import IDEAL
from midpath.run import One, as_names, as_scenario, run

# A workload is cut off after so many flows: some ten minutes of the fluid on a fat-tree of 1,024 hosts.
MOST = 500_000
# Flows of each workload in a pilot, and pilots.
PILOT = 1_000
PILOTS = 8
# A tail of fewer flows is none; what pilots disagree by is nothing without some.
FEWEST, FEWEST_PILOTS = 100, 4


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
    """What one scheme would come to on a scenario."""

    scheme: str
    flows: int
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
    pilots: int = PILOTS,
    seed: int | None = None,
) -> list[Estimates]:
    """Estimates the completion times of a scenario under each scheme, in seconds.

    The fluid runs the first `flows` flows of each workload once. Packets run its first `pilot` flows, with `pilots`
    other seeds, under each scheme. Raises `UsageError` for what a short run does not tell of: faults, links that vary,
    single flows, lists, flows that start all at once.
    """
    if pilot < FEWEST or flows < pilot:
        raise UsageError(f"a pilot has {FEWEST} flows or more, and no more than the whole run")
    if pilots < FEWEST_PILOTS:
        raise UsageError(f"an estimate needs {FEWEST_PILOTS} pilots or more")
    asked, names = as_scenario(scenario).with_(seed=seed), as_names(schemes)
    require_drawn(asked)
    whole = run(cut(asked, flows).with_(scheme=IDEAL))
    fluid_figures = figures(whole)
    drawn = seeds(asked, pilots)
    fluid = [fluid_of(asked, pilot, one) for one in drawn]
    notes = tuple(_notes(whole.summary, flows))
    found = []
    for name in names:
        packets = [packets_of(asked, name, pilot, one) for one in drawn]
        every = tuple(_figures(fluid_figures, told(fluid_figures, fluid, packets)))
        found.append(Estimates(name, whole.summary["flows"], every, notes))
    return found


def _figures(fluid: dict[str, float], told: Told) -> Iterator[Figure]:
    for name in FIGURES:
        if refused := bands.silent(told, name):
            yield Figure(name, None, None, None, refused)
            continue
        band = bands.band(fluid[name], told.logs[name], bands.measured()[name])
        if band.width > WIDEST:
            yield Figure(name, None, None, None, f"the band is {band.width:.0%} wide: more or longer pilots narrow it")
        else:
            yield Figure(name, band.value, band.low, band.high)


def _notes(summary: dict[str, Any], flows: int) -> Iterator[str]:
    if summary["flows"] >= flows:
        yield f"of each workload the first {flows:,} flows at most"
