"""`midpath estimate`: bands and scales against closed forms, pilots against runs made by hand, what is refused."""

import json
import math
import random
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import midpath
import script
from midpath.cli import main
from midpath.errors import UsageError
from midpath.estimate import MEASURED, bands, carry, estimate, pilots
from midpath.estimate.bands import Band, Errors
from midpath.estimate.carry import FIGURES, Carried
from midpath.estimate.pilots import Flows, Pilot
from midpath.metrics import IDEAL

DUMBBELL = """
scheme = "cubic"
[topology]
generate = "dumbbell"
pairs = 4
bottleneck = { rate = "100 Mbps", delay = "10 ms" }
access = { rate = "400 Mbps", delay = "5 ms" }
[queue]
limit = "500 kB"

[[workload]]
matrix = { kind = "pairs", pairs = [["s0", "d0"], ["s1", "d1"], ["s2", "d2"], ["s3", "d3"]] }
arrivals = { kind = "poisson", load = "40 %", load_of = "link:r0>r1" }
sizes = { kind = "exponential", mean = "200 kB" }
flows = 1200
"""
SECOND = """
[[workload]]
matrix = { kind = "pairs", pairs = [["s1", "d1"]] }
arrivals = { kind = "poisson", rate_per_s = 30 }
sizes = { kind = "fixed", size = "50 kB" }
flows = 50
"""
FEW = {"pilot": 150}
FOLDER = Path(__file__).parents[2] / "evidence/properties" / "estimate"


@pytest.fixture(scope="module")
def measure():
    """The suite's module."""
    return script.suite("estimate.measure")


def test_errors_have_the_next_one_with_a_chance_of_95_percent():
    # Of n + 1 values any is as likely as another to be the new one: 19 are the fewest with one to leave out.
    assert bands.place(19) == 18
    assert bands.place(39) == 37
    assert bands.place(66) == 63
    with pytest.raises(ValueError, match="18 values are too few"):
        bands.place(18)
    assert Errors.of([*range(-60, 0), 70]).most == 59
    rng = random.Random(1)
    inside = 0
    for _ in range(4000):
        *seen, new = (rng.gauss(0, 0.3) for _ in range(60))
        inside += abs(new) <= Errors.of(seen).most
    assert 0.938 <= inside / 4000 <= 0.964  # 58 of 61 chances, 0.951, with a standard error of 0.0034


def test_the_width_is_the_further_side():
    assert Band(0.8, 1.0, 1.1).width == pytest.approx(0.2)
    assert Band(0.95, 1.0, 1.3).width == pytest.approx(0.3)


def told(error=0.0, log=0.0, growth=0.0, beyond=0.0, rest=0.0):
    return Carried(same(log), same(error), same(growth), beyond, same(rest))


def test_a_band_is_errors_times_the_scale_around_the_estimate():
    found = bands.band(math.log(15), 0.1, Errors(2.0, 100))
    assert (found.low, found.value, found.high) == pytest.approx((15 * math.exp(-0.2), 15, 15 * math.exp(0.2)))


def test_the_scale_is_of_what_parts_and_pilots_disagree_by_and_of_growth():
    assert [bands.scale(told(), told(), name) for name in FIGURES] == pytest.approx([0.02, 0.02, 0.05])
    for name, unit in bands.UNITS.items():
        for former, last, more in (
            (told(9.0), told(0.1), 0.1),
            (told(log=1.1), told(log=1.0), 0.1 * unit.apart),
            (told(growth=9.0), told(growth=-0.5), 0.5 * unit.growth),
            (told(rest=9.0), told(rest=0.1), 0.1),
        ):
            assert bands.scale(former, last, name) == pytest.approx(math.hypot(more, unit.floor))


def test_pilots_that_lack_the_slow_flows_tell_nothing():
    assert bands.silent(told(), told(beyond=0.03), "afct_s") == ""
    assert "4% of flows are slower" in bands.silent(told(), told(beyond=0.04), "afct_s")
    assert bands.silent(told(), told(error=math.inf), "afct_s") == "flows do not end"
    assert bands.silent(told(log=math.inf), told(), "afct_s") == "flows do not end"
    assert bands.of(told(), told(beyond=0.04), same(Errors(1.0, 100)))["afct_s"].startswith("4%")


def test_a_pilot_is_the_runs_own_first_flows():
    asked = midpath.Scenario.from_toml(DUMBBELL)
    whole = Flows.from_result(midpath.run(asked.with_(scheme="ideal")))
    pilot = pilots.pilot_of(asked, "rcp", whole, 200)
    assert pilot.which.tolist() == list(range(200))
    short = {"workload.0.flows": 200}
    for scheme, seen in (("ideal", pilot.fluid), ("rcp", pilot.packets)):
        assert seen == pytest.approx(midpath.run(asked.with_(scheme=scheme, changes=short)).flows["fct_s"].to_numpy())


def test_a_pilot_has_flows_of_each_workload():
    for rate, seen in ((30, None), (0.001, 1)):
        asked = midpath.Scenario.from_toml(DUMBBELL + SECOND.replace("= 30 ", f"= {rate} "))
        run = midpath.run(asked.with_(scheme="ideal"))
        pilot = pilots.pilot_of(asked, "rcp", Flows.from_result(run), 300)
        inside = run.flows["group"].to_numpy()[:300] == "workload1"
        assert pilot.which.size == 300 + (not inside.any())
        size = run.flows["size_bytes"].to_numpy()[pilot.which]
        assert np.count_nonzero(size == 50_000) == (seen or inside.sum())


def same(value):
    return dict.fromkeys(FIGURES, value)


def flows(fct, alone):
    return Flows(np.asarray(fct), np.asarray(alone), np.full(len(fct), "workload0"))


def test_ratios_are_carried_to_flows_that_are_alike():
    rng = np.random.default_rng(1)
    # Short flows take three times what the fluid says, long ones 1.1 times; of the pilot half are long, else a tenth.
    long = np.concatenate([np.arange(400) % 2, np.arange(3600) % 10 == 0]).astype(bool)
    alone = np.where(long, 1.0, 0.01) * rng.uniform(0.8, 1.2, 4000)
    fluid = alone * rng.uniform(1.0, 2.0, 4000)
    packets = fluid * np.where(long, 1.1, 3.0)
    found = carry.carried(flows(fluid, alone), Pilot(np.arange(400), fluid[:400], packets[:400]))
    expected = carry.figures(packets)
    assert [math.exp(found.logs[name]) for name in FIGURES] == pytest.approx(expected.tolist(), rel=1e-9)
    assert list(found.errors.values()) == pytest.approx([0, 0, 0], abs=1e-9)
    # Means alone are 8 % off.
    assert packets[:400].mean() / fluid[:400].mean() * fluid.mean() < 0.95 * packets.mean()


def test_bounds_for_very_many_flows_leave_each_its_weight(monkeypatch):
    rng = np.random.default_rng(5)
    alone = rng.uniform(1, 9, 4000)
    fluid = alone * rng.uniform(1, 2, 4000)
    packets = fluid * (1 + alone)
    monkeypatch.setattr(carry, "LEAVES", 40)
    for most, each in ((1_000_000, 8), (7200, 2), (1, 1)):
        monkeypatch.setattr(carry, "MOST", most)
        pilot = Pilot(np.arange(400), fluid[:400], packets[:400])
        whole = flows(fluid, alone)
        times, weights = carry._times(whole, carry._features(fluid, alone), pilot, np.arange(0))
        assert weights.sum() == pytest.approx(4000)
        assert times.size == 400 + 3600 * each
        assert np.average(times, weights=weights) == pytest.approx(packets.mean(), rel=0.05)


def test_a_pilot_of_all_flows_is_the_run():
    rng = np.random.default_rng(2)
    fluid, packets = rng.uniform(1, 2, 500), rng.uniform(2, 9, 500)
    found = carry.carried(flows(fluid, np.ones(500)), Pilot(np.arange(500), fluid, packets))
    assert math.exp(found.logs["afct_s"]) == pytest.approx(packets.mean())
    assert math.exp(found.logs["fct_p99_s"]) == pytest.approx(np.quantile(packets, 0.99, method="inverted_cdf"))
    assert list(found.errors.values()) == [0, 0, 0]


def test_growth_and_what_is_beyond_the_pilot_are_the_fluids():
    fluid, alone = np.full(1000, 2.0), np.ones(1000)
    fluid[250:260], fluid[260:300] = 6.0, 2.0 * (1 + 1e-12)
    alone[255:260] = 3.0
    found = carry.carried(flows(fluid, alone), Pilot(np.arange(250), fluid[:250], fluid[:250]))
    # Five flows take three times as long as any of the pilot's; five more only what a larger size needs.
    assert found.beyond == 0.005
    assert found.growth == pytest.approx({"afct_s": math.log(2.04 / 2), "fct_p50_s": 0, "fct_p99_s": 0}, abs=1e-9)


@pytest.mark.nightly("python/midpath/estimate/", "crates/ideal/")
def test_the_standard_error_is_what_means_of_alike_flows_miss_by():
    # Flows that are all alike, so that the mean's error has a closed form: that of a sample without replacement.
    rng = np.random.default_rng(3)
    missed, said = [], []
    for _ in range(300):
        packets = rng.lognormal(0, 0.5, 1000)
        ones = np.ones(1000)
        found = carry.carried(flows(ones, ones), Pilot(np.arange(250), ones[:250], packets[:250]))
        missed.append(math.log(packets.mean()) - found.logs["afct_s"])
        said.append(found.errors["afct_s"])
    exact = math.sqrt(math.expm1(0.25) / 250 * 0.75)
    assert np.std(missed) == pytest.approx(exact, rel=0.15)
    assert np.sqrt(np.mean(np.square(said))) == pytest.approx(exact, rel=0.15)


def test_flows_that_do_not_end_are_refused_where_they_count():
    ones = np.ones(1000)
    packets = np.where(np.arange(250) % 25 == 3, np.inf, 2.0)
    found = carry.carried(flows(ones, ones), Pilot(np.arange(250), ones[:250], packets))
    assert found.errors["afct_s"] == found.errors["fct_p99_s"] == math.inf
    assert math.exp(found.logs["fct_p50_s"]) == pytest.approx(2)
    endless = carry.carried(flows(np.where(np.arange(1000) == 900, np.inf, 1.0), ones), Pilot(*[np.arange(250)] * 3))
    assert set(endless.errors.values()) == {math.inf}


def test_all_are_refused_where_the_fluids_flows_do_not_end():
    asked = midpath.Scenario.from_toml(DUMBBELL).with_(changes={"stop": "38 s"})
    (stopped,) = estimate(asked, "cubic", **FEW)
    assert {one.refused for one in stopped.figures} == {"flows do not end"}


@pytest.mark.parametrize("scheme", ["cubic", "rcp", "fcp"])
def test_packets_are_where_the_band_says(scheme):
    (found,) = estimate(DUMBBELL, scheme, share=0.5, **FEW)
    seen = midpath.run(DUMBBELL, scheme=scheme).summary
    answered = [one for one in found.figures if not one.refused]
    assert answered, found
    for one in answered:
        assert one.low <= seen[one.figure] <= one.high, one
        assert one.low <= one.value <= one.high


def test_what_ships_was_measured_on_sixty_scenarios_or_more():
    assert set(bands.measured()) == set(FIGURES)
    for one in bands.measured().values():
        assert one.most > 0
        assert one.runs >= 60


def test_a_fit_is_of_what_pilots_tell_of(measure):
    def found(by, beyond=0.0):
        packets = same(math.exp(bands.UNITS["afct_s"].floor * by))
        return measure.Found("rcp", packets, [asdict(told()), asdict(told(beyond=beyond))])

    # What lacks the slow flows is left out. Of 101 errors 97 are at most .96 either way.
    every = [found(by / 50) for by in range(-50, 51)] + [found(9, 0.1)]
    fitted = json.loads(script.load(FOLDER / "fit.py").fit(every))
    assert fitted["figures"]["afct_s"] == pytest.approx({"most": 0.96, "runs": 101})
    assert fitted["schemes"] == ["rcp"]


def test_what_is_judged_is_what_pilots_tell_of_the_whole(measure, monkeypatch):
    rng = np.random.default_rng(4)
    fluid, alone, packets = rng.uniform(1, 2, 1600), rng.uniform(0.5, 1, 1600), rng.uniform(2, 3, 1600)
    packets[7] = np.inf
    parts = {count: Pilot(np.arange(count), fluid[:count], packets[:count]) for count in (200, 400)}
    whole = flows(fluid, alone)
    monkeypatch.setattr(measure, "run", lambda scenario: scenario.scheme)
    monkeypatch.setattr(measure.Flows, "from_result", lambda of: whole if of == IDEAL else flows(packets, alone))
    monkeypatch.setattr(measure, "pilot_of", lambda scenario, scheme, whole, count: parts[count])
    found = measure.judge(5, None, "", "")
    assert found.scheme == measure.draw.scheme_of(5)
    assert [Carried(**one) for one in found.pilots] == [carry.carried(whole, one) for one in parts.values()]
    assert found.packets == measure.truth(packets)
    assert found.packets["afct_s"] == math.inf


def test_the_page_counts_answers_and_why_there_are_none(measure, monkeypatch):
    by = same(Errors(2.0, 100))
    monkeypatch.setattr(bands, "measured", lambda: by)
    every = [
        measure.Found("rcp", same(packets), [asdict(told()), asdict(last)])
        for packets, last in [
            (1.01, told(0.01)),
            (1.9, told(0.01)),
            (1.0, told(0.2)),
            (1.0, told(math.inf)),
            (1.0, told(beyond=0.1)),
        ]
    ]
    rows = [script.suite("harness").Row("", n, "", None, one, None, {}) for n, one in enumerate(every)]
    page = list(measure.page(rows, None))
    width = math.expm1(2 * math.hypot(0.01, bands.UNITS["afct_s"].floor))
    assert f"| all | afct_s | 5 | 2, 40% | 50% | {width:.0%} | 1 | 1 | 1 |" in page
    assert page[-1].startswith("| rcp | all | 15 | 6, 40% | 50% |")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[fault]]\nkind = "link-down"\nlink = ["r0", "r1"]\nat = "1 s"\n', "fault is there: a short run"),
        ('[[flow]]\nfrom = "s0"\nto = "d0"\nsize = "1 MB"\n', "flow is there"),
        (SECOND + 'start = "1 s"\n', "different times"),
        (SECOND + 'group = "workload0"\n', "same group"),
        ('[[workload]]\narrivals = { kind = "once" }\nsizes = { kind = "fixed", size = "1 MB" }\n', 'kind is "once"'),
    ],
)
def test_what_a_short_run_does_not_tell_of_is_refused(more, said):
    with pytest.raises(UsageError, match=said):
        estimate(DUMBBELL + more, "rcp")


def test_a_scheme_that_nothing_was_measured_under_is_refused(measure):
    assert set(bands.schemes()) == set(measure.draw.SCHEMES)
    with pytest.raises(UsageError, match=r"mircc has no band: .* measured for bbr, cubic"):
        estimate(DUMBBELL, "cubic,mircc")


def test_too_little_is_refused(capsys, tmp_path):
    for asked, said in (
        ({"pilot": 50}, "at least"),
        ({"share": 0}, "above 0"),
        ({"flows": 300}, "25% of 300 flows is too few"),
    ):
        with pytest.raises(UsageError, match=said):
            estimate(DUMBBELL, "rcp", **asked)
    (tmp_path / "d.toml").write_text(DUMBBELL)
    assert main(["estimate", str(tmp_path / "d.toml"), "--schemes", ","]) == 2
    assert main(["estimate", str(tmp_path / "d.toml"), "--schemes", "nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err


def test_only_the_first_flows_are_run_where_that_was_asked_for():
    (whole,), (part,) = estimate(DUMBBELL, "rcp", **FEW), estimate(DUMBBELL, "rcp", flows=800, **FEW)
    assert (whole.flows, part.flows) == (1200, 800)
    assert (whole.pilot, part.pilot) == (300, 200)
    assert part.notes[0] == "from the first 800 of 1,200 flows: bands allow for the others"
    assert len(whole.notes) == 1


def test_bands_are_wider_where_flows_are_cut_off_and_more_so_the_more_there_are():
    endless = DUMBBELL.replace("flows = 1200", 'until = "60 s"')
    asked = (DUMBBELL.replace("1200", "800"), DUMBBELL, DUMBBELL.replace("1200", "80000"), endless)
    found = [estimate(one, "rcp", flows=800, **FEW)[0] for one in asked]
    widths = [[one.high / one.value for one in each.figures[:2]] for each in found]
    assert widths[0] < widths[1] < widths[2] <= widths[3]
    assert {one.figures[0].value for one in found} == {found[0].figures[0].value}
    assert found[3].notes[0] == "from the first 800 of more flows: bands allow for the others"


def test_what_is_cut_off_lies_within_its_standard_error():
    """Flows that are alike and independent: of the whole's mean around that of its first part, by closed form."""
    rng = np.random.default_rng(6)
    missed, said = [], []
    for _ in range(300):
        every = rng.lognormal(0, 0.5, 4000)
        first, late = every[:1000], every[500:1000]
        rest = carry._rest(first, every.size)["afct_s"]
        missed.append(math.log(every.mean() / first.mean()))
        said.append(rest**2 - math.log(late.mean() / first.mean()) ** 2 * 0.75)
    exact = math.expm1(0.25) / 1000 * 0.75
    assert np.var(missed) == pytest.approx(exact, rel=0.2)
    assert np.mean(said) == pytest.approx(exact, rel=0.1)
    assert set(carry._rest(every, every.size).values()) == {0.0}
    rising = np.concatenate([np.ones(500), np.full(500, 1.5)])
    assert carry._rest(rising, math.inf)["afct_s"] > math.log(1.5 / 1.25)


def test_a_run_smaller_than_those_that_bands_are_of_is_noted(monkeypatch, measure):
    assert measure.draw.FEWEST == MEASURED
    for most, said in ((1201, ["1,200 flows, but bands were measured on runs of 1,201 or more"]), (1200, [])):
        monkeypatch.setattr("midpath.estimate.MEASURED", most)
        (found,) = estimate(DUMBBELL, "rcp", **FEW)
        assert [one.split(":")[0] for one in found.notes] == said


def test_a_band_that_is_too_wide_is_refused_with_its_width(monkeypatch, capsys, tmp_path):
    wide = same(Errors(30.0, 100))
    monkeypatch.setattr(bands, "measured", lambda: wide)
    (tmp_path / "d.toml").write_text(DUMBBELL)
    asked = ["estimate", str(tmp_path / "d.toml"), "--schemes", "rcp", "--pilot", "150"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "refused" in said
    assert "a larger --share narrows it" in said
    assert main([*asked, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert {figure["value"] for figure in found["figures"]} == {None}
    assert found["pilot"] == 300
