"""Changes the code in small ways, one at a time, and says which changes no test notices.

    python scripts/mutants.py                          # two hours, a sample of everything
    python scripts/mutants.py mircc core/src/queue     # the files whose paths have these
    python scripts/mutants.py --minutes 30 --seed 2 --out mutants.txt
    python scripts/mutants.py --sample [ROOM]          # an hour: some of each room, into evidence/properties/mutants
    python scripts/mutants.py --survivors [ROOM]       # what survived there, once more
    python scripts/mutants.py --additions              # which test notices each addition of ours to a paper's scheme

All mutants are built at once into a copy under target/, and a number picks one (scripts/mutation). Each test runs once
to learn which mutants it reaches; then each mutant meets the tests that reach it. When there is no time for all, the
seed says which come first: the same seed tries the same ones. Rust's tests count (units, properties, scenarios), not
Python's.

A mutant that survives wants a test, or a proof that it changes nothing: an entry in scripts/mutants_accepted.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Container
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mutation import additions, notice, sample
from mutation import tree as trees
from mutation.find import Mutant
from mutation.sample import in_order

ROOT = Path(__file__).parents[1]
ACCEPTED = Path(__file__).with_name("mutants_accepted.toml")
PLACE = ROOT / "target/mutants"
RECORDS = ROOT / "evidence/properties/mutants/results.json"
ROOMS = [
    "crates/schemes/src/",
    "crates/core/src/queue",
    "crates/core/src/node",
    "crates/core/src/roles",
    "crates/core/src/wire",
    "crates/sim/src/engine",
]


@dataclass(frozen=True)
class Accepted:
    """Mutants that change nothing that counts, and why."""

    file: str
    function: str
    change: str
    why: str
    occurrence: int | None = None

    def covers(self, mutant: Mutant) -> bool:
        """Whether a mutant is one of these. An empty field is any."""
        return (
            mutant.file == self.file
            and self.function in ("", mutant.function)
            and self.change in ("", mutant.change)
            and self.occurrence in (None, mutant.occurrence)
        )


def accepted(path: Path = ACCEPTED) -> list[Accepted]:
    """The list of accepted mutants."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return [
        Accepted(e["file"], e.get("function", ""), e.get("change", ""), e["why"], e.get("occurrence")) for e in entries
    ]


def table(tree: trees.Tree, fates: dict[int, notice.Fate], spared: set[int]) -> list[str]:
    """The mutants by file: how many were killed, and how many not."""
    counts = defaultdict(Counter)
    for number, mutant in tree.mutants().items():
        kind = "not tried"
        if number in tree.unviable:
            kind = "unviable"
        elif number in spared:
            kind = "accepted"
        elif number in fates:
            kind = "killed" if fates[number].killed_by else "survived"
        counts[mutant.file][kind] += 1
        counts["all"][kind] += 1
    kinds = ["killed", "survived", "accepted", "unviable", "not tried"]
    width = max(map(len, counts))
    lines = [f"{'file':{width}}  " + "  ".join(f"{kind:>9}" for kind in kinds)]
    return lines + [
        f"{name:{width}}  " + "  ".join(f"{count[kind]:>9}" for kind in kinds) for name, count in sorted(counts.items())
    ]


def survivors(tree: trees.Tree, fates: dict[int, notice.Fate]) -> list[str]:
    """Each mutant that nobody noticed, as a change of its lines."""
    lines = []
    mutants = tree.mutants()
    for number in sorted(number for number, fate in fates.items() if fate.killed_by is None):
        mutant, fate = mutants[number], fates[number]
        who = f"{fate.ran} of {fate.reached_by} tests that reach it pass" if fate.reached_by else "no test reaches it"
        lines.append(f"\n{mutant.file}:{mutant.line} {mutant.function}: {who}")
        lines += [f"- {line.strip()}" for line in mutant.before.splitlines()]
        lines += [f"+ {line.strip()}" for line in mutant.after.splitlines()]
    return lines


def digest(tree: trees.Tree) -> str:
    """What the mutants' numbers stand for."""
    found = [(number, mutant.key) for number, mutant in tree.mutants().items() if number not in tree.unviable]
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def say(line: str) -> None:
    """Progress, beside what is printed as the result."""
    print(line, file=sys.stderr, flush=True)


def prepare(find: trees.Finder, wanted: Container[str] | None = None) -> tuple[trees.Tree, notice.Runner]:
    """The copy with all mutants that build, or with those whose keys are wanted; and its tests, each known by what it
    reaches.
    """
    tree = trees.copy(ROOT, find, PLACE)
    if wanted is None:
        say(f"{len(tree.mutants())} mutants in {len(tree.files)} files")
        trees.weed(tree, PLACE / "unviable.json", say)
    else:
        tree.unviable = {n for n, mutant in tree.mutants().items() if mutant.key not in wanted}
        trees.write(tree)
    runner = notice.Runner(trees.build(tree), tree.folder)
    learned = PLACE / ("tests.json" if wanted is None else "tests_of_wanted.json")
    runner.load(learned, digest(tree))
    runner.learn(say)
    runner.save(learned, digest(tree))
    for name in sorted(runner.broken):
        say(f"left out, for it fails without a mutant or takes too long: {name}")
    return tree, runner


def try_additions() -> int:
    """Turns each addition off, and writes down which test notices that."""
    listed = additions.additions()
    tree, runner = prepare(additions.finder(listed, trees.guard))
    if tree.unviable:
        for number in sorted(tree.unviable):
            say(f"does not build: {tree.mutants()[number].function}")
        return 1
    found = {}
    for number, mutant in tree.mutants().items():
        scheme, key = mutant.function.split(" ")
        fate = runner.judge(number, float("inf"), partial(additions.shows, scheme))
        found[scheme, key] = fate.killed_by or ""
        print(f"{mutant.function}: {fate.killed_by or 'no test notices that it is off'}", flush=True)
    additions.LIST.write_text(additions.record(found, additions.LIST.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def try_sample(rooms: list[str], most: float, minutes: float) -> int:
    """Tries so many mutants of each room, or of those that are named, and writes down what became of them. A room
    that takes longer than some minutes ends there, in the order that the seed says.
    """
    tree, runner = prepare(trees.in_rooms(ROOMS))
    mutants = {n: mutant for n, mutant in tree.mutants().items() if n not in tree.unviable}
    known, version = accepted(), sample.commit(ROOT)
    for room in sample.ROOMS:
        if rooms and room.name not in rooms:
            continue
        record = sample.Record(
            room.name, version, sum(sample.room_of(m.file) == room.name for m in mutants.values()), 0
        )
        end = time.monotonic() + 60 * minutes
        for number in sample.drawn(room, mutants):
            if time.monotonic() > end:
                break
            mutant = mutants[number]
            why = next((entry.why for entry in known if entry.covers(mutant)), "")
            fate = notice.Fate(None, 0, 0) if why else runner.judge(number, most)
            record.tried += 1
            if fate.killed_by is None:
                record.survivors.append(replace(sample.survivor(mutant, fate), accepted=why))
                say(f"{room.name} {record.tried}: {mutant.file}:{mutant.line} {mutant.function}: {mutant.change}")
        elsewhere = sum(sample.room_of(mutant.file) is None for mutant in mutants.values())
        keep({room.name: record, sample.ELSEWHERE: sample.Record(sample.ELSEWHERE, "", elsewhere, 0)})
    return 0


def try_survivors(rooms: list[str], most: float) -> int:
    """Tries what survived once more: tests were written since, or a reason."""
    records, known = sample.load(RECORDS), accepted()
    tried = {room: record for room, record in records.items() if not rooms or room in rooms}
    tree, runner = prepare(trees.in_rooms(ROOMS), {s.key for record in tried.values() for s in record.survivors})
    numbers = {mutant.key: n for n, mutant in tree.mutants().items() if n not in tree.unviable}
    for room, record in tried.items():
        for survivor in record.survivors:
            number = numbers.get(survivor.key)
            if number is None:
                survivor.accepted = survivor.accepted or "No longer in the code."
            else:
                why = (entry.why for entry in known if entry.covers(tree.mutants()[number]))
                survivor.accepted = next(why, "")
            if not survivor.accepted and not survivor.killed_by:
                survivor.killed_by = runner.judge(number, most).killed_by or ""
            say(f"{room}: {survivor.place}: {survivor.change}: {survivor.killed_by or survivor.accepted or 'survives'}")
            keep({room: record})
    return 0


def keep(new: dict[str, sample.Record]) -> None:
    """Puts records in the place of those that were."""
    sample.save(sample.load(RECORDS) | new, RECORDS)


def main() -> int:
    """Tries mutants until the time is over, and prints what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "rooms", nargs="*", default=ROOMS, help="parts of files' paths; the default is what decides results"
    )
    parser.add_argument(
        "--minutes", type=float, default=115, help="stop after so many minutes in all; of a sample, in each room"
    )
    parser.add_argument("--most", type=int, help="try at most so many mutants")
    parser.add_argument("--per-mutant", type=float, default=10, help="seconds of tests that a survivor has to pass")
    parser.add_argument("--seed", type=int, default=1, help="which mutants come first")
    parser.add_argument("--out", type=Path, help="write the result to this file, too")
    parser.add_argument("--additions", action="store_true", help="what we add to the papers, and nothing else")
    parser.add_argument("--sample", action="store_true", help="so many mutants of each room, or of those named")
    parser.add_argument("--survivors", action="store_true", help="what survived of the sample, once more")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    os.nice(5)
    if options.additions:
        return try_additions()
    if options.sample or options.survivors:
        rooms = [] if options.rooms == ROOMS else options.rooms
        if options.survivors:
            return try_survivors(rooms, options.per_mutant)
        return try_sample(rooms, options.per_mutant, options.minutes)
    tree, runner = prepare(trees.in_rooms(options.rooms))
    mutants, known = tree.mutants(), accepted()
    spared = {n for n, mutant in mutants.items() if any(entry.covers(mutant) for entry in known)}
    fates: dict[int, notice.Fate] = {}
    for number in in_order(mutants, options.seed):
        if time.monotonic() > end or len(fates) == options.most:
            break
        if number in tree.unviable or number in spared:
            continue
        fates[number] = runner.judge(number, options.per_mutant)
        if fates[number].killed_by is None:
            say(f"survived: {mutants[number].file}:{mutants[number].line} {mutants[number].change}")
    text = "\n".join([*table(tree, fates, spared), *survivors(tree, fates)])
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
