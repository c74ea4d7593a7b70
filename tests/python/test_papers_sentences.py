"""The page of sentences is what the data say, and names files that are there."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "checks/papers"))
import sentences  # noqa: E402


@pytest.mark.parametrize("paper", sentences.TITLES)
def test_each_line_names_files_that_are_there_or_a_reason(paper: str) -> None:
    assert list(sentences.wrong(paper)) == []
    assert len(sentences.sentences(paper)) > 20


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    assert any("there is no crates/" in line for line in sentences.wrong("rpm", tmp_path))


def test_the_page_is_what_the_data_say() -> None:
    assert (ROOT / "checks/papers/SENTENCES.md").read_text(encoding="utf-8") == sentences.page()
