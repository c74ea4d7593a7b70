"""The solvers of `midpath.analysis.mircc`: by hand, and against certificates that share no code with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midpath.analysis.mircc.cases import MBPS, diamond, random_network, slingshot
from midpath.analysis.mircc.network import Network
from midpath.analysis.mircc.solvers import (
    max_min,
    max_min_error,
    max_min_flows,
    most_throughput,
    secondary_max_min,
    stamps_error,
    stamps_fixed_point,
)

pytestmark = pytest.mark.nightly("crates/ideal/", "evidence/properties/mircc/")

SEEDS = st.integers(0, 10_000)


def test_max_min_by_hand():
    # Two links of 10 and 4: the long flow and the short one share the 4, the other has what is left of the 10.
    network = Network.of({"a": 10.0, "b": 4.0}, {"1": [["a", "b"]], "2": [["b"]], "3": [["a"]]})
    assert max_min(network) == pytest.approx([2, 2, 8])


def test_the_certificates_refuse_what_is_not_an_allocation():
    network = Network.of({"a": 10.0, "b": 4.0}, {"1": [["a", "b"]], "2": [["b"]], "3": [["a"]]})
    for wrong in ([2, 2, 7], [1.5, 2.5, 8.5], [2, 2, 9]):
        assert max_min_error(network, np.array(wrong, dtype=float)) > 0.04
    assert stamps_error(network, np.array([8.0, 2.0])) < 1e-12
    for wrong in ([8.0, 1.9], [8.5, 2.0], [7.0, 2.0]):
        assert stamps_error(network, np.array(wrong)) > 0.04


def test_with_one_path_per_flow_the_stamps_are_max_min():
    for seed in range(40):
        network = random_network(seed, most_paths=1)
        assert stamps_fixed_point(network).path == pytest.approx(max_min(network), rel=1e-6)
        assert max_min_flows(network) == pytest.approx(max_min(network), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_max_min_has_a_bottleneck_for_every_path(seed):
    network = random_network(seed)
    assert max_min_error(network, max_min(network)) < 1e-8


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_fixed_point_is_one_and_does_not_depend_on_the_start(seed):
    network = random_network(seed)
    found = [stamps_fixed_point(network, 0.95, start=start) for start in (1.0, 0.01)]
    for stamps in found:
        assert stamps_error(network, stamps.link, 0.95) < 1e-6
    # R_p of links that are short of nothing may differ; what flows get may not.
    low, high = (network.flow_sum(stamps.path) for stamps in found)
    assert low == pytest.approx(high, rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_both_classes_fit_and_the_optimum_is_no_less(seed):
    network = random_network(seed)
    primary = stamps_fixed_point(network).path
    secondary = secondary_max_min(network, primary)
    load = network.link_load(primary + secondary)
    assert (load <= network.capacity * (1 + 1e-6)).all()
    # Every subflow crosses a link that both classes fill.
    full = load >= network.capacity * (1 - 1e-6)
    assert np.logical_or.reduceat(full[network.hop_link], network.path_start).all()
    assert (primary + secondary).sum() <= most_throughput(network) * (1 + 1e-6)


@pytest.mark.parametrize(("shared", "total"), [(20.0, 20.0), (15.0, 15.0)])
def test_figure_4_scenarios(shared, total):
    network = diamond(shared)
    stamps = stamps_fixed_point(network)
    # §4.1: best subflow 10, split evenly; the sum of the stamps is 20 in both scenarios.
    assert stamps.path / MBPS == pytest.approx([5, 5])
    assert network.path_minimum(stamps.link).sum() / MBPS == pytest.approx(20)
    # §4.3.4's second case: 2.5 + 2.5 in scenario 2, l_g full; 5 + 5 in scenario 1, l_c and l_d full.
    secondary = secondary_max_min(network, stamps.path)
    assert secondary / MBPS == pytest.approx([(total - 10) / 2] * 2)
    assert most_throughput(network) / MBPS == pytest.approx(total)


def test_slingshot_with_one_consumer():
    network = slingshot(None)
    stamps = stamps_fixed_point(network)
    assert stamps.path.sum() / MBPS == pytest.approx(12)
    assert secondary_max_min(network, stamps.path).sum() / MBPS == pytest.approx(3)


def test_slingshot_with_two_consumers():
    network = slingshot("c")
    x1, x2 = network.flow_sum(stamps_fixed_point(network).path) / MBPS
    # l_a and l_c full: x1 + x2 = 15, x1 x2 / (x1 + x2) + x2 = 9.
    assert x2 == pytest.approx(15 - np.sqrt(90))
    assert x1 + x2 == pytest.approx(15)
    even = network.flow_sum(stamps_fixed_point(slingshot("b")).path)
    assert even / MBPS == pytest.approx([7.5, 7.5])


def test_the_primary_class_is_not_max_min_between_flows():
    network = Network.of({"a": 10.0, "b": 10.0}, {"1": [["a"], ["b"]], "2": [["b"]]})
    # R_b = r with 10 r/(10 + r) + r = 10.
    assert network.flow_sum(stamps_fixed_point(network).path) == pytest.approx([10, (np.sqrt(500) - 10) / 2])
    assert max_min_flows(network) == pytest.approx([10, 10])
    assert most_throughput(network) == pytest.approx(20)
    assert max_min_flows(network, most=np.array([3.0, 100.0])) == pytest.approx([3, 10])
