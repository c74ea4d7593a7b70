"""Positions of nodes over time, in a frame that turns with the Earth, and the CSV that has them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from midpath.errors import UsageError

# WGS 84.
AXIS_KM, FLATTENING = 6378.137, 1 / 298.257223563
CARTESIAN, ANGLES = ("x", "y", "z"), ("lat", "lon", "alt")
MOST_ROWS = 2_000_000

Place = tuple[float, float, float]


@dataclass(frozen=True)
class Positions:
    """Where nodes are at some times."""

    times: NDArray[np.float64]
    """In seconds, in order."""
    names: list[str]
    places: NDArray[np.float64]
    """By time and node, in km from the Earth's centre."""


def on_earth(lat: float, lon: float, alt: float) -> Place:
    """From degrees and km above the ellipsoid."""
    lat, lon = math.radians(lat), math.radians(lon)
    squared = FLATTENING * (2 - FLATTENING)
    normal = AXIS_KM / math.sqrt(1 - squared * math.sin(lat) ** 2)
    across = (normal + alt) * math.cos(lat)
    return across * math.cos(lon), across * math.sin(lon), (normal * (1 - squared) + alt) * math.sin(lat)


def read(file: str | Path) -> Positions:
    """From a CSV: `at` in seconds, empty for a node that stays; `node`; `x`, `y`, `z` in km, or `lat`, `lon`, `alt`."""
    path = Path(file)
    still: dict[str, Place] = {}
    moving: dict[float, dict[str, Place]] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        rows = csv.reader(lines)
        head = [cell.strip() for cell in next(rows, [])]
        columns = CARTESIAN if set(CARTESIAN) <= set(head) else ANGLES
        if not {"at", "node", *columns} <= set(head):
            raise UsageError(f"{path}, line 1: columns are at, node, and x, y, z in km or lat, lon, alt")
        for row in rows:
            if not row or row[0].startswith("#"):
                continue
            if rows.line_num > MOST_ROWS:
                raise UsageError(f"{path}: more than {MOST_ROWS} rows; take fewer satellites or longer steps")
            _note(dict(zip(head, (cell.strip() for cell in row), strict=False)), columns, still, moving,
                  f"{path}, line {rows.line_num}")  # fmt: skip
    return gathered(still, moving, str(path))


def _note(
    row: Mapping[str, str],
    columns: tuple[str, ...],
    still: dict[str, Place],
    moving: dict[float, dict[str, Place]],
    line: str,
) -> None:
    try:
        a, b, c = (float(row[column]) for column in columns)
        at = float(row["at"]) if row["at"] else None
        name = row["node"]
    except (KeyError, ValueError):
        raise UsageError(f"{line}: each row has a time in seconds or none, a node and three numbers") from None
    if not all(map(math.isfinite, (a, b, c, at or 0.0))) or not name or (at or 0.0) < 0:
        raise UsageError(f"{line}: each row has a time in seconds or none, a node and three numbers")
    place = on_earth(a, b, c) if columns == ANGLES else (a, b, c)
    if at is None:
        still[name] = place
        return
    if moving and at < next(reversed(moving)):
        raise UsageError(f"{line}: {at:g} s is before the row above; rows are in order of time")
    moving.setdefault(at, {})[name] = place


def gathered(still: Mapping[str, Place], moving: Mapping[float, Mapping[str, Place]], source: str) -> Positions:
    """All nodes at all times."""
    if not still and not moving:
        raise UsageError(f"{source}: no positions below the header")
    if len(moving) < 2:
        raise UsageError(f"{source}: nothing moves; a flight has positions at two times at least")
    names = list(still) + [name for name in next(iter(moving.values())) if name not in still]
    known = set(names)
    for at, nodes in moving.items():
        strangers, lacking = sorted(nodes.keys() - known), sorted(known - still.keys() - nodes.keys())
        for name in strangers + lacking:
            lacks = next(iter(moving)) if name in strangers else at
            raise UsageError(
                f"{source}: {name} has no position at {lacks:g} s; each node that moves has one at each time"
            )
    places = [[still[name] if name in still else nodes[name] for name in names] for nodes in moving.values()]
    return Positions(np.array(list(moving)), names, np.array(places))


def write(positions: Positions, file: str | Path) -> None:
    """As `read` reads it."""
    still = np.ptp(positions.places, axis=0).max(axis=1) == 0
    with Path(file).open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["at", "node", *CARTESIAN])
        for node in np.flatnonzero(still):
            rows.writerow(["", positions.names[node], *(f"{v:.4f}" for v in positions.places[0, node])])
        for t, at in enumerate(positions.times):
            for node in np.flatnonzero(~still):
                rows.writerow([f"{at:g}", positions.names[node], *(f"{v:.4f}" for v in positions.places[t, node])])
