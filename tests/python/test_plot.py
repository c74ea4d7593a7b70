"""`midpath plot`: the numbers that are drawn against closed forms, the files, and what is refused."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import midpath
from midpath.loading import load_all
from midpath.plot import What, frame_of, panels
from midpath.plot.draw import Style, draw

PLOTS = pytest.mark.nightly("python/midpath/plot/", "python/midpath/compare/", "python/midpath/sweep/")

TEXT = """
title = "Plotted"
scheme = "newreno"
stop = "4 s"
measure = { series = true }
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "100 kB"

[[workload]]
arrivals = { kind = "poisson", rate_per_s = 20.0 }
sizes = { kind = "exponential", mean = "20 kB" }
flows = 40

[variants.one]
[variants.two]
queue.limit = "20 kB"
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    path = tmp_path_factory.mktemp("plot") / "compared"
    plain = TEXT.partition("[variants")[0]
    return path, midpath.compare(plain, "newreno,cubic", seeds=3, ideal=False, out=path)


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    path = tmp_path_factory.mktemp("plot") / "varied"
    midpath.compare_variants(TEXT, "newreno", seeds=2, ideal=False, out=path)
    return path


@pytest.fixture
def drawn(cli, tmp_path):
    """What a plot draws."""

    def call(*arguments, out="figure.svg"):
        answer = cli("plot", *arguments, "--out", tmp_path / out, "--json")
        assert answer.code == 0, answer.err
        assert (tmp_path / out).stat().st_size > 1000
        return json.loads(answer.out)

    return call


def test_a_distribution_is_of_all_flows_and_ends_at_the_slowest(drawn, compared):
    path, found = compared
    data = drawn(path, "--cdf", "fct_s")
    assert data["table"] == "flows"
    for scheme in ("newreno", "cubic"):
        line = [row for row in data["data"] if row["line"] == scheme]
        times = np.concatenate([run.flows["fct_s"].to_numpy() for run in found.of(scheme)])
        assert line[-1]["x"] == pytest.approx(np.nanmax(times)) and line[-1]["y"] == pytest.approx(
            np.isfinite(times).mean()
        )
        middle = min(line, key=lambda row: abs(row["y"] - 0.5))
        assert middle["x"] == pytest.approx(np.nanmedian(times), rel=0.05)


def test_a_figure_of_runs_has_its_mean_and_interval(drawn, compared):
    path, found = compared
    data = drawn(path, "--y", "afct_s", "--x", "scheme", "--by", "")
    rows = {row["x"]: row for row in data["data"]}
    for row in found.rows():
        figure = row.figures["afct_s"]
        assert rows[row.scheme]["y"] == pytest.approx(figure.mean)
        assert rows[row.scheme]["high"] - rows[row.scheme]["y"] == pytest.approx(figure.ci95)


@PLOTS
def test_courses_over_time_are_of_one_seed_and_one_port_each(drawn, compared, tmp_path):
    path, found = compared
    data = drawn(
        path, "--y", "queue_bytes", "--x", "time_s", "--where", "port=r0>r1", "--data", tmp_path / "d.csv", out="q.pdf"
    )
    series = found.of("cubic")[0].series.to_pandas()
    own = series[(series["entity"] == "port:r0>r1") & (series["metric"] == "queue_bytes")]
    line = [row["y"] for row in data["data"] if row["line"] == "cubic"]
    assert line == pytest.approx(own["value"].tolist())
    assert data["notes"][0] == "seed 1 of 3"
    with (tmp_path / "d.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(data["data"])
    # Without --where there is a line for each port.
    several = drawn(path, "--y", "queue_bytes", "--x", "time_s", "--where", "scheme=cubic", out="q.png")
    assert {row["line"] for row in several["data"]} >= {"cubic, r0>r1"}


@PLOTS
def test_conditions_bins_statistics_and_panels(drawn, compared, varied):
    path, found = compared
    data = drawn(
        path,
        "--y",
        "slowdown",
        "--x",
        "size_bytes",
        "--stat",
        "p95",
        "--bins",
        4,
        "--log",
        "x,y",
        "--where",
        "size_bytes>=2kB",
    )
    flows = [run.flows.to_pandas() for run in found.of("cubic")]
    assert len([row for row in data["data"] if row["line"] == "cubic"]) <= 4
    sizes = np.concatenate([table[table["size_bytes"] >= 2000]["size_bytes"] for table in flows])
    assert min(row["x"] for row in data["data"]) >= sizes.min()
    panels = drawn(
        varied, "--cdf", "fct_s", "--facet", "variant", "--by", "scheme", "--columns", 2, "--title", "Two", "--latex"
    )
    assert {row["panel"] for row in panels["data"]} == {"variant one", "variant two"}
    assert {row["line"] for row in drawn(varied, "--figure", "fct")["data"]} == {"one, newreno", "two, newreno"}


@PLOTS
def test_a_sweep_is_drawn_by_its_parameters(drawn, tmp_path):
    plain = TEXT.partition("[variants")[0]
    midpath.sweep(plain, {"queue.limit": ["20 kB", "100 kB"]}, out=tmp_path / "store", seeds=2)
    rows = drawn(tmp_path / "store", "--y", "queue_max_bytes", "--x", "queue.limit")["data"]
    assert [row["x"] for row in rows] == [20_000, 100_000]
    assert rows[0]["y"] <= 20_000 < rows[1]["y"]


@PLOTS
def test_no_panel_is_cut_off_by_the_limits_of_another(varied):
    found = panels(frame_of(load_all([varied]), "flows"), What("fct_s", "size_bytes", facet="variant"))
    # The second panel's values are ten times as large.
    higher = [replace(line, y=line.y * 10, low=None, high=None) for line in found.panels[1].lines]
    figure = draw(replace(found, panels=[found.panels[0], replace(found.panels[1], lines=higher)]), Style())
    top = figure.axes[0].get_ylim()[1]
    assert all(line.get_ydata().max() <= top for axes in figure.axes for line in axes.get_lines())


def test_a_title_covers_no_legend(varied):
    found = panels(frame_of(load_all([varied]), "flows"), What("fct_s", by=["variant"]))
    figure = draw(found, Style(title="Title"))
    assert figure.get_suptitle() == "" and figure.legends[0].get_title().get_text() == "Title"


@PLOTS
def test_the_same_figure_is_the_same_file(drawn, compared, tmp_path):
    for name in ("a.svg", "b.svg", "a.pdf", "b.pdf"):
        drawn(compared[0], "--figure", "size", out=name)
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--y", "afct_s"], "over what? Give --x, or --cdf afct_s"),
        ([], "one of --y, --cdf and --figure"),
        (["--cdf", "fct"], "no table has a column 'fct'"),
        (["--y", "queue_bytes", "--x", "size_bytes"], "no table has all of"),
        (["--cdf", "fct_s", "--where", "size_bytes>1 GB"], "no row is left"),
        (["--cdf", "fct_s", "--where", "size_bytes>4 apples"], "'4 apples' is not a number"),
        (["--cdf", "fct_s", "--where", "flow"], "write COLUMN=VALUE"),
        (["--cdf", "fct_s", "--where", "colour=red"], "there is no column 'colour'"),
        (["--cdf", "fct_s", "--by", "flow"], "are more than 12: select with --where"),
        (["--cdf", "src"], "has no numbers"),
        (["--cdf", "fct_s", "--table", "people"], "there is no table 'people'"),
        (["--cdf", "fct_s", "--log", "z"], "--log z"),
        (["--cdf", "fct_s", "--xlim", "3"], "write LOW:HIGH"),
        (["--figure", "map"], "--figure map"),
        (["--y", "slowdown", "--x", "size_bytes", "--stat", "mode"], "--stat mode"),
        (["--cdf", "fct_s", "--x", "flow"], "--cdf COLUMN needs no --x"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(cli, compared, tmp_path, words, message):
    answer = cli("plot", compared[0], *words, "--out", tmp_path / "x.svg")
    assert answer.code == 2 and message in answer.err and answer.err.count("\n") == 1, answer.err
    assert not (tmp_path / "x.svg").exists()


def test_a_name_without_a_format_is_refused(cli, compared, tmp_path):
    answer = cli("plot", compared[0], "--cdf", "fct_s", "--out", tmp_path / "x.doc")
    assert answer.code == 2 and "must end with one of" in answer.err and not list(tmp_path.iterdir())
