"""A matrix in a folder: matrix.json with a line for each cell, runs.csv with one for each run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from midpath.entries import Entry
from midpath.errors import OutputError
from midpath.matrix.cell import FIGURES
from midpath.matrix.found import Matrix
from midpath.matrix.rows import every
from midpath.storage import read_json, to_json, write_text

MARKER, RUNS = "matrix.json", "runs.csv"
HEADS = ("row", "column", "seed", *FIGURES)


def to_csv(matrix: Matrix) -> str:
    """A line for each run, to six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADS)
    for key in ((row.name, one.name, seed) for row in matrix.rows for one in matrix.entries for seed in matrix.seeds):
        figures = matrix.figures.get(key)
        if figures:
            writer.writerow([*key, *("" if (value := figures[name]) is None else f"{value:.6g}" for name in FIGURES)])
    return text.getvalue()


def save(matrix: Matrix, directory: str | Path) -> None:
    """Writes both."""
    path = Path(directory)
    write_text(path / RUNS, to_csv(matrix))
    write_text(path / MARKER, to_json(matrix.to_json(), 3) + "\n")


def load_matrix(directory: str | Path) -> Matrix:
    """Reads what `save` wrote."""
    path = Path(directory)
    head = read_json(path / MARKER)
    if head.get("kind") != "matrix" or head.get("format") != 1:
        raise OutputError(f"{path / MARKER} is not a matrix that this version can read")
    try:
        lines = list(csv.DictReader(io.StringIO((path / RUNS).read_text(encoding="utf-8"))))
    except OSError as error:
        raise OutputError(f"cannot read {path / RUNS}: {error.strerror}") from None
    figures = {
        (line["row"], line["column"], int(line["seed"])): {
            key: float(line[key]) if line[key] else None for key in FIGURES
        }
        for line in lines
    }
    known = every()
    rows, columns = [known[name] for name in head["rows"]], [Entry(name) for name in head["columns"]]
    return Matrix(rows, columns, head["seeds"], head["quick"], figures, head["notes"], head["midpath"])
