"""What a comparison says of itself: three sentences that its figures decide."""

import re

import pytest

import midpath
from midpath.compare.verdict import missing, sentences
from midpath.palette import name
from midpath.stats import estimate

SCENARIO = """
title = "Two senders, one bottleneck"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "20 Mbps", delay = "10 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }
[queue]
limit = "50 ms"
[schemes.cubic]
ecn = true
[schemes.rpm.queue]
kind = "codel"
limit = "50 ms"
[[workload]]
arrivals = { kind = "poisson", load = "60 %", load_of = "20 Mbps" }
sizes = { kind = "fixed", size = "100 kB" }
matrix = { kind = "pairs", pairs = [["s0", "d0"], ["s1", "d1"]] }
until = "2 s"
"""


@pytest.fixture(scope="module")
def compared():
    return midpath.compare(midpath.Scenario.from_toml(SCENARIO), ["newreno", "cubic", "cubic+rpm", "fcp"], seeds=3)


def test_speed_memory_and_routers(compared):
    speed, memory, routers = sentences(compared)
    times = {scheme: compared.rows()[i].figures["afct_s"].mean for i, scheme in enumerate(compared.schemes[:4])}
    best = min(times, key=times.get)
    assert speed.startswith(f"{name(best)} has the lowest AFCT: ")
    # Each other scheme has its place in the sentence.
    assert all(name(scheme) in speed for scheme in times)
    assert routers == "Routers stay as they are for NewReno and CUBIC; CUBIC + RPM and FCP run in them, too."
    held = {row.scheme: row.figures["queue_max_bytes"].mean for row in compared.rows() if row.scheme != "ideal"}
    least, most = min(held, key=held.get), max(held, key=held.get)
    assert re.match(rf"The fullest port held .* with {re.escape(name(least))} \(.*\) to .* with", memory)
    # 50 ms of 20 Mbps.
    assert 0 < held[least] <= held[most] <= 125_000


def test_seeds_without_a_time_are_told():
    """Where no flow ended there is no time: a mean over the other seeds says so."""
    times = {"newreno": estimate([1.0, None, 2.0]), "cubic": estimate([1.0, 1.5, 2.0])}
    assert missing(times) == " Some seeds gave no time: NewReno's is from 2 of 3 seeds."
    assert missing({"cubic": times["cubic"]}) == ""


def test_a_transport_over_a_network_is_a_scheme_of_its_own(compared):
    mixed = compared.of("cubic+rpm")[0]
    assert mixed.scheme == "cubic+rpm"
    assert mixed.run["deployment"][0]["scheme"] == "rpm"
    assert set(mixed.flows.to_pandas()["scheme"].astype(str)) == {"cubic"}


def test_where_routers_are_left_alone_nothing_is_said_of_them():
    found = midpath.compare(midpath.Scenario.from_toml(SCENARIO), ["newreno", "cubic"], seeds=2)
    assert not any("outers" in sentence for sentence in sentences(found))


def test_a_network_without_a_name_is_refused():
    with pytest.raises(midpath.ScenarioError, match=r"`rmp`"):
        midpath.compare(midpath.Scenario.from_toml(SCENARIO), ["cubic+rmp"])
