"""RFC 8867's own values, held to the bounds of evidence/properties/scream, and the authors' record."""

import re

import pytest

import midpath
import script
from conftest import ROOT

pytestmark = pytest.mark.nightly(
    "crates/schemes/src/scream/", "crates/schemes/src/calls/", "evidence/properties/scream/", "evidence/peers/scream/"
)


@pytest.fixture(scope="module")
def calls():
    return script.suite("scream.calls")


@pytest.mark.parametrize("case", ["5.1", "5.1 l4s", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8"])
def test_the_rfcs_own_values_keep_all_bounds(calls, case):
    scene = calls.draw(case, 1)
    assert calls.SUITE.failures(scene, calls.SUITE.played(case, 1)) == {}


def test_the_bounds_are_by_case(calls):
    limits = {bound.name: bound.limit(calls.draw("5.3", 1), None) for bound in calls.BOUNDS}
    assert limits == {"use": 0.6, "jain": None, "queue_ms": 60.0, "lost": 0.02, "sway": 0.3, "back": None}
    assert calls.BOUNDS[1].limit(calls.draw("5.5", 1), None) == 0.7


def test_a_call_that_does_not_come_back_misses_a_bound(calls):
    scene = calls.draw("5.8", 1)
    text = scene.toml().replace('off = "20 s"', 'off = "200 s"')
    assert text != scene.toml()
    found = calls.judge(scene, midpath.run(text), "", "")
    assert {"back", "jain"} <= set(calls.SUITE.failures(scene, found))


def test_over_l4s_the_authors_implementation_has_the_same_goodput():
    compare = script.load(ROOT / "evidence/peers/scream/compare.py")
    recorded = compare.json.loads(compare.REFERENCE.read_text(encoding="utf-8"))
    case = compare.CASES["12.5 ms, L4S"]
    for mine, theirs in zip(compare.ours(case), compare.theirs(case, recorded["12.5 ms, L4S"]), strict=True):
        assert mine[0] == pytest.approx(theirs[0], rel=compare.GOODPUT)
        assert mine[1] == pytest.approx(theirs[1], abs=compare.QUEUE_MS)


def test_the_page_has_every_case():
    page = (ROOT / "evidence/properties/scream/CALLS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (5\.\d(?: l4s)?) \| \d+ of 20 \|", page, re.MULTILINE)
    assert rows == ["5.1", "5.1 l4s", *(f"5.{i}" for i in range(2, 9))]
