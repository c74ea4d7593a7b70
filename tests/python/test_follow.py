"""The pages that lead through Midpath step by step, followed to the letter in an empty folder."""

import importlib.util

import pytest

from conftest import ROOT

_spec = importlib.util.spec_from_file_location("follow", ROOT / "scripts" / "follow.py")
follow = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(follow)

PAGES = ["docs/tutorial.md", "docs/operator.md", "docs/what-if.md"]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.nightly(page, "scripts/follow.py")) for page in PAGES]
)
def test_page_says_what_is_printed(page, tmp_path):
    _, wrong = follow.follow(ROOT / page, tmp_path)
    hint = f"write it again with python scripts/follow.py {page} --write, and read what the page says of it"
    assert wrong == [], "\n".join([*wrong, hint])


def test_other_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```text title="a.txt"\none\n```\n\n```console\n$ cat a.txt\ntwo\n$ echo x \\\n    y\nx y\n```\n')
    text, wrong = follow.follow(page, tmp_path)
    assert len(wrong) == 1
    assert "$ cat a.txt\none\n$ echo x \\\n    y\nx y\n" in text


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a\nb\n", "a  \nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nb\nc\n", False),
        ("20 s simulated in 17 ms, 9 M packet-hops/s\n", "20 s simulated in 1 s, 8.1 M packet-hops/s\n", True),
        ("20 s simulated in 17 ms, 9 M packet-hops/s\n", "21 s simulated in 17 ms, 9 M packet-hops/s\n", False),
    ],
)
def test_what_counts_as_the_same(said, printed, same):
    assert follow.same(said, printed) is same


def test_what_a_page_omits_stays_omitted():
    said = "AFCT 5 ms\n…\nLoss 1 %\n…\nresult in x\n"
    printed = "AFCT 7 ms\nFCT 9 ms  \nLoss 1.5 %  \nwarning: b\nresult in x\n"
    assert follow.abridged(said, printed) == "AFCT 7 ms\n…\nLoss 1.5 %\n…\nresult in x\n"
    # A line more, where none is omitted, shows.
    assert follow.abridged("AFCT 5 ms\n", "AFCT 7 ms\nwarning: b\n") == "AFCT 7 ms\nwarning: b\n"
