"""The replay in a browser: it loads nothing, moves, steps, chooses, and draws in few calls; names are text."""

import json
import sys

import matplotlib.image as images
import pytest

import browser
import midpath
from conftest import ROOT
from midpath.trace import Trace
from midpath.trace.critical import CriticalPath
from midpath.trace.replay import html, write_replay
from test_applications import NET
from test_critical import CHAIN
from test_trace import scenario

sys.path.insert(0, str(ROOT / "evidence/lab" / "report-looks"))

from chromium import Page

pytestmark = pytest.mark.nightly("python/midpath/report/", "python/midpath/trace/")

needs_browser = pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine")
EVIL = "</script><b>r0"
TRACE = "\n[trace]\n"
# 6,131 at most when this was counted.
MOST_CALLS = 7000


@pytest.fixture(scope="module")
def trace():
    text = scenario(more=TRACE).replace('"r0"', json.dumps(EVIL))
    return Trace(midpath.run(f'title = "<!--<script> & more"\n{text}'))


@pytest.fixture(scope="module")
def page(trace, tmp_path_factory):
    file = write_replay(trace, tmp_path_factory.mktemp("replay") / "replay.html")
    with Page(file) as shown:
        shown.show(1200, "light")
        yield shown


def state(page):
    return page.run("({...document.documentElement.dataset})")


def redraw(page, script):
    """Does something and draws at once."""
    page.run(f"{script}; replay.draw()")
    return state(page)


def test_the_page_is_one_file_and_names_are_text(trace):
    text = html(trace)
    assert text.count("</script>") == 2
    assert EVIL not in text
    assert "<!--<script" not in text
    for loads in (" src=", "http://", "@import", "url("):
        assert loads not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_report_of_a_traced_run_links_to_the_replay(tmp_path, cli):
    file = tmp_path / "s.toml"
    file.write_text(scenario(), encoding="utf-8")
    for out, more in (("plain", []), ("traced", ["--trace", "for=300ms"])):
        assert cli("run", file, "--out", tmp_path / out, *more).code == 0
        assert cli("report", tmp_path / out).code == 0
    assert not (tmp_path / "plain" / "replay.html").exists()
    assert "replay.html" not in (tmp_path / "plain" / "report.html").read_text(encoding="utf-8")
    assert '<a href="replay.html">CUBIC</a>' in (tmp_path / "traced" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "traced" / "replay.html").stat().st_size > 50_000
    both = tmp_path / "both"
    words = ("compare", file, "--schemes", "cubic,cubic+rpm", "--no-ideal", "--out", both, "--set", "trace.for=300ms")
    assert cli(*words).code == 0
    assert cli("report", both).code == 0
    for scheme in ("cubic", "cubic+rpm"):
        assert f"replay-{scheme.replace('+', '%2B')}.html" in (both / "report.html").read_text(encoding="utf-8")
        assert (both / f"replay-{scheme}.html").exists()


@needs_browser
def test_two_replays_side_by_side_are_at_the_same_time(tmp_path, cli):
    for scheme, start in (("cubic", "100ms"), ("bbr", "200ms")):
        result = midpath.run(
            scenario(scheme, more=f'[trace]\nfrom = "{start}"\nfor = "300 ms"\n').replace('"r0"', json.dumps(EVIL))
        )
        result.save(tmp_path / scheme)
    assert cli("replay", tmp_path / "cubic", tmp_path / "bbr", "--out", tmp_path / "both.html").code == 0
    assert EVIL not in (tmp_path / "both.html").read_text(encoding="utf-8")
    with Page(tmp_path / "both.html") as page:
        page.show(1200, "light")
        frames = "[...document.querySelectorAll('iframe')].map(f => f.contentWindow)"
        wait = "await new Promise(done => setTimeout(done, 700))"
        page.run(f"(async () => {{ while ({frames}.some(w => !w.replay)) {wait}; }})()")
        times = f"{frames}.map(w => parseFloat(w.document.getElementById('now').textContent))"
        found = page.run(f"(async () => {{ {frames}[0].replay.ask('t=0.3'); {wait}; return {times}; }})()")
        assert found == [pytest.approx(0.3, abs=1e-9)] * 2
        found = page.run(f"(async () => {{ {frames}[1].replay.ask('t=0.25&speed=-4'); {wait}; return {times}; }})()")
        assert found == [pytest.approx(0.25, abs=1e-9)] * 2
        play = f"{frames}[1].replay.setSpeed(-1); {frames}[1].replay.toggle()"
        found = page.run(f"(async () => {{ {play}; {wait}; {frames}[1].replay.toggle(); {wait}; return {times}; }})()")
        assert found[0] == pytest.approx(found[1], abs=1e-9)
        assert found[0] > 0.28
        # The other one may have no record of that time.
        found = page.run(f"(async () => {{ {frames}[0].replay.ask('t=0.15'); {wait}; return {times}; }})()")
        assert found == [pytest.approx(0.15, abs=1e-9), pytest.approx(0.2, abs=1e-3)]
        assert page.run("document.documentElement.scrollWidth") <= 1200


@needs_browser
def test_custody_prices_and_notes_are_drawn(tmp_path):
    """Custody as bars and lines, what a scheme shows of flows and stamps on packets as lines, notes in the diagram."""
    for scheme, group, word in (
        ("inrpp", "bytes in custody", "custody at r0"),
        ("fcp", "price", "price of flow 0"),
        ("mircc", "stamped", "stamped at"),
    ):
        file = write_replay(Trace(midpath.run(scenario(scheme, more=TRACE))), tmp_path / f"{scheme}.html")
        with Page(file) as page:
            page.show(900, "light")
            redraw(page, f"replay.ask('t=0.6&flow=0&speed=-1&lines={group}')")
            assert word in page.run("document.getElementById('keys').textContent")
            still = page.run("replay.still()")
            assert word in still
            if scheme == "inrpp":
                assert "slow-down" in still
                assert 'stroke="#0072b2" stroke-width="9"' in still


@needs_browser
def test_applications_have_bars_and_say_what_they_wait_for(tmp_path, page):
    assert page.run("document.getElementById('applications').hidden"), "none in a run without them"
    found = midpath.run(NET + CHAIN + TRACE)
    path = CriticalPath(found, "ask", 2)
    with Page(write_replay(Trace(found), tmp_path / "ask.html")) as shown:
        shown.show(900, "light")
        for piece, words in zip(path.pieces[:2], ("RPC h0>h1, network", "RPC h1>h2, server"), strict=True):
            at = (piece["from_s"] + piece["until_s"]) / 2
            redraw(shown, f"replay.ask('t={at}')")
            assert f"request 2 of ask: {words}" in shown.run("document.getElementById('waits').textContent")
            assert words.replace(">", "&#62;") in shown.run("replay.still()")
        assert shown.run("document.getElementById('applications').getBoundingClientRect().height") > 10


@needs_browser
def test_it_moves_and_stops(page):
    assert redraw(page, "replay.seek(0.5)")["moving"] != "0"
    page.run("replay.setSpeed(-1); replay.toggle()")
    before = float(state(page)["now"])
    page.run("new Promise(done => setTimeout(done, 400))")
    after = float(state(page)["now"])
    page.run("replay.toggle()")
    assert before + 0.01 < after < before + 0.2


@needs_browser
def test_it_steps_through_the_events_of_what_is_chosen(page, trace):
    life = trace.packet(int(trace.columns["packet"][len(trace) // 2]))
    redraw(page, f"replay.seek(0); replay.choose({{packet: {life[0].packet}}})")
    for event in life:
        found = redraw(page, "replay.step(1)")
        assert int(found["row"]) == event.row
        assert float(found["now"]) == pytest.approx(event.time - trace.time[0], abs=1e-11)
    for event in reversed(life[:-1]):
        assert int(redraw(page, "replay.step(-1)")["row"]) == event.row
    shown = page.run("[...document.querySelectorAll('#life tr')].map(r => r.children[3].textContent)")
    assert shown == [event.what for event in life]
    assert page.run("document.getElementById('about').textContent").startswith(f"Packet {life[0].packet}: ")


@needs_browser
def test_keys_and_clicks_choose(page):
    redraw(page, "replay.choose(null); replay.seek(0.5)")
    page.run("document.body.focus(); dispatchEvent(new KeyboardEvent('keydown', {key: 'End'})); replay.draw()")
    end = float(state(page)["now"])
    page.run("dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'})); replay.draw()")
    assert float(state(page)["now"]) == 0 < end
    redraw(page, "replay.seek(0.5)")
    chosen = page.run(
        """(() => { const map = document.getElementById('map'), box = map.getBoundingClientRect(), seen = new Set();
        for (let x = 0; x < box.width; x += 6) for (let y = 0; y < box.height; y += 6) {
          map.dispatchEvent(new MouseEvent('click', {clientX: box.left + x, clientY: box.top + y}));
          replay.draw();
          const chosen = document.documentElement.dataset.chosen;
          if (chosen) Object.keys(JSON.parse(chosen)).forEach(key => seen.add(key)); }
        return [...seen].sort(); })()"""
    )
    assert chosen == ["node", "packet", "port"]
    page.run("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'})); replay.draw()")
    assert state(page)["chosen"] == ""


@needs_browser
def test_a_flow_has_a_sequence_diagram(page):
    redraw(page, "replay.seek(0.5); replay.setFlow(0)")
    assert page.run("document.getElementById('sequence').hidden") is False
    inked = page.run(
        """(() => { const c = document.getElementById('sequence');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"""
    )
    assert inked > 5000
    redraw(page, "replay.setFlow(-1)")


@needs_browser
def test_a_still_is_sound_svg_in_which_names_are_text(page):
    redraw(page, "replay.seek(0.5)")
    names = page.run(
        """(() => { const svg = new DOMParser().parseFromString(replay.still(), 'image/svg+xml');
        if (svg.querySelector('parsererror')) return null;
        return [...svg.querySelectorAll('text')].map(t => t.textContent); })()"""
    )
    assert EVIL in names
    assert page.run("document.querySelector('main b')") is None


@needs_browser
@pytest.mark.parametrize(("width", "theme"), [(400, "light"), (400, "dark"), (1200, "dark")])
def test_it_fits_phones_and_dark_pages(page, tmp_path, width, theme):
    page.show(width, theme)
    redraw(page, "replay.seek(0.5); replay.setFlow(0)")
    assert page.run("document.documentElement.scrollWidth") <= width
    page.picture(tmp_path / "replay.png")
    pixels = images.imread(tmp_path / "replay.png")[..., :3]
    assert (pixels[4, 4].mean() < 0.3) == (theme == "dark")
    page.show(1200, "light")


# Calls of a canvas and new nodes of the page, by draw. Seconds depend on the machine and what else it does.
COUNTED = """(() => {
const counts = {calls: 0};
for (const kind of [CanvasRenderingContext2D.prototype, Node.prototype, Element.prototype])
  for (const name of Object.getOwnPropertyNames(kind)) {
    const call = Object.getOwnPropertyDescriptor(kind, name).value;
    const counted = kind === CanvasRenderingContext2D.prototype || /^(append|insert|replace)/.test(name);
    if (typeof call === 'function' && name !== 'constructor' && counted)
      kind[name] = function (...all) { counts.calls++; return call.apply(this, all); };
  }
const cost = () => { const before = counts.calls; replay.draw(); return counts.calls - before; };
replay.draw(); // what is drawn once for a flow
return Array.from({length: 60}, (_, i) => (replay.seek(i / 60 * 0.6), cost()));
})()"""


@needs_browser
def test_a_moment_of_a_hundred_thousand_events_is_drawn_in_few_calls(tmp_path):
    text = scenario(more="[trace]\nevents = 100000\n").replace("5 Mbps", "60 Mbps").replace("600 kB", "60 MB")
    trace = Trace(midpath.run(text.replace("300 kB", "60 MB").replace("20 packets", "200 packets")))
    assert len(trace) == 100_000
    file = write_replay(trace, tmp_path / "replay.html")
    with Page(file) as page:
        page.show(1200, "light")
        page.run("replay.setFlow(0)")
        calls = page.run(COUNTED)
    assert 0 < max(calls) <= MOST_CALLS, sorted(calls)[-5:]
