"""`midpath estimate`: bands and scales against closed forms, pilots against runs made by hand, what is refused."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

import midpath
import script
from midpath.cli import main
from midpath.errors import UsageError
from midpath.estimate import bands, estimate, pilots
from midpath.estimate.bands import Band, Errors

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
FEW = {"pilot": 200, "pilots": 6}
FOLDER = Path(__file__).parents[2] / "checks" / "estimate"


@pytest.fixture(scope="module")
def measure():
    """The script as a module, with those that it imports from its folder."""
    return script.load(FOLDER / "measure.py")


def test_errors_have_the_next_one_with_a_chance_of_95_percent():
    # Of n + 1 values any is as likely as another to be the new one: 39 are the fewest with one to leave out each side.
    assert bands.sides(39) == (0, 38)
    assert bands.sides(399) == (9, 389)
    with pytest.raises(ValueError, match="38 values are too few"):
        bands.sides(38)
    rng = random.Random(1)
    inside = 0
    for _ in range(4000):
        *seen, new = (rng.lognormvariate(0, 0.3) for _ in range(60))
        errors = Errors.of(seen)
        inside += errors.low <= new <= errors.high
    assert 0.955 <= inside / 4000 <= 0.978  # 59 of 61 chances, 0.967, with a standard error of 0.003


def test_the_width_is_the_further_side():
    assert Band(0.8, 1.0, 1.1).width == pytest.approx(0.2)
    assert Band(0.95, 1.0, 1.3).width == pytest.approx(0.3)


def test_an_estimate_is_the_fluid_times_the_pilots_ratio_and_its_band_grows_with_their_disagreement():
    errors = Errors(-2.0, 0.0, 3.0, 100)
    agreed = bands.band(10.0, [math.log(1.5)] * 4, errors)
    assert agreed.value == pytest.approx(15.0)
    assert (agreed.low, agreed.high) == pytest.approx((15 * math.exp(-2 * bands.FLOOR), 15 * math.exp(3 * bands.FLOOR)))
    # A spread of 0.2 has a standard error of 0.1 with four pilots.
    logs = [math.log(1.5) + 0.2 * math.sqrt(3 / 4) * sign for sign in (1, 1, -1, -1)]
    assert bands.scale(logs) == pytest.approx(math.hypot(0.1, bands.FLOOR))
    assert bands.band(10.0, logs, errors).high == pytest.approx(15 * math.exp(3 * math.hypot(0.1, bands.FLOOR)))


def test_a_pilot_is_of_the_flows_of_its_second_half_under_another_seed():
    asked = midpath.Scenario.from_toml(DUMBBELL)
    assert pilots.seeds(asked, 3) == [2, 3, 4]
    run = midpath.run(asked.with_(scheme="rcp", seed=2, changes={"workload.0.flows": 200}))
    fct = run.flows["fct_s"].to_numpy()[100:]
    assert pilots.packets_of(asked, "rcp", 200, 2)["afct_s"] == pytest.approx(fct.mean())
    ideal = midpath.run(asked.with_(scheme="ideal", seed=2, changes={"workload.0.flows": 200})).flows
    short = pilots.fluid_of(asked, 200, 2)
    assert short.figures["fct_p99_s"] == pytest.approx(np.quantile(ideal["fct_s"].to_numpy()[100:], 0.99))
    start = ideal["start_s"].to_numpy()
    assert short.span == pytest.approx(start[199] - (start[99] + start[100]) / 2)


def same(value):
    return dict.fromkeys(pilots.FIGURES, value)


def test_what_pilots_tell_is_how_much_longer_packets_take_and_the_whole_run_and_how_long_they_last():
    told = pilots.told(same(2.0), [pilots.Short(same(1.0), 6.0), pilots.Short(same(1.0), 10.0)], [same(1.5), same(3.0)])
    assert told.logs["afct_s"] == pytest.approx([math.log(1.5), math.log(3)])
    assert told.growth["fct_p50_s"] == pytest.approx(math.log(2))
    # The slowest hundredth takes 1 s by the fluid, and the root of 4.5 times that by packets.
    assert told.lasting == pytest.approx(8 / math.sqrt(4.5))


def test_pilots_that_are_too_short_tell_nothing():
    def told(growth, lasting):
        return pilots.Told(same([0.1, 0.2]), same(growth), lasting)

    assert bands.silent(told(0.29, 1.01), "afct_s") == ""
    assert "over before their slow flows have ended" in bands.silent(told(0.0, 0.99), "afct_s")
    assert "take 1.4 times the pilots'" in bands.silent(told(0.31, 2.0), "afct_s")
    assert bands.silent(pilots.Told(same([0.1, math.inf]), same(0.0), 2.0), "afct_s") == "flows do not end"


def test_a_flow_that_does_not_end_takes_for_ever():
    asked = midpath.Scenario.from_toml(DUMBBELL)
    found = pilots.figures(midpath.run(asked.with_(changes={"stop": "3 s"})))
    assert found["afct_s"] == math.inf
    assert found["fct_p50_s"] < 1
    stopped = estimate(asked.with_(changes={"stop": "1 s"}), "cubic", **FEW)
    assert "flows do not end" in {one.refused for one in stopped[0].figures}


@pytest.mark.parametrize("scheme", ["cubic", "rcp", "fcp"])
def test_packets_are_where_the_band_says(scheme):
    (found,) = estimate(DUMBBELL, scheme, **FEW)
    seen = pilots.figures(midpath.run(DUMBBELL, scheme=scheme))
    answered = [one for one in found.figures if not one.refused]
    assert answered, found
    for one in answered:
        assert one.low <= seen[one.figure] <= one.high, one
        assert one.low <= one.value <= one.high


def test_what_ships_was_measured_on_sixty_scenarios_or_more():
    assert set(bands.measured()) == set(pilots.FIGURES)
    for one in bands.measured().values():
        assert one.low < one.middle < one.high
        assert one.runs >= 60


def test_a_fit_is_of_what_was_found(measure):
    one, flat = same(1.0), same([0.1, 0.1, 0.1, 0.1])

    def found(by):
        packets = {name: math.exp(0.1 + bands.FLOOR * by) for name in one}
        return measure.Found("rcp", one, packets, flat, same(0.0), 2.0)

    fitted = json.loads(measure.fit([found(by) for by in range(-50, 51)]))["figures"]["afct_s"]
    assert fitted == pytest.approx({"low": -49.0, "middle": 0.0, "high": 49.0, "runs": 101})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[fault]]\nkind = "link-down"\nlink = ["r0", "r1"]\nat = "1 s"\n', "fault is there: a short run"),
        ('[[flow]]\nfrom = "s0"\nto = "d0"\nsize = "1 MB"\n', "flow is there"),
        ('[[workload]]\narrivals = { kind = "once" }\nsizes = { kind = "fixed", size = "1 MB" }\n', 'kind is "once"'),
    ],
)
def test_what_a_short_run_does_not_tell_of_is_refused(more, said):
    with pytest.raises(UsageError, match=said):
        estimate(DUMBBELL + more, "rcp")


def test_too_little_is_refused(capsys, tmp_path):
    for asked in ({"pilot": 50}, {"flows": 150, "pilot": 200}, {"pilots": 3}):
        with pytest.raises(UsageError, match="or more"):
            estimate(DUMBBELL, "rcp", **asked)
    (tmp_path / "d.toml").write_text(DUMBBELL)
    assert main(["estimate", str(tmp_path / "d.toml"), "--schemes", ","]) == 2
    assert main(["estimate", str(tmp_path / "d.toml"), "--schemes", "nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err


def test_only_the_first_flows_are_run_where_that_was_asked_for():
    (whole,), (part,) = estimate(DUMBBELL, "rcp", **FEW), estimate(DUMBBELL, "rcp", flows=400, **FEW)
    assert (whole.flows, part.flows) == (1200, 400)
    assert part.notes == ("of each workload the first 400 flows at most",)
    assert whole.notes == ()


def test_a_band_that_is_too_wide_is_refused_with_its_width(monkeypatch, capsys, tmp_path):
    wide = dict.fromkeys(pilots.FIGURES, Errors(-30.0, 0.0, 30.0, 100))
    monkeypatch.setattr(bands, "measured", lambda: wide)
    (tmp_path / "d.toml").write_text(DUMBBELL)
    asked = ["estimate", str(tmp_path / "d.toml"), "--schemes", "rcp", "--pilot", "200", "--pilots", "4"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "refused" in said
    assert "more or longer pilots narrow it" in said
    assert main([*asked, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert {figure["value"] for figure in found["figures"]} == {None}
