"""`midpath paper explain`: what a paper leaves open is tried, and only what other seeds confirm counts."""

import textwrap

import numpy as np
import pytest

import fixture
from midpath.cli import main
from midpath.errors import ScenarioError, UsageError
from midpath.papers import explained, figures, record, run_figure
from midpath.papers.explain import Explained, explain, searched
from midpath.papers.openings import openings
from midpath.papers.runner import Verdict
from midpath.papers.tolerance import Judgement

SCENARIO = fixture.transfer("200 kB", 'stop = "2 s"\n')
# 200 kB take .2 s at 10 Mbps and .35 s at 5.
MEASURE = """
from midpath.papers.lab import Measured

def measure(lab):
    runs = lab.runs("transfer")
    times = runs.summary("afct_s")
    for claim in ("slow", "fast", "crawls", "promised"):
        yield Measured(claim, times)
    yield Measured("always", [1.0 for _ in times])
"""
CLAIM = """[[claim]]
id = "{}"
claim = "Mean completion time"
paper = "so"
kind = "seconds"
tolerance = {{ {} }}
why = "where the test wants it"
"""
LIMITS = {
    "slow": "at_least = 0.3, at_most = 0.4",
    "fast": "at_most = 0.25",
    "crawls": "at_least = 10.0",
    "promised": "at_least = 5.0",
    "always": "at_most = 2.0",
}
OPEN = """
[[open]]
name = "rate"
says = "How fast the bottleneck is is not said."
scenarios = ["trans*"]
schemes = ["newreno"]
choice = [
  { label = "10 Mbps" },
  { label = "5 Mbps", changes = { "topology.bottleneck.rate" = "5 Mbps" } },
]
[[open]]
name = "size"
says = "Nor how much is sent."
choice = [{ label = "200 kB" }, { label = "100 kB", changes = { "flow[0].size" = "100 kB" } }]
[[contradiction]]
claims = ["promised"]
sentences = ["It takes five seconds.", "It takes one."]
because = "Five is not one."
shown_by = "always"
"""


@pytest.fixture
def made(tmp_path):
    """A figure whose kept results have claims that fail."""

    def make(opening=OPEN, without=()):
        folder = tmp_path / "claims/made/figure1"
        folder.mkdir(parents=True, exist_ok=True)
        limits = {claim: limit for claim, limit in LIMITS.items() if claim not in without}
        head = 'title = "Made up"\nsource = "figure 1"\nseeds = 3\nperturb = "1 ms"\n'
        (folder / "claim.toml").write_text(head + "".join(CLAIM.format(*one) for one in limits.items()))
        (folder / "transfer.toml").write_text(SCENARIO)
        measure = textwrap.dedent(MEASURE)
        for claim in without:
            measure = measure.replace(f'"{claim}", ', "").replace(f', "{claim}"', "")
        (folder / "measure.py").write_text(measure)
        (folder / "open.toml").write_text(opening)
        [figure] = figures(tmp_path / "claims")
        record.keep(figure, run_figure(figure))
        return figure

    return make


def test_a_reading_that_breaks_another_claim_is_no_rescue(made):
    figure = made()
    search = explain(figure)
    assert (len(search.trials), search.of, len(search.confirmed)) == (3, 3, 0)
    found = {one.claim.id: one for one in search.explanations}
    assert set(found) == {"slow", "crawls", "promised"}
    assert found["slow"].verdict is Explained.NONE
    [(reading, broken)] = found["slow"].rescues
    assert (reading.departs(), broken) == ({"rate": "5 Mbps"}, ["fast"])
    assert "rate = 5 Mbps breaks fast" in found["slow"].text(search)
    assert (found["crawls"].verdict, found["crawls"].rescues) == (Explained.NONE, [])
    assert found["promised"].verdict is Explained.CONTRADICTION
    assert '"It takes five seconds." Against that: "It takes one."' in found["promised"].text(search)


def test_a_reading_that_breaks_nothing_is_confirmed_with_other_seeds(made):
    search = explain(made(without=("fast",)))
    [found] = [one for one in search.explanations if one.claim.id == "slow"]
    assert found.verdict is Explained.READING
    assert found.reading.departs() == {"rate": "5 Mbps"}
    assert [trial.reading.departs() for trial in search.confirmed] == [{"rate": "5 Mbps"}]
    # What stands is not touched: runs of another scheme are not changed either.
    assert found.reading.changes("transfer", "cubic") == {}
    assert found.reading.changes("transfer", "newreno") == {"topology.bottleneck.rate": "5 Mbps"}


def drawn(figure, holds):
    """Verdicts as if drawn: which claims hold, by reading and first seed."""
    kept = record.verdicts(figure)

    def run(_figure, reading, first_seed):
        def judged(verdict):
            found = Judgement.HOLDS if holds(verdict.claim.id, reading.departs(), first_seed) else Judgement.FAILS
            return Verdict(figure.id, verdict.claim, verdict.ours, None, found, "")

        return [judged(verdict) for verdict in kept]

    return run


def test_what_chance_has_found_is_not_confirmed(made):
    figure = made(without=("fast",))
    run = drawn(figure, lambda claim, _, first: claim == "always" or (claim == "slow" and first < 20_000))
    search = searched(figure, run, lambda: True, 3)
    [found] = [one for one in search.explanations if one.claim.id == "slow"]
    assert found.verdict is Explained.NONE and len(found.rescues) == 3
    assert "was not confirmed with other seeds" in found.text(search)


def test_of_claims_that_hold_by_chance_few_are_said_to(made):
    """A claim that holds once in twenty times, whatever is read: among three readings some do so once in seven."""
    figure, rng = made(without=("fast",)), np.random.default_rng(1)
    said = 0
    for _ in range(400):
        run = drawn(figure, lambda claim, *_: claim == "always" or rng.random() < 0.05)
        search = searched(figure, run, lambda: True, 3)
        said += any(one.claim.id == "slow" and one.verdict is Explained.READING for one in search.explanations)
    # 3 · .05² = .75 %: 3 of 400 expected; 10 have a chance of one in a thousand.
    assert said < 10, said


def test_a_search_ends_with_its_time(made):
    search = explain(made(), minutes=1e-9)
    assert (len(search.trials), search.of) == (0, 3)
    left = iter([True, False])
    figure = made(without=("fast",))
    run = drawn(figure, lambda claim, *_: claim == "always")
    search = searched(figure, run, lambda: next(left), 3)
    [found] = [one for one in search.explanations if one.claim.id == "crawls"]
    assert "(1 of 3)" in found.text(search)


def test_it_is_kept_and_shown(made, capsys):
    figure = made()
    root = str(figure.directory.parents[1])
    assert main(["paper", "explain", "made", "--claims", root, "--write-results"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 readings tried" in out and "rate = 5 Mbps breaks fast" in out
    page = (figure.directory.parent / "EXPLAINED.md").read_text()
    assert "| no reading that was tried holds | 2 |" in page and "| the paper contradicts itself | 1 |" in page
    assert "| 5 Mbps | 200 kB |" in page and "**rate**: How fast the bottleneck is is not said." in page
    assert set(explained.stored(figure)["claims"]) == {"slow", "crawls", "promised"}
    assert main(["paper", "explain", "made", "--claims", root, "--try", "rate=5 Mbps"]) == 0
    assert "rate = 5 Mbps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["made", "--try", "rate=1 Mbps"], "rate has no choice '1 Mbps'; there are: 10 Mbps, 5 Mbps"),
        (["made", "--try", "colour=red"], "'colour' is not open in this figure; open: rate, size"),
        (["made", "--try", "rate"], "'rate' is not NAME=CHOICE"),
        (["made", "--minutes", "0"], "more than 0 minutes"),
        (["made", "--minutes", "nan"], "more than 0 minutes"),
        (["other"], "there is no claim 'other'"),
        (["made", "--try", "rate=5 Mbps", "--write-results"], "--try runs one reading"),
    ],
)
def test_bad_input_is_one_line(made, capsys, wrong, said):
    root = str(made().directory.parents[1])
    assert main(["paper", "explain", *wrong, "--claims", root]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error and len(error.splitlines()) == 1, error


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('{ label = "100 kB", changes = { "flow[0].size" = "100 kB" } }', "", "the range is empty"),
        (
            '{ label = "200 kB" }',
            '{ label = "200 kB", changes = { a = 1 } }',
            "the first choice is the current setting",
        ),
        ("says", "said", "unknown; there are:"),
        ('name = "size"', 'name = "rate"', "two entries with one name"),
        ('claims = ["promised"]', 'claims = ["nothing"]', "is not a claim of made/figure1"),
        ('"It takes five seconds.", ', "", "are fewer than two"),
        ('label = "100 kB"', 'label = "200 kB"', "has two with one label"),
    ],
)
def test_what_is_open_is_checked(made, before, after, said):
    assert before in OPEN
    figure = made(OPEN.replace(before, after))
    with pytest.raises(ScenarioError, match=said):
        openings(figure)


def test_a_contradiction_has_to_be_shown(made):
    figure = made(OPEN.replace('shown_by = "always"', 'shown_by = "crawls"'))
    with pytest.raises(UsageError, match="says that crawls shows a contradiction; it does not hold"):
        explain(figure)


def test_what_ships_can_be_read():
    for figure in figures():
        for reading in openings(figure).readings():
            fitting = [one for one in figure.scenarios() if reading.openings[0].fits(one.stem, None)]
            assert reading.departs() and (fitting or reading.openings[0].schemes)


def test_pages_are_what_is_kept():
    papers = {figure.paper for figure in figures() if explained.stored(figure)}
    for paper in papers:
        of = [figure for figure in figures() if figure.paper == paper]
        assert (of[0].directory.parent / "EXPLAINED.md").read_text() == explained.page(of)
