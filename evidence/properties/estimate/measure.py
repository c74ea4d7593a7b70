"""How far estimates are from whole packet runs, on random scenarios: what `draw.py` says.

Pilots have an eighth and a quarter of the whole run's flows. Fixed before the first run: of what is answered (a band
above 30 % is refused) 90 % lies in its 95 % band; 70 % of figures are answered; half of those bands are at most 20 %
wide.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from estimate import draw
from harness import Row, Suite, crashes, ended

from midpath import Result, markdown
from midpath.estimate import SHARE, bands, carry, pilots
from midpath.estimate.bands import WIDEST, Band, Errors
from midpath.estimate.carry import FIGURES, Carried, carried, figures
from midpath.estimate.pilots import Flows, pilot_of
from midpath.matched import FIGURES as OF_FLOWS
from midpath.matched import Floats
from midpath.metrics import IDEAL
from midpath.run import run

WIDE = "the band is too wide"
# Why a figure is refused, as the command begins to say it, and as the page does.
REASONS = {"flows do not end": "endless", "slower": "beyond the pilot", WIDE: "too wide"}
By = Mapping[str, Errors]
# A whole run has so many times the flows of each pilot, the shortest first.
PILOTS = (8, 4)


@dataclass(frozen=True)
class Found:
    """A scenario: its scheme, the packets' figures of the whole run, and what each pilot told, the shortest first."""

    scheme: str
    packets: dict[str, float]
    pilots: list[dict[str, Any]]

    def told(self) -> tuple[Carried, Carried]:
        """What the last two pilots told."""
        former, last = (Carried(**one) for one in self.pilots[-2:])
        return former, last

    def error(self, figure: str) -> float | None:
        """In the band's units; `None` where pilots tell nothing."""
        former, last = self.told()
        if bands.silent(former, last, figure):
            return None
        return (math.log(self.packets[figure]) - last.logs[figure]) / bands.scale(former, last, figure)

    def band(self, figure: str, by: By) -> Band | str:
        """What the command would have said; why it would have refused."""
        found = bands.of(*self.told(), by)[figure]
        return WIDE if isinstance(found, Band) and found.width > WIDEST else found


def judge(number: int, result: Result, scheme: str, _: str, parts: int = 1) -> Found:
    """Beside the run by packets: that of the first of so many parts of it by the fluid, and pilots of these flows."""
    asked, packets = draw.scenario(number, scheme), Flows.from_result(result)
    cut = asked.with_(changes={"workload.0.flows": packets.fct.size // parts})
    whole = Flows.from_result(run(cut.with_(scheme=IDEAL)))
    least = math.floor(whole.fct.size * SHARE / len(PILOTS))
    told = (pilot_of(cut, str(asked.scheme), whole, least * PILOTS[0] // part) for part in PILOTS)
    found = [asdict(carried(whole, one, packets.fct.size)) for one in told]
    return Found(scheme or draw.scheme_of(number), truth(packets.fct), found)


def truth(packets: Floats) -> dict[str, float]:
    """The whole run's figures, as the command `midpath run` has them; infinite where those flows do not end."""
    if np.isfinite(packets).all():
        return {name: float(OF_FLOWS[name][1](packets)) for name in FIGURES}
    return dict(zip(FIGURES, map(float, figures(packets)), strict=True))


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """The held-out scenarios against the bands."""
    by, every = bands.measured(), ended(rows)
    yield "Packets ran an eighth and a quarter of the flows. The last columns say why figures are refused.\n"
    yield markdown.head(["scheme", "figure", "scenarios", "answered", "in the band", "median width", *REASONS.values()])
    for figure in FIGURES:
        yield markdown.line(["all", figure, *_shares([(one, figure) for one in every], by)])
    yield markdown.line(["all", "all", *_shares([(one, figure) for one in every for figure in FIGURES], by)])
    for scheme in dict.fromkeys([*draw.SCHEMES, *(one.scheme for one in every)]):
        own = [(one, figure) for one in every if one.scheme == scheme for figure in FIGURES]
        if own:
            yield markdown.line([scheme, "all", *_shares(own, by)])
    yield from crashes(rows)


def _shares(asked: Sequence[tuple[Found, str]], by: By) -> list[str]:
    every = [(one.packets[figure], one.band(figure, by)) for one, figure in asked]
    refused = [str(sum(isinstance(band, str) and why in band for _, band in every)) for why in REASONS]
    said = [(packets, band) for packets, band in every if isinstance(band, Band)]
    if not said:
        return [str(len(asked)), "none", "", "", *refused]
    inside = sum(band.low <= packets <= band.high for packets, band in said) / len(said)
    width = float(np.median([band.width for _, band in said]))
    return [str(len(asked)), f"{len(said)}, {len(said) / len(asked):.0%}", f"{inside:.0%}", f"{width:.0%}", *refused]


SUITE = Suite(
    "Estimates beside packet runs that no band had seen",
    lambda _, number: number,
    lambda number, scheme, _: draw.scenario(number, scheme).to_toml(),
    judge,
    Found,
    page,
    scenarios=200,
    uses=(carry, pilots),
)
