"""Finds circles of imports that cross folders: rooms that can only be read together.

    python scripts/circles.py            # every crate; exit 1 if there is one
    python scripts/circles.py --all      # circles of files in one folder, too

A room is a file, or a folder with its face (`queue.rs` beside `queue/`, or `mod.rs`). In each folder the rooms that
stand there must be readable one after the other, unless all of a circle are single files. The folder's face stands
above its rooms: it may import all of them, and they what it defines.

A file's imports are its `use` items and the paths in its code that begin with `crate` or `super`; a name that another
file hands on (`pub use`) is looked up where it stands. Tests don't count.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = "struct|enum|trait|fn|type|const|static|union|macro_rules!"
DEFINED = re.compile(rf"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe |async |const )*(?:{KINDS})\s+(\w+)", re.M)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
PATH = re.compile(r"\b((?:crate|super)(?:::\w+)+)")
TEST = re.compile(r"^\s*#\[cfg\(test\)\]\s*\n(?:\s*#\[[^\n]*\n)*\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*(;|\{)", re.M)


@dataclass
class File:
    """One module with a file of its own."""

    path: Path
    module: tuple[str, ...]
    text: str
    defined: set[str] = field(default_factory=set)
    handed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that it brings in, and where from: absolute paths."""
    globs: list[tuple[str, ...]] = field(default_factory=list)


def crate_files(source: Path) -> dict[tuple[str, ...], File]:
    """The files of a crate by module path, without those of tests."""
    files, tests = {}, set()
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        face = parts[-1] in ("mod", "lib", "main")
        module = parts[:-1] if face else parts
        text = code(path.read_text(encoding="utf-8"))
        for name, end in TEST.findall(text):
            tests.add((*module, name)) if end == ";" else None
        files[module] = File(path, module, without_tests(text))
    return {m: f for m, f in files.items() if not any(m[: len(t)] == t for t in tests) and "bin" not in m[:1]}


def code(text: str) -> str:
    """A file without its comments and the contents of its strings."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def without_tests(text: str) -> str:
    """A file without the test modules that stand in it."""
    while found := next((m for m in TEST.finditer(text) if m[2] == "{"), None):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def leaves(tree: str) -> Iterator[tuple[list[str], str]]:
    """The paths of a `use` tree, and the name that each has here."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = tree.partition(" as ")
        parts = [p.strip() for p in path.split("::")]
        yield parts, alias.strip() or parts[-1]
        return
    prefix = [p.strip() for p in tree[:brace].rstrip(": \n").split("::") if p.strip()]
    depth, start, body = 0, 0, tree[brace + 1 : tree.rfind("}")]
    pieces = []
    for i, char in enumerate(body):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and not depth:
            pieces.append(body[start:i])
            start = i + 1
    for piece in [*pieces, body[start:]]:
        if piece.strip():
            for parts, name in leaves(piece):
                whole = [*prefix, *parts]
                yield (whole[:-1], prefix[-1]) if whole[-1] == "self" else (whole, name)


def absolute(parts: list[str], file: File, files: dict[tuple[str, ...], File]) -> tuple[str, ...] | None:
    """A path from the crate's root, if it leads into this crate."""
    at = list(file.module)
    if parts[0] == "crate":
        at, parts = [], parts[1:]
    elif parts[0] in ("self", "super"):
        while parts and parts[0] in ("self", "super"):
            at = at[:-1] if parts[0] == "super" else at
            parts = parts[1:]
    elif (*file.module, parts[0]) not in files:
        return None
    return (*at, *parts)


def resolve(path: tuple[str, ...], files: dict[tuple[str, ...], File], seen: frozenset = frozenset()) -> File | None:
    """The file in which what a path names is defined."""
    if path in seen:
        return None
    for end in range(len(path), -1, -1):
        if (file := files.get(path[:end])) is None:
            continue
        if end == len(path) or path[end] in file.defined:
            return file
        if handed := file.handed.get(path[end]):
            return resolve((*handed, *path[end + 1 :]), files, seen | {path}) or file
        for glob in file.globs:
            found = resolve((*glob, *path[end:]), files, seen | {path})
            if found and path[end] in found.defined:
                return found
        return file
    return None


def imports(files: dict[tuple[str, ...], File]) -> dict[Path, dict[Path, str]]:
    """Of each file the files that it imports, and by which path."""
    for file in files.values():
        file.defined = set(DEFINED.findall(file.text))
        for _, tree in USE.findall(file.text):
            for parts, name in leaves(tree):
                if (path := absolute(parts, file, files)) is None:
                    continue
                if name == "*":
                    file.globs.append(path[:-1])
                else:
                    file.handed[name] = path
    found: dict[Path, dict[Path, str]] = {}
    for file in files.values():
        # What a face hands on is for others to import: reading it leads nowhere yet.
        used = USE.sub(lambda m: "" if m[1] else m[0], file.text)
        paths = [path for _, tree in USE.findall(used) for path, _ in leaves(tree)]
        paths += [path.split("::") for path in PATH.findall(USE.sub("", used))]
        for parts in paths:
            path = absolute(parts[:-1] if parts[-1] == "*" else parts, file, files)
            target = resolve(path, files) if path is not None else None
            if target and target is not file:
                found.setdefault(file.path, {}).setdefault(target.path, "::".join(parts))
    return found


Room = tuple[str, ...]
"""A file or a folder, by its module path: `queue.rs` and what is in `queue/` are one."""


def rooms(files: dict[Room, File], graph: dict[Path, dict[Path, str]], inside: Room) -> dict[Room, dict[Room, str]]:
    """The rooms that stand in a folder, and which imports lead from one to another."""
    depth = len(inside)
    of = {file.path: module[: depth + 1] for module, file in files.items() if module[:depth] == inside}
    found: dict[Room, dict[Room, str]] = {}
    for path, others in graph.items():
        for other, by in others.items():
            here, there = of.get(path, ()), of.get(other, ())
            if here != there and len(here) > depth and len(there) > depth:
                found.setdefault(here, {}).setdefault(there, f"{path.name} -> {other.name} by {by}")
    return found


def circles(graph: dict[Room, dict[Room, str]]) -> list[list[Room]]:
    """The strongly connected components of more than one room (Tarjan 1972)."""
    number: dict[Room, int] = {}
    low: dict[Room, int] = {}
    stack: list[Room] = []
    out: list[list[Room]] = []

    def visit(node: Room) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph.get(node, {}):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            found = []
            while not found or found[-1] != node:
                found.append(stack.pop())
            if len(found) > 1:
                out.append(sorted(found))

    for node in graph:
        if node not in number:
            visit(node)
    return out


def report(source: Path, all_of_them: bool, root: Path = ROOT) -> int:
    """Prints the circles of a crate; how many span two folders."""
    files = crate_files(source)
    graph = imports(files)
    folders = {module[:n] for module in files for n in range(len(module))}
    wide = 0
    for inside in sorted(folders):
        between = rooms(files, graph, inside)
        for circle in circles(between):
            crosses = any(room in folders for room in circle)
            wide += crosses
            if not (crosses or all_of_them):
                continue
            where = "/".join((str(source.relative_to(root)), *inside))
            print(f"{where}: {', '.join(room[-1] for room in circle)} in a circle")
            for room in circle:
                for other, by in between[room].items():
                    if other in circle:
                        print(f"  {room[-1]} -> {other[-1]}: {by}")
    return wide


def main() -> None:
    """Looks at every crate."""
    sys.setrecursionlimit(10_000)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="circles within a folder, too")
    asked = parser.parse_args()
    wide = sum(report(source, asked.all) for source in sorted([*ROOT.glob("crates/*/src"), *ROOT.glob("net/*/src")]))
    print(f"circles that span two folders: {wide}")
    sys.exit(1 if wide else 0)


if __name__ == "__main__":
    main()
