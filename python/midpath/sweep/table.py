"""The table of a sweep: one row per run, parameters first, then figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from midpath import matched
from midpath.metrics import IDEAL, METRICS
from midpath.result import Result
from midpath.run.plan import Plan, shown
from midpath.run.store import Store
from midpath.run.task import DONE

# Figures of which the ratio to the ideal says something: it has no queues and loses nothing.
ALL_FLOWS = ("jain_goodput", "goodput_total_bps")
TO_IDEAL = (*matched.FIGURES, *ALL_FLOWS)
# Columns that are fields of a run's record.
COPIED = ("status", "flows", "completed", "simulated_s", "packet_hops", "wall_s")
MISSING = "missing"
ROWS = 4096  # that are in memory at a time, beside the columns that are ready


def ratio_column(figure: str) -> str:
    """The column of a figure's ratio to the ideal's."""
    return f"{figure}_to_ideal"


def plan_table(plan: Plan, keys: Sequence[str]) -> pa.Table:
    """The runs of a plan as a table: key, point, parameters, scheme, seed."""
    runs = list(plan.runs())
    columns: dict[str, pa.Array] = {
        "key": pa.array(keys, pa.string()),
        "point": pa.array([point for point, _, _ in runs], pa.int32()),
    }
    for name in plan.keys:
        values = _column([point.values.get(name) for point in plan.points])
        columns[name] = values.take(columns["point"])
    columns["scheme"] = pa.array([scheme for _, scheme, _ in runs], pa.string())
    columns["seed"] = pa.array([seed for _, _, seed in runs], pa.uint64())
    return pa.table(columns)


def full_table(store: Store, plan: pa.Table) -> pa.Table:
    """The plan with what came of each run. Ratios to the ideal are over the flows that both runs completed."""
    ideals = _ideals(plan)
    schema = _schema()
    batches = []
    for start in range(0, plan.num_rows, ROWS):
        rows = plan.slice(start, ROWS).select(["key", "point", "seed"]).to_pylist()
        found = [_row(store, row["key"], ideals.get((row["point"], row["seed"]))) for row in rows]
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


def _row(store: Store, key: str, ideal: str | None) -> dict[str, Any]:
    record = store.record(key)
    if record is None:
        return {"status": MISSING}
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


def _column(values: Sequence[Any]) -> pa.Array:
    """Numbers as numbers, if all are; everything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known) and known:
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in known):
        return pa.array(values, pa.int64())
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else shown(value) for value in values], pa.string())
