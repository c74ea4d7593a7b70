"""Reports at every width and on paper, in a browser: nothing is cut off, nothing lies on something else.

`evidence/lab/report-looks` takes pictures of larger reports, for people to look at, and has what finds faults.
"""

import sys

import matplotlib.image as images
import pytest

import browser
import midpath
from conftest import ROOT
from midpath import report

sys.path.insert(0, str(ROOT / "evidence/lab" / "report-looks"))

import look
from chromium import Page

pytestmark = [
    pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine to look at reports with"),
    pytest.mark.nightly("python/midpath/report/", "python/midpath/html.py", "python/midpath/palette.py"),
]

# Cities that are close to each other on a phone, names that are long, and schemes of one hue.
TEXT = """
title = "Cities"
[topology]
builtin = "abilene"
rate = "20 Mbps"
[topology.hosts]
per_node = 1
rate = "100 Mbps"
[[workload]]
arrivals = { kind = "poisson", load = "100 %", load_of = "20 Mbps" }
sizes = { kind = "fixed", size = "20 kB" }
matrix = { kind = "random" }
until = "500 ms"
[measure]
series = true
[variants."as it is"]
[variants."with short queues"]
queue.limit = "5 ms"
"""
SCHEMES = ["cubic", "cubic+rpm"]


@pytest.fixture(scope="module", params=["comparison", "sweep", "failures", "variants"])
def page(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    varied = {"queue.limit": ["2 ms", "20 ms", "100 ms"], "workload.0.arrivals.load": ["50 %", "80 %", "100 %"]}
    made = {
        "comparison": lambda: midpath.compare(TEXT, SCHEMES, seeds=2),
        "sweep": lambda: midpath.sweep(TEXT, varied, schemes=SCHEMES, seeds=2, out=folder / "store"),
        "failures": lambda: midpath.failures(TEXT, SCHEMES, seeds=2, out=folder / "store"),
        "variants": lambda: midpath.compare_variants(TEXT, SCHEMES, seeds=2),
    }
    file = folder / "report.html"
    file.write_text(report.html(made[request.param]()), encoding="utf-8")
    # With series data are compressed, so both forms are drawn here.
    packed = 'type="application/gzip;base64" id="report-data"' in file.read_text(encoding="utf-8")
    assert packed == (request.param == "variants")
    with Page(file) as opened:
        yield opened


def test_a_report_with_series_is_small(page):
    assert page.file.stat().st_size < 1_000_000


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_cut_off_at_any_width(page, width):
    page.show(width, "light")
    assert page.run(look.FAULTS) == []


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_cut_off_on_paper(page, width):
    page.show(width, "dark")
    assert page.run(look.ON_PAPER) == []


def test_the_screen_is_as_before_when_printing_is_over(page, tmp_path):
    page.show(1000, "dark")
    page.picture(tmp_path / "before.png")
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.picture(tmp_path / "paper.png")
    page.run("dispatchEvent(new Event('afterprint'))")
    page.picture(tmp_path / "after.png")
    before, paper, after = (images.imread(tmp_path / f"{name}.png") for name in ("before", "paper", "after"))
    # Margins that Plotly finds in steps may end half a pixel aside.
    assert before.shape == after.shape and abs(before - after).mean() < 0.01
    # Paper is white whatever the screen is.
    assert before[5, 5, :3].max() < 0.2 and paper[5, 5, :3].min() > 0.9


def test_a_phone_that_is_turned_is_drawn_anew(page):
    page.show(400, "light")
    page.ask("Emulation.setDeviceMetricsOverride", width=1000, height=400, deviceScaleFactor=1, mobile=True)
    page.settle()
    assert page.run(look.FAULTS) == []


RANGE = "document.querySelector('.plot')._fullLayout.xaxis.range"
FRAME = """(() => {
  const plot = document.querySelector(".plot");
  plot.scrollIntoView();
  return plot.querySelector(".nsewdrag").getBoundingClientRect().toJSON();
})()"""


def test_a_zoom_stays_when_a_scheme_is_switched_off_and_on_paper(page):
    page.show(1280, "light")
    if not page.run("document.querySelector('[data-toggle]') !== null"):
        pytest.skip("a map, without schemes to switch off")
    whole, frame = page.run(RANGE), page.run(FRAME)
    for kind, share in (("mousePressed", 0.3), ("mouseMoved", 0.4), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
        x, y = (frame[start] + share * frame[size] for start, size in (("x", "width"), ("y", "height")))
        page.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    page.settle()
    zoomed = page.run(RANGE)
    assert zoomed[1] - zoomed[0] == pytest.approx(0.3 * (whole[1] - whole[0]), rel=0.05)
    page.run("document.querySelector('[data-toggle]').click()")
    assert page.run(RANGE) == zoomed
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(RANGE) == zoomed


@pytest.mark.parametrize("width", [400, 1280])
def test_what_scrolls_has_the_keyboards_focus(page, width):
    """axe's rule scrollable-region-focusable."""
    page.show(width, "light")
    regions = page.run(
        "[...document.querySelectorAll('.scroll, pre')].filter((one) => one.clientWidth)"
        ".map((one) => [one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1,"
        " one.tabIndex])"
    )
    assert regions
    assert [focus == 0 for _, focus in regions] == [scrolls for scrolls, _ in regions]
    assert width > 400 or any(scrolls for scrolls, _ in regions)
