"""A sweep's table grouped for a figure: a panel for each figure and each value of one parameter, a line for each
scheme.

Means are over seeds. A varying parameter that a figure neither shows nor fixes is refused, as it would be averaged
over.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from midpath import matched
from midpath.errors import UsageError
from midpath.metrics import BY_KEY, Metric
from midpath.run.plan import shown
from midpath.stats import Estimate, estimate
from midpath.sweep.quantity import numbers
from midpath.sweep.result import Sweep
from midpath.sweep.table import TO_IDEAL, ratio_column
from midpath.units import SCALES, plain

# Amounts farther apart than this are drawn on a logarithmic axis: doublings, decades.
DECADE = 8.0
# More values than these are not all written along the axis.
MOST_TICKS = 7
# What part of the room between two categories their means take.
SPREAD = 0.5


@dataclass(frozen=True)
class Mean:
    """A figure at one point under one scheme, over the seeds."""

    at: Any
    value: Estimate
    unfinished: int


@dataclass(frozen=True)
class Panel:
    """One pair of axes: the means of each scheme, in the order of x."""

    figure: Metric
    facet: Any
    lines: dict[str, list[Mean]]


@dataclass(frozen=True)
class Facets:
    """The panels, a row for each figure, and what they share: x and its values in order."""

    x: str
    values: list[Any]
    # The kind of quantity and the amounts of the values, where they are of one kind.
    amounts: tuple[str, dict[Any, float]] | None
    facet: str | None
    rows: list[list[Panel]]

    @property
    def logarithmic(self) -> bool:
        """Whether x reads better in decades."""
        places = self.amounts[1].values() if self.amounts else [1.0]
        return min(places) > 0 and max(places) / min(places) >= DECADE

    @property
    def schemes(self) -> list[str]:
        """The schemes that have lines."""
        return list(dict.fromkeys(scheme for row in self.rows for panel in row for scheme in panel.lines))

    def place(self, value: Any) -> float:
        """Where a value of x is on its axis: at its amount, or at its number where values have none."""
        return self.amounts[1][value] if self.amounts else float(self.values.index(value))

    def places(self, scheme: str, line: Sequence[Mean]) -> list[float]:
        """Where a line's means are. Those of one category stand side by side, in the order of the schemes."""
        middle = (len(self.schemes) - 1) / 2
        aside = 0.0 if self.amounts else (self.schemes.index(scheme) - middle) * SPREAD / len(self.schemes)
        return [self.place(mean.at) + aside for mean in line]

    def ticks(self) -> dict[float, str]:
        """Values of x that have room on its axis, and how they are written."""
        found: dict[float, str] = {}
        scaled = math.log10 if self.logarithmic else float
        ends = [scaled(self.place(value)) for value in (self.values[0], self.values[-1])]
        last = -math.inf
        for value in self.values:
            at = scaled(self.place(value))
            if at - last >= (ends[1] - ends[0]) / MOST_TICKS or len(self.values) <= MOST_TICKS:
                found[self.place(value)] = self._written(value)
                last = at
        return found

    def _written(self, value: Any) -> str:
        if self.amounts is None or self.amounts[0] not in SCALES:
            return shown(value)
        return plain(self.amounts[0], self.place(value))

    def heading(self, panel: Panel) -> str:
        """What a panel is of: `load = 60 %`."""
        return f"{short(self.facet or '', [self.x])} = {shown(panel.facet)}"

    @property
    def unfinished(self) -> bool:
        """Whether a mean is over flows that ended, and not all did."""
        means = (m for row in self.rows for panel in row for line in panel.lines.values() for m in line)
        return any(mean.unfinished for mean in means)


def figures() -> dict[str, Metric]:
    """What can be drawn over a parameter: figures, and their ratios to the ideal."""
    ratios = (
        Metric(ratio_column(key), f"{BY_KEY[key].label} / ideal", "times", BY_KEY[key].better, BY_KEY[key].about)
        for key in TO_IDEAL
    )
    return BY_KEY | {metric.key: metric for metric in ratios}


def is_over_ended(figure: Metric) -> bool:
    """Whether a figure is over the flows that ended."""
    return figure.key.removesuffix(ratio_column("")) in matched.FIGURES


def facets(
    sweep: Sweep,
    x: str,
    ys: Sequence[str],
    facet: str | None = None,
    where: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Facets:
    """The means of the figures `ys` over the parameter `x`, apart by `facet`; `where` fixes other parameters."""
    found = figures()
    for name in ys:
        if name not in found:
            raise UsageError(f"there is no figure {name!r}; there are {', '.join(found)}")
    rows = _rows(sweep, ys, where or {})
    _require_shown(sweep, rows, x, facet)
    wanted = [scheme for scheme in sweep.schemes if schemes is None or scheme in schemes]
    values, amounts = _in_order(rows, x)
    groups = _in_order(rows, facet)[0] if facet else [None]
    grid = [
        [Panel(found[y], group, _lines(rows, x, values, (facet, group), wanted, found[y])) for group in groups]
        for y in ys
    ]
    return Facets(x, values, amounts, facet, grid)


def short(key: str, keys: Sequence[str]) -> str:
    """The end of a key that tells it from the others: `load` for `workload.0.arrivals.load`."""
    parts = key.split(".")
    ends = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    others = [other for other in keys if other != key]
    return next((end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)), key)


def free(sweep: Sweep) -> dict[str, list[Any]]:
    """The parameters that have several values, each with these in order."""
    rows = sweep.dataset().to_table(sweep.parameters).to_pylist()
    found = {name: _in_order(rows, name)[0] for name in sweep.parameters}
    return {name: values for name, values in found.items() if len(values) > 1}


def _rows(sweep: Sweep, ys: Sequence[str], where: Mapping[str, Any]) -> list[dict[str, Any]]:
    for name in where:
        _require_parameter(sweep, name)
    columns = [*sweep.parameters, "scheme", "unfinished", *ys]
    rows = sweep.dataset().to_table(list(dict.fromkeys(columns))).to_pylist()
    kept = [row for row in rows if all(shown(row[name]) == shown(value) for name, value in where.items())]
    if not kept:
        fixed = ", ".join(f"{name}={shown(value)}" for name, value in where.items())
        raise UsageError(f"no run has {fixed}")
    return kept


def _require_parameter(sweep: Sweep, name: str) -> None:
    if name not in sweep.parameters:
        known = ", ".join(sweep.parameters) or "none"
        raise UsageError(f"{name!r} does not vary in this sweep; what varies: {known}")


def _require_shown(sweep: Sweep, rows: Sequence[Mapping[str, Any]], x: str, facet: str | None) -> None:
    for name in filter(None, (x, facet)):
        _require_parameter(sweep, name)
    for name in sweep.parameters:
        values = dict.fromkeys(shown(row[name]) for row in rows)
        if name not in (x, facet) and len(values) > 1:
            raise UsageError(
                f"{name} has {len(values)} values, and a mean over them would mislead: "
                f"use it as facet, or fix it (--where {name}={next(iter(values))})"
            )


def _in_order(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[list[Any], tuple[str, dict[Any, float]] | None]:
    """The values of a column: by amount where they are quantities of one kind, else as they come."""
    values = list(dict.fromkeys(row[name] for row in rows))
    amounts = numbers(values)
    return (sorted(values, key=amounts[1].__getitem__) if amounts else values), amounts


def _lines(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    values: Sequence[Any],
    facet: tuple[str | None, Any],
    schemes: Sequence[str],
    figure: Metric,
) -> dict[str, list[Mean]]:
    groups: dict[tuple[str, Any], list[Mapping[str, Any]]] = {}
    for row in rows:
        if facet[0] is None or row[facet[0]] == facet[1]:
            groups.setdefault((row["scheme"], row[x]), []).append(row)
    lines: dict[str, list[Mean]] = {}
    for scheme, at in itertools.product(schemes, values):
        group = groups.get((scheme, at), [])
        mean = estimate(row[figure.key] for row in group)
        if mean is not None:
            unfinished = sum(row["unfinished"] or 0 for row in group) if is_over_ended(figure) else 0
            lines.setdefault(scheme, []).append(Mean(at, mean, unfinished))
    return lines
