"""Keys of a sweep that change nothing: what was varied and did not take effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from midpath.metrics import IDEAL, METRICS
from midpath.sweep.task import DONE

if TYPE_CHECKING:
    from midpath.sweep.result import Sweep


def unchanged(sweep: Sweep) -> list[str]:
    """A sentence for each key whose values give the same figures, to the last digit, in every run of the sweep."""
    figures = [metric.key for metric in METRICS] + ["completed", "packet_hops"]
    columns = [*sweep.parameters, "scheme", "seed", "status", *figures]
    frame = sweep.dataset().to_table(columns).to_pandas()
    frame = frame[(frame["status"] == DONE) & (frame["scheme"] != IDEAL)]
    found = []
    for key in sweep.parameters:
        values = int(frame[key].nunique(dropna=False))
        same = [name for name in (*sweep.parameters, "scheme", "seed") if name != key]
        groups = frame.groupby(same, dropna=False, sort=False)
        compared = groups[key].nunique(dropna=False) > 1
        if values < 2 or not compared.any():
            continue
        if (groups[figures].nunique(dropna=False)[compared] <= 1).all(axis=None):
            found.append(f"{key}: its {values} values change no figure of any run")
    return found
