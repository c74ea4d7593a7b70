"""Single-link failures: closed forms on a small network, and routing as the oracle of who is cut off."""

import json
import subprocess
import sys
import textwrap

import matplotlib.image as images
import pytest

import browser
import midpath
from midpath import _midpath
from midpath.errors import ScenarioError, UsageError
from midpath.report import html
from midpath.sweep import Slurm
from midpath.sweep.failures import label
from midpath.topology import network_of, pairs_of, stranded

MAP = pytest.mark.nightly("python/midpath/report/", "python/midpath/sweep/failures.py")

# a–b is twice as fast as the way around, a–c–b. The stub d hangs on c.
TEXT = """
title = "A triangle and a stub"
scheme = "newreno"

[topology]
nodes = [
    { name = "ha" }, { name = "hb" }, { name = "hd" },
    { name = "a", kind = "router", x = 6.1, y = 46.2 }, { name = "b", kind = "router", x = 8.5, y = 47.4 },
    { name = "c", kind = "router", x = 8.9, y = 46.0 }, { name = "d", kind = "router", x = 9.5, y = 46.8 },
]
links = [
    { a = "a", b = "b", rate = "20 Mbps", delay = "1 ms" },
    { a = "a", b = "c", rate = "10 Mbps", delay = "1 ms" },
    { a = "c", b = "b", rate = "10 Mbps", delay = "1 ms" },
    { a = "c", b = "d", rate = "10 Mbps", delay = "1 ms" },
    { a = "ha", b = "a", rate = "100 Mbps", delay = "1 ms" },
    { a = "hb", b = "b", rate = "100 Mbps", delay = "1 ms" },
    { a = "hd", b = "d", rate = "100 Mbps", delay = "1 ms" },
]

[[flow]]
from = "ha"

to = "hb"
size = "10 MB"
"""
STUB = TEXT + '\n[[flow]]\nfrom = "ha"\nto = "hd"\nsize = "1 MB"\nstart = "20 s"\n'


def test_a_way_at_half_the_rate_takes_twice_as_long(tmp_path):
    found = midpath.failures(TEXT, ["newreno", "ideal"], out=tmp_path / "store")
    assert found.links == [("a", "b"), ("a", "c"), ("c", "b"), ("c", "d")]
    harms = {(harm.link, harm.scheme): harm for harm in found.harms}
    assert harms[("a", "b"), "ideal"].afct.mean == pytest.approx(2.0, abs=0.01)
    assert harms[("a", "b"), "newreno"].afct.mean == pytest.approx(2.0, abs=0.1)
    assert harms[("a", "c"), "newreno"].afct.mean == 1.0
    assert (harms[("a", "b"), "newreno"].hurts, harms[("a", "c"), "newreno"].hurts) == (True, False)
    # The worst first, and the rows of a link together.
    assert [label(harm.link) for harm in found.harms[:2]] == ["a – b", "a – b"]
    assert (
        "Under NewReno, 1 of 1 link with traffic hurt when they fail; worst is a – b: flows take" in found.verdict()[0]
    )


def test_flows_without_a_way_are_counted_and_not_run(tmp_path):
    found = midpath.failures(STUB, out=tmp_path / "store")
    worst = found.harms[0]
    assert (worst.link, worst.cut, worst.flows, worst.runs, worst.afct) == (("c", "d"), 1, 2, 0, None)
    assert worst.hurts
    # The network with all links, and the three links that can be done without.
    assert len(found.sweep) == 4
    page = html(found)
    assert "flows have no route left" in page and ">c – d<" in page


def test_routing_agrees_on_who_is_cut_off():
    scenario = midpath.Scenario.from_toml(STUB)
    network, pairs = network_of(scenario), pairs_of(scenario, 1)
    for link in network.links():
        cut = stranded(network.homes_without(link), pairs)
        assert (cut > 0) <= (link in network.bridges())
        changed = scenario.with_(changes={"topology.without": [list(link)]})
        if cut:
            with pytest.raises(ScenarioError, match=f"{cut} of 2 flows have no route"):
                changed.check()
        else:
            changed.check()


def test_the_command_goes_on_where_it_stopped(cli, tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(STUB)
    ask = ("failures", tmp_path / "s.toml", "--out", tmp_path / "store")
    answer = cli(*ask)
    assert answer.code == 0, answer.err
    assert "1 of 2" in answer.out and "Links are out from the start" in answer.out
    records = {file: file.stat().st_mtime_ns for file in (tmp_path / "store" / "runs").glob("*/*.json")}
    assert len(records) == 4
    lost = next(iter(records))
    lost.unlink()
    printed = json.loads(cli(*ask, "--json").out)
    assert printed["links"] == 4 and printed["missing"] == 0
    again = {file: file.stat().st_mtime_ns for file in (tmp_path / "store" / "runs").glob("*/*.json")}
    assert {file for file, time in again.items() if records[file] != time} == {lost}
    assert isinstance(midpath.load(tmp_path / "store"), midpath.Failures)


def test_links_that_go_down_on_the_way_need_an_end(tmp_path):
    with pytest.raises(UsageError, match="stop"):
        midpath.failures(TEXT, at="1 s", out=tmp_path / "store")
    # Routes stay: what crosses a–b after 1 s never arrives, and the flow does not end.
    text = TEXT.replace('scheme = "newreno"', 'scheme = "newreno"\nstop = "8 s"')
    found = midpath.failures(text, at="1 s", out=tmp_path / "store")
    harms = {harm.link: harm for harm in found.harms}
    assert (harms["a", "b"].unended, harms["a", "b"].compared) == (1, 1)
    assert (harms["a", "c"].unended, harms["a", "c"].afct.mean) == (0, 1.0)


def test_routes_that_follow_carry_the_flow_on(tmp_path):
    text = TEXT.replace('scheme = "newreno"', 'scheme = "newreno"\nstop = "30 s"') + '[routing]\nreconverge = "50 ms"\n'
    found = midpath.failures(text, at="1 s", out=tmp_path / "store")
    harm = next(harm for harm in found.harms if harm.link == ("a", "b"))
    # 10 MB at 20 Mbps take 4 s; with 2.5 MB of them in the first second, and the rest at 10 Mbps, 7 s.
    assert harm.unended == 0
    assert harm.afct.mean == pytest.approx(7 / 4, rel=0.1)


def test_a_network_without_links_between_routers_is_refused(tmp_path):
    star = '[topology]\ngenerate = "star"\nn = 3\naccess = { rate = "1 Mbps", delay = "1 ms" }\n'
    text = TEXT.partition("[topology]")[0] + star
    text += '[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "1 kB"\n'
    with pytest.raises(UsageError, match="no link between routers"):
        midpath.failures(text, out=tmp_path / "store")


def test_hosts_and_their_places(cli, tmp_path):
    (tmp_path / "s.toml").write_text(TEXT)
    answer = cli("topo", tmp_path / "s.toml", "--hosts")
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["ha", "a", "–", "46.20,", "6.10", "100", "Mbps"] in rows
    found = json.loads(cli("topo", tmp_path / "s.toml", "--hosts", "--json").out)
    assert found[2] == {"host": "hd", "routers": ["d"], "label": None, "x": 9.5, "y": 46.8, "rate_bps": 100_000_000}
    answer = cli("topo", "abilene", "--hosts")
    assert (answer.code, "no scenario" in answer.err) == (2, True)


def test_flows_of_a_seed_do_not_depend_on_links():
    text = (
        TEXT.partition("[[flow]]")[0]
        + """
[[workload]]
arrivals = { kind = "poisson", load = "50 %" }
sizes = { kind = "pareto", mean = "20 kB", shape = 1.5 }
matrix = { kind = "gravity", by = "capacity" }
flows = 50
"""
    )
    whole = midpath.Scenario.from_toml(text)
    runs = [midpath.run(whole, scheme="ideal")]
    runs += [
        midpath.run(whole.with_(changes={"topology.without": [list(link)]}), scheme="ideal")
        for link in [("a", "b"), ("a", "c"), ("c", "b")]
    ]
    columns = ["src", "dst", "size_bytes", "start_s"]
    assert all(run.flows.select(columns).equals(runs[0].flows.select(columns)) for run in runs)
    assert _midpath.pairs(text, whole.base_dir, seed=1) == _midpath.pairs(text, whole.base_dir, seed=1)


@MAP
@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine to look at the map with")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_map_shows_the_worst_in_the_colour_of_the_worst(tmp_path, theme):
    page = midpath.failures(STUB, out=tmp_path / "store").report(tmp_path / "report.html")
    file = tmp_path / "map.png"
    mode = [] if theme == "light" else ["--blink-settings=preferredColorScheme=0"]
    browser.look(page, f"--screenshot={file}", "--window-size=1280,1600", *mode)
    picture = images.imread(file)[:, :, :3]
    # The last colour of the ramp (report.css); its chips in the legend have less than 400 points.
    worst = [163, 19, 47] if theme == "light" else [255, 107, 129]
    points = (abs(picture * 255 - worst).max(axis=2) < 12).sum()
    assert points > 1000


# The command, against two workers in processes of their own; the scheduler is no part of Midpath.
CLUSTER = """
    import subprocess, sys
    from distributed import LocalCluster

    if __name__ == "__main__":
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="ERROR"
        ) as cluster:
            command = [sys.executable, "-m", "midpath", "failures", *sys.argv[1:]]
            code = subprocess.run([*command, "--cluster", cluster.scheduler_address]).returncode
            # Nothing else gives the scheduler work.
            assert cluster.scheduler.transition_counter > 0
            sys.exit(code)
"""


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_a_dask_cluster_does_the_runs(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "flows.csv").write_text("src,dst,size,start\nha,hb,1000000,0\nha,hd,100000,0.01\n")
    file = tmp_path / "net.toml"
    file.write_text(TEXT.partition("[[flow]]")[0] + '[[workload]]\nlist = { file = "flows.csv" }\n')
    script = tmp_path / "cluster.py"
    script.write_text(textwrap.dedent(CLUSTER))
    asked = [str(file), "--schemes", "newreno,cubic", "--seeds", "2", "--json"]
    done = subprocess.run(
        [sys.executable, str(script), *asked, "--out", str(tmp_path / "there")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    here = midpath.failures(file, ["newreno", "cubic"], seeds=2, out=tmp_path / "here")
    there = json.loads(done.stdout)
    assert there["harms"] == here.to_json()["harms"]
    assert there["verdict"] == here.verdict()
    # All runs are in the store: here nothing is left to do.
    told = []
    midpath.failures(file, ["newreno", "cubic"], seeds=2, out=tmp_path / "there", on_progress=told.append)
    assert told[0].done == told[0].runs == len(here.sweep)


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_jobs_by_submitit_do_the_runs(tmp_path):
    pytest.importorskip("submitit")
    slurm = Slurm(jobs=2, executor="local", poll_s=0.1, parameters={"timeout_min": 5})
    there = midpath.failures(STUB, out=tmp_path / "there", slurm=slurm)
    assert there.to_json() == midpath.failures(STUB, out=tmp_path / "here").to_json()
    # What jobs left: they did the runs, and not we.
    assert [*(tmp_path / "there").rglob("*_log.err")]
