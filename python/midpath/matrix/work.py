"""A matrix as a plan, a point for each row and column, and what its store tells of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from midpath.controller import Named
from midpath.entries import Entry
from midpath.matrix.cell import FLOWS, Cell, at_routers, measured, measured_application
from midpath.matrix.rows import Row
from midpath.metrics import IDEAL
from midpath.run.execute import Where, described, execute
from midpath.run.plan import Plan, Point, Wanted, runnable
from midpath.run.task import DONE
from midpath.run.work import ProgressCallback, Work

WANTED = Wanted(FLOWS, at_routers)
# Row, column, seed.
Key = tuple[str, str, int]


def cells(
    rows: Sequence[Row],
    entries: Sequence[Entry],
    seeds: Sequence[int],
    out: Path,
    *,
    small: bool,
    own: Named,
    jobs: int | None,
    on_progress: ProgressCallback | None,
) -> dict[Key, Cell]:
    """Runs what the store at `out` lacks. What cannot be run is a cell, too."""
    points = [_point(row, entry, small, own) for row in rows for entry in (None, *entries)]
    schemes = list(dict.fromkeys(scheme for point in points for scheme in point.schemes or ()))
    where = Where(jobs)
    plan, refused = runnable(Plan(points, schemes, [list(seeds)] * len(points), WANTED), where.width)
    about = described(plan, [rows[0].scenario(None, small=small)], "midpath matrix")
    found = dict(_cells(execute(plan, about, out, where, on_progress=on_progress), rows))
    wrong = {(point.values["row"], point.values["column"]): Cell(error=why) for point, why in refused}
    return {
        (row.name, one.name, seed): wrong.get((row.name, one.name)) or found[row.name, one.name, seed]
        for seed in seeds
        for row in rows
        for one in entries
    }


def _point(row: Row, entry: Entry | None, small: bool, own: Named) -> Point:
    scenario = row.scenario(entry, small=small).with_(controllers=dict(own))
    return Point(scenario, {"row": row.name, "column": entry.name if entry else IDEAL}, [str(scenario.scheme)])


def _cells(work: Work, rows: Sequence[Row]) -> Iterator[tuple[Key, Cell]]:
    store, known = work.store, {row.name: row for row in rows}
    records = {(run["row"], run["column"], run["seed"]): record for run, record in work.records()}
    references = {(row, seed): found for (row, one, seed), found in records.items() if one == IDEAL}
    ideals = {key: store.of(found) for key, found in references.items() if not known[key[0]].of}
    for (row, one, seed), record in records.items():
        if one == IDEAL:
            continue
        if record["status"] != DONE:
            yield (row, one, seed), Cell(error=record["error"])
            continue
        run, told = store.of(record), record["measured"][WANTED.name]
        if known[row].of:
            alone = references[row, seed]["measured"][WANTED.name]
            yield (row, one, seed), measured_application(known[row], run, told, alone)
        else:
            yield (row, one, seed), measured(run, ideals[row, seed], told)
