"""Tables of any kind of result as data frames of one form. Every row names its run: `result` (its directory),
`variant`, `scheme`, `seed`. Ports are named `a>b`. A series is a row per time, with its metrics as columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from midpath.compare.comparison import Comparison
from midpath.compare.variants import Variants
from midpath.errors import UsageError
from midpath.metrics import METRICS
from midpath.result import Result
from midpath.sweep.failures import Failures
from midpath.sweep.result import Sweep

Source = Result | Comparison | Variants | Sweep | Failures
Sources = Sequence[tuple[str, Source]]

# In the order in which a column is looked for.
TABLES = ("runs", "flows", "ports", "series")
# Which run a row is of.
RUN = ("result", "variant", "scheme", "seed")
# What an entity of a series is, and the column that names it.
ENTITIES = ("port", "flow", "group")


def frame_of(sources: Sources, table: str) -> pd.DataFrame:
    """One table of all results, one below the other."""
    frames = [frame for name, source in sources for frame in _frames(name, source, table)]
    return pd.concat(frames, ignore_index=True)


def table_with(sources: Sources, columns: list[str], asked: str | None) -> str:
    """The first table that has all columns; `UsageError` with what there is if none has."""
    tables = [asked] if asked else list(TABLES)
    if unknown := [table for table in tables if table not in TABLES]:
        raise UsageError(f"there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    known: dict[str, list[str]] = {}
    for table in tables:
        known[table] = _columns(sources, table)
        if set(columns) <= set(known[table]):
            return table
    missing = [column for column in columns if not any(column in own for own in known.values())]
    what = f"no table has a column {missing[0]!r}" if missing else f"no table has all of {', '.join(columns)}"
    there = "; ".join(f"{table}: {', '.join(own)}" for table, own in known.items() if own)
    raise UsageError(f"{what}. There are {there}")


def _columns(sources: Sources, table: str) -> list[str]:
    """Those of the first result: the others are like it."""
    first = next(_frames(*sources[0], table), None)
    return [] if first is None else [str(column) for column in first.columns]


def _frames(name: str, source: Source, table: str) -> Iterator[pd.DataFrame]:
    if isinstance(source, Sweep | Failures):
        sweep = source.sweep if isinstance(source, Failures) else source
        if table == "runs":
            yield sweep.to_pandas().assign(result=name)
        return
    for names, result in _runs(source):
        yield _frame(result, table).assign(**{"result": name, **names})


def _runs(source: Result | Comparison | Variants) -> Iterator[tuple[dict[str, Any], Result]]:
    if isinstance(source, Result):
        variant = source.run.get("variant")
        yield {"scheme": source.scheme, "seed": source.seed} | ({"variant": variant} if variant else {}), source
        return
    comparisons: Mapping[str | None, Comparison] = (
        source.comparisons if isinstance(source, Variants) else {None: source}  # type: ignore[assignment]
    )
    for variant, comparison in comparisons.items():
        for (scheme, seed), result in comparison.results.items():
            yield {"scheme": scheme, "seed": seed} | ({"variant": variant} if variant else {}), result


def _frame(result: Result, table: str) -> pd.DataFrame:
    if table == "runs":
        keys = [metric.key for metric in METRICS]
        numbers = {key: value for key, value in result.summary.items() if key in keys or isinstance(value, int | float)}
        return pd.DataFrame([numbers])
    if table == "flows":
        flows: pd.DataFrame = result.flows.to_pandas()
        return flows.rename(columns={"scheme": "carried_by"})
    if table == "ports":
        ports: pd.DataFrame = result.ports.to_pandas().rename(columns={"port": "port_number"})
        return ports.assign(port=ports["node"].astype(str) + ">" + ports["peer"].astype(str))
    return _series(result)


def _series(result: Result) -> pd.DataFrame:
    series: pd.DataFrame = result.series.to_pandas().astype({"entity": str, "metric": str})
    if series.empty:
        return pd.DataFrame()
    wide = series.pivot_table(index=["entity", "time_s"], columns="metric", values="value", sort=False).reset_index()
    wide.columns.name = None
    kind = wide["entity"].str.partition(":")
    for entity in ENTITIES:
        wide[entity] = kind[2].where(kind[0] == entity)
    return wide
