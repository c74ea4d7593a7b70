"""The page of sentences is what the data say, and names files and tests that are there."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "evidence/papers"))
import sentences  # noqa: E402


@pytest.mark.parametrize("paper", sentences.TITLES)
def test_each_line_names_files_that_are_there_or_a_reason(paper: str) -> None:
    assert list(sentences.wrong(paper)) == []
    assert len(sentences.sentences(paper)) > 20


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    assert any("there is no crates/" in line for line in sentences.wrong("rpm", tmp_path))


@pytest.mark.parametrize("paper", sentences.TITLES)
def test_each_sentence_that_is_built_has_a_test(paper: str) -> None:
    assert sentences.untested(paper) == 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"files": ["a.rs"], "test": "a.rs::it_holds"}, []),
        ({"files": ["a.rs"], "test": ["a.rs::it_holds", "t.py::test_it"]}, []),
        ({"files": ["a.rs"], "test": "t.py::test_it[case]"}, []),
        ({"files": ["a.rs"], "test": "a.rs::helper"}, ["a.rs has no test 'helper'"]),
        ({"files": ["a.rs"], "test": "a.rs::slow"}, ["a.rs has no test 'slow'"]),
        ({"files": ["a.rs"], "test": "t.py::made"}, ["t.py has no test 'made'"]),
        ({"files": ["a.rs"], "test": "gone.rs::it_holds"}, ["there is no gone.rs"]),
        ({"files": ["a.rs"], "tests": "a.rs::it_holds"}, ["tests is no key of a sentence"]),
        (
            {"not_built": "we do not", "test": "a.rs::it_holds"},
            ["is not built, but has a test or holds in part: it is so"],
        ),
    ],
)
def test_a_sentence_names_tests_that_run(row: dict[str, object], said: list[str], tmp_path: Path) -> None:
    rust = "#[test]\n#[should_panic] // it must\nfn it_holds() {}\nfn helper() {}\n#[test]\n#[ignore]\nfn slow() {}\n"
    (tmp_path / "a.rs").write_text(rust, encoding="utf-8")
    (tmp_path / "t.py").write_text("def test_it(case): ...\ndef made(): ...\n", encoding="utf-8")
    assert list(sentences.errors({"at": "§1", "says": "it is so"} | row, tmp_path)) == said


def test_the_page_is_what_the_data_say() -> None:
    assert (ROOT / "evidence/papers/SENTENCES.md").read_text(encoding="utf-8") == sentences.page()
