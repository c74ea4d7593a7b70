"""Prices of equipment in dollars and watts, with sources: a table that the user can replace."""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from midpath.errors import UsageError, no_such

# What is bought, and the unit of its price.
ITEMS = {
    "link": "Gbps of a link's rate",
    "port": "Gbps of a router's port",
    "card": "Gbps that a scheme processes",
    "dram": "MB",
    "sram": "MB",
}
UNITS = {item: unit.split()[0] for item, unit in ITEMS.items()}
MEASURES = ("dollars", "watts")
KEYS = {"item", *MEASURES, "source", "date"}
# Beyond this no price means anything.
LARGEST = 1e12


@dataclass(frozen=True)
class Price:
    """What a unit of an item costs in dollars or watts, and who says so."""

    value: float
    source: str
    date: str


@dataclass(frozen=True)
class Prices:
    """Prices by item and measure."""

    of: Mapping[tuple[str, str], Price]

    def missing(self) -> list[tuple[str, str]]:
        """What has no price."""
        return [(item, measure) for item in ITEMS for measure in MEASURES if (item, measure) not in self.of]

    def cost(self, amounts: Mapping[str, float], measure: str) -> float | None:
        """What amounts cost; `None` where one that is needed has no price."""
        if self.open(amounts, measure):
            return None
        return math.fsum(amount * self.of[item, measure].value for item, amount in amounts.items() if amount > 0)

    def open(self, amounts: Mapping[str, float], measure: str) -> list[str]:
        """The items that are needed and have no price."""
        return [item for item, amount in amounts.items() if amount > 0 and (item, measure) not in self.of]


def shipped() -> str:
    """The table that ships, as TOML."""
    return files("midpath").joinpath("prices.toml").read_text(encoding="utf-8")


def load(path: Path | None = None) -> Prices:
    """The prices of a file (TOML with `[[price]]` tables, or CSV with the same columns), or those that ship."""
    if path is None:
        return _prices(_toml(shipped(), "prices.toml"), "prices.toml")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    rows = _csv(text) if path.suffix.lower() == ".csv" else _toml(text, str(path))
    return _prices(rows, str(path))


def _toml(text: str, source: str) -> list[dict[str, Any]]:
    try:
        rows = tomllib.loads(text).get("price", [])
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{source}: write rows as [[price]]")
    return rows


def _csv(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True)
    return [{key or "": value for key, value in row.items() if value not in (None, "")} for row in rows]


def _prices(rows: list[dict[str, Any]], source: str) -> Prices:
    found: dict[tuple[str, str], Price] = {}
    for number, row in enumerate(rows, 1):
        place = f"{source}, price {number}"
        if unknown := next((key for key in row if key not in KEYS), None):
            raise UsageError(f"{place}: {no_such('key', str(unknown), sorted(KEYS))}")
        if row.get("item") not in ITEMS:
            raise UsageError(f"{place}: {no_such('item', str(row.get('item', '')), ITEMS)}")
        if lacking := [key for key in ("source", "date") if not str(row.get(key, "")).strip()]:
            raise UsageError(f"{place}: no {lacking[0]}: write the price's source and date")
        if not any(measure in row for measure in MEASURES):
            raise UsageError(f"{place}: no price: write dollars, watts, or both")
        for measure in (measure for measure in MEASURES if measure in row):
            value = _number(row[measure], f"{place}, {measure}")
            found[row["item"], measure] = Price(value, str(row["source"]), str(row["date"]))
    return Prices(found)


def _number(given: Any, place: str) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(given, bool) or not 0 <= value <= LARGEST:
        raise UsageError(f"{place}: {given!r:.40} is not a number from 0 to {LARGEST:g}")
    return value
