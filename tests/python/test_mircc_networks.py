"""MIRCC in packets on random networks: a sample of `midpath paper run mircc/networks`, and its generator."""

from pathlib import Path

import numpy as np
import pytest

import midpath
from midpath.papers.mircc import layered
from midpath.papers.mircc.common import dropped
from midpath.result.series import mean

BASE = Path(layered.__file__).parent / "networks" / "network.toml"
BEGIN, END = 12.0, 20.0
# The second has a link that Data fill both ways.
SINGLE = (0, 6)


def run(found):
    return midpath.run(midpath.Scenario.from_toml(BASE).with_(changes=found.scenario()))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("most_paths", [1, 4])
def test_networks_are_as_promised(seed, most_paths):
    found = layered.draw(seed, most_paths)
    counts = [len(found.paths(flow)) for flow in found.flows]
    assert 1 <= min(counts) <= max(counts) <= most_paths
    assert most_paths == 1 or max(counts) > 1
    rtts = [found.rtt(flow) for flow in found.flows]
    assert min(low for low, _ in rtts) >= 1e-3 and max(high for _, high in rtts) <= 0.3
    assert all(1e6 <= rate <= 20e6 for rate, _ in found.links.values())


def test_the_shipped_network_is_the_first_one():
    shipped = midpath.Scenario.from_toml(BASE).to_dict()
    drawn = layered.draw(0, 4).scenario()
    assert shipped["topology"] == drawn["topology"] and shipped["flow"] == drawn["flow"]


def test_opposite_interests_leave_less():
    # One link of 10 Mbps, a flow each way: each leaves 64 of 1500 parts of the other's rate.
    links = {("r00", "r10"): (10e6, 1e-3)}
    hosts = {"p0": ("r00", 1e-3), "c0": ("r10", 1e-3), "p1": ("r10", 1e-3), "c1": ("r00", 1e-3)}
    rest = layered.rest(layered.Layered(links, hosts, [("p0", "c0"), ("p1", "c1")]))
    # x = η (10 − 64/1500 x)
    assert rest.primary == pytest.approx([9.5e6 / (1 + 0.95 * 64 / 1500)] * 2, rel=1e-5)
    assert rest.max_min == pytest.approx(rest.primary, rel=1e-5)


@pytest.mark.parametrize("seed", SINGLE)
def test_one_path_per_flow_is_max_min(seed):
    found = layered.draw(seed, 1)
    result, wanted = run(found), layered.rest(found).max_min
    got = [mean(result, f"group:{consumer}", "goodput_bps", BEGIN, END) * 1500 / 1428 for _, consumer in found.flows]
    assert np.abs(got / wanted - 1).max() <= 0.03
    assert dropped(result) == 0
