"""Schemes describe themselves: nobody else knows them by name, and one from outside is drawn like ours."""

import ast
import json
import re

import pytest

import midpath
from conftest import ROOT
from midpath import cli
from midpath.equipment import equipment_of
from midpath.palette import HUES, looks, name
from midpath.report import html
from midpath.report.gauges import COMMON, gauges
from midpath.report.model import model_of
from midpath.report.path import AXIS_PX, WITHOUT, state_timeline
from midpath.schemes import described, gauges_of, shipped
from midpath.units import SCALES
from test_report import data_of
from test_report_tracks import steps, with_series

# Where schemes may be named, and why.
ALLOWED = {
    "python/midpath/papers/": "each paper's claims are about its own schemes",
    "python/midpath/analysis/": "calculations of two of the papers",
    "python/midpath/lab/": "RPM's laboratory, with the controls that Linux has",
    "python/midpath/benchmark/": "the scenarios that the benchmarks run",
    "python/midpath/entries.py": "the queues that schemes are made for, and columns besides the schemes that ship",
    "python/midpath/matrix/": "the application that has a network for itself",
    "python/midpath/evaluate/": "what RFCs and drafts compare with: NewReno and CUBIC, BBR's states, calls, L4S",
    "python/midpath/commands/cost.py": "INRPP's calculation of its cache",
    "crates/topo/src/format/mod.rs": "a file format: that of HPCC's simulator",
    "net/node/src/overlay.rs": "what a link goes over, which is no flow of a scheme",
    "net/node/src/event_loop.rs": "datagrams, which are no flows of a scheme",
    "crates/python/src/policy.rs": "FCP's endpoint policies, written in Python",
}
CRATES = ("crates/core", "crates/sim", "crates/topo", "crates/traffic", "crates/ideal", "net/node", "crates/python")
DUMBBELL = """
stop = "2 s"
measure = { series = true }
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "5 ms" }
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "s1"
to = "d1"
"""
# Gauges that only some parameters show.
NEEDS = {
    "fcp": ("priority_price", "stability_price"),
    "inrpp": ("carried", "windows_lowered"),
    "mptcp": tuple(f"subflow{n}{what}" for n in range(2, 9) for what in ("_bytes", "_cwnd_bytes")),
    "mircc": ("strayed",),
    "swift": ("fcwnd_packets", "ecwnd_packets", "endpoint_delay_s"),
    "uec": ("credit_bytes",),
}


def literals():
    """The texts in our code outside the schemes' folders: file and text, without doc strings, comments and tests."""
    for file in sorted((ROOT / "python" / "midpath").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
        yield file, [str(node.value) for node in texts]
    for crate in CRATES:
        for file in sorted((ROOT / crate / "src").rglob("*.rs")):
            lines = file.read_text(encoding="utf-8").partition("#[cfg(test)]")[0].splitlines()
            # Examples of keys are documentation, as comments are.
            said = ("//", '#[schemars(extend("examples"')
            code = "\n".join(line for line in lines if not line.lstrip().startswith(said))
            yield file, [] if "tests" in file.name else re.findall(r'"([^"\n]*)"', code)


def test_nobody_knows_a_scheme_by_name():
    names = "|".join(sorted({*shipped(), "tcp", "bbr"}, key=len, reverse=True))
    named = re.compile(rf"({names})([+-].*)?")
    found, used = [], set()
    for file, texts in literals():
        path = file.relative_to(ROOT).as_posix()
        hits = [text for text in texts if named.fullmatch(text)]
        reason = next((place for place in ALLOWED if path.startswith(place)), None)
        if hits and reason is None:
            found.append(f"{path}: {', '.join(hits)}")
        elif hits:
            used.add(reason)
    assert found == []
    assert used == set(ALLOWED), "places that name no scheme any more are to be taken off the list"


def scenario(scheme):
    """A short run of a scheme; of one that carries no flows, under a TCP."""
    carried = scheme if shipped()[scheme].hosts else f"cubic+{scheme}"
    ecn = '[schemes.cubic]\necn = true\n[queue]\nkind = "codel"\n' if carried != scheme else ""
    return f'scheme = "{carried}"\n{DUMBBELL}{ecn}'


@pytest.mark.parametrize("scheme", sorted(shipped()))
def test_what_is_recorded_is_described_and_the_reverse(scheme):
    result = midpath.run(scenario(scheme))
    series = result.series.to_pandas()
    assert {*series["entity"].str.partition(":")[0]} >= {"port", "flow"}
    for kind in ("port", "flow"):
        shown = {str(m) for m in series["metric"][series["entity"].str.startswith(f"{kind}:")]}
        told = gauges_of(result.run, kind)
        assert shown - {*told} <= COMMON | {"queue_bytes"}, "recorded, and nobody says what it is"
        assert {*told} - shown <= {*NEEDS.get(scheme, ())}, "described, and never recorded"
        assert {gauge.unit for gauge in told.values()} <= {*SCALES}


def test_a_run_says_what_its_schemes_are_and_their_parameters():
    run = midpath.run(f'scheme = "cubic"\n{DUMBBELL}[schemes.cubic]\nbeta = 0.5\n').run
    assert [*run["schemes"]] == ["cubic"]
    assert run["schemes"]["cubic"]["title"] == "CUBIC"
    assert run["schemes"]["cubic"]["parameters"]["beta"] == 0.5
    assert run["schemes"]["cubic"]["parameters"]["c"] == 0.4
    assert midpath.run(DUMBBELL, scheme="ideal").run["schemes"] == {}


@pytest.fixture
def outside(made_up):
    """A run of the example's scheme: what it says of itself is what its Rust test finds in a real run."""
    said = json.loads((ROOT / "examples/outside-scheme/tests/described.json").read_text())
    # What a scheme may say besides.
    phase = [{"name": "Growing", "tone": "calm"}, {"name": "Shrinking", "tone": "busy"}]
    said |= {"look": {"hue": "green", "dash": "dashdot"}}
    waits = [{"name": "Empty", "tone": "calm"}, {"name": "Queueing", "tone": "busy"}]
    said["ports"].append({"name": "state", "unit": "count", "meaning": "Whether a packet had to wait", "states": waits})
    said["flows"].append({"name": "phase", "unit": "count", "meaning": "What the sender does", "states": phase})
    tracks = {
        ("port:r0>r1", "state"): steps((2, 1), (6, 0)),
        ("port:r0>r1", "found_s"): steps((2, 0.004)),
        ("flow:0", "phase"): steps((3, 1), (4, 0)),
    }
    paths = [{"flow": 0, "nodes": ["r0", "r1"]}]
    made = with_series(midpath.run("[topology]\nbuiltin = 'abilene'\n"), tracks, paths, scheme="aimd")
    row = {"at": "routers", "scheme": "aimd", "ports": 1, "queue_bytes": [1000, 1000], "store_bytes": None}
    row |= {"aqm": "drop-tail", "scheduler": "fifo", "signal": "drop"}
    return midpath.Result(made.run | {"schemes": {"aimd": said}, "equipment": [row]}, made.tables)


def test_a_scheme_from_outside_is_drawn_like_ours(outside):
    assert name("aimd") == "Aimd"
    assert looks(["aimd"])["aimd"]["light"] == HUES["green"].light
    figure = state_timeline(model_of(outside))
    assert figure.note == "Aimd: ports in the order in which data crosses them. Band: state."
    assert figure.keys == [("tone:calm", "Empty"), ("tone:busy", "Queueing")]
    (band,) = [t for t in figure.variants["flow:0"]["data"] if t["meta"].get("tint") == "tone:busy"]
    assert band["x"][:2] == [2.0, 6.0]
    # It stores nothing: there is no area, and lanes are lower than those of a scheme that does.
    assert not [t for t in figure.variants["flow:0"]["data"] if t.get("fill") or "B" in str(t.get("text"))]
    assert figure.variants["flow:0"]["layout"]["height"] == AXIS_PX + WITHOUT.px
    curves = gauges(model_of(outside))
    assert [*curves.options.values()] == ["found", "phase"]
    axis = curves.variants["port/found_s"]["layout"]["yaxis"]["title"]["text"]
    assert axis == "found (ms)"
    assert "queueing delay that the last packet found" in curves.notes["port/found_s"]
    axis = curves.variants["flow/phase"]["layout"]["yaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == ([0, 1], ["Growing", "Shrinking"])
    page = html(outside)
    assert {"Aimd", "Queueing", "Shrinking"} <= {*re.findall(r"\w+", page)}
    assert {"tone:busy", "tone:calm"} <= data_of(page)["tints"].keys()


def test_a_scheme_from_outside_has_its_equipment_in_the_table(outside):
    found = equipment_of(outside)
    assert (found.hosts, found.routers, found.ecn) == ("aimd", "aimd", "no")


def test_of_a_scheme_that_says_nothing_there_is_its_name():
    silent = described("nobody")
    assert (silent.title, silent.ports, silent.flows) == ("nobody", {}, {})
    assert name("nobody+rpm") == "nobody + RPM"


def test_a_run_that_says_nothing_of_its_schemes_is_read_as_we_know_them(outside):
    silent = {key: value for key, value in outside.run.items() if key != "schemes"} | {"scheme": "inrpp"}
    assert gauges_of(silent, "port")["state"].states[2].name == "Backpressure"


def test_what_a_later_version_adds_is_left_alone(outside):
    later = outside.run["schemes"]["aimd"] | {"mood": "good", "look": {"hue": "plaid"}}
    later["ports"] = [{"name": "state", "states": [{"name": "Odd", "tone": "loud"}]}]
    result = midpath.Result(outside.run | {"schemes": {"aimd": later}}, outside.tables)
    assert state_timeline(model_of(result)).keys == [("tone:calm", "Odd")]
    assert looks(["aimd"])["aimd"]["light"] in {hue.light for hue in HUES.values()}


def test_the_command_lists_them(capsys):
    assert cli.main(["schemes", "--json"]) == 0
    assert [*json.loads(capsys.readouterr().out)] == [*shipped()]
    assert cli.main(["schemes", "inrpp", "--json"]) == 0
    assert [*json.loads(capsys.readouterr().out)] == ["inrpp"]
    assert cli.main(["schemes"]) == 0
    assert "unmodified TCP" in capsys.readouterr().out
    assert cli.main(["schemes", "inrpp"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "cache, if it is set",
        "2 Backpressure",
        "cache_bytes  Bytes in the custody cache [bytes]",
        "B of option",
    ):
        assert words in printed
    assert cli.main(["schemes", "inrp"]) == 2
    assert "there is no scheme 'inrp'" in capsys.readouterr().err
