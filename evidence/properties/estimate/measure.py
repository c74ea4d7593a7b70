"""How far estimates are from whole packet runs, on random scenarios.

    python evidence/properties/estimate/measure.py KEEP 1-80 900001-900200 --fit        # writes errors.json
    python evidence/properties/estimate/measure.py KEEP 1000001-1000200                 # prints RESULTS.md

Flows' times are kept in the folder KEEP, a file for each scenario: what is there is not run again, so that another rule
can be tried on the same runs. Pilots have an eighth and a quarter of the whole run's flows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import draw
import numpy as np

from midpath import __version__
from midpath.estimate import SHARE, bands
from midpath.estimate.bands import WIDEST, Band, Errors
from midpath.estimate.carry import FIGURES, Carried, carried, figures
from midpath.estimate.pilots import Flows, Pilot, pilot_of
from midpath.matched import FIGURES as OF_FLOWS
from midpath.matched import Floats
from midpath.metrics import IDEAL
from midpath.run import run

sys.path.append(str(Path(__file__).parents[1]))
import scenes

ERRORS = Path(__file__).parents[3] / "python/midpath/estimate/errors.json"
WIDE = "the band is too wide"
# Why a figure is refused, as the command begins to say it, and as the page does.
REASONS = {"flows do not end": "endless", "slower": "beyond the pilot", WIDE: "too wide"}
By = Mapping[str, Errors]
# A whole run has so many times the flows of each pilot, the shortest first.
PILOTS = (8, 4)
# All flows by the fluid, their times by packets, and the pilots.
Runs = tuple[Flows, Floats, list[Pilot]]


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


def make(number: int, keep: Path) -> Found:
    """Runs a scenario and its pilots, where no file has them."""
    path = keep / f"{number}.npz"
    if not path.exists():
        save(path, *_runs(number))
    whole, packets, pilots = load(path)
    return Found(draw.scheme_of(number), truth(packets), [asdict(carried(whole, pilot)) for pilot in pilots])


def _runs(number: int) -> Runs:
    asked = draw.scenario(number)
    whole, packets = (Flows.of(run(asked.with_(scheme=one))) for one in (IDEAL, str(asked.scheme)))
    least = math.floor(whole.fct.size * SHARE / len(PILOTS))
    counts = [least * PILOTS[0] // part for part in PILOTS]
    return whole, packets.fct, [pilot_of(asked, str(asked.scheme), whole, count) for count in counts]


def save(path: Path, whole: Flows, packets: Floats, pilots: Sequence[Pilot]) -> None:
    """Writes a scenario's times, all or nothing."""
    kept = {"fluid": whole.fct, "alone": whole.alone, "packets": packets}
    for part, pilot in zip(PILOTS, pilots, strict=True):
        kept |= {f"fluid{part}": pilot.fluid, f"packets{part}": pilot.packets}
    begun = path.with_name(f".{path.name}")
    np.savez_compressed(begun, **kept)
    begun.rename(path)


def load(path: Path) -> Runs:
    """Reads them."""
    with np.load(path) as kept:
        whole = Flows(kept["fluid"], kept["alone"], np.full(kept["fluid"].size, "workload0"))
        fluid, packets = ([kept[f"{of}{part}"] for part in PILOTS] for of in ("fluid", "packets"))
        pilots = [Pilot(np.arange(one.size), one, two) for one, two in zip(fluid, packets, strict=True)]
        return whole, kept["packets"], pilots


def truth(packets: Floats) -> dict[str, float]:
    """The whole run's figures, as the command `midpath run` has them; infinite where those flows do not end."""
    if np.isfinite(packets).all():
        return {name: float(OF_FLOWS[name][1](packets)) for name in FIGURES}
    return dict(zip(FIGURES, map(float, figures(packets)), strict=True))


def fit(every: Sequence[Found]) -> str:
    """What ships."""
    found = {}
    for name in FIGURES:
        errors = [error for one in every if (error := one.error(name)) is not None]
        found[name] = {key: round(value, 4) for key, value in asdict(Errors.of(errors)).items()}
    under = sorted({one.scheme for one in every})
    return json.dumps({"midpath": __version__, "share": SHARE, "schemes": under, "figures": found}, indent=1) + "\n"


def page(every: Sequence[Found], numbers: Sequence[int]) -> Iterator[str]:
    """The held-out scenarios against the bands."""
    by = bands.measured()
    yield "# Estimates beside packet runs that no band had seen\n"
    yield f"Midpath {__version__}, scenarios {min(numbers)} to {max(numbers)}, written by"
    yield "`python evidence/properties/estimate/measure.py`. Fixed before the first run: of what is answered"
    yield f"(a band above {WIDEST:.0%} is refused) 90 % lies in its 95 % band; 70 % of figures are answered; half"
    yield "of those bands are at most 20 % wide.\n"
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


def scenarios(text: str) -> range:
    """The numbers from "FIRST-LAST"."""
    first, last = map(int, text.split("-"))
    return range(first, last + 1)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keep", type=Path)
    parser.add_argument("numbers", nargs="+", type=scenarios, metavar="FIRST-LAST")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args()
    numbers = [number for some in asked.numbers for number in some]
    asked.keep.mkdir(exist_ok=True)
    with ProcessPoolExecutor(max_workers=asked.jobs) as pool:
        every = list(pool.map(make, numbers, repeat(asked.keep)))
    if asked.fit:
        ERRORS.write_text(fit(every), encoding="utf-8")
    else:
        print("\n".join(page(every, numbers)))


if __name__ == "__main__":
    main()
