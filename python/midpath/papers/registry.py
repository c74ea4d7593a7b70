"""The registry of paper claims: `<paper>/<table or figure>/claim.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from midpath.errors import ScenarioError, UsageError
from midpath.papers.tolerance import Tolerance
from midpath.scenario import parse
from midpath.units import SCALES, UNITS

CLAIM = "claim.toml"
MEASURE = "measure.py"
OPEN = "open.toml"
# Where the claims stand that ship: the four papers', and what newer schemes are held to.
PAPERS = Path(__file__).parent
NEWER = PAPERS / "schemes"
# Seeds of a figure in which something is random, unless it says otherwise.
SEEDS = 10

FIGURE_KEYS = {"title", "source", "notes", "seeds", "perturb", "says", "fixed", "claim"}
CLAIM_KEYS = {"id", "source", "claim", "paper", "says", "kind", "tolerance", "effect", "fixed", "why", "differs"}
OPTIONAL = {"source", "says", "effect", "fixed", "differs"}


class Says(StrEnum):
    """Who says it. The headline counts what the paper says and our packets could contradict: its numbers and shapes."""

    NUMBER = "number"
    SHAPE = "shape"
    OURS = "ours"
    THEORY = "theory"
    INFORMATION = "information"


@dataclass(frozen=True)
class Claim:
    """A number or shape that a paper states, and what counts as the same.

    `says` tells what the paper states from a variant or reading of ours, from theory, which a calculation decides and
    no packet, and from mere information, which nothing can contradict. `effect` is how much the claim is about, where
    that is not in its tolerance. `fixed`: the tolerance is known to have been fixed before the first run. `why` is the
    reason of the tolerance or the derivation of the number; `differs` says why ours is outside it, if it is.
    """

    id: str
    source: str
    claim: str
    paper: float | str
    says: Says
    kind: str
    tolerance: Tolerance
    effect: float | None
    fixed: bool
    why: str
    differs: str | None

    @property
    def number(self) -> float | None:
        """What the paper says, if it is a number."""
        return None if isinstance(self.paper, str) else self.paper

    @property
    def counts(self) -> bool:
        """Whether it is the paper's own and about packets, so that the headline counts it."""
        return self.says in (Says.NUMBER, Says.SHAPE)


@dataclass(frozen=True)
class Figure:
    """A table or figure of a paper: its claims, and the folder with what measures them.

    `perturb`: where nothing is random, each flow starts late by up to this time, with every seed but the first.
    """

    id: str
    title: str
    notes: str
    seeds: int
    perturb: str | None
    claims: tuple[Claim, ...]
    directory: Path

    @property
    def paper(self) -> str:
        """The paper's name."""
        return self.id.partition("/")[0]

    def scenarios(self) -> list[Path]:
        """The scenarios that it runs, each also for itself."""
        return [file for file in sorted(self.directory.glob("*.toml")) if file.name not in (CLAIM, OPEN)]

    def to_json(self) -> dict[str, Any]:
        """As `midpath paper list --json` prints it."""
        claims = [
            {
                "id": claim.id,
                "source": claim.source,
                "claim": claim.claim,
                "paper": claim.paper,
                "says": claim.says,
                "fixed": claim.fixed,
                "kind": claim.kind,
                "unit": UNITS[claim.kind],
                "tolerance": claim.tolerance.to_json(),
                "why": claim.why,
            }
            for claim in self.claims
        ]
        return {
            "id": self.id,
            "title": self.title,
            "seeds": self.seeds,
            "perturb": self.perturb,
            "notes": self.notes,
            "claims": claims,
        }


def figures(root: Path | None = None) -> list[Figure]:
    """All figures below `root`; unless said, those of the four papers. `figure9` comes before `figure10`."""
    root = root or PAPERS
    return [_figure(root, file) for file in sorted(root.glob(f"*/*/{CLAIM}"), key=_natural)]


def groups(root: Path | None = None) -> dict[str, list[Figure]]:
    """What one name stands for: `all` below `root`; of what ships `all` of the four papers', and `schemes`."""
    return {"all": figures(root)} if root else {"all": figures(), "schemes": figures(NEWER)}


def choose(name: str, root: Path | None = None) -> list[Figure]:
    """The figure with this id, all of the paper or scheme with this name, or a group."""
    found = groups(root)
    every = [figure for group in found.values() for figure in group]
    chosen = found.get(name) or [figure for figure in every if name in (figure.id, figure.paper)]
    if not chosen:
        papers = dict.fromkeys(figure.paper for figure in every)
        known = ", ".join([*found, *papers, *(figure.id for figure in every)])
        raise UsageError(f"there is no claim {name!r} to run; there are: {known}")
    return chosen


def _natural(path: Path) -> list[int | str]:
    # Split at numbers, texts and numbers take turns, so that like is compared with like.
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.as_posix())]


def _figure(root: Path, file: Path) -> Figure:
    values = parse(file.read_text(encoding="utf-8"), str(file))
    try:
        require_keys(values, FIGURE_KEYS, {"title", "source", "claim"}, "")
        claims = tuple(_claims(values))
        seeds = values.get("seeds", SEEDS)
        if not isinstance(seeds, int) or seeds < 1:
            raise ScenarioError("seeds", None, "is not a whole number above 0")
        perturb = _perturb(values, seeds)
    except ScenarioError as error:
        raise ScenarioError(error.key, None, error.message, str(file)) from None
    name = "/".join(file.parent.relative_to(root).parts)
    notes = str(values.get("notes", "")).strip()
    return Figure(name, str(values["title"]), notes, seeds, perturb, claims, file.parent)


def _perturb(values: dict[str, Any], seeds: int) -> str | None:
    found = values.get("perturb")
    if found is not None and (not isinstance(found, str) or seeds == 1):
        raise ScenarioError("perturb", None, 'is not a time such as "1 ms", of a figure with several seeds')
    return found


def _claims(values: dict[str, Any]) -> Iterator[Claim]:
    seen: set[str] = set()
    for index, table in enumerate(values["claim"]):
        key = f"claim[{index}]"
        require_keys(table, CLAIM_KEYS, CLAIM_KEYS - OPTIONAL, key)
        found = _claim(table, values, key)
        if found.id in seen:
            raise ScenarioError(f"{key}.id", None, f"{found.id!r} exists twice")
        seen.add(found.id)
        yield found


def _claim(table: dict[str, Any], figure: dict[str, Any], key: str) -> Claim:
    paper, tolerance = table["paper"], Tolerance.read(table["tolerance"], f"{key}.tolerance")
    if isinstance(paper, str) and tolerance.needs_number():
        raise ScenarioError(f"{key}.tolerance", None, "is relative to a number, but the paper gives none")
    if table["kind"] not in SCALES:
        raise ScenarioError(f"{key}.kind", None, f"is none of {', '.join(SCALES)}")
    return Claim(
        id=table["id"],
        source=table.get("source", figure["source"]),
        claim=one_line(table["claim"]),
        paper=paper if isinstance(paper, str) else float(paper),
        says=_says(table.get("says", figure.get("says", _plain(paper))), paper, key),
        kind=table["kind"],
        tolerance=tolerance,
        effect=_effect(table, key),
        fixed=_fixed(table, figure, key),
        why=one_line(table["why"]),
        differs=one_line(table["differs"]) if "differs" in table else None,
    )


def _says(name: Any, paper: Any, key: str) -> Says:
    if name not in list(Says):
        raise ScenarioError(f"{key}.says", None, f"is none of {', '.join(Says)}")
    if name == Says.NUMBER and isinstance(paper, str):
        raise ScenarioError(f"{key}.says", None, "is number, but the paper gives none")
    return Says(name)


def _plain(paper: Any) -> Says:
    return Says.SHAPE if isinstance(paper, str) else Says.NUMBER


def _effect(table: dict[str, Any], key: str) -> float | None:
    value = table.get("effect")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ScenarioError(f"{key}.effect", None, "is not a number above 0")
    return float(value)


def _fixed(table: dict[str, Any], figure: dict[str, Any], key: str) -> bool:
    value = table.get("fixed", figure.get("fixed", True))
    if not isinstance(value, bool):
        raise ScenarioError(f"{key}.fixed" if "fixed" in table else "fixed", None, "is not true or false")
    return value


def require_keys(table: Any, known: set[str], needed: set[str], key: str) -> None:
    """Refuses a table of a figure's files that has other keys, lacks some, or has empty ones."""
    if not isinstance(table, dict):
        raise ScenarioError(key, None, "is not a table")
    for name in sorted(set(table) - known):
        raise ScenarioError(f"{key}.{name}".strip("."), None, f"unknown; there are: {', '.join(sorted(known))}")
    for name in sorted(needed - set(table)):
        raise ScenarioError(f"{key}.{name}".strip("."), None, "is missing")
    for name in sorted(needed & {"id", "title", "source", "claim", "why", "kind"}):
        if not table[name] or not (isinstance(table[name], str) or (key == "" and name == "claim")):
            raise ScenarioError(f"{key}.{name}".strip("."), None, "is empty or not a string")


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())
