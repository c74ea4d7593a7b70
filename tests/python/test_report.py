import base64
import dataclasses
import gzip
import json
import re
from html.parser import HTMLParser

import matplotlib.image as images
import pyarrow as pa
import pytest

import browser
import midpath
from midpath.palette import looks
from midpath.report import html
from midpath.report.figure import log_ticks
from midpath.units import quantity

PICTURE = pytest.mark.nightly("python/midpath/report/", "python/midpath/html.py")

TEXT = "title = 'x'\n[topology]\nbuiltin = 'abilene' # </script> & <b>\n"


class Page(HTMLParser):
    """What the page loads, and whether its elements close."""

    VOID = {"meta", "link", "br", "img", "input", "hr"}  # noqa: RUF012

    def __init__(self, text):
        super().__init__()
        self.open, self.loads, self.ids = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.loads += [found[name] for name in ("src", "href") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def text_of(page):
    """What a reader sees, with a bar between elements."""
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"(?:\s*\|\s*)+", "|", re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "|", page)))


def data_of(page):
    kind, text = re.search(r'<script type="(\S+)" id="report-data">(.*?)</script>', page, re.DOTALL).groups()
    return json.loads(gzip.decompress(base64.b64decode(text)) if kind == "application/gzip;base64" else text)


@pytest.fixture
def comparison(made_up):
    return midpath.compare(TEXT, ["newreno", "cubic", "dctcp"], seeds=3)


def test_page_is_one_sound_file(comparison):
    page = Page(html(comparison))
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert {"plot-fct", "plot-size", "plot-goodput", "plot-queue", "plot-network"} <= set(page.ids)


def test_table_says_what_the_runs_say(comparison):
    page = html(comparison)
    for row in comparison.rows():
        assert quantity("seconds", row.figures["afct_s"].mean) in page
    assert "Means over 3 seeds" in page
    assert "midpath compare scenario.toml --schemes newreno,cubic,dctcp --seed 1 --seeds 3" in page


def test_verdict_is_honest_about_luck(made_up):
    sure = html(midpath.compare(TEXT, ["newreno", "dctcp"], seeds=8))
    assert "DCTCP has the lowest AFCT" in sure
    assert "One seed only" not in sure
    # One seed of a scenario that draws says little; of one that draws nothing, all.
    assert "One seed only" not in html(midpath.compare(TEXT, ["newreno", "dctcp"]))
    drawn = html(midpath.compare(f"{TEXT}\n[[workload]]\narrivals = {{ kind = 'poisson' }}", ["newreno", "dctcp"]))
    assert "One seed only" in drawn
    assert '<td class="best">' not in drawn
    same = midpath.compare(TEXT, ["rcp", "xcp"], seeds=3)
    assert "does not differ significantly" in html(same)


def test_scenario_is_shown_as_text(comparison):
    assert "&lt;/script&gt; &amp; &lt;b&gt;" in html(comparison)


def test_every_scheme_is_in_every_figure(comparison):
    figures = data_of(html(comparison))["figures"]
    # A network is drawn once for each scheme, by a button.
    assert list(figures.pop("network")["variants"]) == list(comparison.schemes)
    for figure in figures.values():
        for state in figure["variants"].values():
            assert {trace["meta"]["scheme"] for trace in state["data"]} == set(comparison.schemes)


def test_curves_end_at_all_flows(comparison):
    curve = data_of(html(comparison))["figures"]["fct"]["variants"]["all"]["data"][0]
    assert curve["y"][-1] == 1.0
    assert curve["x"] == sorted(curve["x"])


def test_flows_that_never_began_are_no_share_of_a_curve():
    link = '[topology]\nlinks = [{ a = "a", b = "b", rate = "8 Mbps", delay = "1 ms" }]\n'
    sizes = {"short": "10 kB", "long": "100 MB"}
    flows = [f'[[flow]]\ngroup = "{name}"\nfrom = "a"\nto = "b"\nsize = "{size}"\n' for name, size in sizes.items()]
    waits = '[[flow]]\nafter = ["long"]\nfrom = "a"\nto = "b"\nsize = "1 kB"\n'
    found = midpath.compare('scheme = "newreno"\nstop = "1 s"\n' + link + "".join(flows) + waits, ["newreno"])
    curve = data_of(html(found))["figures"]["fct"]["variants"]["all"]["data"][0]
    assert curve["y"][-1] == 0.5


@pytest.mark.parametrize(
    ("low", "high", "some", "most"),
    [
        (1e-4, 1e2, {1e-3, 1.0}, 8),
        (0.02, 3.0, {0.1, 1.0, 2.0}, 10),
        (20.0, 24.0, {20, 22, 24}, 6),
        (1.0, 1.1, set(), 6),
    ],
)
def test_log_axes_have_ticks(low, high, some, most):
    ticks = log_ticks(low, high)
    assert some <= set(ticks)
    assert 2 <= len([tick for tick in ticks if low <= tick <= high]) <= most


def test_one_run_has_tiles(made_up):
    page = html(midpath.run(TEXT, scheme="dctcp"))
    assert 'class="tile"' in page
    assert "midpath run scenario.toml --scheme dctcp --seed 1" in page


def test_without_series_the_page_says_so(without_series):
    page = html(midpath.compare(TEXT, ["cubic"]))
    assert page.count("measure.series = true") == 2


def with_nulls(result, **columns):
    """The same result, with columns of its tables without any value."""
    tables = dict(result.tables)
    for name, gone in columns.items():
        for column in gone:
            index = tables[name].schema.get_field_index(column)
            nulls = pa.nulls(tables[name].num_rows, pa.float64())
            tables[name] = tables[name].set_column(index, column, nulls)
    return midpath.Result(result.run | {"summary": dict.fromkeys(result.summary, None) | COUNTS}, tables)


COUNTS = {"flows": 400, "completed": 0}
DELAYS = ["delay_mean_s", "delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_max_s", "queue_mean_bytes"]


def test_flows_that_never_end(without_series):
    result = with_nulls(midpath.run(TEXT), flows=["fct_s", "slowdown", "size_bytes"])
    page = html(result)
    assert "Goodput per flow" in page
    assert "plot-size" not in page
    assert "0 of 400 flows ended" in page


def test_ports_that_measured_nothing(without_series):
    page = text_of(html(with_nulls(midpath.run(TEXT), ports=[*DELAYS, "utilisation"])))
    assert re.search(r"\bnan\b", page, re.IGNORECASE) is None
    assert "|Port|Rate|Utilisation|Mean queue|Delay p99|Drops|Marks|Seattle → Sunnyvale|100 Mbps|–|–|–|4|0|" in page


def test_flows_that_did_nothing_at_all(without_series):
    nothing = ["fct_s", "slowdown", "goodput_bps", "delivered_bytes", "rtt_mean_s"]
    assert "0 of 400 flows ended" in html(with_nulls(midpath.run(TEXT), flows=nothing))


def test_empty_tables(without_series):
    result = midpath.run(TEXT)
    empty = {name: table.slice(0, 0) for name, table in result.tables.items()}
    run = result.run | {"topology": {"nodes": [{"name": "a", "kind": "host"}], "links": []}}
    page = html(midpath.Result(run, empty))
    assert "plot-size" not in Page(page).ids
    assert "|Topology|1 nodes, 0 links|" in text_of(page)
    assert text_of(page).count("|Drops|Marks|Repeat it|") == 1, "the table of ports has no row"
    assert list(data_of(page)["figures"]) == ["fct", "goodput", "queue", "network"]


def test_comparison_in_which_nothing_ends(without_series):
    found = midpath.compare(TEXT, ["cubic", "dctcp"])
    gone = {pair: with_nulls(result, flows=["fct_s", "slowdown"]) for pair, result in found.results.items()}
    page = html(dataclasses.replace(found, results=gone))
    assert "plot-size" not in Page(page).ids
    assert "|No flow delivered anything.|" in text_of(page)
    assert "|Scheme|Flows ended|CUBIC|0 of 400|DCTCP|0 of 400|Ideal|0 of 400|" in text_of(page)
    assert "has the lowest AFCT" not in page


def test_unknown_schemes_get_colours_of_their_own():
    found = looks(["cubic", "mine", "yours", *[f"s{i}" for i in range(7)]])
    assert found["cubic"] == looks(["cubic"])["cubic"]
    assert len({look["light"] for look in found.values()}) == 10


needs_browser = pytest.mark.skipif(
    browser.find() is None, reason="no Chromium on this machine to look at the report with"
)


@needs_browser
def test_browser_draws_it(comparison, tmp_path):
    page = comparison.report(tmp_path / "report.html")
    dom = browser.look(page, "--dump-dom")
    assert dom.count('class="main-svg"') >= 5
    assert dom.count('class="trace scatter') > 20
    assert quantity("seconds", comparison.rows()[0].figures["afct_s"].mean) in dom.replace(
        "&nbsp;", "\N{NO-BREAK SPACE}"
    )


@PICTURE
@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture_is_not_blank(comparison, tmp_path, theme):
    page = comparison.report(tmp_path / "report.html")
    file = tmp_path / "report.png"
    scheme = [] if theme == "light" else ["--blink-settings=preferredColorScheme=0"]
    browser.look(page, f"--screenshot={file}", "--window-size=1400,2900", *scheme)
    picture = images.imread(file)[:, :, :3]
    assert picture.shape[:2] == (2900, 1400)
    assert (picture[5, 5].mean() > 0.5) == (theme == "light")
    # Coloured pixels, so curves, in each figure's part of the page.
    colourful = (picture.max(axis=2) - picture.min(axis=2)) > 0.35
    for top in range(700, 2300, 400):
        assert colourful[top : top + 400].sum() > 300
