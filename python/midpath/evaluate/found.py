"""An evaluation: a row for each item and scheme, how to see the packets behind it, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from midpath.errors import OutputError
from midpath.evaluate.items import LEVELS, Subject
from midpath.evaluate.verdict import VERDICTS, Row
from midpath.extension import _midpath
from midpath.stats import Estimate, estimate
from midpath.storage import read_json

MARKER = "evaluation.json"


@dataclass(frozen=True)
class Difference:
    """Of a measure's case: its values under two schemes, and their difference seed by seed."""

    item: str
    measure: str
    kind: str
    case: str
    one: float
    other: float
    by: Estimate

    @property
    def is_told(self) -> bool:
        """Whether it is more than luck."""
        return self.by.differs()


@dataclass(frozen=True)
class Evaluation:
    """What was asked, and what came of it."""

    told: Mapping[str, Any]
    rows: Sequence[Row] = field(default=(), compare=False)

    def verdicts(self, scheme: str) -> dict[str, str]:
        """By item."""
        return {row["item"]: row["verdict"] for row in self.told["rows"] if row["scheme"] == scheme}

    def row(self, item: str, scheme: str) -> dict[str, Any]:
        """An item of a scheme."""
        return next(row for row in self.told["rows"] if (row["item"], row["scheme"]) == (item, scheme))

    def count(self, scheme: str) -> dict[str, dict[str, int]]:
        """How many items of each level have each verdict."""
        own = [row for row in self.told["rows"] if row["scheme"] == scheme]
        return {
            level: {v: sum(row["level"] == level and row["verdict"] == v for row in own) for v in VERDICTS}
            for level in LEVELS
        }


def told(rows: Sequence[Row], about: Mapping[str, Any]) -> dict[str, Any]:
    """What evaluation.json has. Nothing in it says when, where or how fast it ran."""
    return {
        "midpath": _midpath.version(),
        "format": 1,
        "kind": "evaluation",
        **about,
        "schemes": {
            row.subject.title: {"name": row.subject.name, "changes": dict(row.subject.changes)} | _place(row.subject)
            for row in rows
        },
        "items": list(dict.fromkeys(row.item.name for row in rows)),
        "subjects": list(dict.fromkeys(row.subject.title for row in rows)),
        "rows": [row.to_json() for row in rows],
    }


def _place(subject: Subject) -> dict[str, str]:
    place = subject.platform
    return {"version": place.version, "packets": place.packets} if place else {}


def load_evaluation(directory: str | Path) -> Evaluation:
    """Reads an evaluation that was written."""
    found = read_json(Path(directory) / MARKER)
    if found.get("kind") != "evaluation" or found.get("format") != 1:
        raise OutputError(f"{Path(directory) / MARKER} is not an evaluation that this version can read")
    return Evaluation(found)


def beside(one: Evaluation, scheme: str, two: Evaluation, other: str) -> Iterator[Difference]:
    """What differs between two schemes, or two versions of one, in all that both were measured in."""
    theirs = {
        (row["item"], m["measure"]): m for row in two.told["rows"] if row["scheme"] == other for m in row["measures"]
    }
    for row in one.told["rows"]:
        if row["scheme"] != scheme:
            continue
        for mine in row["measures"]:
            its = theirs.get((row["item"], mine["measure"]))
            for case, values in mine.get("values", {}).items():
                if its is None or case not in its.get("values", {}):
                    continue
                both = [
                    (a, b)
                    for seed, a in zip(one.told["seeds"], values, strict=True)
                    for seed_of_other, b in zip(two.told["seeds"], its["values"][case], strict=True)
                    if seed == seed_of_other and a is not None and b is not None
                ]
                found = estimate([a - b for a, b in both])
                if found is not None:
                    means = (sum(a for a, _ in both) / len(both), sum(b for _, b in both) / len(both))
                    yield Difference(row["item"], mine["measure"], mine["kind"], case, *means, found)
