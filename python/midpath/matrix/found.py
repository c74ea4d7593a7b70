"""Results of a matrix: means over the seeds with intervals, by row and column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from midpath.entries import CLASSES, ENDS, MIDPATH, QUEUES, Entry
from midpath.extension import _midpath
from midpath.matrix.cell import Cell
from midpath.matrix.rows import Row
from midpath.matrix.work import Key
from midpath.stats import Estimate, estimate, jointly

# Of these the least is best, and verdicts are about them.
TIMES = {"mean_ratio": "mean completion time", "p99_ratio": "99th percentile"}


@dataclass(frozen=True)
class Verdict:
    """Of one figure in one row: the best column of each class, and whether the best of all is better than the other
    side by more than luck. Sides are mid-path schemes, and all others.

    `told` is that it is better than each of the other side, corrected for all columns; `as_pair` is that it is better
    than the best of them, taken by themselves.
    """

    figure: str
    best: dict[str, tuple[str, float]]
    told: bool = False
    as_pair: bool = False
    saved: float = math.nan

    @property
    def sides(self) -> tuple[tuple[str, str, float], tuple[str, str, float]] | None:
        """The best of each side, the better one first: its class, its name, its mean."""
        if MIDPATH not in self.best or len(self.best) < 2:
            return None
        path = (MIDPATH, *self.best[MIDPATH])
        other = min(((kind, *self.best[kind]) for kind in (ENDS, QUEUES) if kind in self.best), key=lambda one: one[2])
        return (path, other) if path[2] < other[2] else (other, path)

    @property
    def winner(self) -> tuple[str, str, float] | None:
        """The class and name of the best if it is told apart, as a pair at least, and the share of time it saves."""
        if self.sides is None or not self.as_pair:
            return None
        (kind, name, _), _ = self.sides
        return kind, name, self.saved


@dataclass(frozen=True)
class Matrix:
    """The runs of a matrix."""

    rows: list[Row]
    entries: list[Entry]
    seeds: list[int]
    small: bool
    figures: Mapping[Key, Mapping[str, float | None]]
    notes: Mapping[str, Mapping[str, Mapping[str, Any]]]
    version: str = field(default_factory=_midpath.version)

    def values(self, row: str, column: str, figure: str) -> list[float | None]:
        """A figure by seed."""
        return [self.figures.get((row, column, seed), {}).get(figure) for seed in self.seeds]

    def estimate(self, row: str, column: str, figure: str) -> Estimate | None:
        """Its mean, with an interval of 95 %."""
        return estimate(self.values(row, column, figure))

    def unended(self, row: str, column: str) -> float:
        """The share of the flows that did not end: times are longer than they say then."""
        flows, ended = (sum(v or 0.0 for v in self.values(row, column, key)) for key in ("flows", "ended"))
        return 1 - ended / flows if flows else 0.0

    def ratio(self, row: str, column: str, other: str, figure: str, pairs: int = 1) -> Estimate | None:
        """The logarithm of a column's figure over another's, seed by seed: the luck that both have cancels.

        The interval is such that all of `pairs` hold at once.
        """
        both = zip(self.values(row, column, figure), self.values(row, other, figure), strict=True)
        logs = [math.log(a / b) if a and b else None for a, b in both]
        return estimate(logs, jointly(pairs))

    def apart(self, row: str, column: str, other: str, figure: str, pairs: int = 1) -> bool:
        """Whether two columns differ by more than luck."""
        found = self.ratio(row, column, other, figure, pairs)
        return found is not None and found.differs()

    def saved(self, row: str, column: str, other: str, figure: str) -> float:
        """The share by which a column's figure is below another's, as a geometric mean over the seeds."""
        found = self.ratio(row, column, other, figure)
        return 1 - math.exp(found.mean) if found is not None else math.nan

    def ran(self, row: str) -> list[Entry]:
        """The columns that a row has figures of."""
        return [one for one in self.entries if self.estimate(row, one.name, "mean_ratio") is not None]

    def verdict(self, row: str, figure: str) -> Verdict:
        """Which side is better. The best of several is so by luck, too: intervals are for as many as there are."""
        kinds = {one.name: one.kind for one in self.ran(row)}
        means = {name: found.mean for name in kinds if (found := self.estimate(row, name, figure))}
        best: dict[str, tuple[str, float]] = {}
        for kind in CLASSES:
            of_kind = {name: mean for name, mean in means.items() if kinds[name] == kind}
            if of_kind:
                best[kind] = min(of_kind.items(), key=lambda item: item[1])
        plain = Verdict(figure, best)
        if plain.sides is None:
            return plain
        (side, first, _), (_, second, _) = plain.sides
        rest = [name for name in means if (kinds[name] == MIDPATH) != (side == MIDPATH)]
        as_pair = self.apart(row, first, second, figure)
        told = as_pair and all(self.apart(row, first, other, figure, len(means)) for other in rest)
        return replace(plain, told=told, as_pair=as_pair, saved=self.saved(row, first, second, figure))

    def to_json(self) -> dict[str, Any]:
        """What matrix.json holds."""
        return {
            "midpath": self.version,
            "format": 1,
            "kind": "matrix",
            "quick": self.small,
            "rows": [row.name for row in self.rows],
            "columns": [one.name for one in self.entries],
            "seeds": self.seeds,
            "notes": self.notes,
        }


def noted(cells: Mapping[Key, Cell], rows: Sequence[Row], entries: Sequence[Entry]) -> dict[str, Any]:
    """By row and column: what it had, what it warned of, why it could not be run, and which others are alike."""
    found: dict[str, Any] = {}
    for row in rows:
        here = {one.name: [cell for key, cell in cells.items() if key[:2] == (row.name, one.name)] for one in entries}
        found[row.name] = {
            name: {
                "error": next((cell.error for cell in of if cell.error), ""),
                "warnings": list(dict.fromkeys(text for cell in of for text in cell.warnings)),
                "equipment": next((cell.equipment for cell in of if cell.equipment), None),
                "memory": next((cell.memory for cell in of if cell.memory), None),
                "same_as": _same(name, here),
            }
            for name, of in here.items()
        }
    return found


def _same(name: str, cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Earlier columns under which every flow ended at the same time, with every seed."""
    mine = [cell.digest for cell in cells[name]]
    earlier = list(cells)[: list(cells).index(name)]
    return [other for other in earlier if mine and all(mine) and [cell.digest for cell in cells[other]] == mine]
