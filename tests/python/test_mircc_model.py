"""The fluid model of MIRCC against the solvers, and against closed forms of its loop."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import ROOT
from midpath.analysis.mircc import errata, stability
from midpath.analysis.mircc.cases import random_network, side_by_side
from midpath.analysis.mircc.model import PRIMARY, SECONDARY, Model
from midpath.analysis.mircc.network import Flow, Link, Network
from midpath.analysis.mircc.params import Params
from midpath.analysis.mircc.solvers import max_min, secondary_max_min, stamps_fixed_point

pytestmark = pytest.mark.nightly(
    "crates/schemes/src/mircc/", "crates/schemes/src/icn/", "crates/ideal/", "evidence/papers/mircc/"
)

NETWORKS = 50
ETA = 0.95


@pytest.fixture(scope="module", params=["mean", "largest"])
def settled(request):
    """Random networks with one path per flow, then with several, side by side, and the model's last 5 of 30 s."""
    networks = [random_network(seed, most_paths=1) for seed in range(NETWORKS)]
    networks += [random_network(1000 + seed) for seed in range(NETWORKS)]
    network = side_by_side(networks)
    trace = Model(network, Params(eta=ETA, interval=request.param), dt=0.004, seed=1).run(30, sample=0.2)
    return networks, network, trace.after(25)


def test_rates_are_those_of_the_solvers(settled):
    networks, network, trace = settled
    solved = [stamps_fixed_point(n, ETA).path for n in networks]
    sums = np.array([network.flow_sum(sent[:, PRIMARY]) for sent in trace.sent])
    expected = network.flow_sum(np.concatenate(solved))
    # 3 % at every sample, so that swings count, too.
    assert np.abs(sums / expected - 1).max() < 0.03
    rest = np.concatenate([secondary_max_min(n, p, ETA) for n, p in zip(networks, solved, strict=True)])
    narrowest = network.path_minimum(network.capacity)
    # 5 %, and a thousandth of the path for what has no secondary rate but its floor.
    off = np.abs(trace.sent[:, :, SECONDARY] - rest) - 0.05 * rest - 1e-3 * narrowest
    assert off.max() < 0


def test_with_one_path_they_are_max_min_and_nobody_is_refused(settled):
    networks, _, trace = settled
    paths = sum(len(n.paths) for n in networks[:NETWORKS])
    expected = np.concatenate([max_min(n, ETA * n.capacity) for n in networks[:NETWORKS]])
    assert np.abs(trace.sent[:, :paths, PRIMARY] / expected - 1).max() < 0.03
    assert (trace.refused[-1] == trace.refused[0]).all()


def test_the_networks_are_what_they_should_be(settled):
    _, network, _ = settled
    delays = [
        2 * (f.access + sum(network.links[link].delay for link in path))
        for f in network.flows.values()
        for path in f.paths
    ]
    assert min(delays) < 0.005
    assert max(delays) > 0.15
    assert max(len(flow.paths) for flow in network.flows.values()) == 4


def test_what_is_sent_arrives_waits_or_is_refused():
    flows = {f"{i}": Flow((("a", "b"),), start=i, stop=5.0, access=0.01) for i in range(4)}
    network = Network({"a": Link(10e6, 0.01), "b": Link(3e6, 0.01)}, flows)
    model = Model(network, Params(queue=0.02), dt=0.001)
    trace = model.run(10)
    sent, arrived, refused = trace.sent.sum() * model.dt, trace.arrived.sum() * model.dt, trace.refused[-1].sum()
    assert refused > 0
    assert trace.queue[-1].sum() == 0
    assert sent == pytest.approx(arrived + refused, rel=1e-9)


def test_networks_side_by_side_do_not_touch():
    alone = random_network(4)
    together = side_by_side([random_network(5), alone])
    params = Params(interval=0.05)
    one, two = Model(alone, params, 0.004), Model(together, params, 0.004)
    n = len(alone.links)
    two.next_tick[-n:] = one.next_tick
    a, b = one.run(5, sample=0.1), two.run(5, sample=0.1)
    assert a.stamp == pytest.approx(b.stamp[:, -n:], rel=1e-9)


def test_a_short_loop_alternates_as_the_recursion_says():
    # δ_k = (1 − g) δ_{k−1} without delay: one flow at a link beside the consumer, below C.
    network = Network({"link": Link(1e6)}, {"1": Flow((("link",),))})
    model = Model(network, Params(eta=ETA, interval=1.0, initial=0.999, strategy="best"), dt=0.05)
    stamps = model.run(8, sample=1.0).stamp[:, 0, PRIMARY] / (ETA * 1e6) - 1
    assert stamps[1:] / stamps[:-1] == pytest.approx(np.full(7, 1 - 0.5 * ETA), rel=2e-3)


def test_the_linear_limit_is_the_closed_form():
    # The roots of z^(D+1) − z^D + g reach the unit circle at g = 2 sin(π / (2 (2D + 1))), for a loop of D intervals.
    for whole in range(1, 8):
        limit = 2 * np.sin(np.pi / (2 * (2 * whole + 1)))
        for gain, stable in ((limit * 0.999, True), (limit * 1.001, False)):
            assert (stability.spectral_radius([stability.Group(1, whole)], gain) < 1) == stable


def test_a_short_interval_swings_on_figure_3s_equal_links_and_one_round_trip_settles_before_rcp():
    base = Params(eta=ETA, strategy="best")
    settled, swing = stability.on_the_chain(0, base)
    assert settled < 10
    assert swing < 0.01
    assert stability.on_the_chain(0, replace(base, update="rcp", rtt="average"))[0] > 1.5 * settled
    for bottleneck in (0, 2):
        assert stability.on_the_chain(bottleneck, replace(base, interval=stability.CHAIN_RTT / 10))[1] > 0.2
    assert stability.on_the_chain(2, base)[1] < 0.01


@pytest.mark.parametrize("finding", errata.FINDINGS, ids=lambda finding: finding.__name__)
def test_errata_are_borne_out_and_written_down(finding):
    found = finding()
    assert found.confirmed, found.measured
    page = (ROOT / "evidence/papers/mircc/ERRATA.md").read_text()
    assert f"| {found.where} | {found.text} | {found.finding} |" in page


def test_the_page_has_the_stability_table():
    page = (ROOT / "evidence/papers/mircc/STABILITY.md").read_text()
    limit = stability.longest_stable_loop(stability.WEIGHT * stability.ETA)
    assert f"**{limit:.2f} T**" in page
    for loop in stability.LOOPS:
        radius = stability.spectral_radius([stability.Group(4, loop)], stability.WEIGHT * stability.ETA)
        assert f"| {loop:g} | {radius:.3f} |" in page
