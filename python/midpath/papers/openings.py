"""What a figure's paper leaves open: `<paper>/<figure>/open.toml`, written before the first run of a search.

At most three entries, each with choices. The first choice is the current setting; the others change scenarios. An
ambiguous sentence is an entry with two choices. A contradiction in the paper is recorded with the claim that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from midpath.errors import ScenarioError, UsageError
from midpath.papers.registry import OPEN, Figure, one_line, require_keys
from midpath.scenario import parse

# More would find a reading for anything.
MOST_OPENINGS = 3
ANY = ("*",)

OPENING_KEYS = {"name", "says", "scenarios", "schemes", "choice"}
CHOICE_KEYS = {"label", "changes"}
CONTRADICTION_KEYS = {"claims", "sentences", "because", "shown_by"}


@dataclass(frozen=True)
class Choice:
    """One way to fill a gap: what it is called, and the keys of scenarios that it changes."""

    label: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Opening:
    """Something that the paper leaves open. `says` quotes what it says of it, or what it does not.

    The first choice is what stands. Changes are made in runs whose scenario and scheme fit one of the patterns.
    """

    name: str
    says: str
    scenarios: tuple[str, ...]
    schemes: tuple[str, ...]
    choices: tuple[Choice, ...]

    def choice(self, label: str) -> Choice:
        """The choice with this label."""
        for one in self.choices:
            if one.label == label:
                return one
        known = ", ".join(one.label for one in self.choices)
        raise UsageError(f"{self.name} has no choice {label!r}; there are: {known}")

    def fits(self, scenario: str, scheme: str | None) -> bool:
        """Whether a run of this scenario is changed."""
        return _fits(scenario, self.scenarios) and _fits(scheme or "", self.schemes)


@dataclass(frozen=True)
class Contradiction:
    """Two sentences of a paper that cannot both be, what follows from them, and our claim that shows it."""

    claims: tuple[str, ...]
    sentences: tuple[str, ...]
    because: str
    shown_by: str


@dataclass(frozen=True)
class Reading:
    """A choice for each thing that is open."""

    openings: tuple[Opening, ...]
    choices: tuple[Choice, ...]

    def changes(self, scenario: str, scheme: str | None) -> dict[str, Any]:
        """What it changes in a run."""
        pairs = zip(self.openings, self.choices, strict=True)
        return {k: v for opening, choice in pairs if opening.fits(scenario, scheme) for k, v in choice.changes.items()}

    def labels(self) -> dict[str, str]:
        """Its choices' labels by name."""
        return {one.name: choice.label for one, choice in zip(self.openings, self.choices, strict=True)}

    def departs(self) -> dict[str, str]:
        """The same, of those that are not what stands."""
        pairs = zip(self.openings, self.choices, strict=True)
        return {opening.name: choice.label for opening, choice in pairs if choice != opening.choices[0]}


@dataclass(frozen=True)
class Openings:
    """What a figure leaves open, and where its paper contradicts itself."""

    openings: tuple[Opening, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    def readings(self) -> list[Reading]:
        """All combinations but what stands, those that depart in the fewest things first."""
        all_of = product(*(opening.choices for opening in self.openings))
        found = [Reading(self.openings, choices) for choices in all_of]
        return sorted((one for one in found if one.departs()), key=lambda one: len(one.departs()))

    def reading(self, chosen: Sequence[str]) -> Reading:
        """The one with these choices, as `NAME=LABEL`; what is not named stays as it stands."""
        labels = dict(_named(one) for one in chosen)
        known = {opening.name for opening in self.openings}
        for name in sorted(labels.keys() - known):
            listed = ", ".join(sorted(known)) or "nothing"
            raise UsageError(f"{name!r} is not open in this figure; open: {listed}")
        choices = (
            opening.choice(labels[opening.name]) if opening.name in labels else opening.choices[0]
            for opening in self.openings
        )
        return Reading(self.openings, tuple(choices))

    def contradiction(self, claim: str) -> Contradiction | None:
        """That which a claim is about."""
        return next((one for one in self.contradictions if any(fnmatchcase(claim, c) for c in one.claims)), None)


def _named(text: str) -> tuple[str, str]:
    name, equals, label = text.partition("=")
    if not equals or not name or not label:
        raise UsageError(f"{text!r} is not NAME=CHOICE")
    return name, label


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def openings(figure: Figure) -> Openings:
    """What is written down for a figure; nothing if nothing is."""
    file = figure.directory / OPEN
    if not file.is_file():
        return Openings()
    try:
        return _read(parse(file.read_text(encoding="utf-8"), str(file)), figure)
    except ScenarioError as error:
        raise ScenarioError(error.key, None, error.message, str(file)) from None


def _read(values: dict[str, Any], figure: Figure) -> Openings:
    require_keys(values, {"open", "contradiction"}, set(), "")
    found = tuple(_opening(table, f"open[{i}]") for i, table in enumerate(_tables(values, "open", "")))
    if len(found) > MOST_OPENINGS:
        raise ScenarioError("open", None, f"has {len(found)} entries; at most {MOST_OPENINGS} are searched")
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise ScenarioError("open", None, "has two entries with one name")
    listed = _tables(values, "contradiction", "")
    return Openings(found, tuple(_contradiction(t, f"contradiction[{i}]", figure) for i, t in enumerate(listed)))


def _opening(table: Any, key: str) -> Opening:
    require_keys(table, OPENING_KEYS, {"name", "says", "choice"}, key)
    choices = tuple(_choice(one, f"{key}.choice[{i}]") for i, one in enumerate(_tables(table, "choice", key)))
    if len(choices) < 2:
        raise ScenarioError(f"{key}.choice", None, "has no second choice: the range is empty")
    if choices[0].changes:
        raise ScenarioError(f"{key}.choice[0].changes", None, "must be empty: the first choice is the current setting")
    if len({one.label for one in choices}) < len(choices):
        raise ScenarioError(f"{key}.choice", None, "has two with one label")
    patterns = [tuple(_texts(table, name, key)) or ANY for name in ("scenarios", "schemes")]
    return Opening(_text(table, "name", key), _text(table, "says", key), patterns[0], patterns[1], choices)


def _choice(table: Any, key: str) -> Choice:
    require_keys(table, CHOICE_KEYS, {"label"}, key)
    changes = table.get("changes", {})
    if not isinstance(changes, dict) or any(isinstance(v, float) and not math.isfinite(v) for v in changes.values()):
        raise ScenarioError(f"{key}.changes", None, 'is not a table such as { "queue.limit" = "20 ms" }')
    return Choice(_text(table, "label", key), changes)


def _contradiction(table: Any, key: str, figure: Figure) -> Contradiction:
    require_keys(table, CONTRADICTION_KEYS, CONTRADICTION_KEYS, key)
    claims, sentences = (tuple(_texts(table, name, key)) for name in ("claims", "sentences"))
    known = [claim.id for claim in figure.claims]
    for pattern in (*claims, table["shown_by"]):
        if not any(fnmatchcase(one, str(pattern)) for one in known):
            raise ScenarioError(f"{key}.claims", None, f"{pattern!r} is not a claim of {figure.id}")
    if len(sentences) < 2:
        raise ScenarioError(f"{key}.sentences", None, "are fewer than two")
    return Contradiction(claims, sentences, _text(table, "because", key), _text(table, "shown_by", key))


def _tables(values: dict[str, Any], name: str, key: str) -> list[Any]:
    found = values.get(name, [])
    if not isinstance(found, list):
        raise ScenarioError(f"{key}.{name}".strip("."), None, "is not a list of tables")
    return found


def _texts(table: dict[str, Any], name: str, key: str) -> Iterator[str]:
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise ScenarioError(f"{key}.{name}", None, "is not a list of strings")
    return map(one_line, found)


def _text(table: dict[str, Any], name: str, key: str) -> str:
    found = table[name]
    if not isinstance(found, str) or not found.strip():
        raise ScenarioError(f"{key}.{name}", None, "is empty or not a string")
    return one_line(found)
