"""Keys of a sweep without effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from midpath.metrics import IDEAL, METRICS
from midpath.run.plan import shown
from midpath.run.task import DONE

if TYPE_CHECKING:
    from midpath.sweep.result import Sweep

FIGURES = [metric.key for metric in METRICS] + ["completed", "packet_hops"]


def unchanged(sweep: Sweep) -> list[str]:
    """A sentence for each key whose values give the same figures, to the last digit, in every run of the sweep."""
    columns = [*sweep.parameters, "scheme", "seed", "status", *FIGURES]
    rows = sweep.dataset().to_table(columns).to_pylist()
    rows = [row for row in rows if row["status"] == DONE and row["scheme"] != IDEAL]
    found = []
    for key in sweep.parameters:
        values = len({shown(row[key]) for row in rows})
        others = [name for name in (*sweep.parameters, "scheme", "seed") if name != key]
        if values > 1 and _changes_nothing(rows, key, others):
            found.append(f"{key}: its {values} values have no effect on any result")
    return found


def _changes_nothing(rows: Sequence[dict[str, Any]], key: str, others: Sequence[str]) -> bool:
    """Whether runs that differ by this key alone have the same figures. Where none do, nothing is known."""
    of: dict[tuple[str, ...], tuple[str, list[Any]]] = {}
    compared = False
    for row in rows:
        value, figures = shown(row[key]), [row[figure] for figure in FIGURES]
        first = of.setdefault(tuple(shown(row[name]) for name in others), (value, figures))
        if first[1] != figures:
            return False
        compared |= first[0] != value
    return compared
