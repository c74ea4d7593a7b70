"""Code that the docs quote is in the files: every line of a Rust excerpt, in order and side by side."""

import re

import pytest

from conftest import ROOT

# Where the excerpts of a page are from.
SOURCES = {
    "docs/add-a-scheme.md": "examples/outside-*/**/*.rs",
    "docs/architecture.md": "crates/*/src/**/*.rs",
    "crates/schemes/README.md": "crates/*/src/**/*.rs",
}
BLOCK = re.compile(r"^```rust\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(
    r"`((?:crates|net|evidence|examples|docs|python|scripts|tests)/[\w./-]+)`|\]\((?!http)([\w./-]+)(?:#[\w-]+)?\)"
)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "fuzz/README.md"]
PAGES += [
    file
    for below in ("crates", "crates/*", "crates/*/src/*", "net", "net/*", "net/*/src/*", "evidence", "python/midpath/*")
    for file in ROOT.glob(f"{below}/README.md")
]


def excerpts():
    for page in SOURCES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield pytest.param(page, found[1], id=f"{page}:{line}")


@pytest.mark.parametrize(("page", "excerpt"), list(excerpts()))
def test_excerpt_is_in_a_file(page, excerpt):
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob(SOURCES[page])]
    assert any(excerpt in source for source in sources), f"not found in {SOURCES[page]}:\n{excerpt}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = [(ROOT / path if path else page.parent / link) for path, link in PATH.findall(text)]
    assert [str(path.relative_to(ROOT)) for path in named if not path.exists()] == []


@pytest.mark.parametrize("page", SOURCES)
def test_names_are_in_the_code(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("crates/*/src/**/*.rs"))
    names = {name for found in re.findall(r"`(?:ctx\.)?(\w+(?:::\w+)+)[`(]", text) for name in found.split("::")}
    calls = set(re.findall(r"`ctx\.(\w+)", text))
    declared = re.findall(r"(?:fn|struct|enum|trait|type|mod|const) (\w+)", code)
    # Fields and variants, each on a line of its own.
    declared += re.findall(r"^ *(?:pub )?(\w+)(?:[:,({]| =| \{)", code, re.MULTILINE)
    known = set(declared)
    assert sorted((names | calls) - known) == []
