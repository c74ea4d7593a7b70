"""Each difference that is told has an interval, in the sentence and in the table; also between and within variants."""

import json
import re

import pytest

import midpath
from midpath.compare.verdict import sentences
from midpath.palette import name
from midpath.report import html
from midpath.report.model import model_of
from midpath.report.tables import summary
from midpath.stats import estimate, paired_excess, told_apart

NBSP = "\N{NO-BREAK SPACE}"
NUMBER = r"[\d.,]+"
LONGER = re.compile(rf"takes ({NUMBER}) ± ({NUMBER}){NBSP}% longer")
TEXT = """
scheme = "cubic"
stop = "3 s"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "50 kB"
"""
FLOWS = "".join(
    f'[[flow]]\nfrom = "s{i % 2}"\nto = "d{i % 2}"\nstart = "{30 * i} ms"\nsize = "60 kB"\n' for i in range(30)
)
VARIANTS = """
[variants.certain]
[variants.lossy]
topology.bottleneck.corruption = "3 %"
"""


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    path = tmp_path_factory.mktemp("told") / "varied"
    return path, midpath.compare_variants(TEXT + FLOWS + VARIANTS, "cubic,xcp,rcp", seeds=5, ideal=False, out=path)


def test_the_interval_of_a_difference_holds_zero_where_it_is_not_told():
    draw = midpath_draws()
    for values, others in draw:
        found = paired_excess(values, others)
        assert found.mean == pytest.approx(sum(values) / sum(others) - 1)
        assert (found.interval[0] > 0 or found.interval[1] < 0) == told_apart(values, others)
    assert paired_excess([1.0, None], [2.0, 3.0]).ci95 is None
    assert paired_excess([None], [1.0]) is None


def midpath_draws():
    import numpy as np  # noqa: PLC0415

    draw = np.random.default_rng(5)
    return [(list(base * draw.normal(1.05, 0.05, 4)), list(base)) for base in draw.uniform(1, 2, (60, 4))]


def test_each_told_difference_of_a_comparison_has_an_interval(varied):
    found = varied[1].comparisons["lossy"]
    speed = sentences(found)[0]
    times = {scheme: found.rows()[i].figures["afct_s"].mean for i, scheme in enumerate(found.schemes)}
    best = min(times, key=times.get)
    told = [other for other in times if other != best and found.told_apart(other, best, "afct_s")]
    assert told, "the scenario tells nothing apart"
    assert speed.count(" longer") == len(LONGER.findall(speed)) == len(told)
    page = summary(model_of(found))
    for other in told:
        more = found.excess(other, best, "afct_s")
        (share, half) = re.search(rf"{re.escape(name(other))} {LONGER.pattern}", speed).groups()
        assert float(share) == pytest.approx(100 * more.mean, rel=0.01)
        assert float(half) == pytest.approx(100 * more.ci95, rel=0.05, abs=0.1)
        assert f"<small>+{share} ±{NBSP}{half}{NBSP}%</small>" in page


def test_ratios_to_the_ideal_have_an_interval():
    text = TEXT + FLOWS.replace('size = "60 kB"', 'size = "60 kB"')
    found = midpath.compare(midpath.Scenario.from_toml(text).with_(changes={"topology.bottleneck.corruption": "2 %"}),
                            "cubic", seeds=3)  # fmt: skip
    ratio = found.rows()[0].to_ideal["afct_s"]
    assert ratio.ci95 > 0
    assert re.search(rf"{NUMBER} ± {NUMBER} times the ideal", sentences(found)[0])
    assert re.search(rf"<small>{NUMBER} ±{NBSP}{NUMBER} ×{NBSP}ideal</small>", summary(model_of(found)))


def test_intervals_stay_where_the_first_variant_is_deterministic(varied, cli):
    path, found = varied
    assert not found.first.is_random
    assert found.is_random
    assert "nothing in this scenario is random: no intervals" not in found.notes
    assert "nothing is random in certain: no intervals there" in found.notes
    again = cli("compare", write(path), "--schemes", "cubic,xcp,rcp", "--seeds", 5, "--no-ideal", "--out", path)
    rows = [line for line in again.out.splitlines() if re.match(r"(certain|lossy) +\S", line)][:6]
    assert [" ± " in row for row in rows] == [False] * 3 + [True] * 3
    # Times, and the ratio to the first variant's.
    assert all(row.count("±") >= 3 for row in rows[3:])


def write(path):
    file = path.parent / "varied.toml"
    file.write_text(TEXT + FLOWS + VARIANTS)
    return file


def test_luck_is_seen_whichever_scheme_has_it(varied):
    found = varied[1]
    # Here no scheme draws; a scheme after the first could.
    certain, lossy = found.comparisons["certain"], found.comparisons["lossy"]
    mixed = {("cubic", seed): run for (scheme, seed), run in certain.results.items() if scheme == "cubic"}
    mixed |= {("xcp", seed): run for (scheme, seed), run in lossy.results.items() if scheme == "xcp"}
    comparison = midpath.Comparison(certain.scenario, None, ["cubic", "xcp"], certain.seeds, mixed)
    assert comparison.is_random


def test_schemes_are_compared_with_each_other_in_each_variant(varied):
    found = varied[1]
    verdict = found.verdict()
    for variant, comparison in found.matched.items():
        (sentence,) = [text for text in verdict if text.startswith(f"In {variant}, ")]
        times = {scheme: estimate(comparison.values(scheme, "afct_s")).mean for scheme in found.schemes}
        best = min(times, key=times.get)
        assert sentence.startswith(f"In {variant}, {name(best)} has the lowest AFCT: ")
        assert all(name(scheme) in sentence for scheme in found.schemes)
        assert "In lossy, " in html(found)
    one = midpath.compare_variants(TEXT + FLOWS + VARIANTS, "cubic", ideal=False)
    assert not [text for text in one.verdict() if text.startswith("In ")]


def test_costs_stand_beside_the_gains_in_each_variant(varied, cli, tmp_path):
    path, found = varied
    rows = json.loads(cli("cost", "schemes", "--of", path, "--json").out)
    assert [row["scheme"] for row in rows] == ["cubic", "xcp", "rcp"]
    for row in rows:
        for variant, comparison in found.matched.items():
            times = comparison.values(row["scheme"], "afct_s")
            assert row["variants"][variant]["afct_s"] == pytest.approx(estimate(times).mean)
    printed = cli("cost", "schemes", "--of", path).out
    assert printed.count("certain: AFCT ") == printed.count("lossy: AFCT ") == 3
    midpath.run(TEXT + FLOWS, out=tmp_path / "run")
    refused = cli("cost", "schemes", "--of", tmp_path / "run")
    assert refused.code == 2
    assert "holds no comparison: midpath compare --out DIR writes one" in refused.err
