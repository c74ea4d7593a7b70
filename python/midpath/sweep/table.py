"""The table of a sweep: one row per run, parameters first, then figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from midpath import matched
from midpath.metrics import IDEAL, METRICS
from midpath.result import Result
from midpath.run.store import ROWS, Store
from midpath.run.task import DONE

# Figures of which the ratio to the ideal says something: it has no queues and loses nothing.
ALL_FLOWS = ("jain_goodput", "goodput_total_bps")
TO_IDEAL = (*matched.FIGURES, *ALL_FLOWS)
# Columns that are fields of a run's record.
COPIED = ("status", "flows", "completed", "simulated_s", "packet_hops", "wall_s")


def ratio_column(figure: str) -> str:
    """The column of a figure's ratio to the ideal's."""
    return f"{figure}_to_ideal"


def full_table(store: Store, plan: pa.Table) -> pa.Table:
    """The plan with what came of each run. Ratios to the ideal are over the flows that both runs completed."""
    ideals = _ideals(plan)
    schema = _schema()
    batches = []
    for start in range(0, plan.num_rows, ROWS):
        rows = store.records(plan.slice(start, ROWS).select(["key", "point", "seed"]))
        found = [_row(store, record, ideals.get((row["point"], row["seed"]))) for row, record in rows]
        batches.append(pa.Table.from_pylist(found, schema))
    figures = pa.concat_tables(batches) if batches else schema.empty_table()
    columns = dict(zip(plan.column_names, plan.columns, strict=True)) | dict(
        zip(figures.column_names, figures.columns, strict=True)
    )
    return pa.table(columns).replace_schema_metadata(plan.schema.metadata)


def _schema() -> pa.Schema:
    numbers = [metric.key for metric in METRICS] + [ratio_column(key) for key in TO_IDEAL]
    return pa.schema(
        [("status", pa.string()), ("flows", pa.int64()), ("completed", pa.int64()), ("unfinished", pa.int64())]
        + [(key, pa.float64()) for key in numbers]
        + [("simulated_s", pa.float64()), ("packet_hops", pa.int64()), ("wall_s", pa.float64())]
        + [("warnings", pa.string()), ("error", pa.string())]
    )


def _ideals(plan: pa.Table) -> dict[tuple[int, int], str]:
    """The key of the ideal's run, by point and seed."""
    rows = _rows(plan.select(["key", "point", "seed", "scheme"]))
    return {(row["point"], row["seed"]): row["key"] for row in rows if row["scheme"] == IDEAL}


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches():
        yield from batch.to_pylist()


def _row(store: Store, record: dict[str, Any], ideal: str | None) -> dict[str, Any]:
    if record["status"] != DONE:
        return {"status": record["status"], "error": record["error"]}
    row: dict[str, Any] = {name: record[name] for name in COPIED}
    row["unfinished"] = record["flows"] - record["completed"]
    row["warnings"] = " | ".join(record["warnings"]) or None
    return {**row, **record["figures"], **_ratios(store, record, ideal)}


def _ratios(store: Store, record: dict[str, Any], ideal: str | None) -> dict[str, float]:
    other = store.record(ideal) if ideal else None
    if ideal is None or other is None or other["status"] != DONE:
        return {}
    whole = all(found["completed"] == found["flows"] for found in (record, other))
    ours, theirs = (_result(store, found, with_flows=not whole) for found in (record, other))
    # Of a run that completed all flows none are kept: where the ideal did not, times cannot be over common flows.
    known = TO_IDEAL if whole or record["completed"] < record["flows"] or record["key"] == ideal else ALL_FLOWS
    common = matched.ended_in_all([ours, theirs]) if known is TO_IDEAL else None
    pairs = {key: [matched.figure(run, key, common) for run in (ours, theirs)] for key in known}
    return {ratio_column(key): value / of for key, (value, of) in pairs.items() if value is not None and of}


def _result(store: Store, record: dict[str, Any], *, with_flows: bool) -> Result:
    """As much of a result as `matched` looks at."""
    needed = with_flows and (record["scheme"] == IDEAL or record["completed"] < record["flows"])
    return store.of(record, with_flows=needed)
