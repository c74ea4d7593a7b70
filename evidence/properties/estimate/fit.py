"""Writes what ships of the errors of estimates: python/midpath/estimate/errors.json.

    python evidence/properties/estimate/fit.py KEEP 1-80 900001-900200

The runs are those of the suite `estimate`, in a folder that it keeps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from estimate.measure import FIGURES, Found
from harness import ended, rows

from midpath import __version__
from midpath.estimate import SHARE
from midpath.estimate.bands import Errors

ERRORS = Path(__file__).parents[3] / "python/midpath/estimate/errors.json"


def fit(every: Sequence[Found]) -> str:
    """What ships."""
    found = {}
    for name in FIGURES:
        errors = [error for one in every if (error := one.error(name)) is not None]
        found[name] = {key: round(value, 4) for key, value in asdict(Errors.of(errors)).items()}
    under = sorted({one.scheme for one in every})
    return json.dumps({"midpath": __version__, "share": SHARE, "schemes": under, "figures": found}, indent=1) + "\n"


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
    asked = parser.parse_args(namespace=argparse.Namespace(of=[""], schemes=[""], set=""))
    asked.numbers = [number for some in asked.numbers for number in some]
    ERRORS.write_text(fit(ended(rows("estimate.measure", asked))), encoding="utf-8")


if __name__ == "__main__":
    main()
