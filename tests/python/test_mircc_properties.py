"""A sample of evidence/properties/mircc/properties.py, which PROPERTIES.md is of, and what it counts."""

from functools import partial
from pathlib import Path

import pytest

import script

pytestmark = pytest.mark.nightly("crates/schemes/src/mircc/", "crates/schemes/src/icn/", "evidence/properties/mircc/")

FOLDER = Path(__file__).parents[2] / "evidence/properties/mircc"


@pytest.fixture(scope="module")
def properties():
    """The module."""
    return script.suite("mircc.properties")


def test_a_hundred_joins_take_little_longer_than_a_full_link_and_lose_nothing(properties):
    found = properties.SUITE.played("joins", 8001)
    assert (found.data, found.dropped) == (7000, 0)
    assert 1 < found.time < 1.2
    # Each joiner's first Interests are refused now and then: 3.48 of a Data in the audit.
    assert 0 < found.nacks < found.data


def test_the_page_counts_what_misses_a_bound(properties):
    spread, losses = properties.spread.Found, properties.losses.Found
    network = partial(properties.Network, primary=[0.0], drops=0.0, asked=1.0)
    found = {("spread", n): spread(drops=n % 2, asked=1.0, goodput=1.0, time=1.0) for n in range(4)}
    found |= {("losses", n): losses(time=1.0, asked=0.0, timeouts=0, lost=0.01, few=0.1) for n in range(4)}
    found |= {("secondary", n): network([0.0, -0.06 * (n < 2)], [False, True]) for n in range(4)}
    found |= {("secondary, ours", n): network([-0.1], [True]) for n in range(4)}
    found |= {("losses, ours", n): losses(time=2.0, asked=0.0, timeouts=0, lost=0.01, few=0.1) for n in range(4)}
    found |= {("joins", 0): properties.Joins(nacks=700.0, data=7000.0, dropped=0.0, time=1.1)}
    rows = [script.suite("harness").row_of(properties.SUITE, family, n, "", one) for (family, n), one in found.items()]
    page = "\n".join(properties.page(rows, None))
    assert "| spread: drops | no Data dropped, in all | 2 of 4 | **no** |" in page
    assert "| losses: time | at most 1.3/(1 − p), in all | 4 of 4 | yes |" in page
    assert "| secondary: within 5 % | 4 of 4 networks | 2 | **no** |" in page
    assert "| secondary: bias | below 1 % | -3.0 % of 4 flows | **no** |" in page
    assert "0.10 on average" in page
    assert "| losses, ours: time | at most 1.3/(1 − p), in all | 0 of 4 | **no** |" in page
    assert "| secondary, ours: bias | below 1 % | -10.0 % of 4 flows | **no** |" in page
    missed = [line[2:4] for line in page.splitlines() if line.startswith("- ")]
    assert missed == ["0:", "1:", "2:", "3:", "1:", "3:"]


def test_the_page_is_of_all_numbers(properties):
    page = (FOLDER / "PROPERTIES.md").read_text(encoding="utf-8")
    for what, count in (("spread", 90), ("losses", 100), ("joins", 10)):
        assert properties.COUNTS[what] == count
        assert f"of {count} |" in page


@pytest.mark.parametrize(("family", "number"), [("layers", 57050), ("webs", 57014), ("beside", 57001)])
def test_multipath_networks_drop_no_data_where_few_interests_wait_at_routers(family, number):
    suite = script.suite("mircc.networks").SUITE
    assert not suite.failures(None, suite.played(family, number))
    if family != "beside":
        assert suite.played(family, number, params='without = ["passing"]').drops > 0, "these are draws that it takes"


@pytest.mark.parametrize("number", [61005, 61009, 61023])
def test_both_classes_have_their_shares_where_a_link_is_just_full(number):
    found = script.suite("mircc.secondary").SUITE.played("layers", number)
    assert abs(found.furthest) < 0.05
    assert max(map(abs, found.primary)) < 0.01


def test_the_page_of_the_secondary_class_is_of_all_networks():
    suite = script.suite("mircc.secondary").SUITE
    page = (FOLDER / "SECONDARY.md").read_text(encoding="utf-8")
    assert all(f"of {suite.most.get(family, 100)} |" in page and f"| {family} |" in page for family in suite.families)
