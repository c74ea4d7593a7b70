"""The numeric value of a scenario's quantity: `"10 ms"` is 0.01 seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# The names of units that a scenario takes, as crates/core/src/units.rs has them, in our base units.
UNITS: dict[str, dict[str, float]] = {
    "seconds": {
        **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
        "ms": 1e-3,
        **dict.fromkeys(("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"), 1e-6),
        "ns": 1e-9,
        "ps": 1e-12,
        "min": 60.0,
        "h": 3600.0,
    },
    "bps": {
        f"{prefix}{unit}": factor
        for unit in ("bps", "b/s", "bit/s")
        for prefix, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
    }
    | {"Kbps": 1e3},
    "bytes": {
        "TB": 1e12,
        "GB": 1e9,
        "MB": 1e6,
        **dict.fromkeys(("kB", "KB"), 1e3),
        **dict.fromkeys(("B", "byte", "bytes"), 1.0),
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
    },
    "ratio": {"%": 1e-2},
    "packets": dict.fromkeys(("packet", "packets"), 1.0),
}
AMOUNT = re.compile(r"\s*([+-]?[\d._]+(?:[eE][+-]?\d+)?)\s*(\D*?)\s*")


def number(value: Any) -> tuple[str, float] | None:
    """The kind of a quantity and its amount in the base unit; none for what is no quantity."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return "number", float(value)
    found = AMOUNT.fullmatch(value)
    if found is None:
        return None
    try:
        amount = float(found[1])
    except ValueError:
        return None
    if not found[2]:
        return "number", amount
    return next(((kind, amount * units[found[2]]) for kind, units in UNITS.items() if found[2] in units), None)


def numbers(values: Iterable[Any]) -> tuple[str, dict[Any, float]] | None:
    """The amounts of several values, if all of them are of one kind."""
    found = {value: number(value) for value in values}
    known = {value: amount for value, amount in found.items() if amount is not None}
    kinds = {kind for kind, _ in known.values()}
    if len(known) < len(found) or len(kinds) != 1:
        return None
    return kinds.pop(), {value: amount for value, (_, amount) in known.items()}
