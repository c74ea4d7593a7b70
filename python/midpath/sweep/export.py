"""A sweep's table for people and for other programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from midpath.errors import UsageError
from midpath.metrics import METRICS
from midpath.run.task import DONE
from midpath.stats import Estimate, estimate
from midpath.storage import write_bytes
from midpath.sweep.result import Sweep

FORMATS = (".csv", ".parquet", ".arrow")
# Below, Student's t makes an interval twice as wide as many seeds with the same spread would, or more.
FEW_SEEDS = 4


@dataclass(frozen=True)
class Point:
    """One scheme at one point of a plan: its figures over the seeds."""

    values: dict[str, Any]
    scheme: str
    runs: int
    unfinished: int
    figures: dict[str, Estimate | None]

    def to_json(self) -> dict[str, Any]:
        """As `midpath sweep table --json` prints it."""
        return {
            **self.values,
            "scheme": self.scheme,
            "runs": self.runs,
            "unfinished": self.unfinished,
            "figures": {key: value and value.to_json() for key, value in self.figures.items()},
        }


def means(sweep: Sweep) -> list[Point]:
    """Means over the seeds, in the order of the plan."""
    keys = [metric.key for metric in METRICS]
    columns = ["point", *sweep.parameters, "scheme", "status", "unfinished", *keys]
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in sweep.dataset().to_table(columns).to_pylist():
        groups.setdefault((row["point"], row["scheme"]), []).append(row)
    return [
        Point(
            {key: rows[0][key] for key in sweep.parameters},
            scheme,
            sum(row["status"] == DONE for row in rows),
            sum(row["unfinished"] or 0 for row in rows),
            {key: estimate(row[key] for row in rows) for key in keys},
        )
        for (_, scheme), rows in groups.items()
    ]


def seeds_note(sweep: Sweep) -> str:
    """What the means are over, and what their intervals are worth."""
    rows = sweep.dataset().to_table(["point", "scheme", "seed"]).to_pylist()
    count = max(Counter((row["point"], row["scheme"]) for row in rows).values(), default=0)
    if count == 1:
        return "One seed, so no confidence intervals."
    few = " With so few seeds they are wide." if count < FEW_SEEDS else ""
    return f"Means over {count} seeds, with intervals of 95 % confidence (Student's t).{few}"


def write_table(sweep: Sweep, path: Path) -> None:
    """Writes the table, one row per run, as CSV, Parquet or Arrow IPC."""
    end = path.suffix.lower()
    if end not in FORMATS:
        raise UsageError(f"{path}: a table's name must end with one of {', '.join(FORMATS)}")
    table = sweep.table()
    sink = pa.BufferOutputStream()
    if end == ".csv":
        csv.write_csv(table, sink)
    elif end == ".parquet":
        pq.write_table(table, sink, compression="zstd")
    else:
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    write_bytes(path, bytes(sink.getvalue()))
