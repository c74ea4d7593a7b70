"""Pages that a script writes are what it would write now."""

import importlib.util
import subprocess
import sys

import pytest

from conftest import ROOT

_spec = importlib.util.spec_from_file_location("reading", ROOT / "scripts" / "reading.py")
reading = importlib.util.module_from_spec(_spec)
sys.modules["reading"] = reading  # dataclasses look their module up
_spec.loader.exec_module(reading)


@pytest.mark.parametrize("script", ["command_reference", "gallery", "lists", "pictures", "shell_files"])
def test_page_is_up_to_date(script):
    command = [sys.executable, ROOT / "scripts" / f"{script}.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"write it again: python scripts/{script}.py\n{done.stderr}"


def test_gallery_has_every_scenario():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert [file.name for file in sorted((ROOT / "examples").glob("*.toml")) if f"`{file.name}`" not in page] == []


def test_gallery_figures_are_small():
    figures = list((ROOT / "docs" / "images" / "gallery").glob("*.svg"))
    assert len(figures) >= 12
    assert sum(figure.stat().st_size for figure in figures) < 1_500_000


@pytest.mark.parametrize("listing", ["docs/index.md", "mkdocs.yml"])
def test_every_page_is_listed(listing):
    text = (ROOT / listing).read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    if listing == "mkdocs.yml":  # scripts/site.py adds the pages of schemes
        pages = [page for page in pages if not page.startswith("schemes/")]
    missing = [page for page in pages if page != "index.md" and page not in text]
    if listing == "docs/index.md":  # notebooks stand on a page of their own
        notebooks = (ROOT / "docs" / "notebooks" / "README.md").read_text(encoding="utf-8")
        missing = [page for page in missing if page.removeprefix("notebooks/") not in notebooks]
    assert missing == []


@pytest.mark.parametrize(
    ("word", "syllables"),
    [("rate", 1), ("rates", 1), ("table", 2), ("marked", 1), ("started", 2), ("congestion", 3), ("the", 1), ("RTT", 1)],
)
def test_syllables(word, syllables):
    assert reading.syllables_of(word) == syllables


def test_grade_is_of_prose_alone():
    # Two sentences, 8 words, 10 syllables: 0.39 * 8 / 2 + 11.8 * 10 / 8 - 15.59.
    prose = "The router drops packets. It keeps the rest."
    found = reading.reading(f"# A head\n\n{prose}\n\n| a | table |\n|---|---|\n\n```sh\nmake all of it\n```\n")
    assert (found.sentences, found.words, found.long_share) == (2, 8, 0)
    assert found.grade == pytest.approx(0.72)
    assert reading.reading("```sh\nmake\n```\n") is None


def test_long_sentences_are_counted():
    assert reading.reading(f"{'word ' * 31}here.\n\nA short one.\n").long_share == 0.5
