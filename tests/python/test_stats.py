import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from midpath.stats import Estimate, ends, estimate, jointly, paired_ratio, student_t, told_apart, within

numbers = st.floats(-1e6, 1e6)


def test_student_t_matches_closed_forms():
    # One degree is the Cauchy distribution: tan(pi (p - 1/2)); two degrees: (2p-1) sqrt(2 / (4p(1-p))).
    assert student_t(1) == pytest.approx(math.tan(math.pi * 0.475))
    assert student_t(2) == pytest.approx(0.95 * math.sqrt(2 / (4 * 0.975 * 0.025)))


def test_interval_by_hand():
    found = estimate([1.0, 2.0, 3.0])
    # s = 1, so the half width is t(2) / sqrt(3) = 4.3027 / 1.7321.
    assert (found.mean, found.n) == (2.0, 3)
    assert found.ci95 == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)


@given(st.lists(numbers, min_size=2, max_size=40).filter(lambda values: np.std(values) > 1e-3))
def test_interval_matches_scipy(values):
    found = estimate(values)
    low, high = scipy_stats.t.interval(0.95, len(values) - 1, loc=found.mean, scale=scipy_stats.sem(values))
    assert found.mean - found.ci95 == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert found.mean + found.ci95 == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_interval_holds_the_mean_19_times_in_20():
    rng = np.random.default_rng(1)
    found = [estimate(rng.normal(5, 2, 4)) for _ in range(4000)]
    share = sum(abs(e.mean - 5) <= e.ci95 for e in found) / len(found)
    # Four standard errors of a share of 0.95 over 4000 draws.
    assert share == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4000))


def test_undefined_values_are_left_out():
    assert estimate([None, math.nan]) is None
    assert estimate([2.0]).to_json() == {"mean": 2.0, "ci95": None, "n": 1}
    # They are counted.
    assert estimate([None, 3.0]).to_json() == {"mean": 3.0, "ci95": None, "n": 1, "seeds": 2}


def test_paired_ratio_cancels_what_runs_share():
    # The flows of the second seed are ten times longer; the scheme is always twice the ideal.
    found = paired_ratio([2.0, 20.0], [1.0, 10.0])
    assert (found.mean, found.ci95) == (2.0, 0.0)
    assert paired_ratio([1.0, 2.0], [0.0, None]) is None
    assert (paired_ratio([1.0, 2.0], [0.0, 1.0]).n, paired_ratio([1.0, 2.0], [0.0, 1.0]).of) == (1, 2)


def test_a_difference_is_told_where_the_interval_leaves_it_out():
    found = Estimate(10.0, 2.0, 5)
    assert not found.differs(8.0)
    assert found.differs(7.9)
    assert found.differs(12.1)
    # One run by itself tells nothing, unless the reader is told so or nothing is random.
    assert not Estimate(10.0, None, 1).differs(0.0)
    assert Estimate(10.0, None, 1).differs(0.0, alone=True)
    assert not Estimate(10.0, None, 1).differs(10.0, alone=True)


@pytest.mark.parametrize(
    ("limits", "is_within"),
    [((1, 4), True), ((2, 3), True), ((-math.inf, 3), True), ((2.5, 9), None), ((2.1, 2.9), None), ((4, 9), False)],
)
def test_a_bound_is_kept_broken_or_undecided_by_the_interval(limits, is_within):
    assert within((2, 3), limits) is is_within


def test_the_worst_of_several_is_where_their_worst_ends_are():
    found = {"a": Estimate(10.0, 1.0, 5), "b": Estimate(9.0, 4.0, 5), "c": Estimate(1.0, 0.1, 5)}
    assert ends(found, most=True) == ("a", 9.0, 13.0)
    assert ends(found, most=False) == ("c", 0.9, 1.1)
    assert ends(found | {"d": Estimate(2.0, None, 1)}, most=True)[2] == math.inf
    assert jointly(1) == 0.95
    assert jointly(5) == pytest.approx(0.99)


def test_told_apart_is_about_differences_within_a_seed():
    # Intervals of the means overlap by far, yet the first is 1 faster with every seed.
    assert told_apart([10.0, 20.0, 30.0], [11.0, 21.0, 31.0])
    assert not told_apart([10.0, 20.0, 30.0], [12.0, 19.0, 31.5])
    assert not told_apart([1.0, 1.0], [1.0, 1.0])
    assert told_apart([1.0], [2.0])
    # One pair of three, as where two runs ended no flow, is luck.
    assert not told_apart([1.0, None, 3.0], [2.0, 2.0, None])
