"""`midpath paper reproduce`: what was recorded comes out again, figure by figure, and says so."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from midpath.papers import figures, record, reproduce, run_figure
from midpath.papers.registry import groups
from midpath.papers.reproduce import Agreement
from midpath.papers.tolerance import Judgement
from test_papers import CLAIMS, TWO, only, papers  # noqa: F401 - a fixture


@pytest.fixture
def two(papers):  # noqa: F811
    """Two figures with recorded results."""
    for number in (1, 2):
        root = papers(only(CLAIMS, "afct", "faster"), TWO, name=f"tiny/figure{number}")
    for figure in figures(root):
        record.keep(figure, run_figure(figure))
    return root


def reproduced(cli, root, out, *more):
    said = cli("paper", "reproduce", "all", "--claims", root, "--out", out, "--json", *more)
    return said.code, json.loads(said.out)


def change_recorded(root, change):
    path = root / "tiny" / "figure1" / "results.json"
    kept = json.loads(path.read_text())
    change(kept["claims"]["afct"])
    path.write_text(json.dumps(kept))


def test_the_same_comes_out_again(cli, two, tmp_path):
    code, found = reproduced(cli, two, tmp_path / "out")
    assert (code, found["agreement"]) == (0, {"identical": 4})
    assert [one["recorded"]["verdict"] for one in found["claims"]] == ["holds"] * 4
    assert found["figures"]["tiny/figure1"]["core_s"] > 0 and found["memory_bytes"] > 1e6
    page = (tmp_path / "out" / "reproduced.html").read_text()
    assert page.count("identical</td>") == 4 and "4 claims beside the recorded ones: 4 identical" in page


def test_it_goes_on_where_it_stopped(cli, two, tmp_path, monkeypatch):
    reproduced(cli, two, tmp_path / "out")
    (tmp_path / "out" / "figures" / "tiny-figure2.json").unlink()
    ran = []
    monkeypatch.setattr(
        "midpath.papers.commands.run_figure", lambda figure, **_: ran.append(figure.id) or run_figure(figure)
    )
    needs = cli("paper", "reproduce", "all", "--claims", two, "--out", tmp_path / "out", "--needs", "--json")
    assert (json.loads(needs.out)["left"], ran) == (1, [])
    assert reproduced(cli, two, tmp_path / "out")[1]["agreement"] == {"identical": 4}
    assert ran == ["tiny/figure2"]


def test_another_verdict_is_a_failure(cli, two, tmp_path):
    # Recorded as 4 s, a hundred times what comes out.
    def slower(claim):
        claim["values"] = [4.0, 4.0, 4.0]
        claim["ours"]["mean"] = 4.0

    change_recorded(two, slower)
    code, found = reproduced(cli, two, tmp_path / "out")
    assert (code, found["agreement"]) == (1, {"identical": 3, "another verdict": 1})


def test_other_values_with_the_same_verdict_are_no_failure(cli, two, tmp_path):
    change_recorded(two, lambda claim: claim["values"].__setitem__(1, 0.031))
    code, found = reproduced(cli, two, tmp_path / "out")
    assert (code, found["agreement"]) == (0, {"identical": 3, "same verdict": 1})


def test_more_recorded_seeds_are_no_difference(two):
    figure = figures(two)[0]
    (few, _), (more, _) = (run_figure(figure, seeds=seeds) for seeds in (2, 3))
    few = replace(few, judgement=more.judgement)
    assert reproduce.Reproduced(few, more).agreement is Agreement.IDENTICAL
    assert reproduce.Reproduced(more, few).agreement is Agreement.SAME


def test_equal_values_with_another_verdict_are_not_identical(two):
    figure = figures(two)[0]
    found = run_figure(figure)[0]
    other = replace(found, judgement=Judgement.FAILS)
    assert reproduce.Reproduced(found, other).agreement is Agreement.OTHER


def test_what_lacked_its_data_is_tried_again(cli, two, tmp_path):
    reproduced(cli, two, tmp_path / "out")
    kept = tmp_path / "out" / "figures" / "tiny-figure2.json"
    found = json.loads(kept.read_text())
    found["claims"]["afct"] |= {"verdict": "skipped", "ours": None, "values": []}
    kept.write_text(json.dumps(found))
    assert reproduced(cli, two, tmp_path / "out")[1]["agreement"] == {"identical": 4}


def test_it_starts_where_a_system_lacks_what_unix_has():
    gone = ["resource", "fcntl", "pwd", "termios"]
    script = f"import sys; sys.modules.update(dict.fromkeys({gone})); from midpath import cli; dict(cli.Commands())"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=120).returncode == 0


def test_what_was_begun_whole_does_not_go_on_quick(cli, two, tmp_path):
    reproduced(cli, two, tmp_path / "out")
    said = cli("paper", "reproduce", "all", "--claims", two, "--out", tmp_path / "out", "--quick")
    assert (said.code, "was begun without --quick" in said.err) == (2, True)


def test_costs_are_of_figures_that_ship():
    shipped = {figure.id for group in groups().values() for figure in group}
    assert reproduce.costs()["figures"].keys() == shipped
