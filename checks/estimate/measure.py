"""How far estimates are from whole packet runs, on random scenarios.

    python checks/estimate/measure.py KEEP --first 1 --scenarios 80 --fit        # writes errors.json
    python checks/estimate/measure.py KEEP --first 700001 --scenarios 73         # prints RESULTS.md

What the file KEEP has is not run again. Pilots have an eighth and a quarter of the whole run's flows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import draw
import numpy as np

from midpath import __version__
from midpath.estimate import SHARE, bands
from midpath.estimate.bands import WIDEST, Band, Errors
from midpath.estimate.carry import FIGURES, Carried, carried, figures
from midpath.estimate.pilots import Flows, pilot_of
from midpath.matched import FIGURES as OF_FLOWS
from midpath.metrics import IDEAL
from midpath.run import run

sys.path.append(str(Path(__file__).parents[1]))
import scenes

ERRORS = Path(__file__).parents[2] / "python/midpath/estimate/errors.json"
WIDE = "the band is too wide"
# Why a figure is refused, as the command begins to say it, and as the page does.
REASONS = {"flows do not end": "endless", "slower": "beyond the pilot", WIDE: "too wide"}
By = Mapping[str, Errors]


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


def make(number: int) -> Found:
    """Runs a scenario and its pilots."""
    asked, scheme = draw.scenario(number), draw.scheme_of(number)
    whole, packets = (Flows.of(run(asked.with_(scheme=one))) for one in (IDEAL, str(asked.scheme)))
    counts = [math.floor(whole.fct.size * SHARE / 2) * times for times in (1, 2)]
    pilots = [asdict(carried(whole, pilot_of(asked, str(asked.scheme), whole, count))) for count in counts]
    return Found(scheme, truth(packets), pilots)


def truth(packets: Flows) -> dict[str, float]:
    """The whole run's figures, as the command `midpath run` has them; infinite where those flows do not end."""
    if np.isfinite(packets.fct).all():
        return {name: float(OF_FLOWS[name][1](packets.fct)) for name in FIGURES}
    return dict(zip(FIGURES, map(float, figures(packets.fct)), strict=True))


def fit(every: Sequence[Found]) -> str:
    """What ships."""
    found = {}
    for name in FIGURES:
        errors = [error for one in every if (error := one.error(name)) is not None]
        found[name] = {key: round(value, 4) for key, value in asdict(Errors.of(errors)).items()}
    return json.dumps({"midpath": __version__, "share": SHARE, "figures": found}, indent=1) + "\n"


def page(every: Sequence[Found], numbers: range) -> Iterator[str]:
    """The held-out scenarios against the bands."""
    by = bands.measured()
    yield "# Estimates beside packet runs that no band had seen\n"
    yield f"Midpath {__version__}, scenarios {numbers[0]} to {numbers[-1]}, written by"
    yield "`python checks/estimate/measure.py`. Fixed before the first run: of what is answered (a band above"
    yield f"{WIDEST:.0%} is refused) 90 % lies in its 95 % band; 70 % of figures are answered; half of those bands"
    yield "are at most 20 % wide.\n"
    yield "Packets ran an eighth and a quarter of the flows. The last columns say why figures are refused.\n"
    yield scenes.head(["scheme", "figure", "scenarios", "answered", "in the band", "median width", *REASONS.values()])
    for figure in FIGURES:
        yield scenes.row(["all", figure, *_shares([(one, figure) for one in every], by)])
    yield scenes.row(["all", "all", *_shares([(one, figure) for one in every for figure in FIGURES], by)])
    for scheme in draw.SCHEMES:
        own = [(one, figure) for one in every if one.scheme == scheme for figure in FIGURES]
        if own:
            yield scenes.row([scheme, "all", *_shares(own, by)])


def _shares(asked: Sequence[tuple[Found, str]], by: By) -> list[str]:
    every = [(one.packets[figure], one.band(figure, by)) for one, figure in asked]
    refused = [str(sum(isinstance(band, str) and why in band for _, band in every)) for why in REASONS]
    said = [(packets, band) for packets, band in every if isinstance(band, Band)]
    if not said:
        return [str(len(asked)), "none", "", "", *refused]
    inside = sum(band.low <= packets <= band.high for packets, band in said) / len(said)
    width = float(np.median([band.width for _, band in said]))
    return [str(len(asked)), f"{len(said)}, {len(said) / len(asked):.0%}", f"{inside:.0%}", f"{width:.0%}", *refused]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keep", type=Path)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.scenarios)
    keys = [(number,) for number in numbers]
    every = list(scenes.runs(keys, make, Found, asked.jobs, 1, asked.keep))
    if asked.fit:
        ERRORS.write_text(fit(every), encoding="utf-8")
    else:
        print("\n".join(page(every, numbers)))


if __name__ == "__main__":
    main()
