"""A sample of checks/fcp/edges.py: random starts, scarcity, outages, joins and cheats, held to the same bounds."""

import re
from pathlib import Path

import pytest

import midpath
import script

FOLDER = Path(__file__).parents[2] / "checks" / "fcp"
# Joins in which honest flows were refused while hosts announced as much as they liked.
CROWDED = (1232, 1745, 1897, 1963)


@pytest.fixture(scope="module")
def edges():
    """The script as a module."""
    return script.load(FOLDER / "edges.py")


def refused(text):
    return int(midpath.run(text).ports.to_pandas().drops_policy.sum())


@pytest.mark.parametrize("number", [*CROWDED, 1130, 1966, 5023])
def test_nobody_honest_is_refused_in_a_crowd(edges, number):
    assert refused(edges.draw("joins", number).toml("fcp")) == 0


@pytest.mark.parametrize("number", CROWDED)
def test_without_a_limit_on_announcements_somebody_is(edges, number):
    text = edges.draw("joins", number).toml("fcp")
    off = "enforcement = true\n[schemes.fcp.network.additions]\nannouncements = 0.0\n"
    assert refused(text.replace("enforcement = true", off)) > 0


def test_the_page_has_every_class(edges):
    page = (FOLDER / "EDGES.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| \d+ of (\d+) \|", page, re.MULTILINE))
    assert set(rows) == {"starts", "scarcity", "outage", "cheats", "joins"}
    assert int(rows.pop("joins")) == 1000
    assert set(rows.values()) == {"100"}
