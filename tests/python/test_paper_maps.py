"""Each scheme's page maps its paper to the code: what a row names is in the file, and code that ships uses it."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

CRATES = ROOT / "crates"
SCHEMES = CRATES / "schemes/src"
CODE = re.compile(r"`([^`]+)`")
HEADER = ["file", "item"]
# Methods that traits declare are called through the trait: their names are used, their types need not be.
DEFINED = r"\b(?:fn|struct|enum|trait|type|const|static|pub|pub\(super\)|pub\(crate\))\s+{}\b"
WORD, ANY = re.compile(r"\w+"), re.compile(DEFINED.format(r"(\w+)"))


def rows():
    """The rows of all tables whose last two columns are a file and an item."""
    for page in sorted((ROOT / "docs/schemes").glob("*.md")):
        inside = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            inside = line.startswith("|") and (inside or cells[-2:] == HEADER)
            if inside and cells[-2:] != HEADER and not set(line) <= set("|- "):
                yield pytest.param(page.stem, cells[-2], cells[-1], id=f"{page.name}:{number}")


@cache
def shipped(path: Path) -> str:
    """A Rust file without its comments and its tests."""
    text = re.sub(r"^\s*//.*$|\s//\s.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return text.split("#[cfg(test)]\nmod tests {")[0]


@cache
def uses() -> Counter[str]:
    """How often each name stands in code that ships, beyond its definitions."""
    names: Counter[str] = Counter()
    for path in CRATES.glob("*/src/**/*.rs"):
        if "tests" not in path.parts and path.name != "tests.rs":
            text = shipped(path)
            names.update(WORD.findall(text))
            names.subtract(ANY.findall(text))
    return names


def located(scheme: str, name: str) -> Path:
    """The file that a cell names, from the scheme's folder or from `crates`."""
    for base in (SCHEMES / scheme, CRATES):
        if (base / name).is_file():
            return base / name
    raise AssertionError(f"there is no file {name} of {scheme}")


def check_item(item: str, files: list[Path]) -> None:
    """Whether one of the files defines the item, with its type, and something else that ships uses it."""
    *owner, name = item.split("::")
    texts = [shipped(path) for path in files]
    defined = [text for text in texts if re.search(DEFINED.format(re.escape(name)), text)]
    assert defined, f"{item} is in none of {[path.name for path in files]}"
    for kind in owner:
        assert any(re.search(rf"\bimpl\b[^{{]*\b{kind}\b|{DEFINED.format(kind)}", text) for text in defined), (
            f"{name} is there, but not of {kind}"
        )
    assert uses()[name] > 0, f"only tests use {item}"


@pytest.mark.parametrize(("scheme", "files", "items"), list(rows()))
def test_what_a_map_names_exists_and_ships(scheme, files, items):
    paths = [located(scheme, name) for name in CODE.findall(files)]
    assert paths, "the row names no file"
    for item in CODE.findall(items):
        check_item(item, paths)


def test_a_map_is_on_every_page_of_a_paper():
    mapped = {row.values[0] for row in rows()}
    assert mapped >= {"fcp", "hpcc", "inrpp", "mircc", "mptcp", "rcp", "rpm", "xcp"}, mapped


def test_what_only_tests_use_is_found():
    with pytest.raises(AssertionError, match="none of"):
        check_item("no_such_function", [SCHEMES / "fcp/equations.rs"])
    with pytest.raises(AssertionError, match="not of"):
        check_item("Sender::price", [SCHEMES / "fcp/equations.rs"])
