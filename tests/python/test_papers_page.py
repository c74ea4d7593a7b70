"""docs/papers.md: each paper's counts are those of the committed results, and its page is short."""

import re

import script
from conftest import ROOT

page = script.load(ROOT / "scripts" / "papers_page.py")
TEXT = page.PAGE.read_text(encoding="utf-8")


def test_the_counts_are_those_of_the_results() -> None:
    assert set(page.PLACE.findall(TEXT)) == {(f"<!-- counts: {paper} -->\n", paper, "<!-- end -->") for paper in PAPERS}
    assert page.page(TEXT) == TEXT


def test_a_count_that_is_out_of_date_shows() -> None:
    stale = TEXT.replace(" claims of the paper hold", " claims of the paper hold, perhaps", 1)
    assert page.page(stale) == TEXT


def test_each_paper_has_a_page_of_at_most_600_words_and_one_table() -> None:
    for title in ("FCP", "INRPP", "MIRCC", "RPM"):
        section = re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]
        assert len(section.split()) <= 600
        assert len(re.findall(r"^\|---", section, flags=re.MULTILINE)) == 1


PAPERS = ("fcp", "inrpp", "mircc", "rpm")
