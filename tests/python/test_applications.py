"""Clients and jobs in results, on the terminal, in reports and comparisons."""

import numpy as np
import pytest

import midpath
from conftest import ROOT
from midpath.applications import application_tables
from midpath.console import text
from midpath.report import html

NET = """
scheme = "newreno"
topology = { generate = "star", n = 4, access = { rate = "1 Gbps", delay = "10 us" } }
"""
CLIENT = """
[[client]]
group = "ask"
from = ["h0"]
to = ["h*"]
requests = 60
concurrency = 2
fan_out = 2
deadline = "700 us"
request_sizes = { kind = "fixed", size = "1 kB" }
reply_sizes = { kind = "exponential", mean = "20 kB" }
think_time = { kind = "exponential", mean = "1 ms" }
"""
VIDEO = """
[[client]]
group = "watch"
from = ["h1"]
to = ["h2"]
requests = 2
connections = "reuse"
video = { ladder = ["2 Mbps", "5 Mbps", "9 Mbps"], segment = "1 s", segments = 30, buffer = "6 s", rule = "rate" }
"""
JOB = """
[[job]]
collective = "all-gather"
hosts = ["h*"]
size = "400 kB"
iterations = 3
"""


@pytest.fixture(scope="module")
def result():
    return midpath.run(NET + CLIENT + JOB)


def test_figures_are_those_of_the_tables(result, tmp_path):
    requests, iterations = (result.tables[name].to_pandas() for name in ("requests", "iterations"))
    assert (len(requests), len(iterations)) == (60, 3)
    client, job = result.run["clients"][0], result.run["jobs"][0]
    assert client["group"] == "ask" and job["group"] == "job0"
    for key, q in (("p50_s", 0.5), ("p99_s", 0.99), ("p999_s", 0.999)):
        assert client[key] == pytest.approx(np.quantile(requests.completion_s, q))
    assert client["missed"] == (requests.completion_s > 700e-6).sum() == requests.missed.sum()
    assert 0 < client["missed"] < 60
    ends = requests.start_s + requests.completion_s
    assert client["per_s"] == pytest.approx(60 / (ends.max() - requests.start_s.min()))
    assert job["mean_s"] == pytest.approx(iterations.completion_s.mean())
    flows = result.flows.to_pandas()
    one = flows.iloc[requests.flow[7] : requests.flow[7] + 4]
    assert requests.completion_s[7] == pytest.approx((one.start_s + one.fct_s).max() - requests.start_s[7])
    result.save(tmp_path / "out")
    again = midpath.load(tmp_path / "out")
    assert again.tables["requests"].equals(result.tables["requests"])
    assert again.run["jobs"] == result.run["jobs"]


def test_the_terminal_and_the_report_show_them(result, capsys):
    text.print_result(result)
    said = capsys.readouterr().out
    for word in ("Requests ended", "p99.9", "ask", "60 of 60", "Bus bandwidth", "job0", "3 of 3"):
        assert word in said
    page = html(result)
    assert "<h3>Clients</h3>" in page and "<h3>Jobs</h3>" in page and "60 of 60" in page


def test_comparisons_have_a_row_for_each_scheme_and_no_ideal(capsys):
    found = midpath.compare(NET + CLIENT, ["newreno", "cubic"], seeds=2)
    assert found.schemes == ["newreno", "cubic"] and found.warnings[0].startswith("no ideal")
    (table,) = application_tables({scheme: found.of(scheme) for scheme in found.schemes})
    assert [row[:3] for row in table.rows] == [("ask", "NewReno", "120 of 120"), ("ask", "CUBIC", "120 of 120")]
    text.print_comparison(found)
    assert "p99.9" in capsys.readouterr().out
    assert "<h3>Clients</h3>" in html(found)


def test_runs_without_them_say_nothing_of_them(result):
    flow = '[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "1 kB"\n'
    plain = midpath.run(NET + flow)
    assert not plain.run.keys() & {"clients", "jobs"} and not plain.tables.keys() & {"requests", "iterations"}
    assert not list(application_tables({"newreno": [plain]}))


def test_pages_and_videos_are_in_all_of_these(capsys):
    pages = midpath.run(midpath.Scenario.from_toml(ROOT / "examples/page_load.toml").with_(changes={"stop": "4 s"}))
    found = pages.tables["pages"].to_pandas()
    page = pages.run["pages"][0]
    for key, column in (("mean_s", "onload_s"), ("ttfb_mean_s", "ttfb_s"), ("loaded_mean_s", "loaded_s")):
        assert page[key] == pytest.approx(found[column].mean())
    parts = found[["compute_s", "blocked_s", "service_s", "network_s"]].sum(axis=1)
    done = found.completed.to_numpy()
    assert done.any() and np.allclose(parts[done], found.onload_s[done])
    # A redirect and its document, whatever the network.
    resources = pages.tables["resources"].to_pandas()
    assert resources.waits_for[:2].fillna(-1).tolist() == [-1, 0] and found.ttfb_s[0] > resources.ttfb_s[0]
    assert not pages.run.keys() & {"clients", "jobs", "videos"}
    videos = midpath.run(NET + VIDEO)
    view = videos.run["videos"][0]
    shown = videos.tables["videos"].to_pandas()
    assert (view["views"], view["completed"]) == (2, 2)
    assert view["bitrate_mean_bps"] == pytest.approx(shown.bitrate_bps.mean())
    assert view["switches"] == shown.switches.sum() and len(videos.tables["segments"]) == 60
    for result, words in ((pages, ("Page load time", "browser")), (videos, ("Startup", "watch", "2 of 2"))):
        text.print_result(result)
        said = capsys.readouterr().out
        assert all(word in said and word in html(result) for word in words)
