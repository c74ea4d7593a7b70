"""evidence/peers: the flows and paths that every simulator gets, what is skipped, and the page."""

import dataclasses
import itertools
import json
import sys
from types import SimpleNamespace

import pytest

import midpath
import script
from conftest import ROOT

FOLDER = ROOT / "evidence/peers"


@pytest.fixture(scope="module")
def run():
    sys.path.insert(0, str(FOLDER))
    try:
        yield script.load(FOLDER / "run.py")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def small(run):
    return run.scenarios.Scenario("small", "16 hosts, 30 kB each", 4, 65, size=30_000)


def test_nothing_named_is_skipped_with_its_reason(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run.peers, "said", lambda *_: "")
    found, skipped = run.peers.others(tmp_path, {})
    assert found == []
    assert skipped == [
        "htsim: HTSIM names no folder",
        "ns-3: not installed: evidence/peers/ns3/run.sh says how",
        "UNISON: UNISON names no folder",
        "Parsimon: PARSIMON names no folder",
    ]


def test_a_folder_without_the_library_says_how_to_make_it(run, tmp_path):
    with pytest.raises(run.peers.MissingError, match="make -C sim"):
        run.peers.htsim(tmp_path, {"HTSIM": str(tmp_path)})
    with pytest.raises(run.peers.MissingError, match="no folder"):
        run.peers.htsim(tmp_path, {"HTSIM": str(tmp_path / "none")})


@pytest.mark.parametrize("k", [4, 8])
def test_every_path_is_of_links_and_the_same_back(run, k):
    scenarios = run.scenarios
    hosts, half = k**3 // 4, k // 2
    numbers = {f"h{i}": i for i in range(hosts)}
    for layer, name in ((0, "e"), (1, "a")):
        numbers |= {f"{name}{i // half}.{i % half}": hosts + layer * k * half + i for i in range(k * half)}
    numbers |= {f"c{i}": hosts + 2 * k * half + i for i in range(half * half)}
    linked = {frozenset(pair) for pair in scenarios.links(k)}
    assert len(linked) == len(scenarios.links(k)) == 3 * hosts
    for src, dst in ((0, 1), (0, half), (0, hosts - 1), (hosts - 1, half * half)):
        there = scenarios.Flow(src, dst, 1, 0, *scenarios.way(k, src, dst))
        back = scenarios.Flow(dst, src, 1, 0, *scenarios.way(k, dst, src))
        path = scenarios.path(k, there)
        assert path == scenarios.path(k, back)[::-1]
        assert all(frozenset((numbers[a], numbers[b])) in linked for a, b in itertools.pairwise(path))


def test_a_permutation_has_each_host_twice(run, small):
    flows = run.scenarios.permutation(small)
    assert sorted(flow.dst for flow in flows) == [flow.src for flow in flows] == list(range(16))
    assert all(flow.src != flow.dst for flow in flows)


def test_the_last_line_of_json_counts(run):
    assert run.peers.last_json('setting up\n{"cpu_s": 1}\n{"cpu_s": 2.5}\nbye\n') == {"cpu_s": 2.5}
    with pytest.raises(ValueError, match="no line of JSON"):
        run.peers.last_json("bye\n")


def test_midpath_alone_makes_the_page(run, small, tmp_path):
    asked = SimpleNamespace(build=tmp_path, repeat=1, limit=60, nice=0)
    (found,) = [run.measured(small, run.peers.ours("Midpath")[:1], asked)]
    (row,) = found["rows"]
    (once,) = row["runs"]
    assert once["packet_hops"] > 16 * 2 * (30_000 // 1448)
    assert 0 < once["run_cpu_s"] <= once["cpu_s"]
    assert once["peak_bytes"] > 1e6
    assert row["figures"]["unfinished"] == 0
    assert row["figures"]["slow_p50"] > 1
    text = run.page.page({"repeat": 1, "cores": 2, "peers": {}, "skipped": ["htsim: not here"], "scenarios": [found]})
    assert "Not run: htsim: not here." in text
    assert text.count("| Midpath |") == 2


def test_a_run_that_takes_too_long_or_fails_is_said(run, small, tmp_path):
    asked = SimpleNamespace(limit=0.2, nice=0)
    slow = run.Peer("slow", "", (sys.executable, "-c", "import time; time.sleep(9)"))
    assert run.run(slow, small, tmp_path, asked) == {"failed": "over 0 s"}
    asked.limit = 60
    bad = run.Peer("bad", "", (sys.executable, "-c", "raise SystemExit('no such option')"))
    assert run.run(bad, small, tmp_path, asked) == {"failed": "no such option"}


def test_figures_leave_out_what_did_not_end(run):
    found = run.page.figures([2.0, 4.0, -1.0], [1.0, 1.0, 1.0])
    assert found == {"unfinished": 1, "mean_s": 3, "p50_s": 3, "p99_s": 3.98, "slow_p50": 3, "slow_p99": 3.98}


def test_a_lone_flow_is_near_the_ideal(run, small, tmp_path):
    flow = run.scenarios.permutation(small)[0]
    (time,) = midpath.run(small.midpath([flow], tmp_path)).flows.column("fct_s").to_pylist()
    # A handshake, and 21 packets wait twice for windows that begin at ten: 37 us and less than 40 more.
    assert 1 < time / run.scenarios.ideal_s(4, flow) < 3


def test_an_estimate_that_is_refused_is_said(run, tmp_path):
    row = run.Peer("midpath estimate", "", (), times="summary")
    (tmp_path / "midpath-estimate.out").write_text("-1.0\n-1.0\n-1.0\n")
    found = run.figures(row, None, [], tmp_path)
    assert found == {}
    scenario = {"reference": "Midpath", "rows": [{"peer": row.name, "figures": found}]}
    assert list(run.page.time_table(scenario))[2:] == ["| midpath estimate | refused | | | | | | |"]


def test_titles_say_how_many_flows(run):
    drawn = [one for one in run.scenarios.SCENARIOS if one.drawn]
    assert drawn
    assert all(one.title.startswith(f"{one.drawn:,} flows") for one in drawn)


def test_the_page_is_of_its_data(run):
    results = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    assert run.page.page(results) == (FOLDER / "RESULTS.md").read_text(encoding="utf-8")


def test_phases_wait_for_the_host_s_own_flow_of_the_phase_before(run, tmp_path):
    (phased,) = [one for one in run.scenarios.SCENARIOS if one.phases]
    small = dataclasses.replace(phased, k=4, phases=3, size=50_000)
    flows = run.scenarios.phased(small)
    run.scenarios.write(small, flows, tmp_path)
    rows = midpath.run(small.midpath(flows, tmp_path)).flows.to_pylist()
    assert [(row["src"], row["dst"]) for row in rows] == [(f"h{flow.src}", f"h{flow.dst}") for flow in flows]
    for before, after in zip(rows, rows[small.hosts :], strict=False):
        # The news takes the least propagation delay: 2, 4 or 6 us.
        gap = after["start_s"] - before["start_s"] - before["fct_s"]
        assert before["src"] == after["src"]
        assert 1.9e-6 < gap < 6.1e-6


@pytest.mark.parametrize(
    ("given", "why"),
    [("", "ASTRA_SIM names no checkout of astra-sim"), ("astra", "build astra-sim first")],
)
def test_astra_sim_is_skipped_with_its_reason(tmp_path, monkeypatch, capsys, given, why):
    header = tmp_path / "astra/astra-sim/common/AstraNetworkAPI.hh"
    header.parent.mkdir(parents=True)
    header.touch()
    monkeypatch.setenv("ASTRA_SIM", str(tmp_path / given) if given else "")
    monkeypatch.setattr(sys, "argv", ["run.py"])
    script.load(FOLDER / "astra/run.py").main()
    assert f"skipped: {why}" in capsys.readouterr().out
