"""Checks what you changed, in seconds: the rooms and crates, Python files and pages that differ from main.

    python scripts/check.py                      # what differs from main, committed or not
    python scripts/check.py --since HEAD         # what is not committed
    python scripts/check.py --room fcp --room queue
    python scripts/check.py --list               # says what it would run

A room is a folder or a file of a crate's `src`. It is checked by its own unit tests, and by the scenario tests whose
module begins with its name. `make test` checks everything: this is no substitute before a change is sent.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(".venv/bin")
# Where the houses have their crates.
CRATES = ("crates", "net", "python")
# Scenarios of these rooms have other names, or stand for more than one room.
SCENARIOS = {
    "icn": ["mircc_icn"],
    "queue": ["queue_kinds", "closed_forms"],
    "node": ["closed_forms", "causality"],
    "engine": ["closed_forms", "causality", "wire"],
    "setup": ["deploy", "paths"],
    "measure": ["measures"],
    "tcp": ["closed_forms", "without"],
    "transport": ["closed_forms", "without", "opener"],
    "explicit": ["rcp", "xcp", "hpcc", "fcp_network"],
    "wire": ["wire"],
    **{room: ["rack"] for room in ("timely", "swift", "dcqcn", "powertcp")},
}
# Python whose tests are not named after it.
TESTS = {"loading": "storage", "work": "sweep", "equipment": "compare", "matched": "compare"}
PAGE_TESTS = ["docs", "excerpts", "paper_maps"]
PAGES = (".md", "mkdocs.yml")
WHOLE = ""


@dataclass(frozen=True)
class Step:
    """One command, and what it is for."""

    name: str
    command: tuple[str, ...]


@dataclass
class Changed:
    """What changed, by kind."""

    rooms: dict[str, set[str]] = field(default_factory=dict)
    """Crates with the rooms that changed in each; `WHOLE` where it is the face of all of them."""
    tests: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Crates and their test programs that changed, with the modules; none is the whole program."""
    python: list[Path] = field(default_factory=list)
    pages: list[Path] = field(default_factory=list)


def sort_out(paths: Iterable[Path]) -> Changed:
    """The changes by kind. A path that matches none, say a data file, is left to `make test`."""
    found = Changed()
    for path in sorted(paths):
        if path.suffix == ".rs" and path.parts[0] in CRATES:
            add_rust(found, path)
        elif path.suffix in (".py", ".pyi"):
            found.python.append(path)
        elif path.name.endswith(PAGES) and path.parts[0] not in ("crates", "net"):
            found.pages.append(path)
    return found


def add_rust(found: Changed, path: Path) -> None:
    """A Rust file is of a room, or of its crate's tests: a program, or a module of one that is a folder."""
    crate, where, *inside = path.parts[1:]
    rooms = found.rooms.setdefault(crate, set())
    name = Path(inside[0]).stem
    if where == "src":
        rooms.add(WHOLE if name in ("lib", "main", "bin") else name)
    elif where == "tests" and len(inside) == 1:
        found.tests[crate, name] = set()
    elif where == "tests" and (ROOT / Path(*path.parts[:4]) / "main.rs").exists():
        module = Path(inside[1]).stem
        if module not in ("main", "common"):
            found.tests.setdefault((crate, name), set()).add(module)


def rooms_named(names: Iterable[str], root: Path = ROOT) -> Changed:
    """Rooms by name, in whichever crates have them."""
    found = Changed()
    for name in names:
        crates = {
            path.parts[-3]
            for end in ("", ".rs")
            for below in CRATES
            for path in root.glob(f"{below}/*/src/{name}{end}")
        }
        if not crates:
            sys.exit(f"no room is called {name}: it is a folder or a file of a crate's src, say fcp or queue")
        for crate in sorted(crates):
            found.rooms.setdefault(crate, set()).add(name)
    return found


def package(crate: str) -> str:
    """The name of a crate's package."""
    return crate if crate.startswith("midpath") else f"midpath-{crate}"


def rust_steps(changed: Changed, root: Path = ROOT) -> list[Step]:
    """Format, lints and circles of the crates; unit tests and scenarios of the rooms."""
    if not changed.rooms:
        return []
    packages = [word for crate in sorted(changed.rooms) for word in ("-p", package(crate))]
    steps = [
        Step("format", ("cargo", "fmt", "--check", *packages)),
        Step("circles of imports", (str(BIN / "python"), "scripts/circles.py")),
        Step("clippy", ("cargo", "clippy", "--quiet", *packages, "--all-targets", "--", "-D", "warnings")),
    ]
    for crate, rooms in sorted(changed.rooms.items()):
        if rooms and has_unit_tests(crate, root):
            filters = [] if WHOLE in rooms else [f"{room}::" for room in sorted(rooms)]
            steps.append(Step(f"unit tests of {crate}", cargo_test(crate, "--lib", filters)))
    programs = {one: set(modules) for one, modules in changed.tests.items()}
    if modules := of_rooms(changed.rooms, root):
        programs.setdefault(("sim", "scenarios"), set()).update(modules)
    for (crate, name), modules in sorted(programs.items()):
        filters = [f"{module}::" for module in sorted(modules)]
        steps.append(Step(f"{name} of {crate}", cargo_test(crate, f"--test={name}", filters)))
    return steps


def has_unit_tests(crate: str, root: Path) -> bool:
    """Whether a crate is a library whose tests cargo runs: the binding's are Python's."""
    [folder] = (path.parent for below in CRATES for path in root.glob(f"{below}/{crate}/Cargo.toml"))
    manifest = (folder / "Cargo.toml").read_text(encoding="utf-8")
    return (folder / "src/lib.rs").exists() and "\ntest = false" not in manifest


def of_rooms(rooms: dict[str, set[str]], root: Path) -> set[str]:
    """The scenario modules that are named after a room, or listed for it."""
    modules = {path.stem for path in (root / "crates/sim/tests/scenarios").glob("*.rs")} - {"main"}
    return {
        module
        for crate in ("core", "schemes", "sim")
        for room in rooms.get(crate, ())
        for module in modules
        if module == room or module.startswith(f"{room}_") or module in SCENARIOS.get(room, ())
    }


def cargo_test(crate: str, target: str, filters: list[str]) -> tuple[str, ...]:
    """Tests of one target: those whose names begin with a filter, or all."""
    return ("cargo", "test", "--quiet", "-p", package(crate), target, "--", *filters)


def python_steps(changed: Changed, root: Path = ROOT) -> list[Step]:
    """Ruff on the files, mypy on the package, and the tests that are about them."""
    files = [str(path) for path in changed.python if (root / path).exists()]
    steps = []
    if files:
        steps.append(Step("ruff", (str(BIN / "ruff"), "check", *files)))
        steps.append(Step("ruff format", (str(BIN / "ruff"), "format", "--check", *files)))
    if any(path.parts[0] == "python" for path in changed.python):
        steps.append(Step("mypy", (str(BIN / "mypy"),)))
    tests = {test for path in changed.python for test in tests_of(path, root)}
    if changed.pages:
        tests |= {f"tests/python/test_{name}.py" for name in PAGE_TESTS}
    if tests:
        quick = (str(BIN / "pytest"), "--quiet", "--exitfirst", "-m", "not nightly")
        steps.append(Step("pytest", (*quick, *sorted(tests))))
    return steps


def tests_of(path: Path, root: Path = ROOT) -> list[str]:
    """The test files that are named after a Python file or its folder, or that name the file's path."""
    folder = root / "tests/python"
    if path.parent == Path("tests/python"):
        return [str(path)] if path.name.startswith("test_") and (root / path).exists() else []
    inside = path.parts[:2] == ("python", "midpath")
    names = {path.stem, *path.parts[2:3]} if inside else {path.stem}
    names = {Path(name).stem for name in names} - {"__init__", "__main__"}
    names |= {TESTS[name] for name in names & TESTS.keys()}
    return [
        str(file.relative_to(root))
        for file in sorted(folder.glob("test_*.py"))
        if any(file.stem == f"test_{name}" or file.stem.startswith(f"test_{name}_") for name in names)
        or (not inside and names_path(file, path))
    ]


def names_path(test: Path, path: Path) -> bool:
    """Whether a test is about a script: it names the file and the folder above it, or the module of both."""
    text = test.read_text(encoding="utf-8")
    apart = f'"{path.parent.name}"' in text and (path.name in text or f'"{path.stem}"' in text)
    return apart or f'"{path.parent.name}.{path.stem}"' in text


def base_of(since: str) -> str | None:
    """The last commit that HEAD and this one share; None where git does not know."""
    try:
        command = ["git", "merge-base", since, "HEAD"]
        base = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return base.stdout.strip() or None


def differing_from_main() -> list[str] | None:
    """What differs from main, here or where this was cloned from; None where git cannot tell."""
    for main in ("main", "origin/main"):
        if commit := base_of(main):
            return [str(path) for path in differing(commit)]
    return None


def differing(commit: str) -> list[Path]:
    """What differs from a commit, committed or not, and new files."""
    lists = (
        ["git", "diff", "--name-only", "--diff-filter=d", commit],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    return [
        Path(line)
        for command in lists
        for line in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    ]


def run(steps: list[Step]) -> int:
    """Runs the steps up to the first that fails; its exit code."""
    environment = os.environ | {"PROPTEST_RNG_SEED": os.environ.get("PROPTEST_RNG_SEED", "1")}
    for step in steps:
        begin = time.monotonic()
        done = subprocess.run(step.command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        print(f"{time.monotonic() - begin:6.1f} s  {step.name}{'' if done.returncode == 0 else ': failed'}", flush=True)
        if done.returncode != 0:
            print(f"{done.stdout}{done.stderr}\n{shlex.join(step.command)}")
            return 1
    return 0


def main() -> int:
    """Says what changed, and checks it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--since", default="main", help="the commit to compare with")
    parser.add_argument("--room", action="append", default=[], help="check this room, whatever changed")
    parser.add_argument("--list", action="store_true", help="say what would run")
    options = parser.parse_args()
    changed = rooms_named(options.room) if options.room else sort_out(differing(base_of(options.since) or "HEAD"))
    steps = rust_steps(changed) + python_steps(changed)
    if options.list or not steps:
        print("\n".join(shlex.join(step.command) for step in steps) or "nothing changed that these checks know")
        return 0
    return run(steps)


if __name__ == "__main__":
    sys.exit(main())
