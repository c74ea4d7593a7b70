"""What pages say of the matrix is what the committed results say."""

import math
import re

import pytest

import script
from conftest import ROOT
from midpath.matrix import load_matrix, picture, rows, text

pages = script.load(ROOT / "scripts" / "matrix_page.py")


@pytest.fixture(scope="module")
def matrix():
    return load_matrix(pages.FOLDER)


def test_pages_and_picture_are_those_of_the_results(matrix):
    old = pages.PAGE.read_text(encoding="utf-8")
    assert pages.page(old, matrix) == old
    assert all(f"<!-- matrix: {name} -->" in old for name in pages.PARTS)
    assert pages.RESULTS.read_text(encoding="utf-8") == "\n".join(text.results(matrix)) + "\n"
    assert pages.PICTURE.read_text(encoding="utf-8") == picture.svg(matrix)
    template = pages.TEMPLATE.read_text(encoding="utf-8")
    assert pages.WHICH.read_text(encoding="utf-8") == pages.which(template, matrix)


def test_the_results_are_of_every_row_and_every_column_of_that_day(matrix):
    assert [row.name for row in matrix.rows] == list(rows.every())
    assert len(matrix.seeds) >= 3 and not matrix.small
    assert len(matrix.entries) >= 17
    for row in matrix.rows:
        assert len({note["memory"] for note in matrix.notes[row.name].values() if note["memory"]}) == 1, row.name


def test_which_is_short_and_each_of_its_sentences_has_a_row_behind_it(matrix):
    assert len(pages.WHICH.read_text(encoding="utf-8").split()) <= 500
    template = pages.TEMPLATE.read_text(encoding="utf-8")
    advice = re.findall(r"^- .*(?:\n  .*)*", template, re.MULTILINE)
    assert len(advice) >= 6
    for one in advice:
        assert pages.QUOTE.search(one), one


def test_a_sentence_that_the_results_do_not_bear_is_refused(matrix):
    row, better, worse = "crowds", "cubic@fq_codel", "fcp"
    said = pages.which(f"{{sooner {row} {better} {worse} p99_ratio}}", matrix)
    values = [[matrix.figures[row, one, seed]["p99_ratio"] for one in (better, worse)] for seed in matrix.seeds]
    logs = [math.log(a / b) for a, b in values]
    assert said == f"{100 * (1 - math.exp(sum(logs) / len(logs))):.0f} %"
    for wrong, why in (
        (f"{{sooner {row} {worse} {better} p99_ratio}}", "is not below"),
        (f"{{alike {row} {worse} {better} p99_ratio}}", "are told apart"),
        (f"{{value {row} {better} speed}}", "no figure"),
        (f"{{value {row} udp mean_ratio}}", "has no"),
    ):
        with pytest.raises(ValueError, match=why):
            pages.which(wrong, matrix)
    assert pages.which("alike {alike long cubic cubic mean_ratio}.", matrix) == "alike."
