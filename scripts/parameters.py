"""Counts the parameters of the papers' schemes, from the scenario's JSON Schema.

    python scripts/parameters.py            a line for each

A parameter is a leaf of the scheme's table; under a name that users choose (`groups.NAME`) it counts once. What a
scheme takes from TCP is one, and the table `queue`, which every scheme has, is none. What `without` names stands
beside: switches of our additions, with no value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "python/midpath/schema/scenario.schema.json").read_text(encoding="utf-8"))
TABLES = SCHEMA["properties"]["schemes"]["properties"]
TCP = "newreno"
OF_PAPERS = ("fcp", "inrpp", "mircc", "rpm")
SAID = ("description", "default", "examples")


def plain(node: dict[str, Any]) -> dict[str, Any]:
    """A schema without a reference around it, and without the null that stands for a key that is left out."""
    while "$ref" in node or "anyOf" in node:
        if "$ref" in node:
            node = SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]]
        elif tables := [one for one in map(plain, node["anyOf"]) if "properties" in one]:
            node = tables[0]
        else:
            break
    return node


def leaves(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """The paths of a table's leaves."""
    table = plain(node)
    below = dict(table.get("properties", {}))
    if isinstance(table.get("additionalProperties"), dict):
        below["NAME"] = table["additionalProperties"]
    for key, value in below.items():
        yield from leaves(value, f"{path}.{key}" if path else key)
    if not below:
        yield path


def of_tcp(scheme: str) -> set[str]:
    """The keys that a scheme takes from TCP: they have the same name and kind there."""
    kind = [
        {key: {k: v for k, v in value.items() if k not in SAID} for key, value in TABLES[one]["properties"].items()}
        for one in (scheme, TCP)
    ]
    return {key for key, value in kind[0].items() if value == kind[1].get(key) and key != "queue"}


def parameters(scheme: str) -> list[str]:
    """A scheme's own."""
    return [path for path in leaves(TABLES[scheme]) if path.split(".")[0] not in {*of_tcp(scheme), "queue"}]


def switches(scheme: str) -> list[str]:
    """The additions that `without` names."""
    listed = TABLES[scheme]["properties"].get("without", {})
    return list(listed.get("items", {}).get("enum", []))


def counted(scheme: str) -> int:
    """How many: its own, and one for TCP's."""
    return len(parameters(scheme)) + bool(of_tcp(scheme))


def main() -> None:
    """Prints the counts."""
    for scheme in OF_PAPERS:
        tcp = f", TCP's {len(of_tcp(scheme))} as one" if of_tcp(scheme) else ""
        print(f"{scheme}: {counted(scheme)}{tcp}; {len(switches(scheme))} additions to name")


if __name__ == "__main__":
    main()
