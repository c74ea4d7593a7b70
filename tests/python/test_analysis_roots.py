"""All roots of characteristic functions with delays, against Lambert's W and a spectral method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigvals
from scipy.special import lambertw

from midpath.analysis.quasipolynomial import OnTheLineError, QuasiPolynomial


def scalar(k, delay):
    """y'(t) = −k·y(t − τ): s + k·e^(−sτ)."""
    return QuasiPolynomial({0.0: [0.0, 1.0], delay: [k]})


def by_lambert(k, delay, right_of):
    """Its roots in closed form, W_n(−kτ)/τ for every branch n."""
    found = np.array([lambertw(-k * delay, n) / delay for n in range(-60, 60)])
    return upwards(found[found.real > right_of])


def upwards(found):
    return found[np.lexsort((found.real, np.round(found.imag, 9)))]


def by_generator(f, degree):
    """Eigenvalues of the infinitesimal generator, by collocation at Chebyshev points (Breda, Maset, Vermiglio 2005).

    An oracle that shares no idea with the argument principle: the delayed state is a polynomial on [−τ, 0].
    """
    order, longest = f.coefficients.shape[1] - 1, f.delays[-1]
    angles = np.pi * np.arange(degree + 1) / degree
    points = longest * (np.cos(angles) - 1) / 2
    weights = (-1.0) ** np.arange(degree + 1)
    weights[[0, -1]] *= 0.5
    apart = points[:, None] - points[None, :] + np.eye(degree + 1)
    slopes = weights[None, :] / weights[:, None] / apart
    np.fill_diagonal(slopes, 0.0)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))

    def at(place):
        """The row that interpolates at a place (barycentric)."""
        near = np.isclose(points, place, atol=1e-13, rtol=0)
        if near.any():
            return near.astype(float)
        row = weights / (place - points)
        return row / row.sum()

    blocks = np.kron(slopes, np.eye(order))
    # At 0 the state obeys the equation: companion form, with delayed states interpolated.
    blocks[:order] = 0.0
    blocks[: order - 1, 1:order] = np.eye(order - 1)
    for delay, row in zip(f.delays, f.coefficients, strict=True):
        blocks[order - 1] -= np.kron(at(-delay), row[:order] / f.coefficients[0, order])
    return eigvals(blocks)


@pytest.mark.parametrize(("k", "delay"), [(1.0, 1.0), (0.3, 2.0), (1.8, 0.5), (3.0, 1.0), (-0.7, 1.5), (0.367, 1.0)])
def test_roots_are_lamberts(k, delay):
    right_of = -3.9 / delay
    assert upwards(scalar(k, delay).roots(right_of)) == pytest.approx(by_lambert(k, delay, right_of), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 4.0), st.floats(0.2, 3.0))
def test_stable_below_a_quarter_turn(k, delay):
    """Exact for the scalar case: stable if and only if kτ < π/2; each further 2π brings another pair over."""
    turns = (k * delay - np.pi / 2) / (2 * np.pi)
    if abs(turns - round(turns)) > 1e-3:
        assert scalar(k, delay).count() == 2 * max(0, int(np.floor(turns)) + 1)


def test_a_double_root_is_counted_twice():
    """At kτ = 1/e the two real branches meet at −1/τ."""
    found = scalar(1 / np.e, 1.0).roots(-2.0)
    assert len(found) == 2
    assert found == pytest.approx([-1, -1], abs=2e-5)
    assert scalar(1 / np.e, 1.0).count(-0.9) == 0


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.floats(-2, 2), min_size=6, max_size=6),
    st.floats(0.1, 1.0),
    st.floats(1.05, 2.0),
)
def test_roots_are_the_generators(c, short, long):
    """A second-order system with two delays, as (5) is one, drawn at random: none is missing, none is invented."""
    f = QuasiPolynomial({0.0: [c[0], c[1], 1.0], short: [c[2], c[3]], long: [c[4], c[5]]})
    oracle = by_generator(f, 40)
    right_of = -0.5
    # The oracle cannot say on which side of the line a root is that lies on it.
    if np.abs(oracle.real - right_of).min() < 1e-3:
        return
    found = f.roots(right_of)
    expected = oracle[oracle.real > right_of]
    assert len(found) == f.count(right_of) == len(expected)
    for root in expected:
        assert np.abs(found - root).min() < 5e-5 * (1 + abs(root))
    for root in found:
        assert np.abs(found - root.conjugate()).min() < 5e-5 * (1 + abs(root))


def test_a_root_on_the_line_is_said():
    """s + (π/2)·e^(−s) has the roots ±iπ/2."""
    with pytest.raises(OnTheLineError, match=r"1\.57"):
        scalar(np.pi / 2, 1.0).count()


def test_rightmost():
    assert scalar(0.3, 1.0).rightmost() == pytest.approx(lambertw(-0.3).real, rel=1e-12)
    assert scalar(1.0, 1.0).rightmost() == pytest.approx(lambertw(-1.0, 0), rel=1e-12)
    assert scalar(3.0, 1.0).rightmost() == pytest.approx(lambertw(-3.0, 0), rel=1e-12)


def test_without_delays_it_is_a_polynomial():
    """(s + 1)(s² + 2s + 5)."""
    f = QuasiPolynomial({0.0: [5.0, 7.0, 3.0, 1.0]})
    assert upwards(f.roots(-3.0)) == pytest.approx([-1 - 2j, -1, -1 + 2j], abs=1e-9)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({0.0: [1.0, 1.0], 1.0: [0.0, 1.0]}, "highest power"),
        ({0.5: [1.0], 1.0: [0.0, 1.0]}, "highest power"),
        ({0.0: [1.0]}, "highest power"),
        ({-1.0: [1.0], 0.0: [0.0, 1.0]}, "0 or more"),
        ({0.0: [float("nan"), 1.0]}, "finite"),
    ],
)
def test_other_kinds_are_refused(terms, words):
    with pytest.raises(ValueError, match=words):
        QuasiPolynomial(terms)
