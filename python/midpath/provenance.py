"""Provenance of a result: Midpath's version, and the defaults of what ran. Defaults change between versions, and
during development. A stored result names both, and mixing different ones is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from midpath.errors import OutputError
from midpath.extension import _midpath

# The keys of a scenario that are not a scheme's, among the names of schemes.
SCENARIO = "scenario"
# Digits of a digest: defaults change some hundred times.
DIGITS = 12
# Differences that a message names.
MOST_NAMED = 3

# `run.json`, or whatever else has `midpath` and `defaults`.
Kept = Mapping[str, Any]


def ran_under(schemes: Iterable[str] | None = None) -> dict[str, Any]:
    """What a result keeps: `midpath`, the version, and `defaults`: a digest of each of these schemes (all unless said)
    and one of a scenario's other keys. Controllers in Python have none.
    """
    known = digests()
    names = known if schemes is None else [SCENARIO, *sorted(known.keys() & set(schemes))]
    return {"midpath": _midpath.version(), "defaults": {name: known[name] for name in names}}


@cache
def digests() -> dict[str, str]:
    """A digest of the defaults of each scheme, and of the other keys of a scenario."""
    schema = json.loads(_midpath.schema())
    shared = schema.pop("$defs")
    schemes = schema["properties"].pop("schemes")["properties"]
    return {name: _digest(node, shared) for name, node in {SCENARIO: schema, **schemes}.items()}


def _digest(node: Any, shared: Mapping[str, Any]) -> str:
    found = sorted((path, json.dumps(value, sort_keys=True)) for path, value in _defaults(node, shared, "", ()))
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:DIGITS]


def _defaults(node: Any, shared: Mapping[str, Any], path: str, within: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Each default below a node of the schema, by where it stands: no texts, and not which values there are."""
    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _defaults(inner, shared, f"{path}/{index}", within)
    if not isinstance(node, dict):
        return
    if "default" in node:
        yield path, node["default"]
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    if name and name not in within:
        yield from _defaults(shared[name], shared, path, (*within, name))
    for key, inner in node.items():
        if key != "default":
            yield from _defaults(inner, shared, f"{path}/{key}", within)


def unlike(one: Kept, other: Kept) -> tuple[str, str] | None:
    """What each of two ran under, in words, if that is not the same. Of a kernel's runs nothing is asked."""
    if "lab" in (one.get("kind"), other.get("kind")):
        return None
    mine, theirs = one.get("defaults") or {}, other.get("defaults") or {}
    names = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    same = one.get("midpath") == other.get("midpath") and bool(mine) == bool(theirs) and not names
    return None if same else (_said(one, names), _said(other, names))


def _said(kept: Kept, names: Sequence[str]) -> str:
    version, defaults = f"midpath {kept.get('midpath') or 'of an unknown version'}", kept.get("defaults")
    if not defaults:
        return f"{version} with defaults that it does not name"
    listed = ", ".join(f"{name} {defaults[name]}" for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{version} with defaults of {listed}{more}" if names else version


def together(found: Iterable[Kept]) -> dict[str, Any]:
    """What results that are alike ran under, as one of them all."""
    listed = list(found)
    defaults = {name: digest for kept in listed for name, digest in (kept.get("defaults") or {}).items()}
    return {"midpath": listed[0].get("midpath"), **({"defaults": defaults} if defaults else {})}


def require_alike(found: Iterable[tuple[str, Kept]]) -> None:
    """Raises `OutputError` if two of these results, each with its name, ran under unlike versions or defaults."""
    first: dict[str, tuple[str, Kept]] = {}
    for name, kept in found:
        for of in ("", *(kept.get("defaults") or ())):
            before, earlier = first.setdefault(of, (name, kept))
            if both := unlike(earlier, kept):
                raise OutputError(
                    f"{before} ran under {both[0]}, {name} under {both[1]}: they cannot be compared; "
                    "rerun the older one, or look at each separately"
                )


def require_now(where: object, kept: Kept, remedy: str) -> None:
    """Raises `OutputError` if what is kept ran under another version or other defaults than what runs now."""
    if both := unlike(kept, ran_under()):
        raise OutputError(f"{where} ran under {both[0]}, and this is {both[1]}: they cannot be compared; {remedy}")
