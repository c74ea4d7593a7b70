"""Columns from the simulator to Arrow, and tables to Parquet."""

import json
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from midpath.extension import _midpath

DTYPES = {"uint64": "<u8", "uint32": "<u4", "float64": "<f8", "bool": "?"}
# No value, in a column of whole numbers.
NONE = np.uint32(2**32 - 1)

TEXT = pa.dictionary(pa.int32(), pa.string())
SERIES = pa.schema([("time_s", pa.float64()), ("entity", TEXT), ("metric", TEXT), ("value", pa.float64())])


@cache
def columns(table: str) -> list[tuple[str, str, str]]:
    """Name, type and meaning of each column of a table of rows, such as `flows`."""
    return [(name, kind, meaning) for name, kind, meaning in json.loads(_midpath.columns())[table]]


def schema(table: str, *more: tuple[str, pa.DataType]) -> pa.Schema:
    """The columns of such a table, and `more`."""
    return pa.schema([*((name, pa.type_for_alias(kind)) for name, kind, _ in columns(table)), *more])


def to_arrow(buffers: dict[str, tuple[Any, ...]]) -> pa.Table:
    """A table from `{column: (kind, buffer, …)}`; a NaN, and `NONE` of "uint32?", become null."""
    return pa.table({name: _column(*column) for name, column in buffers.items()})


def _column(kind: str, data: bytes, dictionary: list[str] | None = None) -> pa.Array:
    if kind == "str":
        indices = pa.array(np.frombuffer(data, "<u4").astype("<i4"))
        return pa.DictionaryArray.from_arrays(indices, pa.array(dictionary, pa.string()))
    if kind == "uint32?":
        numbers = np.frombuffer(data, "<u4")
        return pa.array(numbers, mask=numbers == NONE)
    values = np.frombuffer(data, DTYPES[kind])
    return pa.array(values, from_pandas=True)
