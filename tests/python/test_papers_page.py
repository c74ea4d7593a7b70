"""docs/papers.md: each paper's counts are those of the committed results, and its page is short."""

import re

import script
from conftest import ROOT
from midpath.papers import record
from midpath.papers.registry import Says, choose

page = script.load(ROOT / "scripts" / "papers_page.py")
picture = script.load(ROOT / "scripts" / "fairness_picture.py")
TEXT = page.PAGE.read_text(encoding="utf-8")


def test_the_counts_are_those_of_the_results() -> None:
    assert all(f"<!-- counts: {name} -->" in TEXT for name in (*PAPERS, "schemes"))
    assert page.page(TEXT) == TEXT


def test_a_count_that_is_out_of_date_shows() -> None:
    stale = TEXT.replace(" claims of the paper hold", " claims of the paper hold, perhaps", 1)
    assert page.page(stale) == TEXT


def test_each_paper_has_a_page_of_at_most_600_words_and_one_table() -> None:
    for title in ("FCP", "INRPP", "MIRCC", "RPM"):
        section = re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]
        assert len(section.split()) <= 600
        assert len(re.findall(r"^\|---", section, flags=re.MULTILINE)) == 1


def test_every_scheme_with_claims_has_a_row_with_its_verdicts() -> None:
    rows = [line.split("|")[1:-1] for line in page.newer().splitlines()[2:]]
    assert [row[0].strip().split("]")[0].strip("[") for row in rows] == [figure.id for figure in choose("schemes")]
    for row, figure in zip(rows, choose("schemes"), strict=True):
        judged = [claim for claim in figure.claims if claim.says is not Says.INFORMATION]
        assert sum(map(int, row[1:])) == len(judged), figure.id


def test_the_picture_of_bbr_is_that_of_the_results() -> None:
    drawn = picture.svg(choose("bbr/fairness")[0])
    assert picture.PICTURE.read_text(encoding="utf-8") == drawn
    points = re.findall(r"<title>(.*?)</title>", drawn)
    assert len(points) == 12
    kept = record.stored(choose("bbr/fairness")[0])["claims"]["ratio.100.0.5"]["ours"]
    assert f"100 Mbps, 20 ms, 0.5 BDP: {kept['mean']:.2f} ± {kept['ci95']:.2f}" in points


PAPERS = ("fcp", "inrpp", "mircc", "rpm")
