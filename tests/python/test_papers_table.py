"""`midpath paper table`: all claims on one page, from kept results."""

import json
import re
from xml.etree import ElementTree

import pytest

from midpath.papers import figures, table
from midpath.papers.tolerance import Judgement
from midpath.storage import to_json

CLAIM = """
[[claim]]
id = "{id}"
claim = "About {id} & <others>"
paper = {paper}
kind = "seconds"
tolerance = {{ {tolerance} }}
says = "{says}"
why = "because"
"""
# id, paper, tolerance, says, mean, ci95, bound, verdict
ROWS = [
    ("same", "2.0", "relative = 0.1", "number", 2.05, 0.01, 1.9, "holds"),
    ("other", "2.0", "relative = 0.1", "number", 4.0, 0.1, None, "does not hold"),
    ("perhaps", "2.0", "relative = 0.1", "number", 2.2, 0.1, None, "undecided"),
    ("fast", '"it is fast"', "at_most = 0.5", "shape", 0.001, 0.0, None, "holds"),
    ("zero", '"nothing waits"', "at_most = 0.5", "ours", 0.0, 0.0, 0.0, "holds"),
    ("told", '"as said"', "at_least = 1.0", "information", 3.0, None, None, "information"),
]


@pytest.fixture
def claims(tmp_path):
    """A paper with a figure that has results, and one that has none."""
    head = 'title = "Made up"\nsource = "§1"\n'
    for figure in ("figure1", "figure2"):
        (tmp_path / "made" / figure).mkdir(parents=True)
        texts = (CLAIM.format(id=i, paper=p, tolerance=t, says=s) for i, p, t, s, *_ in ROWS)
        (tmp_path / "made" / figure / "claim.toml").write_text(head + "".join(texts))
    kept = {
        i: {"ours": {"mean": mean, "ci95": ci95, "n": 3}, "bound": bound, "verdict": verdict, "why": "because"}
        for i, _, _, _, mean, ci95, bound, verdict in ROWS
    }
    (tmp_path / "made" / "figure1" / "results.json").write_text(to_json({"midpath": "0.1.0", "claims": kept}))
    return tmp_path


def test_what_was_run_is_there_with_counts_first(claims, cli):
    out = cli("paper", "table", "--claims", str(claims)).out
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["paper:", "number", "3", "1", "1", "1", "0", "0"]
    assert lines[2][-6:] == ["1", "1", "0", "0", "0", "0"]
    rows = {line[0]: " ".join(line[1:]) for line in lines if line and line[0].startswith("made/")}
    assert list(rows) == [f"made/figure1/{row[0]}" for row in ROWS], "figure 2 has not been run"
    assert rows["made/figure1/same"].replace("\N{NO-BREAK SPACE}", " ") == "2.00 s 2.05 ± 0.01 s 1.90 s holds"
    assert rows["made/figure1/fast"].startswith("at most 500 ms")
    assert "2 of 4 claims of the paper hold, 1 undecided" in out


def test_programs_get_all_fields(claims, cli):
    found = json.loads(cli("paper", "table", "--claims", str(claims), "--json").out)
    assert [(one["verdict"], one["ours"], one["bound"]) for one in found] == [(r[7], r[4], r[6]) for r in ROWS]


def test_nothing_is_run_and_nothing_to_show_is_an_error(claims, cli):
    answer = cli("paper", "table", "made/figure2", "--claims", str(claims))
    assert answer.code == 2
    assert "was not run yet" in answer.err


def test_the_page_has_a_plot_that_says_what_the_verdict_says(claims, tmp_path, cli):
    cli("paper", "table", "--claims", str(claims), "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "$" not in page
    assert "<others>" not in page
    assert page.index("paper: number") < page.index("About same")
    plots = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page)]
    assert len(plots) == len(ROWS)
    for plot, (name, *_, verdict) in zip(plots, ROWS, strict=True):
        point, band = plot.find("circle"), plot.find("rect")
        assert point is not None
        x = float(point.attrib["cx"])
        assert 0 <= x <= table.WIDTH
        assert (band is None) == (verdict == "information"), name
        if band is not None:
            left = float(band.attrib["x"])
            inside = left - 0.1 <= x <= left + float(band.attrib["width"]) + 0.1
            # Of an undecided one the point may be on either side; its interval crosses the edge.
            assert inside == (verdict == "holds") or verdict == "undecided", name


def test_places_keep_the_order_of_values_on_both_kinds_of_scale():
    for values in ([-1.0, 0.0, 2.0, 5.0], [1e-6, 1e-3, 1.0, 40.0]):
        scale = table.Scale(values)
        places = [scale.at(v) for v in [float("-inf"), *values, float("inf")]]
        assert places == sorted(places)
        assert places[0] >= 0
        assert places[-1] <= table.WIDTH
    assert table.Scale([1e-6, 40.0]).log
    assert not table.Scale([0.0, 40.0]).log


def test_the_papers_that_ship_are_all_on_it():
    found = table.kept(figures())
    assert {verdict.figure.partition("/")[0] for verdict in found} == {"fcp", "inrpp", "mircc", "rpm"}
    page = table.html(found)
    drawn = sum(verdict.ours is not None for verdict in found)
    assert page.count("<svg") == drawn > 300
    assert sum(verdict.judgement is Judgement.HOLDS for verdict in found) > 200
