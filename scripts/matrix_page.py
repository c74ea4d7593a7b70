"""Writes what pages say of the matrix, from the committed results in evidence/bench/matrix.

    python scripts/matrix_page.py

- evidence/bench/matrix/RESULTS.md, docs/images/matrix.svg, and the table of docs/matrix.md;
- docs/which.md, from which.template.md beside this file. `{seeds}` says which they are. `{value ROW COLUMN FIGURE}` is
  a mean over them, `{sooner ROW COLUMN OTHER FIGURE}` how much smaller it is than another's, an error unless the two
  are told apart, `{alike ROW COLUMN OTHER FIGURE}` is nothing, and an error if they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from midpath.markdown import filled
from midpath.matrix import load_matrix, picture, text
from midpath.matrix.cell import FIGURES
from midpath.matrix.found import Matrix
from midpath.units import digits, quantity

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "evidence/bench/matrix"
PAGE, PICTURE, RESULTS = ROOT / "docs/matrix.md", ROOT / "docs/images/matrix.svg", FOLDER / "RESULTS.md"
WHICH, TEMPLATE = ROOT / "docs/which.md", Path(__file__).parent / "which.template.md"
QUOTE = re.compile(r"\{(value|sooner|alike) ([^}]+)\}")
# Numbers over the ideal's stand without ×: "times the ideal's" follows.
KINDS = {figure: kind for figure, _, kind in text.SHOWN if kind != "times"}


def written(matrix: Matrix) -> str:
    """Which results these are."""
    return f"Midpath {matrix.version}, {text.seeds(matrix)}: `{text.command(matrix)}`.\n"


PARTS: dict[str, Callable[[Matrix], str]] = {
    "written": written,
    "verdicts": lambda matrix: "\n".join(text.verdicts(matrix)) + "\n",
}


def page(old: str, matrix: Matrix) -> str:
    """docs/matrix.md with its tables in their places."""
    return filled(old, "matrix", lambda name: f"\n{PARTS[name](matrix)}\n")


def which(template: str, matrix: Matrix) -> str:
    """docs/which.md: the template with its numbers, each of which is checked."""
    template = template.replace("{seeds}", text.seeds(matrix))
    return re.sub(r" *\{none\}", "", QUOTE.sub(lambda found: quote(matrix, found[1], found[2].split()), template))


def quote(matrix: Matrix, what: str, words: list[str]) -> str:
    """A number that the page quotes."""
    *names, figure = words
    if figure not in FIGURES:
        raise ValueError(f"there is no figure {figure}")
    row, first = names[0], names[1]
    mean = _mean(matrix, row, first, figure)
    if what == "value":
        kind = KINDS.get(figure)
        return quantity(kind, mean) if kind else digits(mean)
    other = names[2]
    apart = matrix.apart(row, first, other, figure)
    if what == "alike":
        if apart:
            raise ValueError(f"{row}: {first} and {other} are told apart in {figure}")
        return "{none}"
    theirs = _mean(matrix, row, other, figure)
    if not apart or mean >= theirs:
        raise ValueError(f"{row}: {first} is not below {other} in {figure}: {mean:.4g}, {theirs:.4g}, apart: {apart}")
    return text.percent(matrix.saved(row, first, other, figure))


def _mean(matrix: Matrix, row: str, name: str, figure: str) -> float:
    estimate = matrix.estimate(row, name, figure)
    if estimate is None:
        raise ValueError(f"{row} has no {figure} of {name}")
    return estimate.mean


def main() -> None:
    """Writes all of it."""
    matrix = load_matrix(FOLDER)
    RESULTS.write_text("\n".join(text.results(matrix)) + "\n", encoding="utf-8")
    PICTURE.write_text(picture.svg(matrix), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), matrix), encoding="utf-8")
    WHICH.write_text(which(TEMPLATE.read_text(encoding="utf-8"), matrix), encoding="utf-8")


if __name__ == "__main__":
    main()
