"""Row filters: `--where 'size_bytes<=100 kB'`."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from midpath.errors import UsageError
from midpath.metrics import BY_KEY
from midpath.sweep.quantity import number

CONDITION = re.compile(r"\s*([\w.]+)\s*(<=|>=|!=|==|=|<|>|~)\s*(.*?)\s*")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
# By the end of a column's name, what kind of quantity it has.
KINDS = (("_bps", "bps"), ("_bytes", "bytes"), ("_s", "seconds"), ("_ratio", "ratio"), ("utilisation", "ratio"))
TIMES = ("slowdown", "_to_ideal")


def kind_of(column: str) -> str:
    """The kind of quantity in a column: of a figure, what it says itself; else by the column's name."""
    if column in BY_KEY:
        return BY_KEY[column].kind
    if any(part in column for part in TIMES):
        return "times"
    return next((kind for end, kind in KINDS if column.endswith(end) or end in (column, f"_{column}")), "count")


def chosen(frame: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """The rows for which all conditions hold; `UsageError` if none is left, naming the condition."""
    for text in conditions:
        found = CONDITION.fullmatch(text)
        if found is None:
            raise UsageError(f"--where {text}: write COLUMN=VALUE, or with <, <=, >, >=, != or ~ for a pattern")
        column, sign, value = found.groups()
        if column not in frame:
            raise UsageError(f"--where {text}: there is no column {column!r}; there are {', '.join(frame.columns)}")
        kept = frame[_holds(frame[column], column, sign, value)]
        if kept.empty:
            raise UsageError(f"--where {text}: no row is left. {_there(frame[column])}")
        frame = kept
    return frame


def _holds(values: pd.Series[Any], column: str, sign: str, text: str) -> pd.Series[bool]:
    if sign == "~":
        return values.astype(str).map(lambda value: fnmatch.fnmatchcase(value, text))
    compare = OPERATORS[sign]
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        held: pd.Series[bool] = compare(values, _amount(column, text))
        return held
    if sign in ("<", "<=", ">", ">="):
        raise UsageError(f"--where {column}{sign}{text}: {column} has no numbers")
    same: pd.Series[bool] = compare(values.astype(str).str.lower(), text.lower())
    return same


def _amount(column: str, text: str) -> float:
    found = number(text)
    if found is None or found[0] not in ("number", kind_of(column)):
        raise UsageError(f"--where: {text!r} is not a number, or a quantity such as {column} is")
    return found[1]


def _there(values: pd.Series[Any]) -> str:
    known = values.dropna().unique()
    if pd.api.types.is_numeric_dtype(values) and len(known) > 8:
        return f"There are {known.min():g} to {known.max():g}"
    return f"There are {', '.join(str(value) for value in known[:12])}{' …' if len(known) > 12 else ''}"
