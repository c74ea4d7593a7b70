"""Each scheme's folder maps its paper to the code: what a row names is in the file, and code that ships uses it."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

CRATES, NET = ROOT / "crates", ROOT / "net"
PACKAGE = ROOT / "python/midpath"
SCHEMES = CRATES / "schemes/src"
CODE = re.compile(r"`([^`]+)`")
HEADER = ["file", "item"]
# Folders whose files a map names beside its own scheme's: TCP's ends are in `transport`, its controllers in `tcp`;
# EQDS's ends and NDP's pacer are UET's.
BESIDE = {"tcp": [SCHEMES / "transport"], "eqds": [SCHEMES / "uec"], "ndp": [SCHEMES / "uec"]}
# Methods that traits declare are called through the trait: their names are used, their types need not be.
DEFINED = r"\b(?:fn|struct|enum|trait|type|const|static|pub|pub\(super\)|pub\(crate\)|def|class)\s+{}\b"
WORD = re.compile(r"\w+")
# Each definition once, with `pub` in front or without: of items, and of public fields.
ANY = re.compile(
    r"\b(?:fn|struct|enum|trait|type|const|static|def|class)\s+(?:r#)?(\w+)\b|\bpub(?:\(\w+\))?\s+(\w+)\s*:"
)


def definitions(text: str) -> list[str]:
    """Names that are defined, as often as they are."""
    return [item or field for item, field in ANY.findall(text)]


def rows():
    """The rows of all tables whose last two columns are a file and an item, in schemes' folders and on their pages."""
    maps = {page: page.parent.name for page in SCHEMES.glob("*/README.md")}
    maps |= {page: page.stem for page in (ROOT / "docs/schemes").glob("*.md")}
    for page, scheme in sorted(maps.items()):
        inside = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            inside = line.startswith("|") and (inside or cells[-2:] == HEADER)
            if inside and cells[-2:] != HEADER and not set(line) <= set("|- "):
                yield pytest.param(scheme, cells[-2], cells[-1], cells[-3], id=f"{scheme}:{page.name}:{number}")


@cache
def shipped(path: Path) -> str:
    """A Rust file without its comments and its tests; a Python file without its docstrings and comments."""
    if path.suffix == ".py":
        return re.sub(r'"""(?s:.*?)"""|#.*', "", path.read_text(encoding="utf-8"))
    text = re.sub(r"^\s*//.*$|\s//\s.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return text.split("#[cfg(test)]\nmod tests {")[0]


def rust() -> Iterator[Path]:
    """Rust's files of both houses."""
    return (path for below in (CRATES, NET) for path in below.glob("*/src/**/*.rs"))


@cache
def uses(suffix: str) -> Counter[str]:
    """How often each name stands in code of this language that ships, beyond its definitions."""
    names: Counter[str] = Counter()
    for path in rust() if suffix == ".rs" else PACKAGE.glob("**/*.py"):
        if "tests" not in path.relative_to(ROOT).parts and path.name != "tests.rs":
            text = shipped(path)
            names.update(WORD.findall(text))
            names.subtract(definitions(text))
    return names


def without_own(text: str, kind: str) -> str:
    """Code without a type's own implementations, in which it names itself."""
    while found := re.search(rf"^impl\b[^{{]*\b{kind}\b[^{{]*{{", text, flags=re.MULTILINE):
        end = text.find("\n}", found.end())
        text = text[: found.start()] + text[end + 2 :]
    return text


@cache
def named_beside(kind: str, suffix: str) -> int:
    """How often a type stands in code of this language that ships, but for its definition and implementations."""
    count = 0
    for path in rust() if suffix == ".rs" else PACKAGE.glob("**/*.py"):
        if "tests" not in path.relative_to(ROOT).parts and path.name != "tests.rs" and kind in shipped(path):
            text = re.sub(r"^\s*(?:pub )?use [^;]*;", "", without_own(shipped(path), kind), flags=re.MULTILINE)
            count += WORD.findall(text).count(kind) - definitions(text).count(kind)
    return count


def located(scheme: str, name: str) -> Path:
    """The file that a cell names, from the scheme's folders, from `crates`, `net` or the Python package."""
    for base in (SCHEMES / scheme, *BESIDE.get(scheme, []), CRATES, NET, PACKAGE):
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
    assert uses(files[0].suffix)[name] > 0, f"only tests use {item}"
    for kind in (one for one in item.split("::") if one[0].isupper() and not one.isupper()):
        assert named_beside(kind, files[0].suffix) > 0, f"only tests and {kind} itself use {kind}"


@pytest.mark.parametrize(("scheme", "files", "items", "source"), list(rows()))
def test_what_a_map_names_exists_and_ships(scheme, files, items, source):
    assert source, "the row says not where it is from"
    paths = [located(scheme, name) for name in CODE.findall(files)]
    assert paths, "the row names no file"
    for item in CODE.findall(items):
        check_item(item, paths)


def test_every_scheme_of_a_paper_has_a_map():
    mapped = {row.values[0] for row in rows()}
    # Datagrams have no paper.
    of_papers = {file.parent.name for file in SCHEMES.glob("*/describe.rs")} - {"udp"}
    assert mapped >= of_papers, of_papers - mapped


# The numbers that each paper gives its equations.
NUMBERED = {"fcp": 4, "inrpp": 3, "mircc": 16, "rpm": 6}


@pytest.mark.parametrize(("scheme", "last"), NUMBERED.items())
def test_every_numbered_equation_is_on_its_papers_map(scheme, last):
    mapped = {int(n) for row in rows() if row.values[0] == scheme for n in re.findall(r"\((\d+)\)", row.values[3])}
    assert mapped >= set(range(1, last + 1)), set(range(1, last + 1)) - mapped


def test_what_only_tests_use_is_found():
    with pytest.raises(AssertionError, match="none of"):
        check_item("no_such_function", [SCHEMES / "fcp/equations.rs"])
    with pytest.raises(AssertionError, match="not of"):
        check_item("Sender::price", [SCHEMES / "fcp/equations.rs"])


def test_a_type_that_only_its_own_code_names_is_found():
    """MIRCC's inflation factor stood on the map so."""
    own = "pub struct Lone {\n}\n\nimpl Lone {\n    pub fn new() -> Lone {\n        Lone {}\n    }\n}\n"
    assert WORD.findall(without_own(own, "Lone")).count("Lone") == 1, "its definition"
    assert WORD.findall(without_own(own + "fn f(x: Lone) {}\n", "Lone")).count("Lone") == 2
