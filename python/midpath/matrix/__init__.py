"""Every scheme in every scenario at equal memory: where in-network support pays, and where end hosts suffice.

import midpath.matrix
found = midpath.matrix.matrix(schemes=["cubic", "cubic@fq_codel", "fcp"], rows=["websearch"], seeds=3)
print(found.estimate("websearch", "fcp", "mean_ratio"))
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from midpath import stats
from midpath.controller import Controllers, named
from midpath.entries import columns as columns_of
from midpath.errors import UsageError
from midpath.matrix.file import MARKER, load_matrix, save
from midpath.matrix.found import Matrix, noted
from midpath.matrix.rows import rows as chosen
from midpath.matrix.rows import simplest
from midpath.matrix.work import cells
from midpath.run.work import ProgressCallback
from midpath.scenario import MOST_SEEDS
from midpath.storage import require_replaceable, to_json, write_text

__all__ = ["SEEDS", "Matrix", "load_matrix", "matrix", "save"]

SEEDS = 20
# The folder of its runs.
STORE = "runs"


def matrix(
    *,
    schemes: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    seeds: int = SEEDS,
    small: bool = False,
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: ProgressCallback | None = None,
    controllers: Controllers | None = None,
) -> Matrix:
    """Runs all schemes in all rows, or those that are named, with seeds from 1 on.

    `schemes`, `controllers`, `jobs` and `on_progress` are as in `sweep`. With `out`, runs are kept in a sweep's store
    there, and what it has is not run again. `small` makes every row small: seconds, to see that all runs.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"{seeds:,} seeds: 1 to {MOST_SEEDS:,}")
    if seeds > 1:
        stats.require()
    own = named(controllers or {})
    columns, asked, numbers = columns_of(schemes, dict(own)), chosen(rows), list(range(1, seeds + 1))
    for one in columns:
        # A column that no scenario has is an error here, and not in each row.
        simplest().with_(scheme=one.scheme, controllers=dict(own)).check()
    if out is not None:
        begin(Path(out))
    with nullcontext(out) if out is not None else TemporaryDirectory(prefix="midpath-matrix-") as folder:
        store = Path(folder) / STORE
        told = cells(asked, columns, numbers, store, small=small, own=own, jobs=jobs, on_progress=on_progress)
    figures = {key: cell.figures for key, cell in told.items() if cell.figures}
    found = Matrix(asked, columns, numbers, small, figures, noted(told, asked, columns))
    if out is not None:
        save(found, out)
    return found


def begin(path: Path) -> None:
    """A folder that is free, or a matrix's."""
    require_replaceable(path, MARKER)
    if not (path / MARKER).is_file():
        # An interrupted one is known by it.
        write_text(path / MARKER, to_json({"kind": "matrix", "format": 0}) + "\n")
