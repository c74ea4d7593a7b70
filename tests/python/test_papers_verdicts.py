"""Verdicts on made-up samples: what cannot be decided is not decided, and the reason says why."""

import json
import math
import re
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from midpath.papers import figures, record, run_figure
from midpath.papers.headline import counts, headline
from midpath.papers.judging import effect, judge
from midpath.papers.lab import Measured
from midpath.papers.registry import Claim, Says
from midpath.papers.runner import Verdict
from midpath.papers.tolerance import Judgement, Tolerance
from midpath.stats import Estimate, estimate, extreme, seeds_for

HOLDS, FAILS, UNDECIDED, UNDECIDABLE = (
    Judgement.HOLDS,
    Judgement.FAILS,
    Judgement.UNDECIDED,
    Judgement.UNDECIDABLE,
)


def claim(paper="words", kind="times", says=None, effect=None, differs=None, **limits):
    """A claim with this tolerance."""
    says = says or (Says.SHAPE if isinstance(paper, str) else Says.NUMBER)
    return Claim("it", "§1", "It is so", paper, says, kind, Tolerance(**limits), effect, True, "a reason", differs)


def found(values, bound=None, **about):
    """The verdict on samples."""
    most = about.pop("most", False)
    ours = Measured("it", values, most=most).estimate()
    judgement, why = judge(claim(**about), ours, bound)
    return judgement, why


values = st.floats(-10, 10)
samples = st.lists(st.one_of(st.none(), values), min_size=1, max_size=12)


# As many samples as seeds.


def test_one_sample_of_ten_seeds_decides_nothing():
    """Figure 17's links that are busy: with RCP there were such links with one seed of ten."""
    judgement, why = found([None] * 9 + [31.0], at_least=1.5)
    assert judgement is UNDECIDED
    assert why.startswith("Only 1 of 10 seeds gave a value. Undecided whether at least 1.5×")
    # Nor does one that is outside: luck chose it.
    assert found([None] * 9 + [1.0], at_least=1.5)[0] is UNDECIDED


def test_missing_samples_do_not_hide_a_failure():
    judgement, why = found([1.4, 1.45, None, 1.43], at_most=1.25, differs="it is so")
    assert (judgement, why) == (FAILS, "Only 3 of 4 seeds gave a value. It is so")


@given(samples, st.floats(0, 20), st.floats(-10, 0))
def test_nothing_holds_with_fewer_samples_than_seeds(drawn, high, low):
    ours = estimate(drawn)
    if ours is None:
        return
    judgement, why = judge(claim(at_least=low, at_most=high), ours, None)
    missing = sum(value is None for value in drawn)
    assert ours.of == len(drawn)
    assert ours.n == len(drawn) - missing
    if missing or len(drawn) == 1:
        assert judgement is not HOLDS
    if missing:
        assert f"{ours.n} of {ours.of} seeds" in why


@given(st.floats(-10, 10))
def test_one_run_can_contradict_and_not_confirm(value):
    judgement, why = found([value], at_most=0.0)
    assert judgement is (FAILS if value > 0 else UNDECIDED)
    assert value > 0 or "no interval" in why
    # What is computed has one value.
    assert found([value], at_most=0.0, says=Says.THEORY)[0] is (FAILS if value > 0 else HOLDS)


# An interval wider than what the claim is about.


def test_table_2_at_the_papers_rates_is_not_decidable_with_three_seeds():
    """J of 0.52 ± 0.50 where the paper has 0.89 ± 0.05; a gain of 0.03 ± 0.06 where it has 0.07."""
    ours = Estimate(0.521266, 0.503324, 3)
    judgement, why = judge(claim(0.89, "index", absolute=0.05), ours, None)
    assert judgement is UNDECIDABLE
    assert why.startswith("The interval is 1.007 wide, the claim is about 0.100; about 66 seeds would do. ")
    gain = Estimate(0.029626, 0.05872, 3)
    assert judge(claim(kind="index", at_least=0.0, effect=0.07), gain, None)[0] is UNDECIDABLE
    assert judge(claim(kind="index", at_least=0.0, effect=0.12), gain, None)[0] is UNDECIDED
    assert judge(claim(kind="index", at_least=0.0), gain, None)[0] is UNDECIDED


def test_what_a_claim_is_about():
    assert effect(claim(2.0, relative=0.1), None) == pytest.approx(0.4)
    assert effect(claim(of_bound=0.02), 5.0) == pytest.approx(0.2)
    assert effect(claim(of_bound=0.02), None) is None
    assert effect(claim(at_least=0.9, at_most=1.1), None) == pytest.approx(0.2)
    # On one side: to the paper's number, or to no effect.
    assert effect(claim(1.605, at_least=1.25), None) == pytest.approx(0.355)
    assert effect(claim(at_least=1.5), None) == pytest.approx(0.5)
    assert effect(claim(kind="seconds", at_most=0.3), None) == pytest.approx(0.3)
    assert effect(claim(at_most=1.0), None) is None


@given(values, st.floats(0, 5), st.floats(0.01, 5))
def test_an_interval_wider_than_the_band_never_holds(mean, half, margin):
    judgement, _ = judge(claim(1.0, absolute=margin), Estimate(mean, half, 10), None)
    low, high = 1.0 - margin, 1.0 + margin
    if 2 * half > high - low:
        assert judgement in (FAILS, UNDECIDABLE)
    else:
        assert judgement is not UNDECIDABLE
    assert (judgement is FAILS) == (mean + half < low or mean - half > high)


def test_how_many_seeds_would_do():
    """The number that is named does it, and one less does not, for samples that go on to spread as these do."""
    drawn = [1.0, 2.0, 4.0, 1.5]
    ours = estimate(drawn)
    spread = float(np.std(drawn, ddof=1))
    for half in (2.0, 0.5, 0.1):
        wanted = seeds_for(ours, half, 100_000)

        def width(n, spread=spread):
            from scipy.stats import t  # noqa: PLC0415 - an oracle that is not ours

            return t.ppf(0.975, n - 1) * spread / math.sqrt(n)

        assert width(wanted) <= half < width(wanted - 1)
    assert seeds_for(ours, 1e-9, 10_000) is None
    judgement, why = found(drawn, at_most=2.2)
    assert judgement is UNDECIDED or judgement is UNDECIDABLE
    assert "seeds would" in why


def test_where_there_are_none_one_is_enough():
    """INRPP's refused packets in figure 19: 0 in many seeds, and the interval of a count reached below zero."""
    assert found([0.0] * 9 + [30.0], kind="count", at_most=0)[0] is FAILS
    assert found([0.0] * 10, kind="count", at_most=0)[0] is HOLDS
    # Of a difference, what is below zero does make up for it.
    assert found([-1.0, 1.5, -0.5, 0.5], kind="times", at_most=0)[0] is not FAILS


# The extreme of several groups.


def groups(rng, means, seeds=10, spread=0.1):
    """Samples by group around these means."""
    return {f"group {i}": rng.normal(mean, spread, seeds).tolist() for i, mean in enumerate(means)}


def test_the_best_of_four_quarters_is_not_the_best_of_luck():
    """Four quarters that are alike, at .62: the least in each run is far below, and an interval around that is, too."""
    rng = np.random.default_rng(1)
    biased = fair = 0
    for _ in range(200):
        drawn = groups(rng, [0.62] * 4)
        luck = estimate([min(seed) for seed in zip(*drawn.values(), strict=True)])
        biased += judge(claim(at_most=0.6), luck, None)[0] is HOLDS
        fair += judge(claim(at_most=0.6), extreme(drawn, most=False), None)[0] is HOLDS
    assert biased > 100
    assert fair <= 10  # one in twenty


def test_intervals_of_extremes_cover_them():
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(500):
        means = rng.normal(1.0, 0.05, 4)
        low, high = extreme(groups(rng, means), most=True).interval
        inside += low <= means.max() <= high
    assert inside >= 0.95 * 500


@given(st.lists(st.lists(values, min_size=3, max_size=3), min_size=2, max_size=5))
def test_extremes(drawn):
    named = {str(i): of for i, of in enumerate(drawn)}
    least, most = (extreme(named, most=way) for way in (False, True))
    means = {name: float(np.mean(of)) for name, of in named.items()}
    assert most.mean == pytest.approx(max(means.values()))
    assert least.mean == pytest.approx(min(means.values()))
    assert means[most.group] == pytest.approx(most.mean)
    # No narrower than the group's own.
    assert most.ci95 >= estimate(named[most.group]).ci95
    mirrored = extreme({name: [-value for value in of] for name, of in named.items()}, most=True)
    assert mirrored.mean == pytest.approx(-least.mean)
    assert mirrored.ci95 == pytest.approx(least.ci95)


def test_a_group_without_a_value_is_not_passed_over():
    assert extreme({"a": [1.0, 2.0], "b": [None, None]}, most=True) is None
    some = extreme({"a": [1.0, 2.0], "b": [None, 0.5]}, most=True)
    assert (some.n, some.of) == (1, 2)
    judgement, why = found({"a": [1.0, 1.1, 1.05], "b": [None, 0.5, 0.4]}, at_most=3.0, most=True)
    assert judgement is UNDECIDED
    assert "Only 2 of 3 seeds" in why
    assert "Of 2 groups this is a" in why


# What is counted, and what is printed.


def verdict(says, judgement, ours=None):
    return Verdict("made/figure1", claim(says=says, at_most=1.0), ours, None, judgement, "because")


def test_headlines_count_what_packets_could_have_contradicted():
    listed = [
        verdict(Says.NUMBER, HOLDS),
        verdict(Says.SHAPE, UNDECIDABLE),
        verdict(Says.SHAPE, UNDECIDED),
        verdict(Says.THEORY, HOLDS),
        verdict(Says.THEORY, FAILS),
        verdict(Says.OURS, HOLDS),
        verdict(Says.INFORMATION, Judgement.INFORMATION),
    ]
    assert headline(listed) == "1 of 3 claims of the paper hold, 1 undecided, 1 not decidable here"
    rows = {who: cells for who, *cells in counts(listed)}
    assert rows["theory"] == ["2", "1", "1", "0", "0", "0"]
    assert headline(listed[3:5]) == "none of these is a claim of the paper's own"


@pytest.mark.parametrize(
    ("kind", "limits", "text"),
    [
        ("seconds", {"at_most": 0.3}, "at most 300 ms"),
        ("bps", {"at_most": 5e5}, "at most 500 kbps"),
        ("ratio", {"at_least": 0.95, "at_most": 1.0}, "at least 95 %, at most 100 %"),
        ("ratio", {"absolute": 0.02}, "within 2 percentage points of the paper"),
        ("ratio", {"relative": 0.02}, "within 2 % of the paper"),
        ("bytes", {"at_most": 70000.0}, "at most 70 kB"),
        ("times", {"at_least": 1.5}, "at least 1.5×"),
        ("index", {"absolute": 0.05}, "within 0.05 of the paper"),
        ("count", {"at_most": 0.0}, "at most 0"),
        ("dollars_per_s", {"at_least": 1.43}, "at least 1.43 $/s"),
    ],
)
def test_bounds_have_units(kind, limits, text):
    assert Tolerance(**limits).text(kind) == text


# Runs in which nothing is random.

SCENARIO = """# Two flows that meet.
title = "made up"
scheme = "newreno"
stop = "3 s"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }

[queue]
limit = "20 packets"

[[flow]]
from = "s0"
to = "d0"
size = "1 MB"

[[flow]]
from = "s1"
to = "d1"
size = "1 MB"
"""
CLAIMS = """title = "Made up"
source = "§1, figure 1"
{seeds}
notes = "None."

[[claim]]
id = "afct"
claim = "Mean completion time"
paper = "words"
kind = "seconds"
tolerance = {{ at_most = 5.0 }}
why = "a wide one"
"""
MEASURE = """
from midpath.papers.lab import Measured

def measure(lab):
    yield Measured("afct", lab.runs("meet").summary("afct_s"))
"""


@pytest.fixture
def made(tmp_path):
    """A figure made up, with this line about its seeds."""

    def write(seeds):
        folder = tmp_path / "papers" / "tiny" / "figure1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "claim.toml").write_text(textwrap.dedent(CLAIMS.format(seeds=seeds)))
        (folder / "measure.py").write_text(MEASURE)
        (folder / "meet.toml").write_text(SCENARIO)
        return figures(tmp_path / "papers")[0]

    return write


def test_what_is_not_random_is_perturbed(made, cli):
    (once,) = run_figure(made("seeds = 1"))
    assert once.judgement is UNDECIDED
    (found,) = run_figure(made('seeds = 4\nperturb = "5 ms"'))
    # The run as it stands is the first; the others are like it, and not the same.
    assert found.values[0] == once.values[0]
    assert len(set(found.values)) == 4
    assert found.values == pytest.approx([found.values[0]] * 4, rel=0.5)
    assert (found.judgement, found.ours.n) == (HOLDS, 4)
    assert found.ours.ci95 > 0
    # Without, four seeds are four times the same run.
    (same,) = run_figure(made("seeds = 4"))
    assert len(set(same.values)) == 1


def test_the_page_says_what_is_perturbed_and_keeps_the_samples(made, cli):
    figure = made('seeds = 3\nperturb = "5 ms"')
    root = figure.directory.parent.parent
    shown = cli("paper", "run", "tiny", "--claims", root, "--write-results", "--json")
    (printed,) = json.loads(shown.out)
    assert (printed["unit"], printed["runs"], printed["seeds"]) == ("s", 3, 3)
    kept = record.stored(figure)["claims"]["afct"]
    assert kept["unit"] == "s"
    assert kept["values"] == pytest.approx(printed["values"], rel=1e-5)
    text = (figure.directory / "results.json").read_text()
    assert re.search(r'"values": \[[\d., ]+\],\n', text), "samples are on one line"
    page = (root / "tiny" / "RESULTS.md").read_text()
    late = "each flow starts late by up to 5 ms, with every seed but the first"
    assert f"3 seeds. Where nothing is random, {late}." in page
    assert "| at most 5 s | 3 | §1, figure 1 |" in page
    (listed,) = json.loads(cli("paper", "list", "--claims", root, "--json").out)
    assert (listed["perturb"], listed["claims"][0]["unit"]) == ("5 ms", "s")


def test_a_single_run_is_not_perturbed(cli, made):
    figure = made("seeds = 2")
    file = figure.directory / "claim.toml"
    file.write_text(file.read_text().replace("seeds = 2", 'seeds = 1\nperturb = "5 ms"'))
    answer = cli("paper", "list", "--claims", figure.directory.parent.parent)
    assert answer.code == 2
    assert "perturb" in answer.err
