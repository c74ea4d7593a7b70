"""A sample of the mutants by room: how many are tried, what became of them, and the page that says so."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mutation.find import Mutant
from mutation.notice import Fate

SEED = 35
# The record of how many mutants are of no room.
ELSEWHERE = "elsewhere"
COLUMNS = [
    "room",
    "commit",
    "mutants",
    "tried",
    "killed at first",
    "killed when tried again",
    "accepted",
    "survive",
    "not tried",
]


@dataclass(frozen=True)
class Room:
    """A part of the code."""

    name: str
    number: int
    """How many of its mutants are tried. Chosen before any of them was: what takes an hour of one core in all."""
    patterns: tuple[str, ...]
    """Of its files' paths."""

    def has(self, file: str) -> bool:
        """Whether a file is of the room."""
        return any(fnmatch.fnmatch(file, pattern) or pattern in file for pattern in self.patterns)


# A file is of the first room that has it.
ROOMS = [
    Room(
        "equations",
        100,
        (
            "*/equations.rs",
            "*/algorithm1.rs",
            "*/coupling.rs",
            "fcp/price/",
            "mircc/rates.rs",
            "mircc/mean.rs",
            "rpm/registers.rs",
            "rpm/signal.rs",
            "xcp/queue.rs",
            "tcp/cubic.rs",
            "inrpp/load.rs",
        ),
    ),
    Room("ports", 70, ("schemes/src/*/port.rs", "inrpp/port/", "inrpp/cache.rs", "fcp/network/", "fcp/enforce")),
    Room("recovery", 100, ("schemes/src/transport/", "schemes/src/tcp/")),
    Room("queues", 60, ("core/src/queue",)),
    Room("node", 60, ("core/src/node",)),
    Room("roles and wire", 40, ("core/src/roles", "core/src/wire")),
    Room("engine", 60, ("sim/src/engine",)),
]


def room_of(file: str) -> str | None:
    """The room that a file is of."""
    return next((room.name for room in ROOMS if room.has(file)), None)


def in_order(mutants: dict[int, Mutant], seed: int) -> list[int]:
    """The mutants' numbers in the order in which a seed tries them."""
    return sorted(mutants, key=lambda n: hashlib.sha256(f"{seed} {mutants[n].key}".encode()).digest())


def drawn(room: Room, mutants: dict[int, Mutant]) -> list[int]:
    """The numbers of a room's sample, out of the mutants that build."""
    return in_order({n: m for n, m in mutants.items() if room_of(m.file) == room.name}, SEED)[: room.number]


@dataclass
class Survivor:
    """A mutant that no test noticed when it was tried first, and what is known since."""

    key: str
    place: str
    change: str
    tests: str
    """How many tests reach it."""
    killed_by: str = ""
    """A test that failed when it was tried again: with more time, or written since."""
    accepted: str = ""
    """Why it needs none."""


@dataclass
class Record:
    """What became of a room's sample."""

    room: str
    commit: str
    mutants: int
    """That build."""
    tried: int
    survivors: list[Survivor] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reads survivors as they are written."""
        self.survivors = [s if isinstance(s, Survivor) else Survivor(**s) for s in self.survivors]


def survivor(mutant: Mutant, fate: Fate) -> Survivor:
    """A mutant that was not noticed."""
    reached = f"{fate.ran} of {fate.reached_by} tests" if fate.reached_by else "no test reaches it"
    return Survivor(mutant.key, f"{mutant.file} {mutant.function}", mutant.change, reached)


def commit(root: Path) -> str:
    """The commit that is tried; with a plus if the tree has changes."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "crates") else "")


def load(path: Path) -> dict[str, Record]:
    """The records by room."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {entry["room"]: Record(**entry) for entry in kept}


def save(records: dict[str, Record], path: Path) -> None:
    """Writes the records, and beside them the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [records[room] for room in [*(room.name for room in ROOMS), ELSEWHERE] if room in records]
    plain = [vars(record) | {"survivors": [vars(s) for s in record.survivors]} for record in listed]
    path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path.with_name("RESULTS.md").write_text("\n".join(page(listed)) + "\n", encoding="utf-8")


def page(records: list[Record]) -> Iterator[str]:
    """The page of results."""
    yield "# Mutants\n"
    yield "Written by `python scripts/mutants.py --sample`. A small change of the code is a mutant; some test should"
    yield f"fail with it. Seed {SEED} says which are tried. How many of each room was chosen before any was"
    yield "(`scripts/mutation/sample.py`). A room without a line was not tried, and its mutants are not in the sums."
    yield "Each mutant has little time, so some that survive would be killed with more (`--survivors --per-mutant 30`)."
    yield "One that was killed when tried again may have been killed by a test that was there before. What is no"
    yield "longer in the code counts as accepted.\n"
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    sums = [0] * 7
    for record in records:
        since = sum(bool(s.killed_by) for s in record.survivors)
        spared = sum(bool(s.accepted) for s in record.survivors)
        left = len(record.survivors) - since - spared
        row = [
            record.mutants,
            record.tried,
            record.tried - len(record.survivors),
            since,
            spared,
            left,
            record.mutants - record.tried,
        ]
        sums = [a + b for a, b in zip(sums, row, strict=True)]
        yield f"| {record.room} | {record.commit} | {' | '.join(map(str, row))} |"
    yield f"| all |  | {' | '.join(map(str, sums))} |\n"
    yield from listing(
        "Survive", [(s, s.tests) for r in records for s in r.survivors if not (s.killed_by or s.accepted)]
    )
    yield from listing("Accepted", [(s, s.accepted) for r in records for s in r.survivors if s.accepted])
    yield from listing(
        "Killed when tried again", [(s, s.killed_by) for r in records for s in r.survivors if s.killed_by]
    )


def listing(title: str, rows: list[tuple[Survivor, str]]) -> Iterator[str]:
    """Mutants with what is said of them."""
    if rows:
        yield f"## {title}\n"
        for s, said in rows:
            yield f"- `{s.place.removeprefix('crates/')}`: `{shorter(s.change)}` ({said})"
        yield ""


def shorter(change: str) -> str:
    """A change that fits on a line."""
    return change if len(change) <= 120 else f"{change[:70]} … {change[-45:]}"
