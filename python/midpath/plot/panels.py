"""Turns rows into panels with lines, each point with its interval over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from midpath.errors import UsageError
from midpath.plot.frame import ENTITIES
from midpath.plot.where import chosen, kind_of
from midpath.plot.words import value_in_words, words
from midpath.run.plan import shown
from midpath.stats import Estimate, estimate
from midpath.sweep.quantity import numbers

Floats = NDArray[np.float64]

TIME = "time_s"
# More values of x than these are put into bins, unless x is time.
MOST_VALUES = 40
BINS = 12
# More lines or panels than these cannot be told apart.
MOST_LINES = 12
MOST_PANELS = 24
# A curve of more points than these is drawn with fewer: the eye sees no more.
MOST_POINTS = 2000
STATS: dict[str, Callable[[Floats], float]] = {
    "mean": lambda values: float(values.mean()),
    "median": lambda values: float(np.median(values)),
    "p95": lambda values: float(np.quantile(values, 0.95)),
    "p99": lambda values: float(np.quantile(values, 0.99)),
    "min": lambda values: float(values.min()),
    "max": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
    "count": lambda values: float(values.size),
}


@dataclass(frozen=True)
class What:
    """What is to be drawn: columns, and how rows are put together."""

    y: str
    # None: the distribution of y.
    x: str | None = None
    by: Sequence[str] = ("scheme",)
    facet: str | None = None
    where: Sequence[str] = ()
    stat: str = "mean"
    bins: int | None = None
    log: Sequence[str] = ()


@dataclass(frozen=True)
class Line:
    """One line of a panel. `low` and `high` are the ends of 95 % intervals, where there are several seeds."""

    name: str
    # The values that it is of, by column: what its colour is chosen by.
    of: dict[str, str]
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    # Points that stand for less than others do: drawn hollow.
    hollow: NDArray[np.bool_] | None = None

    @property
    def title(self) -> str:
        """Its name for people."""
        return ", ".join(value_in_words(column, value) for column, value in self.of.items()) or self.name


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    heading: str
    lines: list[Line]


@dataclass(frozen=True)
class Panels:
    """All of them, and what they share."""

    what: What
    panels: list[Panel]
    x_kind: str
    x_label: str
    y_kind: str
    y_label: str
    # Where values of x have no amounts: their names, at 0, 1, 2 …
    categories: list[str] | None = None
    # Where x has names of its own along its axis, in the values' own unit.
    ticks: dict[float, str] | None = None
    # A line through the points means something.
    joined: bool = True
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[dict[str, Any]]:
        """What is drawn, as rows of a table."""
        for panel in self.panels:
            for line in panel.lines:
                for index in range(line.x.size):
                    at = self.categories[round(line.x[index])] if self.categories else float(line.x[index])
                    row = {"panel": panel.heading, "line": line.name, "x": at, "y": float(line.y[index])}
                    if line.low is not None and line.high is not None:
                        row |= {"low": float(line.low[index]), "high": float(line.high[index])}
                    yield row


def panels(frame: pd.DataFrame, what: What) -> Panels:
    """Lines and panels of these rows; `UsageError` where they would mislead or cannot be told apart."""
    _require(frame, what)
    rows = chosen(frame, what.where)
    rows, notes = _one_seed(rows) if what.x == TIME else (rows, [])
    by = [column for column in what.by if column in rows]
    if what.x == TIME:
        by = [*by, *_entities(rows, what, by)]
    categories, rows = _categories(rows, what)
    groups = _split(rows, what.facet)
    if len(groups) > MOST_PANELS:
        raise UsageError(
            f"--facet {what.facet}: {len(groups)} panels; at most {MOST_PANELS} are possible, select with --where"
        )
    edges = _edges(rows, what, categories)
    drawn = [Panel(heading, _lines(own, what, by, edges)) for heading, own in groups]
    if not any(panel.lines for panel in drawn):
        raise UsageError(f"no row has a value of {what.y}")
    if what.x is None and (left := int(rows[what.y].isna().sum())):
        notes.append(f"{left:,} of {len(rows):,} have no value of {words(what.y)}: shares are relative to all")
    notes += [note for panel in drawn for note in _coinciding(panel)]
    y_label = "share" if what.x is None else _stat_label(what, rows)
    return Panels(
        what=what,
        panels=drawn,
        x_kind=kind_of(what.y if what.x is None else what.x),
        x_label=words(what.y if what.x is None else what.x),
        y_kind="ratio" if what.x is None else kind_of(what.y),
        y_label=y_label,
        categories=categories,
        joined=categories is None,
        notes=notes,
    )


def _coinciding(panel: Panel) -> Iterator[str]:
    """Lines of which only the last can be seen."""
    for index, line in enumerate(panel.lines):
        for other in panel.lines[index + 1 :]:
            if np.array_equal(line.x, other.x) and np.array_equal(line.y, other.y):
                where = f" in {panel.heading}" if panel.heading else ""
                yield f"{line.title} and {other.title} are the same line{where}"


def _require(frame: pd.DataFrame, what: What) -> None:
    for option, column in (("--y", what.y), ("--x", what.x), ("--facet", what.facet)):
        if column is not None and column not in frame:
            raise UsageError(f"{option} {column}: there is no such column; there are {', '.join(frame.columns)}")
    for column in what.by:
        if column not in frame and tuple(what.by) != ("scheme",):
            raise UsageError(f"--by {column}: there is no such column; there are {', '.join(frame.columns)}")
    if not pd.api.types.is_numeric_dtype(frame[what.y]):
        raise UsageError(f"--y {what.y}: has no numbers")
    if what.stat not in STATS:
        raise UsageError(f"--stat {what.stat}: there are {', '.join(STATS)}")


def _one_seed(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A course over time is of one seed: a mean of several would smooth away what it is drawn for."""
    seeds = rows["seed"].unique()
    if len(seeds) < 2:
        return rows, []
    return rows[rows["seed"] == seeds[0]], [f"seed {seeds[0]} of {len(seeds)}"]


def _entities(rows: pd.DataFrame, what: What, by: Sequence[str]) -> list[str]:
    """Columns that tell one entity of a series from another; a line through several would be none."""
    rows = rows[rows[what.y].notna()]
    found = [entity for entity in ENTITIES if entity in rows and entity not in (*by, what.facet)]
    return [entity for entity in found if rows[entity].nunique() > 1]


def _categories(rows: pd.DataFrame, what: What) -> tuple[list[str] | None, pd.DataFrame]:
    """Values of x that have no amounts are put side by side; quantities as texts become their amounts."""
    if what.x is None or pd.api.types.is_numeric_dtype(rows[what.x]):
        return None, rows
    values = list(dict.fromkeys(rows[what.x].dropna()))
    amounts = numbers(values)
    if amounts is not None:
        return None, rows.assign(**{what.x: rows[what.x].map(amounts[1])})
    names = [shown(value) for value in values]
    return names, rows.assign(**{what.x: rows[what.x].map({value: place for place, value in enumerate(values)})})


def _split(rows: pd.DataFrame, column: str | None) -> list[tuple[str, pd.DataFrame]]:
    if column is None:
        return [("", rows)]
    return [(_heading(column, value), own) for value, own in rows.groupby(column, sort=False)]


def _heading(facet: str, value: Any) -> str:
    """Schemes and flows say what they are; of other columns the name stands before the value."""
    text = value_in_words(facet, value)
    return text if facet in ("scheme", "flow", "port", "group") else f"{words(facet)} {text}"


def _edges(rows: pd.DataFrame, what: What, categories: list[str] | None) -> Floats | None:
    """The ends of bins of x, where it has too many values to be drawn one by one."""
    if what.x is None or what.x == TIME or categories is not None:
        return None
    values = rows[what.x].dropna().to_numpy(dtype=float)
    if what.bins is None and np.unique(values).size <= MOST_VALUES:
        return None
    count = what.bins or BINS
    if "x" in what.log:
        positive = values[values > 0]
        return np.geomspace(positive.min(), positive.max(), count + 1)
    return np.linspace(values.min(), values.max(), count + 1)


def _lines(rows: pd.DataFrame, what: What, by: Sequence[str], edges: Floats | None) -> list[Line]:
    rows = rows[rows[what.y].notna()] if what.x is not None else rows
    groups = list(rows.groupby(list(by), sort=False, dropna=False)) if by else [((), rows)]
    groups = [(of, own) for of, own in groups if own[what.y].notna().any()]
    if len(groups) > MOST_LINES:
        names = ", ".join(by)
        raise UsageError(f"{len(groups)} lines, one for each {names}, are more than {MOST_LINES}: select with --where")
    found = []
    for values, own in groups:
        of = {column: shown(value) for column, value in zip(by, values, strict=True)}
        found.append(_line(own, what, of, edges))
    return found


def _line(rows: pd.DataFrame, what: What, of: dict[str, str], edges: Floats | None) -> Line:
    name = ", ".join(of.values()) or words(what.y)
    if what.x is None:
        values = np.sort(rows[what.y].dropna().to_numpy(dtype=float))
        shares = np.arange(1, values.size + 1) / len(rows)
        return Line(name, of, *_thin(values, shares))
    if what.x == TIME:
        ordered = rows.sort_values(TIME)
        return Line(name, of, *_thin(ordered[TIME].to_numpy(dtype=float), ordered[what.y].to_numpy(dtype=float)))
    places, keys = _places(rows[what.x].to_numpy(dtype=float), edges)
    points = [(at, _over_seeds(rows[keys == index], what)) for index, at in enumerate(places)]
    known = [(at, point) for at, point in points if point is not None]
    x, y = (np.array(values, dtype=float) for values in ([at for at, _ in known], [p.mean for _, p in known]))
    if all(point.ci95 is None for _, point in known):
        return Line(name, of, x, y)
    half = np.array([point.ci95 or 0.0 for _, point in known])
    return Line(name, of, x, y, y - half, y + half)


def _places(x: Floats, edges: Floats | None) -> tuple[Floats, NDArray[np.intp]]:
    """Where points stand, and which of them each row belongs to."""
    if edges is None:
        places, keys = np.unique(x, return_inverse=True)
        return places, keys
    keys = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
    middles = np.array(
        [x[keys == index].mean() if (keys == index).any() else np.nan for index in range(edges.size - 1)]
    )
    return middles, keys


def _over_seeds(rows: pd.DataFrame, what: What) -> Estimate | None:
    """The statistic of each run, and their mean over the runs."""
    if rows.empty:
        return None
    runs = [column for column in ("result", "variant", "scheme", "seed") if column in rows]
    return estimate(
        STATS[what.stat](own[what.y].to_numpy(dtype=float)) for _, own in rows.groupby(runs, sort=False, dropna=False)
    )


def _stat_label(what: What, rows: pd.DataFrame) -> str:
    """Which statistic it is, where a run has more than one value."""
    runs = [column for column in ("result", "variant", "scheme", "seed", what.x) if column in rows]
    single = what.x == TIME or not rows.duplicated([column for column in dict.fromkeys(runs) if column]).any()
    return words(what.y) if single else f"{words(what.y)}, {what.stat}"


def _thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    if x.size <= MOST_POINTS:
        return x, y
    keep = np.unique(np.linspace(0, x.size - 1, MOST_POINTS).astype(int))
    return x[keep], y[keep]
