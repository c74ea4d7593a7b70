"""Samples of the random scenarios in evidence/properties/fcp, held to the same bounds."""

import re
from pathlib import Path

import pytest

import midpath
import script

FOLDER = Path(__file__).parents[2] / "evidence/properties" / "fcp"
# Joins in which honest flows were refused while hosts announced as much as they liked.
CROWDED = (1232, 1745, 1897, 1963)


@pytest.fixture(scope="module")
def edges():
    """The module."""
    return script.suite("fcp.edges")


def refused(text):
    return int(midpath.run(text).ports.to_pandas().drops_policy.sum())


@pytest.mark.parametrize("number", [*CROWDED, 1130, 1966, 5023])
def test_nobody_honest_is_refused_in_a_crowd(edges, number):
    assert refused(edges.draw("joins", number).toml("fcp")) == 0


@pytest.mark.parametrize("number", CROWDED)
def test_without_a_limit_on_announcements_somebody_is(edges, number):
    text = edges.draw("joins", number).toml("fcp")
    off = 'enforcement = true\n[schemes.fcp]\nwithout = ["announcements"]\n'
    assert refused(text.replace("enforcement = true", off)) > 0


def test_the_page_has_every_class(edges):
    page = (FOLDER / "EDGES.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| \d+ of (\d+) \|", page, re.MULTILINE))
    assert set(rows) == {"starts", "scarcity", "outage", "cheats", "joins"}
    assert int(rows.pop("joins")) == 1000
    assert set(rows.values()) == {"100"}


@pytest.mark.parametrize("number", [1005, 1006, 1012, 1017, 1055, 1058, 1063, 1092])
def test_a_group_gets_beside_another_what_it_gets_alone(number):
    # In each of them a bound was missed while a flow of one group set another group's policy back.
    suite = script.suite("fcp.groups").SUITE
    assert suite.failures(suite.draw("", number), suite.played("", number)) == {}


@pytest.mark.parametrize("number", [1002, 1003, 1008, 1011])
def test_a_flow_that_stops_leaves_no_more_idle_than_one_that_has_sent_all(number):
    # In each of them it did while a stop was not announced.
    suite = script.suite("fcp.ends").SUITE
    assert suite.failures(suite.draw("", number), suite.played("", number)) == {}


@pytest.mark.parametrize("family", ["crowds", "scarcity", "changes", "corruption", "steady"])
def test_draws_for_the_ablation_run(family):
    ablation = script.suite("fcp.ablation").SUITE
    found = [ablation.played(family, 1, name) for name in ("", "opening_budget, keep_pace")]
    assert found[0].told != found[1].told
