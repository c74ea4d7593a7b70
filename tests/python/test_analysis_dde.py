"""The integrator of delay differential equations, against solutions in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midpath.analysis.dde import solve


def by_steps(t, delay=1.0):
    """y'(t) = −y(t − τ) with y = 1 before 0, by the method of steps: Σ (−1)^k (t − (k − 1)τ)^k / k!."""
    return sum((-1) ** k * (t - (k - 1) * delay) ** k / math.factorial(k) for k in range(math.floor(t / delay) + 2))


def worst(step, delay=1.0):
    found = solve(lambda _, __, past: -past[0], [delay], [1.0], 6.0, step)
    return max(abs(by_steps(t, delay) - y) for t, y in zip(found.times, found.states[:, 0], strict=True))


def test_a_closed_form_to_the_fourth_order():
    errors = [worst(1 / steps) for steps in (10, 20, 40)]
    assert errors[0] < 1e-6
    # Half the step, a sixteenth of the error.
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.1)


def test_delays_between_the_steps():
    """Kinks at multiples of √½ lie inside steps, at another place in each: less exact, of about the second order."""
    coarse, fine = (max(worst(step * part, math.sqrt(0.5)) for part in (1, 0.9, 0.8)) for step in (0.1, 0.0125))
    assert coarse < 1e-3
    assert fine < coarse / 16


def test_no_delay_is_an_ordinary_equation():
    found = solve(lambda _, y, __: [y[1], -y[0]], [], [1.0, 0.0], 2 * math.pi, 0.01)
    assert found.times[-1] == pytest.approx(2 * math.pi)
    assert found.states[-1] == pytest.approx([1.0, 0.0], abs=1e-8)


@settings(max_examples=10, deadline=None)
@given(st.floats(0.05, 0.36), st.floats(0.2, 3.0), st.floats(0.2, 3.0))
def test_two_delays_that_are_the_same_are_one(k, delay, start):
    twice = solve(lambda _, __, past: -(k / 2) * (past[0] + past[1]), [delay, delay], [start], 5.0, delay / 20)
    once = solve(lambda _, __, past: -k * past[0], [delay], [start], 5.0, delay / 20)
    assert twice.states == pytest.approx(once.states, rel=1e-12)
    # For k·τ ≤ 1/e nothing swings: from a constant past, solutions stay positive.
    if k * delay < 1 / math.e:
        assert (once.states > 0).all()


@pytest.mark.parametrize(
    ("delays", "duration", "step", "words"),
    [([0.1], 1.0, 0.2, "longer than the shortest delay"), ([1.0], 1.0, 0.0, "above 0"), ([1.0], -1.0, 0.1, "above 0")],
)
def test_bad_steps_are_refused(delays, duration, step, words):
    with pytest.raises(ValueError, match=words):
        solve(lambda _, y, __: -y, delays, [1.0], duration, step)


def test_the_past_is_what_was():
    """y' = y(t − 1) with past 1 gives 1 + t up to t = 1: the past reaches the right-hand side undisturbed."""
    found = solve(lambda _, __, past: past[0], [1.0], [1.0], 1.0, 0.125)
    assert found.states[:, 0] == pytest.approx(1 + np.linspace(0, 1, 9), rel=1e-14)
