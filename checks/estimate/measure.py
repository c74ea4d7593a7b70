"""How far estimates are from whole packet runs, on random scenarios.

    python checks/estimate/measure.py KEEP --first 1 --scenarios 200 --fit       # writes errors.json
    python checks/estimate/measure.py KEEP --first 500001 --scenarios 200        # prints RESULTS.md

What the file KEEP has is not run again. A whole run has 5 to 20 times as many flows as a pilot.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import draw
import numpy as np

from midpath import __version__
from midpath.estimate import PILOTS
from midpath.estimate.bands import LASTING, WIDEST, Band, Errors, band, measured, scale, silent
from midpath.estimate.pilots import FIGURES, Told, figures, fluid_of, packets_of, seeds, told
from midpath.metrics import IDEAL
from midpath.run import run

sys.path.append(str(Path(__file__).parents[1]))
import scenes

ERRORS = Path(__file__).parents[2] / "python/midpath/estimate/errors.json"


@dataclass(frozen=True)
class Found:
    """A scenario: figures of the whole run by the fluid and by packets, and what pilots told."""

    scheme: str
    fluid: dict[str, float]
    packets: dict[str, float]
    logs: dict[str, list[float]]
    growth: dict[str, float]
    lasting: float

    def silent(self, figure: str) -> str:
        """Why pilots tell nothing."""
        return silent(Told(self.logs, self.growth, self.lasting), figure)

    def error(self, figure: str) -> float | None:
        """In the band's units; `None` where pilots tell nothing."""
        own = self.logs[figure]
        if self.silent(figure):
            return None
        return (math.log(self.packets[figure] / self.fluid[figure]) - sum(own) / len(own)) / scale(own)

    def band(self, figure: str) -> Band | None:
        """What the command would have said; `None` where it would have refused."""
        if self.silent(figure):
            return None
        found = band(self.fluid[figure], self.logs[figure], measured()[figure])
        return found if found.width <= WIDEST else None


def make(number: int) -> Found:
    """Runs a scenario and its pilots."""
    asked = draw.scenario(number)
    scheme, drawn = str(asked.scheme), seeds(asked, PILOTS)
    fluid = [fluid_of(asked, draw.PILOT, seed) for seed in drawn]
    packets = [packets_of(asked, scheme, draw.PILOT, seed) for seed in drawn]
    by_fluid, by_packets = (figures(run(asked.with_(scheme=one))) for one in (IDEAL, scheme))
    return Found(draw.scheme_of(number), by_fluid, by_packets, **asdict(told(by_fluid, fluid, packets)))


def fit(every: Sequence[Found]) -> str:
    """What ships."""
    found = {}
    for figure in FIGURES:
        errors = [error for one in every if (error := one.error(figure)) is not None]
        found[figure] = {key: round(value, 4) for key, value in asdict(Errors.of(errors)).items()}
    return json.dumps({"midpath": __version__, "pilots": PILOTS, "figures": found}, indent=1) + "\n"


def page(every: Sequence[Found], numbers: range) -> Iterator[str]:
    """The held-out scenarios against the bands."""
    yield "# Estimates beside packet runs that no band had seen\n"
    yield f"Midpath {__version__}, scenarios {numbers[0]} to {numbers[-1]}, written by"
    yield "`python checks/estimate/measure.py`. Fixed before the first run: of what is answered (a band above"
    yield f"{WIDEST:.0%} is refused) 90 % lies in its 95 % band; 70 % of figures are answered; half of those bands"
    yield "are at most 20 % wide.\n"
    lasting = sum(one.lasting >= LASTING for one in every)
    yield f"In {len(every) - lasting} of {len(every)} scenarios pilots of {draw.PILOT} flows are over before their slow"
    yield "flows have ended; there the command asks for longer ones, which were not run.\n"
    yield scenes.head(["scheme", "figure", "scenarios", "answered", "in the band", "median width"])
    for figure in FIGURES:
        yield scenes.row(["all", figure, *_shares([(one, figure) for one in every])])
    yield scenes.row(["all", "all", *_shares([(one, figure) for one in every for figure in FIGURES])])
    for scheme in draw.SCHEMES:
        own = [(one, figure) for one in every if one.scheme == scheme for figure in FIGURES]
        if own:
            yield scenes.row([scheme, "all", *_shares(own)])


def _shares(asked: Sequence[tuple[Found, str]]) -> list[str]:
    said = [(one, figure, found) for one, figure in asked if (found := one.band(figure)) is not None]
    if not said:
        return [str(len(asked)), "none", "", ""]
    inside = sum(found.low <= one.packets[figure] <= found.high for one, figure, found in said)
    width = float(np.median([found.width for *_, found in said]))
    return [str(len(asked)), f"{len(said)}, {len(said) / len(asked):.0%}", f"{inside / len(said):.0%}", f"{width:.0%}"]


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
