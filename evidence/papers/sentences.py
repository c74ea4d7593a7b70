"""Each sentence of the four papers that says what the system does, with our file and its test, or why it is not built.

    python evidence/papers/sentences.py > evidence/papers/SENTENCES.md

`sentences.toml` beside a paper's claims has them:

    files = ["crates/…"]            what does it
    test = "crates/….rs::name"      a test that fails when the sentence is false, or a list of them; or pytest's id
    qualified = "…"                 where the sentence holds only in part: in which
    not_built = "…"                 in place of the three: why not

A file or a test that is not there is an error. A sentence without a test is counted.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "python/midpath/papers"
TITLES = {"fcp": "FCP", "inrpp": "INRPP", "mircc": "MIRCC", "rpm": "RPM"}
SCHEMES = "crates/schemes/src/"
KEYS = {"at", "says", "files", "test", "qualified", "not_built"}
NO_TEST = "no test yet"
# A function that Rust's harness runs unasked, or each night: other attributes and comments may stand between.
RUST_TEST = re.compile(r"#\[test\]\s*(?:(?:#\[(?!ignore(?! = .nightly))[^\n]*\]|//[^\n]*)\s*)*fn\s+(\w+)")


def sentences(paper: str) -> list[dict[str, Any]]:
    """What is written down for a paper."""
    return tomllib.loads((PAPERS / paper / "sentences.toml").read_text(encoding="utf-8"))["sentence"]


def tests(one: dict[str, Any]) -> list[str]:
    """The tests that a sentence names."""
    named = one.get("test", [])
    return [named] if isinstance(named, str) else named


def untested(paper: str) -> int:
    """How many sentences that are built name no test."""
    return sum("not_built" not in one and not tests(one) for one in sentences(paper))


def wrong(paper: str, root: Path = ROOT) -> Iterator[str]:
    """What a paper's table gets wrong, a line each."""
    for one in sentences(paper):
        yield from (f"{paper}, {one['at']}: {said}" for said in errors(one, root))


def errors(one: dict[str, Any], root: Path) -> Iterator[str]:
    """What is wrong with a sentence: keys, files or tests that are not there, neither a file nor a reason."""
    if unknown := one.keys() - KEYS:
        yield f"{', '.join(sorted(unknown))} is no key of a sentence"
    if bool(one.get("files")) == bool(one.get("not_built")):
        yield f"has either files or a reason: {one['says']}"
    if "not_built" in one and (tests(one) or "qualified" in one):
        yield f"is not built, but has a test or holds in part: {one['says']}"
    for name in one.get("files", []):
        if not (root / name).is_file():
            yield f"there is no {name}"
    for test in tests(one):
        file, _, name = test.partition("::")
        if not (root / file).is_file():
            yield f"there is no {file}"
        elif name.partition("[")[0] not in _functions(root / file):
            yield f"{file} has no test {name!r}"


@cache
def _functions(file: Path) -> frozenset[str]:
    """The tests in a file."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".rs":
        return frozenset(RUST_TEST.findall(text))
    found = (node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def page() -> str:
    """The whole page."""
    parts = [
        "# What the papers' systems do, sentence by sentence\n\n"
        "Written by `python evidence/papers/sentences.py > evidence/papers/SENTENCES.md` from the papers'\n"
        "`sentences.toml`. A sentence's test fails when it is false.\n"
        f"Files without a folder's name in front are in `{SCHEMES}`.\n"
    ]
    for paper, title in TITLES.items():
        found, without = sentences(paper), untested(paper)
        built = sum("files" in one for one in found)
        counts = f"{built} of {len(found)} are built" + (f", {without} of them without a test" if without else "")
        head = "| where | the paper | here | test |\n|---|---|---|---|\n"
        parts.append(f"\n## {title}\n\n{counts}.\n\n{head}")
        parts.extend(f"| {one['at']} | {_cell(one['says'])} | {_here(one)} | {_test(one)} |\n" for one in found)
    return "".join(parts)


def _here(one: dict[str, Any]) -> str:
    if "not_built" in one:
        return _cell(f"not built, because {one['not_built']}")
    files = ", ".join(f"`{name.removeprefix(SCHEMES)}`" for name in one["files"])
    return _cell(f"{files}; {one['qualified']}" if "qualified" in one else files)


def _test(one: dict[str, Any]) -> str:
    if "not_built" in one:
        return "–"
    return ", ".join(f"`{test.removeprefix(SCHEMES)}`" for test in tests(one)) or NO_TEST


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> None:
    """Prints the page."""
    found = [line for paper in TITLES for line in wrong(paper)]
    if found:
        sys.exit("\n".join(found))
    print(page(), end="")


if __name__ == "__main__":
    main()
