"""Two revisions of the simulator, measured in turns: `midpath bench --beside REV`.

Both are built in the same way, from worktrees of their own, so that what is installed here plays no part.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath import stats
from midpath.benchmark import instructions
from midpath.benchmark.measure import CHILD, NotMeasuredError, repetitions
from midpath.benchmark.scenarios import chain, fat_tree, long_flows, short_flows
from midpath.benchmark.suite import Bench
from midpath.errors import UsageError
from midpath.scenario import Scenario
from midpath.stats import Estimate

ROOT = Path(__file__).resolve().parents[3]
# Worktrees and what cargo builds of them: dependencies are built once.
PLACE = ROOT / "target" / "beside"
# From this ratio on a row is worse.
WORSE = 1.02
# Rows in short, where each instruction is counted: a hop costs the same, and valgrind takes fifty times as long.
SHORT: dict[str, dict[str, Any]] = {
    "long-4": long_flows(4, stop="1 s"),
    "long-64": long_flows(64, stop="500 ms"),
    "long-1024": long_flows(1024, stop="300 ms"),
    "long-16384": long_flows(16384, stop="300 ms"),
    "chain-8": chain(8, "200 ms"),
    "fat-tree-4": fat_tree(4, "500 kB"),
    "fat-tree-8": fat_tree(8, "100 kB"),
    "fat-tree-16": fat_tree(16, "60 kB"),
    "short": short_flows() | {"stop": "2 s"},
    "fcp": long_flows(4, "fcp", stop="500 ms"),
}


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, and the program that measures its simulator."""

    name: str
    child: Path


@dataclass(frozen=True)
class Beside:
    """A row: how many times what the other revision needs, per packet-hop. Below 1 it has become cheaper.

    `counted` are instructions, of here and there; `instructions` their ratio, `cpu` that of CPU times.
    """

    id: str
    counted: tuple[float, float] | None
    instructions: Estimate | None
    cpu: Estimate | None

    @property
    def is_worse(self) -> bool:
        """Whether it needs 2 % more: instructions where they are counted, else CPU time that several turns tell apart.

        One count is enough, for it hardly varies; one time is not.
        """
        if self.instructions is None and (self.cpu is None or self.cpu.ci95 is None):
            return False
        judged = self.instructions or self.cpu
        return judged is not None and judged.mean >= WORSE and judged.interval[0] > 1

    def to_json(self) -> dict[str, Any]:
        """As `midpath bench --json` prints it."""
        ratios = {"instructions": self.instructions, "cpu": self.cpu}
        found = {name: one.to_json() for name, one in ratios.items() if one}
        counted = {"instructions_per_hop": list(self.counted)} if self.counted else {}
        return {"id": self.id, "ratios": found, **counted, "worse": self.is_worse}


def beside(row: Bench, sides: tuple[Side, Side], repeat: int, *, only_instructions: bool = False) -> Beside:
    """Measures a row on both sides: here first, then there, and so on."""
    if only_instructions:
        return _by_valgrind(row, sides)
    turns = [[repetitions(row.scenario, 1, child=side.child) for side in sides] for _ in range(repeat)]
    if not all(one.hops for turn in turns for one in turn):
        raise NotMeasuredError("no packet moves")
    here, there = ([turn[i].best_cpu_s / turn[i].hops for turn in turns] for i in (0, 1))
    cpu = stats.paired_ratio(here, there)
    counts = [[turn[i].per_hop().get("instructions") for turn in turns] for i in (0, 1)]
    known = [[count for count in side if count is not None] for side in counts]
    if not all(known):
        return Beside(row.id, None, None, cpu)
    return Beside(row.id, (min(known[0]), min(known[1])), stats.paired_ratio(*counts), cpu)


def _by_valgrind(row: Bench, sides: tuple[Side, Side]) -> Beside:
    if row.id not in SHORT:
        raise NotMeasuredError("it has no short form whose instructions could be counted")
    scenario = Scenario.from_dict(SHORT[row.id])
    here, there = (instructions.per_hop(scenario.text, scenario.base_dir, side.child) for side in sides)
    return Beside(row.id, (here, there), stats.paired_ratio([here], [there]), None)


@contextmanager
def both(rev: str) -> Iterator[tuple[Side, Side]]:
    """The working tree, as far as git knows its files, and a revision: built, and gone afterwards."""
    there = _git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", missing=f"there is no revision {rev!r}")
    here = _git("stash", "create") or _git("rev-parse", "HEAD")
    sides = {"here": here, rev: there}
    places = [PLACE / name for name in ("here", "there")]
    try:
        found = [_built(name, commit, place) for (name, commit), place in zip(sides.items(), places, strict=True)]
        yield found[0], found[1]
    finally:
        for place in places:
            if place.exists():
                _git("worktree", "remove", "--force", str(place))


def _built(name: str, commit: str, place: Path) -> Side:
    if place.exists():  # an earlier run was broken off
        _git("worktree", "remove", "--force", str(place))
    _git("worktree", "add", "--force", "--detach", str(place), commit)
    target = PLACE / "build"
    package = _package(_cargo(name, place, "metadata", "--format-version=1", "--no-deps", "--offline"))
    _cargo(name, place, "build", "--release", "--locked", "--package", package, "--target-dir", str(target))
    library = next(target / "release" / name for name in _LIBRARIES if (target / "release" / name).is_file())
    shutil.copy(library, place / "python" / "midpath" / "_midpath.abi3.so")
    # One program measures both.
    return Side(name, Path(shutil.copy(CHILD, place / CHILD.relative_to(ROOT))))


def _package(metadata: str) -> str:
    """The package of the extension, whose name has changed between revisions."""
    every = json.loads(metadata)["packages"]
    return next(str(one["name"]) for one in every if any(target["name"] == "_midpath" for target in one["targets"]))


def _cargo(name: str, place: Path, *words: str) -> str:
    done = subprocess.run(["cargo", *words], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        last = next(iter(done.stderr.strip().splitlines()[-1:]), f"cargo exited with {done.returncode}")
        raise UsageError(f"{name} does not build: {last}")
    return done.stdout


_LIBRARIES = ("lib_midpath.so", "lib_midpath.dylib")


def _git(*words: str, missing: str | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(missing or f"git {words[0]}: {done.stderr.strip() or 'this is not a checkout of midpath'}")
    return done.stdout.strip()


def worse(found: Sequence[Beside]) -> list[str]:
    """The rows that need 2 % more."""
    return [one.id for one in found if one.is_worse]
