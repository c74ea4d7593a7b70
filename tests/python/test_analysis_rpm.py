"""§IV of the RPM paper: signs, limits and trajectories, against closed forms and each other."""

import math
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from midpath.analysis.quasipolynomial import QuasiPolynomial
from midpath.analysis.rpm import (
    Equilibrium,
    Linear,
    Path,
    Start,
    eta_guaranteed,
    eta_mended,
    eta_paper,
    eta_true,
    measured,
    region,
    s_star_exact,
    s_star_mended,
    s_star_paper,
    trajectory,
)
from midpath.analysis.rpm.plots import plot_beside, plot_region
from midpath.errors import UsageError
from midpath.result import Result
from midpath.result.series import MissingSeriesError
from midpath.tables import SERIES

pytestmark = pytest.mark.nightly("python/midpath/analysis/", "python/midpath/result/")

MODELS = ("paper", "self-clocked")
# What takes milliseconds, and what takes tens of them; a busy machine is no failure.
often = settings(max_examples=60, deadline=None)
rarely = settings(max_examples=25, deadline=None)
windows = st.floats(1.0, 1e5)
shares = st.floats(0.02, 1.0)
paths = st.builds(lambda d, share, window: Path(d, share * d, window / d), st.floats(1e-4, 1.0), shares, windows)
inner = st.builds(lambda share, window: Path(1.0, share, window), st.floats(0.02, 0.98), windows)


# The lemma and its signs.


@often
@given(paths)
def test_the_sign_of_the_gain_turns_at_the_exact_s(path):
    """(2) is positive between s* and 0, negative beyond: the lemma's inequality is reversed."""
    edge = s_star_exact(path)
    assert edge < 0
    assert all(eta_paper(path, edge * part) > 0 for part in (1e-6, 0.5, 1 - 1e-6))
    assert all(eta_paper(path, edge * more) < 0 for more in (1 + 1e-6, 2.0, 1e3))
    assert eta_paper(path, -edge) < 0


@often
@given(inner)
def test_the_printed_root_is_minus_the_positive_one(path):
    gamma, d, short = Linear.of(path).gamma, path.round_trip_s, path.short_s
    roots = np.roots([gamma * (d * d - short * short) / 2, -(1 + gamma * (d - short)), -2 * gamma])
    assert s_star_paper(path) == pytest.approx(-roots.max(), rel=1e-9)
    assert s_star_mended(path) == pytest.approx(roots.min(), rel=1e-6)
    # To the letter, the lemma's gains are all negative.
    assert s_star_paper(path) < s_star_mended(path) <= s_star_exact(path) < 0
    assert eta_paper(path, s_star_paper(path)) < 0


@often
@given(paths)
def test_the_series_leaves_little_out(path):
    """At most a third-order term in γd, which is at most √(ab)/2."""
    ratio = s_star_mended(path) / s_star_exact(path)
    assert 1 - 1e-12 <= ratio < 1.02
    assert s_star_paper(replace(path, short_s=path.round_trip_s, forward_s=None)) == -math.inf


@often
@given(paths, st.floats(0.01, 0.99))
def test_the_gain_of_2_solves_5(path, part):
    s = part * s_star_exact(path)
    found, gain = Linear.of(path), eta_paper(path, s)
    size = s * s + gain * (found.additive + found.multiplicative)
    assert abs(complex(found.characteristic(gain)(s))) < 1e-12 * size


@rarely
@given(paths)
def test_negative_gains_are_unstable(path):
    gain = eta_paper(path, 1.5 * s_star_exact(path))
    assert not Linear.of(path).is_stable(gain)
    # Not by the shortcut alone: the argument principle finds the real root that (2) does not speak of.
    assert Linear.of(path).characteristic(gain).count() >= 1


@often
@given(paths)
def test_the_mended_gain_is_the_largest(path):
    edge, best = s_star_exact(path), eta_mended(path)
    assert best >= max(eta_paper(path, edge * part) for part in np.linspace(0.01, 0.99, 99)) * (1 - 1e-9)
    found = Linear.of(path)
    assert best <= found.gamma**2 / (found.additive + found.multiplicative) * (1 + 1e-9)


@pytest.mark.parametrize("window", [2.0, 5.0, 100.0, 1e4])
def test_the_mended_gain_hardly_depends_on_the_place(window):
    """§IV's last paragraph holds of the lemma's gain; the true limit is another thing."""
    gains = [eta_mended(Path(1.0, share, window)) for share in (0.05, 0.2, 0.5, 1.0)]
    limits = [eta_true(Path(1.0, share, window)).gain for share in (0.05, 0.2, 0.5, 1.0)]
    assert max(gains) / min(gains) < 1.1
    assert max(limits) / min(limits) > 5


# The true limit.


@rarely
@given(paths, st.sampled_from(MODELS))
def test_the_limit_parts_stable_from_unstable(path, model):
    limit, found = eta_true(path, model), Linear.of(path)
    assert found.is_stable(0.99 * limit.gain, model)
    assert not found.is_stable(1.01 * limit.gain, model)
    on_the_line = found.characteristic(limit.gain, model)(1j * limit.frequency)
    size = limit.frequency**2 + limit.gain * (found.additive + found.multiplicative)
    assert abs(complex(on_the_line)) < 1e-9 * size


@often
@given(windows)
def test_forward_marking_in_closed_form(window):
    """For d_s = d, (5) is s² + 2γs + η(A + B)e^(−sd): the phase is π where tan ωd = 2γ/ω."""
    path = Path(1.0, 1.0, window)
    gamma, both = Linear.of(path).gamma, Linear.of(path).additive + Linear.of(path).multiplicative
    frequency = brentq(lambda w: w * math.sin(w) - 2 * gamma * math.cos(w), 1e-9, math.pi / 2, xtol=1e-15)
    gain = frequency * math.hypot(frequency, 2 * gamma) / both
    assert eta_true(path).gain == pytest.approx(gain, rel=1e-6)
    assert eta_true(path).frequency == pytest.approx(frequency, rel=1e-6)


@often
@given(windows)
def test_self_clocked_forward_marking_in_closed_form(window):
    """(s + 2γ)(s + 1/d) + η(A + B)e^(−sd), as in Hollot et al.: atan(ω/2γ) + atan ωd + ωd = π."""
    path = Path(1.0, 1.0, window)
    gamma, both = Linear.of(path).gamma, Linear.of(path).additive + Linear.of(path).multiplicative
    frequency = brentq(lambda w: math.atan2(w, 2 * gamma) + math.atan(w) + w - math.pi, 1e-9, math.pi)
    gain = math.hypot(frequency, 2 * gamma) * math.hypot(frequency, 1.0) / both
    assert eta_true(path, "self-clocked").gain == pytest.approx(gain, rel=1e-6)


@rarely
@given(paths, st.floats(0.2, 2.0), st.floats(0.05, 1.0))
def test_the_guaranteed_gain_is_below_the_limit(path, increase, decrease):
    path = replace(path, increase=increase, decrease=decrease)
    assert eta_guaranteed(path) <= eta_true(path).gain * (1 + 1e-9)


@often
@given(paths)
def test_the_mended_lemma_follows_from_the_guarantee(path):
    """2/(g + g²/(2(1 − g))) = 4.4 with g = γd at most √(ab)/2 = 0.354."""
    assert eta_guaranteed(path) > 4.4 * eta_mended(path)


def test_the_guarantee_says_what_it_needs():
    with pytest.raises(ValueError, match="less than 4"):
        eta_guaranteed(Path(1.0, 0.5, 10.0, increase=8.0))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("window", [100.0, 1e4])
def test_rpm_tolerates_about_d_over_d_s_more(model, share, window):
    path = Path(1.0, share, window)
    more = eta_true(path, model).gain / eta_true(path.forward_marking(), model).gain
    assert more * share == pytest.approx(1.0, abs=0.15)


@rarely
@given(paths, st.floats(0.01, 100.0), st.sampled_from(MODELS))
def test_time_has_no_unit(path, scale, model):
    slower = Path(path.round_trip_s * scale, path.short_s * scale, path.packets_per_s / scale)
    assert eta_true(slower, model).gain == pytest.approx(eta_true(path, model).gain, rel=1e-6)
    assert eta_mended(slower) == pytest.approx(eta_mended(path), rel=1e-6)


@rarely
@given(paths, st.integers(2, 50), st.sampled_from(MODELS))
def test_flows_share_the_gain(path, flows, model):
    """N flows of gain η are one flow of gain N·η on an N-th of the capacity."""
    many = replace(path, packets_per_s=path.packets_per_s * flows, flows=flows)
    assert flows * eta_true(many, model).gain == pytest.approx(eta_true(path, model).gain, rel=1e-6)
    assert flows * eta_mended(many) == pytest.approx(eta_mended(path), rel=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("window", [10.0, 20.0, 100.0])
def test_what_the_count_of_unmarked_acks_is_worth(window, share):
    """(1) takes marked ACKs off as forward marking does, r(t − d)(1 − p(t − d + τ_f)). With RPM those that come in now
    are r(t − d) − r(t − d_s)p(t − τ_rs). That moves the limit by a tenth at most from ten packets on."""
    path = Path(1.0, share, window)
    found = Linear.of(path)
    p = Equilibrium.of(path, 1.0).marked
    gamma, both = found.gamma, found.additive + found.multiplicative

    def counted(gain):
        short = [gain * both, gamma + gamma * p / (1 - p)]
        return QuasiPolynomial({0.0: [0.0, 2 * gamma, 1.0], share: short, 1.0: [0.0, -gamma / (1 - p)]})

    limit = eta_true(path).gain
    assert counted(0.9 * limit).count() == 0
    assert counted(1.12 * limit).count() > 0


def test_the_region():
    found = region(Path(0.04, 0.02, 25e3), [0.1, 0.5, 1.0])
    assert (found.mended < found.guaranteed).all()
    assert (found.guaranteed < found.true).all()
    assert (np.diff(found.true) < 0).all()
    assert np.isnan(region(Path(0.04, 0.02, 25e3), [0.5], "self-clocked").guaranteed).all()


# What the lemma's gain would mean.


@often
@given(paths)
def test_the_lemmas_queue_does_not_fit_into_its_round_trip(path):
    """d contains x/c, so at most c·d packets can wait. The lemma's largest gain leaves more, its smaller ones too."""
    assert Equilibrium.of(path, eta_mended(path)).excess > path.packets_per_s * path.round_trip_s


@often
@given(paths, st.floats(-12, 0), st.booleans(), st.floats(0, 100))
def test_no_settled_path_has_a_gain_of_the_lemma(path, exponent, forward, target):
    gain = 10**exponent
    alone = path.forward_marking() if forward else path
    settled = alone.settled(gain, target)
    waiting = target + Equilibrium.of(settled, gain).excess
    assert settled.round_trip_s == pytest.approx(alone.round_trip_s + waiting / path.packets_per_s, rel=1e-6)
    assert (settled.short_s == settled.round_trip_s) == (alone.short_s == alone.round_trip_s)
    assert gain > eta_mended(settled)


# Trajectories.


@pytest.mark.parametrize("model", MODELS)
def test_the_equilibrium_rests(model):
    path = Path(0.1, 0.04, 200.0, flows=2.0).settled(1e-3, 5.0)
    found = trajectory(path, 1e-3, duration_s=2.0, target=5.0, model=model)
    rest = Start.at_rest(path, 1e-3, 5.0)
    assert found.rate == pytest.approx(rest.rate, rel=1e-9)
    assert found.window == pytest.approx(rest.window, rel=1e-9)
    assert found.queue == pytest.approx(rest.queue, rel=1e-9)


def swing(path, gain, model):
    """How fast a small disturbance grows, 1/s, from its peaks."""
    # A quarter of a packet would be an empty queue in the self-clocked model; a target keeps off that wall.
    target = 2.0
    rest = Start.at_rest(path, gain, target)
    start = Start(rest.rate, rest.window, rest.queue + 1e-3 * Equilibrium.of(path, gain).excess)
    turn = 2 * math.pi / eta_true(path, model).frequency
    found = trajectory(path, gain, duration_s=8 * turn, model=model, start=start, target=target)
    away = found.queue - rest.queue
    peaks = np.flatnonzero((away[1:-1] > away[:-2]) & (away[1:-1] > away[2:])) + 1
    first, last = peaks[2], peaks[-1]
    return math.log(away[last] / away[first]) / (found.time_s[last] - found.time_s[first])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("part", [0.8, 1.25])
def test_small_swings_follow_the_rightmost_root(model, share, part):
    path = Path(1.0, share, 20.0)
    gain = part * eta_true(path, model).gain
    expected = Linear.of(path).characteristic(gain, model).rightmost().real
    assert (expected > 0) == (part > 1)
    assert swing(path, gain, model) == pytest.approx(expected, rel=0.05)


def test_a_queue_is_never_less_than_empty():
    path = Path(1.0, 1.0, 20.0)
    found = trajectory(path, 4 * eta_true(path).gain, duration_s=60.0, start=Start(30.0, 30.0, 0.0))
    assert found.queue.min() > -0.5  # a step may end a little below, and rises from there
    assert found.queue.max() > 5


def test_a_path_that_cannot_be_is_refused():
    path = Path(1.0, 0.5, 20.0)
    with pytest.raises(ValueError, match="longer than the round trip"):
        trajectory(path, eta_mended(path), duration_s=1.0, model="self-clocked")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"round_trip_s": 0.0}, "round_trip_s"),
        ({"packets_per_s": math.inf}, "packets_per_s"),
        ({"short_s": 2.0}, "longer than round_trip_s"),
        ({"forward_s": 0.5}, "forward_s"),
        ({"flows": -1}, "flows"),
    ],
)
def test_bad_paths_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        Path(**({"round_trip_s": 1.0, "short_s": 0.5, "packets_per_s": 10.0} | changes))


def test_bad_arguments_are_refused():
    path = Path(1.0, 0.5, 10.0)
    with pytest.raises(ValueError, match=r"gain is -0\.001"):
        trajectory(path, -1e-3, duration_s=1.0)
    with pytest.raises(ValueError, match="not a valid start"):
        trajectory(path, 1e-3, duration_s=1.0, start=Start(0.0, 10.0, 0.0))
    for refused in (lambda: eta_true(path, "papers"), lambda: trajectory(path, 1e-3, duration_s=1.0, model="papers")):
        with pytest.raises(ValueError, match="no model 'papers'; there are: paper, self-clocked"):
            refused()


# Beside the simulator.


@pytest.fixture
def made_up():
    """A result with two flows and a queue: windows 10 and 14 packets, a queue that grows by a packet each 0.1 s."""
    rows = []
    for index in range(5):
        at = 0.1 * (index + 1)
        rows.append({"time_s": at, "entity": "port:r0>r1", "metric": "queue_bytes", "value": 1500.0 * index})
        for flow, window in ((0, 10), (1, 14)):
            one = {"time_s": at, "entity": f"flow:{flow}"}
            rows.append(one | {"metric": "cwnd_bytes", "value": 1448.0 * window})
            rows.append(one | {"metric": "goodput_bps", "value": 8 * 1448.0 * window / 0.05})
    return rows


def result(rows):
    return Result({}, {"series": pa.Table.from_pylist(rows, schema=SERIES)})


def test_series_become_trajectories(made_up):
    found = measured(result(made_up), port="r0>r1", flows=[0, 1])
    assert found.time_s == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert found.queue == pytest.approx([0, 1, 2, 3, 4])
    assert found.window == pytest.approx([12] * 5)
    assert found.rate == pytest.approx([240] * 5)


def test_a_run_without_windows_has_rates(made_up):
    rows = [row for row in made_up if row["metric"] != "cwnd_bytes"]
    found = measured(result(rows), port="r0>r1", flows=[0, 1])
    assert np.isnan(found.window).all()
    below = plot_beside({}, found).axes[1]
    assert below.get_ylabel().startswith("rate")
    assert below.lines[0].get_ydata() == pytest.approx([240] * 5)


def test_a_run_without_either_is_refused(made_up):
    rows = [row for row in made_up if row["metric"] == "queue_bytes"]
    with pytest.raises(MissingSeriesError, match="neither"):
        measured(result(rows), port="r0>r1", flows=[0])
    with pytest.raises(MissingSeriesError, match="r1>r0"):
        measured(result(made_up), port="r1>r0", flows=[0])


def test_models_are_drawn_beside_a_run(made_up, tmp_path):
    path = Path(0.05, 0.05, 480.0, flows=2)
    model = trajectory(path, 0.01, duration_s=0.5)
    figure = plot_beside({"model": model}, measured(result(made_up), port="r0>r1", flows=[0, 1]))
    above, below = figure.axes
    assert [line.get_label() for line in above.lines] == ["packet simulator", "model"]
    assert below.lines[1].get_ydata() == pytest.approx(model.window)
    figure.savefig(tmp_path / "beside.png")
    assert (tmp_path / "beside.png").stat().st_size > 1000


def test_the_region_is_drawn():
    left, right = plot_region(Path(0.04, 0.02, 1000.0), (20.0, 100.0), shares=(0.1, 0.5, 1.0)).axes
    limit = eta_true(Path(0.04, 0.004, 2500.0)).gain
    assert left.lines[2].get_ydata()[0] == pytest.approx(limit, rel=1e-6)
    assert right.lines[0].get_ydata()[-1] == pytest.approx(1.0)


def test_figures_say_what_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"midpath\[plots\]"):
        plot_region(Path(0.04, 0.02, 1000.0))


@often
@given(st.floats(0.001, 0.01), st.floats(0.02, 0.2))
def test_more_room_for_the_queue_is_less_gain(short, d):
    """At the limit, about c·d_s/2 packets wait above the target, whatever c, d and the number of flows."""
    assume(d / short < 20)
    for flows in (1, 7):
        path = Path(d, short, 1000 * flows / d, flows=flows)
        waiting = Equilibrium.of(path, eta_true(path).gain).excess
        assert waiting == pytest.approx(path.packets_per_s * short / 2, rel=0.03)
