"""`midpath paper run --until-decided`: seeds are added, looked at as they come, and hardly ever decide wrongly."""

import json
import math
import textwrap
from itertools import pairwise

import numpy as np
import pytest

import fixture
from midpath.errors import UsageError
from midpath.papers import figures, record, run_figure
from midpath.papers.sequence import Going, run_until_decided
from midpath.papers.tolerance import Judgement
from midpath.stats import TIGHT_AT, at_once, estimate, in_sequence, seeds_for

SEQUENCE = pytest.mark.nightly("python/midpath/papers/", "python/midpath/stats.py")

# A transfer, so that there are runs; what is measured is drawn, so that bounds can stand where the test wants them.
SCENARIO = fixture.transfer("20 kB", 'stop = "10 ms"\n')
MEASURE = """
import numpy as np

from midpath.papers.lab import Measured


def measure(lab):
    lab.runs("short", seeds=SEEDS)
    drawn = [float(np.random.default_rng(seed).normal(0.04, 0.004)) for seed in lab.seeds]
    yield Measured("clear", drawn)
    yield Measured("open", drawn)
    yield Measured("least", {"a": drawn, "b": [10.0 for _ in drawn]})
    if lab.wants("not.*"):
        lab.runs("short", label="not wanted")
        yield Measured("not.wanted", drawn)
"""
CLAIM = """[[claim]]
id = "{}"
claim = "Mean completion time"
paper = "short"
kind = "seconds"
tolerance = {{ at_most = {} }}
why = "where the test wants it"
"""


@pytest.fixture
def papers(tmp_path):
    """A figure with two claims that its first two seeds leave open, and two that they decide."""

    def make(seeds="lab.seeds", name="figure1"):
        folder = tmp_path / "claims/made" / name
        folder.mkdir(parents=True)
        (folder / "short.toml").write_text(SCENARIO)
        (folder / "measure.py").write_text(textwrap.dedent(MEASURE.replace("SEEDS", seeds)))
        write(folder, clear=10.0, open=0.0415, least=0.0415, **{"not.wanted": 10.0})
        (figure,) = (one for one in figures(tmp_path / "claims") if one.id == f"made/{name}")
        found = run_figure(figure)
        record.keep(figure, found)
        return figure

    def write(folder, **limits):
        head = 'title = "Made up"\nsource = "§1"\nseeds = 2\n'
        (folder / "claim.toml").write_text(head + "".join(CLAIM.format(*one) for one in limits.items()))

    return make


def verdicts(one):
    """Judgements by claim."""
    return {verdict.claim.id: verdict for verdict in one.verdicts}


def martingale(values, mean):
    """The ratio by its definition, with numbers in place of algebra: an integral over the prior and over sigma."""
    x = np.asarray(values) - mean
    n, (sums, squares) = len(x), (x.sum(), (x * x).sum())
    sigmas = np.geomspace(0.02, 50, 4001)
    effects = np.linspace(-8, 8, 4001) / math.sqrt(TIGHT_AT)
    prior = np.exp(-effects * effects * TIGHT_AT / 2) * math.sqrt(TIGHT_AT / (2 * math.pi))
    scales = sigmas[:, None]
    # The densities of all values with the right Haar prior 1/sigma, over d log sigma: with the effect, and without.
    ln = -n * np.log(scales) - (squares - 2 * sums * scales * effects + n * (scales * effects) ** 2) / (2 * scales**2)
    with_effect = np.trapezoid(np.trapezoid(np.exp(ln) * prior, effects, axis=1), np.log(sigmas))
    without = np.trapezoid(np.exp(-n * np.log(sigmas) - squares / (2 * sigmas**2)), np.log(sigmas))
    return with_effect / without


@SEQUENCE
def test_the_interval_ends_where_the_martingale_reaches_twenty():
    values = np.random.default_rng(3).normal(1.0, 0.7, 12)
    half = in_sequence(12) * values.std(ddof=1)
    for end in (values.mean() - half, values.mean() + half):
        assert martingale(values, end) == pytest.approx(20.0, rel=1e-3)
    assert martingale(values, values.mean()) < 1.0


def test_it_is_wider_than_one_that_is_looked_at_once_and_shrinks():
    widths = [in_sequence(n) for n in range(10, 2000)]
    assert all(width > at_once(n) for n, width in enumerate(widths, 10))
    assert all(after < before for before, after in pairwise(widths))
    assert in_sequence(3) == math.inf


@SEQUENCE
def test_of_a_thousand_claims_at_the_bound_at_most_five_in_a_hundred_are_decided_wrongly():
    """The whole procedure: ten seeds looked at once, then ten more at a time up to 500, each claim until decided."""
    claims, most = 1000, 500
    values = np.random.default_rng(44).normal(0.0, 1.0, (claims, most))  # the bound is 0: "at least 0" is just wrong
    counts = np.arange(1, most + 1)
    means = values.cumsum(axis=1) / counts
    spreads = np.sqrt(np.maximum((values**2).cumsum(axis=1) - counts * means**2, 0.0) / np.maximum(counts - 1, 1))
    decided, wrong = np.zeros(claims, dtype=bool), np.zeros(claims, dtype=bool)
    for n in range(10, most + 1, 10):
        half = (at_once(n) if n == 10 else in_sequence(n)) * spreads[:, n - 1]
        holds, fails = means[:, n - 1] - half > 0, means[:, n - 1] + half < 0
        wrong |= holds & ~decided
        decided |= holds | fails
    # About 25 by the first look alone. If each look were Student's, there would be three times as many.
    assert 15 <= wrong.sum() <= 50
    by_t = (means[:, 9::10] - np.array([at_once(n) for n in counts[9::10]]) * spreads[:, 9::10] > 0).any(axis=1)
    assert by_t.sum() > 100


@SEQUENCE
def test_seeds_are_added_until_open_claims_are_decided(papers):
    figure = papers()
    before = verdicts(Going(figure))
    assert {name for name, one in before.items() if one.judgement is Judgement.HOLDS} == {"clear", "not.wanted"}
    steps = [one.first for one in run_until_decided([figure], 5.0)]
    assert steps == list(range(5, 5 + 2 * len(steps), 2))
    *_, one = run_until_decided([figure], 5.0)
    assert not one.open
    after = verdicts(one)
    assert after["clear"] == before["clear"]
    assert after["open"].ours.sequential
    seeds = after["open"].ours.n
    assert 4 <= seeds == len(after["open"].values) < one.first
    assert after["open"].judgement in (Judgement.HOLDS, Judgement.FAILS)
    # As if all seeds had been run at once.
    together = run_figure(figure, seeds=seeds)
    assert estimate(together[1].values, sequential=True).mean == pytest.approx(after["open"].ours.mean, rel=1e-5)


@SEQUENCE
def test_the_budget_ends_it_and_the_reason_says_how_many_seeds_would_do(papers, tmp_path):
    figure = papers()
    text = (figure.directory / "claim.toml").read_text()
    # A bound so near to the true mean needs some hundred thousand seeds.
    (figure.directory / "claim.toml").write_text(text.replace("0.0415", "0.04005"))
    (figure,) = figures(tmp_path / "claims")
    for one in run_until_decided([figure], 5.0):
        found = verdicts(one)["open"]
        if one.first > 20:
            break
    assert found.judgement is Judgement.UNDECIDABLE
    assert "looked at as they came, the interval is" in found.why
    assert "seeds would decide if the mean stays" in found.why
    record.keep(figure, one.verdicts, one.added_core_s)
    assert verdicts(Going(figure))["open"].why == found.why
    # What it has cost goes on from what was kept.
    assert Going(figure).added_core_s == pytest.approx(one.seconds, abs=0.05)
    assert len(list(run_until_decided([figure], 1e-9))) <= 1


def test_seeds_that_have_been_looked_at_say_nothing_new(papers):
    figure = papers(seeds="[1, 2]")
    with pytest.raises(UsageError, match=r"made/figure1: its measure.py runs seeds of its own \(short-1\)"):
        list(run_until_decided([figure], 1.0))


def test_a_figure_that_cannot_go_on_does_not_end_the_others(papers):
    chosen = [papers(seeds="[1, 2]"), papers(name="figure2")]
    ended = {one.figure.id: one for one in run_until_decided(chosen, 5.0)}
    assert "runs seeds of its own" in ended["made/figure1"].why_not
    assert ended["made/figure1"].open
    assert not ended["made/figure2"].open


def test_what_no_open_claim_needs_is_not_run(papers):
    figure = papers()
    *_, one = run_until_decided([figure], 5.0)
    assert verdicts(one)["not.wanted"].ours.n == 2


def test_command(cli, papers, tmp_path):
    papers()
    claims = tmp_path / "claims"
    done = cli("paper", "run", "made", "--claims", claims, "--until-decided", "5", "--write-results", "--json")
    assert done.code in (0, 1)
    found = {one["id"]: one for one in json.loads(done.out)}
    assert set(found) == {"made/figure1/open", "made/figure1/least"}
    assert all(one["verdict"] in ("holds", "does not hold") for one in found.values())
    assert "made/figure1: 4 seeds" in done.err
    page = (claims / "made/RESULTS.md").read_text()
    assert f"| {found['made/figure1/open']['runs']} |" in page
    assert "core minutes for those that were added until claims are decided." in page
    again = cli("paper", "run", "made", "--claims", claims, "--until-decided", "5")
    assert again.code == 2
    assert "no claim is open that more seeds could decide" in again.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["0"], "--until-decided needs more than 0 minutes of core time"),
        (["nan"], "--until-decided needs more than 0 minutes of core time"),
        (["1", "--quick"], "--until-decided continues stored results"),
        (["1", "--seeds", "3"], "--until-decided continues stored results"),
    ],
)
def test_bad_input(cli, papers, tmp_path, options, said):
    papers()
    done = cli("paper", "run", "made", "--claims", tmp_path / "claims", "--until-decided", *options)
    assert done.code == 2
    assert said in done.err


def test_how_many_seeds_would_do_is_the_sequence_s_own():
    values = np.random.default_rng(1).normal(0.0, 1.0, 40)
    found = estimate(values, sequential=True)
    wanted = seeds_for(found, 0.2, 10_000)
    spread = values.std(ddof=1)
    assert in_sequence(wanted) * spread <= 0.2 < in_sequence(wanted - 1) * spread
    assert wanted > seeds_for(estimate(values), 0.2, 10_000)
