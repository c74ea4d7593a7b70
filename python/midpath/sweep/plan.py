"""The plan of a sweep: points, each under every scheme and seed. A point is a scenario with changed values at some
keys. A factorial plan takes every combination of values; a listed plan names its points one by one. Both may be
given: then each listed point is combined with every combination.
"""

from __future__ import annotations

import csv
import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from midpath.errors import ScenarioError, UsageError
from midpath.metrics import IDEAL
from midpath.run.plan import Plan, Point, own_scheme
from midpath.scenario import LARGEST_SEED, Scenario, flat

# The column that says which scenario a run is of, where there are several.
SCENARIO = "scenario"
# Keys that have an option of their own.
RESERVED = {"scheme": "--schemes", "seed": "--seeds"}

Values = Mapping[str, Any]


def plan_of(
    scenarios: Sequence[Scenario],
    vary: Mapping[str, Sequence[Any]],
    listed: Sequence[Values] | None,
    schemes: Sequence[str] | None,
    seeds: int | Sequence[int],
    ideal: bool,
) -> Plan:
    """The plan of these scenarios and values; no run of it has been checked."""
    if not scenarios:
        raise UsageError("a sweep needs a scenario")
    names = _names(scenarios)
    rows = _rows(vary, listed)
    points = [
        _point(scenario, ({SCENARIO: name} if len(scenarios) > 1 else {}), row)
        for scenario, name in zip(scenarios, names, strict=True)
        for row in rows
    ]
    asked = list(schemes) if schemes is not None else list(dict.fromkeys(own_scheme(s) for s in scenarios))
    wanted = list(dict.fromkeys([*asked, *([IDEAL] if ideal else [])]))
    numbers = [_seeds(point.scenario, seeds) for point in points]
    if not asked or not points or not all(numbers):
        raise UsageError("a sweep needs a point, a scheme and a seed")
    return Plan(points, wanted, numbers)


def read_listed(path: Path) -> list[dict[str, Any]]:
    """The points of a file: rows of a CSV, whose head names the keys, or `[[point]]` of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    rows = _toml(text, path) if path.suffix.lower() == ".toml" else _csv(text, path)
    if not rows:
        raise UsageError(f"{path} lists no point")
    return rows


def split(text: str) -> list[str]:
    """Values with commas between them; commas in brackets, braces and quotes belong to a value."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[{") - (char in "]}")
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def value_of(text: str) -> Any:
    """A value as TOML has it where it can be, else the text: `10 ms` needs no quotes."""
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if list(found) == ["value"] else text


def _point(scenario: Scenario, head: dict[str, Any], row: Values) -> Point:
    try:
        changed = scenario.with_(changes=dict(row)) if row else scenario
        changed.to_dict()
    except ScenarioError as error:
        raise ScenarioError(error.key, error.line, error.message, error.source or scenario.source) from None
    return Point(changed, head | dict(row))


def _rows(vary: Mapping[str, Sequence[Any]], listed: Sequence[Values] | None) -> list[dict[str, Any]]:
    for key, values in vary.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise UsageError(f"{key}: give a list of values, not {values!r}")
        if not values:
            raise UsageError(f"{key}: there is no value to vary")
    if listed is not None and not listed:
        raise UsageError("the listed plan has no point")
    combinations = [dict(zip(vary, found, strict=True)) for found in itertools.product(*vary.values())]
    rows = [_plain(dict(point) | found) for point in (listed or [{}]) for found in combinations]
    _require_keys({key for point in listed or [] for key in point}, set(vary))
    distinct: dict[str, dict[str, Any]] = {}
    for row in rows:
        distinct.setdefault(json.dumps(row, sort_keys=True, default=str), row)
    return list(distinct.values())


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Python's own numbers in place of NumPy's, which TOML does not know."""
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()}


def _require_keys(listed: set[str], varied: set[str]) -> None:
    both = sorted(listed & varied)
    if both:
        raise UsageError(f"{both[0]} is both in the listed plan and varied: give it once")
    for key in sorted(listed | varied):
        if key in RESERVED:
            raise UsageError(f"{key} is not varied as a key: use {RESERVED[key]} ({key}s in Python)")


def _seeds(scenario: Scenario, seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, int):
        first = scenario.base_seed()
        found: Sequence[int] = range(first, first + seeds)
    else:
        found = seeds
    if isinstance(found, str) or not all(isinstance(seed, int) and 0 <= seed <= LARGEST_SEED for seed in found):
        raise UsageError(f"seeds are a number of them, or a list of numbers from 0 to {LARGEST_SEED}, not {found!r}")
    return list(dict.fromkeys(found))


def _names(scenarios: Sequence[Scenario]) -> list[str]:
    """A name for each scenario: its file's, longer where two are alike; for variants of one file, the variant's."""
    files = [s.source or f"scenario {i}" if s.variant is None else s.source or "" for i, s in enumerate(scenarios)]
    stems = [Path(file).stem for file in files]
    # Two files may have the same name in different folders.
    heads = stems if len(set(stems)) == len(set(files)) else files
    names = [head if s.variant is None else f"{head}: {s.variant}" for s, head in zip(scenarios, heads, strict=True)]
    if len(set(files)) == 1 and all(s.variant is not None for s in scenarios):
        names = [str(s.variant) for s in scenarios]
    if len(set(names)) < len(names):
        raise UsageError(f"{next(name for name in names if names.count(name) > 1)} is given twice")
    return names


def _csv(text: str, path: Path) -> list[dict[str, Any]]:
    lines = list(csv.reader(text.splitlines()))
    if not lines:
        return []
    heads = [head.strip() for head in lines[0]]
    if not all(heads) or len(set(heads)) < len(heads):
        raise UsageError(f"{path}: each column needs a key of its own in the first line")
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if not cells:
            continue
        if len(cells) != len(heads):
            raise UsageError(f"{path}:{number}: {len(cells)} cells for {len(heads)} columns")
        # An empty cell leaves the scenario's value.
        rows.append({h: value_of(c.strip()) for h, c in zip(heads, cells, strict=True) if c.strip()})
    return rows


def _toml(text: str, path: Path) -> list[dict[str, Any]]:
    try:
        points = tomllib.loads(text).get("point")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        raise UsageError(f"{path}: write each point as a table [[point]]")
    return [flat(point) for point in points]
