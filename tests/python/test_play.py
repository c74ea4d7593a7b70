"""The playground: what its JavaScript computes is what Python computes, and its page in a browser."""

import base64
import contextlib
import functools
import http.server
import importlib
import json
import random
import subprocess
import sys
import threading
import time
import zlib
from html import unescape

import numpy as np
import pytest

import browser
import midpath
import script
from conftest import ROOT
from midpath import stats
from midpath.metrics import METRICS
from midpath.report import html as page_of
from midpath.scenario import Scenario
from midpath.trace.record import Trace
from midpath.trace.replay import data as replay_data
from midpath.units import SCALES, digits, quantity
from test_web import BACKBONE, NODE, ONE_LINK, POLICED, WAITING, WASM, too_large

sys.path.insert(0, str(ROOT / "evidence/lab/report-looks"))
import look
from chromium import Page

# Its name in the package is the function.
PAGE = importlib.import_module("midpath.report.page")
VARIANTS_PAGE = importlib.import_module("midpath.report.variants")
FACTS = ROOT / "docs/play/play.json"
RUNNER = ROOT / "tests/python/play_compare.mjs"

needs_node = pytest.mark.skipif(NODE is None, reason="no node here to run JavaScript with")
needs_wasm = pytest.mark.skipif(not WASM.is_file(), reason="no target/web/midpath.wasm: make web")
needs_browser = pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine to open the page with")

# So short that not all flows end.
UNENDED = ONE_LINK.replace('stop = "2 s"', 'stop = "1 s"')
TRACED = ONE_LINK.replace("[measure]\nseries = true\n", '[trace]\nfrom = "100 ms"\nfor = "300 ms"\n')

EXAMPLES = {
    "inrpp_backpressure": (["inrpp"], 1),
    "inrpp_detour": (["inrpp", "cubic", "ideal"], 2),
    "call_and_backup": (["cubic"], 2),
    "rpc_fan_out": (["dctcp", "newreno"], 1),
    "all_reduce": (["udp"], 2),
}
COMPARED = {
    "four seeds": (ONE_LINK, ["newreno", "cubic", "dctcp", "ideal"], 4),
    "flows that did not end": (UNENDED, ["newreno", "cubic+rpm", "ideal"], 3),
    "one seed": (ONE_LINK, ["cubic", "bbr"], 1),
    "in routers": (BACKBONE, ["newreno", "fcp", "inrpp"], 2),
    "clients, jobs, datagrams": (WAITING, ["newreno", "fcp", "inrpp"], 3),
    "policed": (POLICED, ["newreno", "bbr"], 2),
    **{
        name: ((ROOT / f"examples/{name}.toml").read_text(encoding="utf-8"), *asked) for name, asked in EXAMPLES.items()
    },
}


def ask(**request):
    asked = {"facts": str(FACTS), "wasm": str(WASM) if WASM.is_file() else None, **request}
    done = subprocess.run([NODE, str(RUNNER)], input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_it_knows_is_up_to_date():
    made = script.load(ROOT / "scripts/play.py").facts()
    assert json.loads(FACTS.read_text(encoding="utf-8")) == json.loads(json.dumps(made))


@needs_node
def test_quantities_read_the_same():
    draw = random.Random(1)
    values = [0.0, 1.0, 0.5, 2.5, 0.125, 999.5, 999.949, 1e-12, 123456.0, 0.0005]
    # Exactly between two decimals, where Python rounds to even.
    values += [draw.randrange(1, 4000) / 2 ** draw.randint(1, 6) for _ in range(500)]
    values += [draw.uniform(1, 10) * 10 ** draw.randint(-13, 13) for _ in range(2000)]
    assert ask(ask="digits", values=values) == [digits(value) for value in values]
    kinds = [kind for kind in SCALES if "dollars" not in kind]
    asked = [(kind, v, ci) for v in values for kind in (draw.choice(kinds),) for ci in (None, v * draw.random())]
    assert ask(ask="quantities", values=asked) == [quantity(*one) for one in asked]


@needs_node
def test_statistics_are_the_same_to_the_last_bit():
    draw = random.Random(2)

    def value(kind):
        """Of like seeds, of unlike ones, equal ones, and none."""
        drawn = {"like": draw.gauss(50, 1), "unlike": 10 ** draw.uniform(-9, 9), "equal": 3.0, "zero": 0.0}[kind]
        return None if draw.random() < 0.1 else drawn

    kinds = ("like", "unlike", "equal", "zero")
    pairs = []
    for n in [*range(1, 21)] * 20:
        of = draw.choice(kinds), draw.choice(kinds)
        pairs.append([[value(kind) for _ in range(n)] for kind in of])
    for (a, b), found in zip(pairs, ask(ask="statistics", pairs=pairs), strict=True):
        expected = stats.estimate(a), stats.paired_excess(a, b), stats.paired_ratio(a, b)
        for key, theirs in zip(("estimate", "excess", "ratio"), expected, strict=True):
            assert (found[key] and (found[key]["mean"], found[key]["ci95"])) == (
                theirs and (theirs.mean, theirs.ci95)
            ), key
        assert found["told_apart"] == stats.told_apart(a, b)
        known = [x for x in a if x is not None]
        assert found["quantiles"] == ([float(np.quantile(known, q)) for q in (0.5, 0.99)] if known else [None, None])


@needs_node
@needs_wasm
@pytest.mark.parametrize(("text", "schemes", "seeds"), COMPARED.values(), ids=COMPARED)
def test_a_comparison_has_the_report_of_the_command(text, schemes, seeds, monkeypatch):
    made = {}
    monkeypatch.setattr(PAGE, "filled", lambda **parts: made.update(parts) or "")
    monkeypatch.setattr(PAGE, "embedded", lambda data: data)
    expected = midpath.compare(text, schemes, seeds=list(range(3, 3 + seeds)), ideal="ideal" in schemes)
    page_of(expected)
    found = ask(ask="comparison", text=text, schemes=expected.schemes, seeds=expected.seeds)
    for row in expected.rows():
        for metric in METRICS:
            theirs, ours = found["rows"][row.scheme][metric.key], row.figures[metric.key]
            assert (theirs and (theirs["mean"], theirs["ci95"])) == (ours and (ours.mean, ours.ci95)), metric.key
    same_report(found["parts"], made, expected.of(expected.schemes[0])[0].run["topology"])


def same_report(ours, theirs, topology):
    """The parts of a page are the same, as far as a reader sees."""
    figures = [one.pop("data")["figures"] for one in (ours, theirs)]
    for key, part in theirs.items():
        assert html(ours[key]) == html(part), key
    ours, theirs = (without_places(one, topology) for one in figures)
    assert list(ours) == list(theirs)
    for name in theirs:
        alike(ours[name], theirs[name], name)


def without_places(figures, topology):
    """Where the playground puts nodes is its own, unless nodes say where they are; report.js moves names anyway."""
    drawn = all(node.get("x") is None for node in topology["nodes"])
    for state in figures["network"]["variants"].values():
        for trace in state["data"]:
            for key in ("x", "y", "textposition") if drawn else ("textposition",):
                trace.pop(key, None)
        if drawn:
            del state["layout"]["xaxis"]["range"], state["layout"]["yaxis"]["range"]
    return figures


def alike(ours, theirs, where):
    """The same, numbers to the five digits that a page has."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs:
            alike(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), where
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            alike(one, other, f"{where}[{i}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-12), where
    elif isinstance(theirs, str):
        assert html(ours) == html(theirs), where
    else:
        assert ours == theirs, where


def html(text):
    """As a browser reads it, whichever way characters are escaped."""
    return unescape(text)


# Another network, other traffic, nothing random, nothing changed.
VARIANTS = """
[variants.today]
[variants."short queues"]
queue.limit = "20 kB"
[variants.faster]
"topology.bottleneck.rate" = "30 Mbps"
[variants."more traffic"]
"workload[0].arrivals.load" = "80 %"
[variants.as-today]
"""
CERTAIN = """
stop = "2 s"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
size = "200 kB"
[[flow]]
from = "s1"
to = "d1"
[variants.a]
"""
VARIED = {
    "several seeds": (ONE_LINK + VARIANTS, ["newreno", "cubic", "ideal"], 3),
    "flows that did not end": (UNENDED + VARIANTS, ["newreno", "fcp"], 2),
    "one seed, one scheme": (ONE_LINK + VARIANTS, ["cubic"], 1),
    "a policer": (POLICED + "[variants.a]\n[variants.b]\nqueue.burst = '10 kB'\n", ["newreno", "bbr"], 2),
    "bufferbloat": ((ROOT / "examples/bufferbloat.toml").read_text(encoding="utf-8"), ["cubic", "newreno"], 2),
    "nothing random": (CERTAIN + "[variants.b]\nqueue.limit = '9 kB'\n", ["cubic", "fcp"], 1),
}


@needs_node
@needs_wasm
@pytest.mark.parametrize(("text", "schemes", "seeds"), VARIED.values(), ids=VARIED)
def test_variants_have_the_report_of_the_command(text, schemes, seeds, monkeypatch):
    made = {}
    monkeypatch.setattr(VARIANTS_PAGE, "filled", lambda **parts: made.update(parts) or "")
    monkeypatch.setattr(VARIANTS_PAGE, "embedded", lambda data: data)
    seeds = list(range(3, 3 + seeds))
    given = midpath.Scenario.from_toml(text)
    expected = midpath.compare_variants(given, schemes, seeds=seeds, ideal="ideal" in schemes)
    page_of(expected)
    found = ask(ask="variants", text=text, schemes=expected.schemes, seeds=expected.seeds)
    looks = {key: look for key, look in found["data"]["looks"].items() if key.startswith("variant:")}
    assert looks == {key: look for key, look in made["data"]["looks"].items() if key.startswith("variant:")}
    same_report(found, made, expected.first.of(expected.schemes[0])[0].run["topology"])


@needs_node
@needs_wasm
def test_a_replay_has_the_events_of_the_command():
    trace = Trace(midpath.run(Scenario(TRACED).with_(scheme="cubic")))
    expected, found = replay_data(trace, len(trace)), ask(ask="replay", text=TRACED, scheme="cubic")
    assert len(trace) > 500
    # Places of nodes are its own.
    for key in ("links", "flows", "events", "map", "first"):
        assert found[key] == expected[key], key
    assert [node["name"] for node in found["nodes"]] == [node["name"] for node in expected["nodes"]]
    assert len({(node["x"], node["y"]) for node in found["nodes"]}) == len(found["nodes"])


@needs_node
@needs_wasm
@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("sto", {"stop"}),
        ("[topology]\nbot", {"bottleneck"}),
        ("[topology]\nbottleneck = { ra", {"rate"}),
        ("[[work", {"workload"}),
        ("[[workload]]\narrivals = { kind = ", {"poisson"}),
        ("[measure]\nseries = ", {"true", "false"}),
        ("# sto", set()),
    ],
)
def test_completion_knows_the_schema(before, wanted):
    found = set(ask(ask="completions", texts=[before])[0])
    assert wanted <= found and bool(wanted) == bool(found)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(folder):
    """The address of a folder's page, from a server as simple as can be."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The page's address."""
    folder = tmp_path_factory.mktemp("play")
    script.load(ROOT / "scripts/play_files.py").put(folder)
    with serving(folder) as address:
        yield address


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with Page(tmp_path_factory.mktemp("none") / "none.html") as page:
        yield page


@pytest.fixture
def opened(window):
    """The browser's page; whatever a test does with it, the console has no error."""
    window.errors.clear()
    yield window
    window.run("0")
    assert window.errors == []


READY = "'ready' in document.documentElement.dataset"
TROUBLE = "document.getElementById('trouble').textContent"
SAID = "document.getElementById('said').textContent"


def show(page, address, width=1280, theme="light"):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=3000, deviceScaleFactor=1, mobile=width < 640)
    page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    page.ask("Page.navigate", url="about:blank")
    page.ask("Page.navigate", url=address)
    wait(page, READY)


def wait(page, condition, seconds=120):
    """Until a condition holds; a loaded machine takes its time."""
    for _ in range(seconds * 5):
        try:
            if page.run(f"Boolean({condition})"):
                return
        except RuntimeError:
            pass  # between two pages
        time.sleep(0.2)
    raise AssertionError(f"{condition}: {page.run(SAID)!r}, {page.run(TROUBLE)!r}")


def scenario(page, text):
    """Types a scenario in place of what is there."""
    page.run("document.querySelector('.cm-content').focus()")
    for kind in ("keyDown", "keyUp"):
        page.ask("Input.dispatchKeyEvent", type=kind, key="a", code="KeyA", windowsVirtualKeyCode=65, modifiers=2)
    page.ask("Input.insertText", text=text)


def endless():
    return ONE_LINK.replace('"2 s"', '"100000 s"').replace('until = "1 s"', 'until = "100000 s"')


def press(page, key, code=None, modifiers=0):
    """A key, as a hand presses it."""
    known = {"Tab": 9, "Enter": 13, " ": 32, "Escape": 27, "ArrowLeft": 37}
    text = {"Enter": "\r", " ": " "}.get(key)
    about = {"key": key, "code": code or key, "windowsVirtualKeyCode": known[key], "modifiers": modifiers}
    page.ask("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
    page.ask("Input.dispatchKeyEvent", type="keyUp", **about)


def run(page):
    page.run("delete document.documentElement.dataset.table; document.getElementById('run').click()")


@needs_browser
@needs_wasm
@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (1280, "light")])
def test_it_runs_and_shows_table_report_and_replay(opened, served, width, theme):
    show(opened, served + "?example=bufferbloat", width, theme)
    run(opened)
    wait(opened, "document.querySelector('#frames [data-kind=report]')?.style.height")
    rows = opened.run("[...document.querySelectorAll('#summary tbody tr')].map(row => row.cells.length)")
    assert len(rows) == 2 and min(rows) >= 7, "drop-tail, CoDel"
    opened.run("document.getElementById('move').click()")
    wait(opened, "document.querySelector('#frames [data-kind=replay]')?.style.height")
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run(look.FAULTS) == []


@needs_browser
@needs_wasm
def test_an_error_stands_under_its_line_and_below(opened, served):
    show(opened, served)
    scenario(opened, 'stop = "1 fortnight"\n' + ONE_LINK.replace('stop = "2 s"\n', ""))
    wait(opened, "document.querySelector('.error-line')")
    assert opened.run("document.querySelector('.wrong').textContent") == 'stop = "1 fortnight"'
    assert "line 1: stop" in opened.run("document.getElementById('errors').textContent")


ROWS = "[...document.querySelectorAll('#summary tbody tr th')].map(head => head.textContent)"


@needs_browser
@needs_wasm
def test_variants_are_ticked(opened, served):
    show(opened, served)
    scenario(opened, ONE_LINK + VARIANTS)
    wait(opened, "!document.getElementById('varied').hidden")
    opened.run("document.getElementById('seeds').value = 1")
    opened.run("document.querySelector('#variants [value=faster]').click()")
    opened.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    opened.run("document.getElementById('command').click()")
    wait(opened, "window.copied")
    chosen = "'today,short queues,more traffic,as-today'"
    assert opened.run("window.copied").startswith(
        f"midpath compare scenario.toml --variants {chosen} --schemes newreno"
    )
    run(opened)
    wait(opened, "'table' in document.documentElement.dataset")
    assert opened.run(ROWS) == ["today", "short queues", "more traffic", "as-today"]
    # Without any, the scenario itself is run.
    opened.run("for (const box of document.querySelectorAll('#variants input')) box.checked = false")
    run(opened)
    wait(opened, "'table' in document.documentElement.dataset")
    assert opened.run(ROWS) == ["NewReno"]
    scenario(opened, ONE_LINK + '[variants.x]\n[variants.y]\nqueue.limit = "3 fortnights"\n')
    wait(opened, "document.querySelector('.error-line')")
    assert opened.run("document.querySelector('.wrong').textContent") == "[variants.y]"


@needs_browser
@needs_wasm
def test_sliders_change_the_scenario_and_run_it(opened, served):
    show(opened, served + "?embed&example=dumbbell", 400)
    labels = opened.run("[...document.querySelectorAll('#sliders span')].map(label => label.textContent)")
    assert labels == ["Buffer: 50 ms", "Delay of the bottleneck: 5 ms"]
    opened.run("delete document.documentElement.dataset.table; document.getElementById('slider-0').focus()")
    press(opened, "ArrowLeft")
    press(opened, "ArrowLeft")
    wait(opened, "'table' in document.documentElement.dataset")
    wait(opened, "!document.getElementById('run').disabled")
    assert 'limit = "25 ms"' in opened.run("document.querySelector('.cm-content').innerText")
    assert "Buffer: 25 ms" in opened.run("document.getElementById('sliders').textContent")
    assert opened.run("document.activeElement.id") == "slider-0"
    assert opened.run("document.documentElement.scrollWidth") <= 400
    # What is typed is where they start from.
    scenario(opened, ONE_LINK)
    assert "Buffer: 60 kB" in opened.run("document.getElementById('sliders').textContent")
    scenario(opened, "nothing")
    assert opened.run("document.getElementById('turn').hidden")


# What a reviewer pastes: what is said of it, and what it is run with at home if it is only too large.
PASTED = {
    "an unclosed string": (ONE_LINK.replace('"2 s"', '"2 s'), "line 3: invalid basic string", False),
    "an unknown key": (ONE_LINK.replace("[queue]", "[queue]\nlimt = 3"), "line 10: queue.limt: unknown field", False),
    "a file": ('topology = { file = "../a.gml" }\n', "line 1: topology.file: ../a.gml: cannot be read: drop it", False),
    "nothing": ("", "line 1: topology: is missing", False),
    "no TOML": ("Dear editor,", "line 1: ", False),
    "a megabyte": (f"# {'x' * 1_100_000}\n{ONE_LINK}", "the scenario is larger than a tab takes", True),
}


@needs_browser
@needs_wasm
@pytest.mark.parametrize(("text", "said", "at_home"), PASTED.values(), ids=PASTED)
def test_what_is_pasted_is_run_or_refused(opened, served, text, said, at_home):
    show(opened, served)
    scenario(opened, text)
    wait(opened, "document.getElementById('errors').textContent")
    assert opened.run("document.getElementById('errors').textContent").startswith(said)
    run(opened)
    wait(opened, TROUBLE)
    assert opened.run(TROUBLE).startswith(said)
    assert ("At home:\nmidpath compare" in opened.run(TROUBLE)) == at_home
    # And then what is right is run.
    scenario(opened, ONE_LINK)
    run(opened)
    wait(opened, "'table' in document.documentElement.dataset")
    assert opened.run(TROUBLE) == ""


@needs_browser
@needs_wasm
def test_no_link_is_made_that_cannot_be_opened(opened, served):
    show(opened, served)
    scenario(opened, f"# {'x' * 300_000}\n{ONE_LINK}")
    opened.run("document.getElementById('link').click()")
    wait(opened, TROUBLE)
    assert opened.run(TROUBLE) == "The scenario is too long for a link."


def link_of(held):
    squeezed = zlib.compressobj(9, wbits=-15)
    packed = squeezed.compress(json.dumps(held).encode()) + squeezed.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


DAMAGED = "it is damaged, or not whole"
HOSTILE = {
    "a megabyte": ("#s=" + "A" * 1_000_000, "it is too long"),
    "no base64": ("#s=%%%", DAMAGED),
    "nothing packed": ("#s=bm90IGpzb24", DAMAGED),
    "30 kB of anything": ("#s=" + "x" * 30_000, DAMAGED),
    "20 kB that unfold to 20 MB": (link_of({"text": " " * 20_000_000, "schemes": []}), "it unfolds to too much"),
    "null": (link_of(None), "it holds no scenario"),
    "a number": (link_of({"text": 7, "schemes": []}), "it holds no scenario"),
}


@needs_browser
@needs_wasm
def test_a_long_scenario_of_a_link_is_read_at_once(opened, served):
    """No pattern looks back over all of it again and again."""
    long = 'limit = "2 kB"\n' * 14_000
    began = time.monotonic()
    show(opened, served + link_of({"text": long, "schemes": ["cubic"]}))
    wait(opened, "document.getElementById('errors').textContent")
    assert "duplicate key" in opened.run("document.getElementById('errors').textContent")
    assert time.monotonic() - began < 8


@needs_browser
@needs_wasm
def test_markup_in_names_is_text(opened, served):
    hostile = "<img src=x onerror=document.title='taken'></script><script>document.title='taken'</script>"
    show(opened, served)
    scenario(opened, f'title = "{hostile}"\n' + ONE_LINK)
    run(opened)
    wait(opened, "document.querySelector('#frames [data-kind=report]')?.style.height")
    assert opened.run("document.title") == "Playground · Midpath"
    assert opened.run("document.querySelectorAll('img').length") == 0
    source = opened.run("document.querySelector('#frames [data-kind=report]').srcdoc")
    assert hostile not in source and "&#60;img src=x" in source
    assert opened.run("document.querySelector('#frames iframe').sandbox.value") == "allow-scripts"


@needs_browser
@needs_wasm
@pytest.mark.parametrize(("link", "why"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_link_is_an_error(opened, served, link, why):
    show(opened, served + link)
    assert opened.run(TROUBLE) == f"This link cannot be used: {why}."
    assert opened.run(SAID) == "Ready."


@needs_browser
@needs_wasm
def test_what_is_too_large_is_refused_with_the_command(opened, served):
    show(opened, served + "?example=dumbbell")
    scenario(opened, too_large())
    run(opened)
    wait(opened, TROUBLE)
    trouble = opened.run(TROUBLE)
    assert (
        "memory" in trouble
        and "At home:\nmidpath compare scenario.toml --schemes newreno --seed 3 --seeds 3" in trouble
    )
    assert opened.run("document.getElementById('results').hidden")
    scenario(opened, ONE_LINK.replace("pairs = 3", "pairs = 100000000"))
    run(opened)
    wait(opened, f"{TROUBLE}.startsWith('line ')")


@needs_browser
@needs_wasm
def test_what_takes_too_long_is_refused_with_the_command(opened, tmp_path):
    script.load(ROOT / "scripts/play_files.py").put(tmp_path)
    pool = tmp_path / "pool.js"
    pool.write_text(pool.read_text().replace("RUN_MS = 60_000", "RUN_MS = 1_000"))
    with serving(tmp_path) as address:
        show(opened, address)
        scenario(opened, endless())
        run(opened)
        wait(opened, TROUBLE)
        trouble = opened.run(TROUBLE)
        assert trouble.startswith("This run is too long for a tab: after 1 s it had simulated")
        assert "At home:\nmidpath compare scenario.toml" in trouble


@needs_browser
@needs_wasm
def test_an_endless_run_can_be_stopped(opened, served):
    show(opened, served)
    scenario(opened, endless())
    run(opened)
    wait(opened, "!document.getElementById('stop').hidden")
    opened.run("document.getElementById('stop').click()")
    wait(opened, f"{SAID} === 'Stopped.'")
    # And then it runs again.
    scenario(opened, ONE_LINK)
    run(opened)
    wait(opened, "'table' in document.documentElement.dataset")


@needs_browser
@needs_wasm
def test_a_link_holds_the_scenario(opened, served):
    show(opened, served)
    opened.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    opened.run("document.getElementById('seeds').value = 7")
    scenario(opened, ONE_LINK)
    opened.run("document.getElementById('link').click()")
    wait(opened, "window.copied")
    link = opened.run("window.copied")
    show(opened, link)
    assert opened.run("document.querySelector('.cm-content').textContent").startswith("seed = 3")
    assert opened.run("document.getElementById('seeds').value") == "7"


MAP = """scheme = "cubic"
topology = { file = "../maps/net.gml", default_rate = "10 Mbps", default_delay = "1 ms", hosts = { per_node = 1 } }
[[flow]]
from = "h0"
to = "h1"
size = "100 kB"
"""
NET = 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
DROP = """{{ const data = new DataTransfer();
for (const [name, part] of {files})
  data.items.add(new File([part.bytes ? Uint8Array.from(part.bytes) : part], name));
const drop = new DragEvent('drop', {{ dataTransfer: data, bubbles: true }});
document.querySelector('.cm-content').dispatchEvent(drop); }}"""


@needs_browser
@needs_wasm
def test_files_are_dropped_onto_it(opened, served):
    show(opened, served)
    opened.run(DROP.format(files=json.dumps([["mine.toml", MAP]])))
    wait(opened, "document.getElementById('errors').textContent.includes('drop it onto this page')")
    opened.run(DROP.format(files=json.dumps([["net.gml", NET]])))
    wait(opened, "!document.getElementById('errors').textContent")
    assert opened.run("document.getElementById('files').textContent") == "net.gml ×"
    opened.run("for (const box of document.querySelectorAll('#schemes input')) box.checked = box.value === 'cubic'")
    run(opened)
    wait(opened, "'table' in document.documentElement.dataset")
    assert opened.run("document.querySelectorAll('#summary tbody tr').length") == 1
    opened.run(DROP.format(files=json.dumps([["odd.csv", {"bytes": [255, 254, 0]}]])))
    wait(opened, f"{TROUBLE} === 'odd.csv is not UTF-8 text'")
    opened.run("document.querySelector('#files button').click()")
    wait(opened, "document.getElementById('errors').textContent.includes('drop it onto this page')")


@needs_browser
@needs_wasm
def test_it_works_without_a_network_once_loaded(opened, tmp_path):
    script.load(ROOT / "scripts/play_files.py").put(tmp_path)
    with serving(tmp_path) as address:
        show(opened, address)
        wait(opened, "'offline' in document.documentElement.dataset")
    assert opened.errors == []
    show(opened, address)
    run(opened)
    wait(opened, "document.querySelector('#frames [data-kind=report]')?.style.height")
    opened.run("document.getElementById('move').click()")
    wait(opened, "document.querySelector('#frames [data-kind=replay]')?.style.height")
    # Chromium says that there is no network.
    opened.errors[:] = [error for error in opened.errors if "ERR_CONNECTION_REFUSED" not in error]


FOCUSED = "(document.activeElement.id || document.activeElement.value || document.activeElement.className)"


@needs_browser
@needs_wasm
def test_a_keyboard_is_enough(opened, served):
    show(opened, served)
    opened.run("document.getElementById('gallery').focus()")
    seen = []
    while "run" not in seen and len(seen) < 60:
        # Tab indents in the editor, unless Escape comes first.
        if "cm-content" in opened.run(FOCUSED):
            press(opened, "Escape")
        press(opened, "Tab")
        seen.append(opened.run(FOCUSED))
    assert {"choose", "newreno", "ideal", "seeds", "run"} <= set(seen) and any("cm-content" in one for one in seen), (
        seen
    )
    press(opened, "Enter")
    wait(opened, "document.querySelector('#frames [data-kind=report]')?.style.height")
    # The keyboard is where it was: the button was disabled meanwhile.
    wait(opened, f"!document.getElementById('run').disabled && {FOCUSED} === 'run'")
    # What can be scrolled is reached, and the buttons of the results.
    opened.run("document.getElementById('command').focus()")
    seen = []
    for _ in range(12):
        press(opened, "Tab")
        seen.append(opened.run(FOCUSED))
    assert {"save-results", "save-report", "scroll"} <= set(seen), seen


AXE = ROOT / "target/axe/node_modules/axe-core/axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe here: npm install --prefix target/axe axe-core@4.14.1")
VIOLATIONS = """axe.run({ iframes: false }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`)))"""


def violations(page):
    page.run(AXE.read_text(encoding="utf-8"))
    return page.run(VIOLATIONS)


@needs_axe
@needs_browser
@needs_wasm
@pytest.mark.parametrize(
    ("width", "theme", "example"),
    [(1280, "light", "bufferbloat"), (1280, "dark", "inrpp_backpressure"), (400, "light", "bufferbloat")],
)
def test_axe_finds_nothing(opened, served, tmp_path, width, theme, example):
    show(opened, f"{served}?example={example}", width, theme)
    assert violations(opened) == []
    run(opened)
    wait(opened, "document.querySelector('#frames [data-kind=report]')?.style.height")
    opened.run("document.getElementById('move').click()")
    wait(opened, "document.querySelector('#frames [data-kind=replay]')?.style.height")
    scenario(opened, 'stop = "1 fortnight"\n' + ONE_LINK.replace('stop = "2 s"\n', ""))
    wait(opened, "document.querySelector('.error-line')")
    assert violations(opened) == []
    for kind in ("report", "replay"):
        file = tmp_path / f"{kind}.html"
        file.write_text(opened.run(f"document.querySelector('#frames [data-kind={kind}]').srcdoc"), encoding="utf-8")
    for kind in ("report", "replay"):
        opened.ask("Page.navigate", url=(tmp_path / f"{kind}.html").as_uri())
        opened.settle()
        assert violations(opened) == [], kind
    opened.ask("Page.navigate", url=served.replace("index", "explore") + "#inrpp")
    wait(opened, "Number(document.documentElement.dataset.drawn) > 0")
    assert violations(opened) == []


@needs_browser
@needs_wasm
@pytest.mark.parametrize("system", ["inrpp", "fcp", "mircc", "rpm"])
def test_sliders_draw_the_figure_again(opened, served, system):
    drawn = "Number(document.documentElement.dataset.drawn)"
    opened.ask("Emulation.setDeviceMetricsOverride", width=400, height=700, deviceScaleFactor=1, mobile=True)
    opened.ask("Page.navigate", url="about:blank")
    opened.ask("Page.navigate", url=served.replace("index", "explore") + "#" + system)
    wait(opened, f"{drawn} > 0")
    before = opened.run("document.getElementById('figure').innerHTML")
    assert opened.run("document.querySelectorAll('#figure polyline').length") == {"inrpp": 3, "mircc": 3}.get(system, 2)
    opened.run("{ const one = document.querySelector('input'); one.value = one.min; one.oninput(); }")
    wait(opened, f"{drawn} > 1")
    assert opened.run("document.getElementById('figure').innerHTML") != before
    assert not AXE.is_file() or violations(opened) == []
    assert opened.run("document.documentElement.scrollWidth") <= 400


def drawn(scene, text):
    """Times and values of each curve."""
    found = []
    for scheme in scene["runs"]:
        series = midpath.run(midpath.Scenario.from_toml(text).with_(scheme=scheme)).series.to_pandas()
        for key in scene["lines"]:
            metric, entity = key.split(" ", 1)
            rows = series[(series.metric == metric) & (series.entity == entity)]
            found.append((rows.time_s.to_numpy(), rows.value.to_numpy()))
    return found


def between(curve, low, high):
    time, value = curve
    return float(value[(time > low) & (time <= high)].mean())


@needs_node
def test_what_the_explanations_say_is_so():
    scenes = ask(ask="scenes")
    full = [curve[0][curve[1] > 0.9 * curve[1].max()][0] for curve in drawn(scenes["inrpp"], scenes["inrpp"]["text"])]
    smaller = [curve[0][curve[1] > 0.9 * curve[1].max()][0] for curve in drawn(scenes["inrpp"], scenes["inrpp"]["low"])]
    assert full == sorted(full) and len(set(full)) == 3, "r2, r1, r0"
    assert smaller[-1] < full[-1], "sooner with a smaller cache"
    for price in drawn(scenes["fcp"], scenes["fcp"]["text"]):
        assert between(price, 2.5, 3) > 1.5 * between(price, 0.6, 1), "two pay where one did"
    *_, secondary = drawn(scenes["mircc"], scenes["mircc"]["text"])
    assert between(secondary, 2, 3) < 0.7 * between(secondary, 0.6, 1), "the second class yields"
    cubic, with_rpm = drawn(scenes["rpm"], scenes["rpm"]["text"])
    assert between(with_rpm, 1, 4) < 0.2 * between(cubic, 1, 4), "the signal comes sooner"


@needs_browser
def test_without_the_simulator_the_page_says_so(opened, tmp_path):
    script.load(ROOT / "scripts/play_files.py").put(tmp_path, tmp_path / "none.wasm")
    with serving(tmp_path) as address:
        opened.ask("Page.navigate", url=address)
        wait(opened, "document.getElementById('trouble').textContent")
        assert "midpath.wasm.gz: 404" in opened.run(TROUBLE)
        opened.errors[:] = [error for error in opened.errors if "midpath.wasm.gz" not in error]
