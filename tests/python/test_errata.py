"""The errata page is what the data say, and the evidence is there."""

from pathlib import Path

import pytest

from midpath.errors import ScenarioError
from midpath.papers import errata
from midpath.papers.registry import figures

ROOT = Path(__file__).parents[2]
ALL = [(paper, one) for paper in errata.TITLES for one in errata.errata(paper)]


def test_the_page_is_what_the_data_say() -> None:
    assert (ROOT / "python/midpath/papers/ERRATA.md").read_text(encoding="utf-8") == errata.page()


@pytest.mark.parametrize(("paper", "one"), ALL, ids=[f"{paper}-{i}" for i, (paper, _) in enumerate(ALL)])
def test_the_evidence_is_there(paper: str, one: errata.Erratum) -> None:
    """A file that has the test of that name, or a figure's claim."""
    file = ROOT / one.evidence
    if file.is_file():
        assert one.test in file.read_text(encoding="utf-8")
        return
    figure = next(figure for figure in figures() if figure.id == one.evidence)
    assert one.evidence.startswith(f"{paper}/")
    assert one.test in {claim.id for claim in figure.claims}


def test_what_is_missing_is_said_with_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "fcp").mkdir()
    (tmp_path / "fcp" / errata.FILE).write_text('[[erratum]]\nwhere = "§1"\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"erratum\[0\]"):
        errata.errata("fcp", tmp_path)
