"""A copy of the project with all mutants that build."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mutation.find import File, Mutant, mutants_of, render

# Core has the switch; these reach core, and are in this order: each may use those before it.
CRATES = ("core", "schemes", "sim")
TESTED = (*CRATES, "node")
SWITCH = Path(__file__).with_name("switch.rs")
SWITCH_AT, FACE = "crates/core/src/mutant.rs", "crates/core/src/lib.rs"
MARK = re.compile(r"/\*([+-])(\d+)\*/")
NOT_MUTATED = ("*/tests.rs", "*/tests/*", "*/testing.rs", "*/bin/*")
ROUNDS = 25
# By a file's name and text: the file with its mutants, if it is to have any.
Finder = Callable[[str, str], File | None]


@dataclass
class Tree:
    """The copy, its files with mutants, and which of these don't build."""

    folder: Path
    target: Path
    files: list[File] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """Of each file: the number of its first mutant. They count from 1."""
    unviable: set[int] = field(default_factory=set)
    written: dict[int, frozenset[int]] = field(default_factory=dict)
    """Which mutants each file was written without."""

    def mutants(self) -> dict[int, Mutant]:
        """All mutants by number, those that don't build too."""
        return {
            first + i: mutant
            for file, first in zip(self.files, self.first, strict=True)
            for i, mutant in enumerate(file.mutants)
        }


def copy(root: Path, find: Finder, place: Path) -> Tree:
    """Copies what git knows of and what is new, with the mutants that are found."""
    tree = Tree(place / "tree", place / "build")
    names = known_files(root)
    for old in tree.folder.rglob("*"):
        if old.is_file() and str(old.relative_to(tree.folder)) not in {*names, "Cargo.lock", SWITCH_AT}:
            old.unlink()
    number = 1
    for name in names:
        file = find(name, (root / name).read_text(encoding="utf-8")) if mutable(name) else None
        if file is None and name == FACE:
            file = File(name, (root / name).read_bytes(), guard(name))
        if file is None:
            put(tree.folder / name, (root / name).read_bytes())
            continue
        tree.files.append(file)
        tree.first.append(number)
        number += len(file.mutants)
    put(tree.folder / SWITCH_AT, SWITCH.read_bytes())
    return tree


def known_files(root: Path) -> list[str]:
    """The project's files by crate, those first that others use."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    order = {crate: position for position, crate in enumerate(CRATES)}
    return sorted(
        {name for name in listed if name and (root / name).is_file()},
        key=lambda name: (order.get(Path(name).parts[1] if "/" in name else "", len(order)), name),
    )


def mutable(name: str) -> bool:
    """Whether a file is code of a crate that can ask the switch."""
    crate, source = name.split("/")[1:3] if name.count("/") > 2 and name.endswith(".rs") else ("", "")
    return crate in CRATES and source == "src" and not any(fnmatch.fnmatch(name, other) for other in NOT_MUTATED)


def in_rooms(patterns: Iterable[str]) -> Finder:
    """Finds all mutants of the files that a pattern matches."""

    def find(name: str, source: str) -> File | None:
        matches = any(fnmatch.fnmatch(name, pattern) or pattern in name for pattern in patterns)
        return mutants_of(name, source, guard(name)) if matches else None

    return find


def guard(name: str) -> str:
    """What asks for the switch in a file."""
    return "crate::mutant::on" if name.startswith("crates/core/") else "midpath_core::mutant::on"


def put(path: Path, content: bytes) -> None:
    """Writes a file, if that changes it: cargo goes by the time of change."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def write(tree: Tree) -> None:
    """Writes the files with the mutants that build, as far as is known."""
    for position, (file, first) in enumerate(zip(tree.files, tree.first, strict=True)):
        without = frozenset(n - first for n in tree.unviable if 0 <= n - first < len(file.mutants))
        if tree.written.get(position) == without:
            continue
        text = render(file, set(without), first)
        if file.name == FACE:
            text += "\n#[allow(missing_docs)]\npub mod mutant;\n"
        put(tree.folder / file.name, text.encode())
        tree.written[position] = without


def environment(tree: Tree) -> dict[str, str]:
    """What cargo needs to build the copy: warnings don't count in it."""
    return os.environ | {"CARGO_TARGET_DIR": str(tree.target), "RUSTFLAGS": "--cap-lints=allow"}


def weed(tree: Tree, known: Path, say: Callable[[str], None]) -> None:
    """Leaves out what the compiler refuses, until it accepts the rest; `known` keeps what it has refused before."""
    refused_before = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
    for file, first in zip(tree.files, tree.first, strict=True):
        kept = refused_before.get(file.name, {})
        if kept.get("of") == digest(file):
            tree.unviable |= {first + i for i in kept["refused"]}
    for crate in CRATES:
        weed_crate(tree, crate, say)
    for file, first in zip(tree.files, tree.first, strict=True):
        refused = sorted(n - first for n in tree.unviable if 0 <= n - first < len(file.mutants))
        refused_before[file.name] = {"of": digest(file), "refused": refused}
    known.write_text(json.dumps(refused_before), encoding="utf-8")


def digest(file: File) -> str:
    """What a file's mutants are known by."""
    return hashlib.sha256(file.source + repr([mutant.change for mutant in file.mutants]).encode()).hexdigest()


def weed_crate(tree: Tree, crate: str, say: Callable[[str], None]) -> None:
    """Leaves out what the compiler refuses in one crate."""
    for _ in range(ROUNDS):
        write(tree)
        errors = compiled(tree, ["check", "-p", f"midpath-{crate}"])
        if errors is None:
            return
        refused = blame(tree, errors)
        if not refused:
            raise RuntimeError(f"the copy does not build, and no mutant is to blame:\n{errors[0]['rendered']}")
        tree.unviable |= refused
        say(f"{crate}: {len(refused)} more mutants do not build")
    raise RuntimeError(f"{crate} does not build after {ROUNDS} rounds")


def compiled(tree: Tree, arguments: list[str]) -> list[dict] | None:
    """The compiler's errors; none if it has none."""
    done = subprocess.run(
        ["cargo", *arguments, "--message-format=json", "--quiet"],
        cwd=tree.folder,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [
        m["message"] for m in messages if m.get("reason") == "compiler-message" and m["message"]["level"] == "error"
    ]
    if not errors:
        raise RuntimeError(done.stderr)
    return errors


def blame(tree: Tree, errors: list[dict]) -> set[int]:
    """The mutants whose code the errors are in; else all of the functions that they are in."""
    places = defaultdict(list)
    for file in tree.files:
        places[file.name] = marks((tree.folder / file.name).read_bytes().decode())
    found = set()
    for error in errors:
        spans = [*error["spans"], *(span for child in error["children"] for span in child["spans"])]
        spans.sort(key=lambda span: not span["is_primary"])
        inside = [innermost(places[span["file_name"]], span["byte_start"], span["byte_end"]) for span in spans]
        numbers = [number for number in inside if number is not None]
        found |= {numbers[0]} if numbers else everything_near(tree, spans)
    return found


def marks(text: str) -> list[tuple[int, int, int]]:
    """Where each mutant begins and ends, in bytes."""
    begins, found = {}, []
    # Offsets are of bytes: the compiler counts them.
    offset, at = 0, 0
    for mark in MARK.finditer(text):
        offset += len(text[at : mark.start()].encode())
        at = mark.start()
        number = int(mark[2])
        if mark[1] == "+":
            begins[number] = offset
        else:
            found.append((begins[number], offset, number))
    return found


def innermost(places: list[tuple[int, int, int]], start: int, end: int) -> int | None:
    """The smallest mutant around some code."""
    around = [(last - first, number) for first, last, number in places if first <= start and end <= last]
    return min(around)[1] if around else None


def everything_near(tree: Tree, spans: list[dict]) -> set[int]:
    """All mutants of the functions that an error is in: one of them takes what the rest of the function needs."""
    for span in spans:
        for position, file in enumerate(tree.files):
            if file.name != span["file_name"]:
                continue
            text = (tree.folder / file.name).read_bytes()[: span["byte_start"]].decode()
            before = [int(mark[2]) for mark in MARK.finditer(text)]
            after = MARK.search((tree.folder / file.name).read_bytes()[span["byte_start"] :].decode())
            known = before[-1:] + ([int(after[2])] if after else [])
            names = {file.mutants[number - tree.first[position]].function for number in known}
            return {
                tree.first[position] + i
                for i, mutant in enumerate(file.mutants)
                if mutant.function in names and tree.first[position] + i not in tree.unviable
            }
    return set()


def build(tree: Tree) -> dict[str, Path]:
    """Builds the tests; each test program by the crate and target that it is of."""
    packages = [word for crate in TESTED for word in ("-p", f"midpath-{crate}")]
    command = ["cargo", "test", "--no-run", *packages, "--lib", "--tests", "--message-format=json", "--quiet"]
    done = subprocess.run(command, cwd=tree.folder, env=environment(tree), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tests do not build:\n{done.stderr}\n{done.stdout[-3000:]}")
    found = {}
    for line in done.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message.get("profile", {}).get("test"):
            crate = Path(message["manifest_path"]).parent.name
            found[f"{crate}/{message['target']['name']}"] = Path(message["executable"])
    return found
