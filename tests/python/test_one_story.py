"""A lost packet that is repeated and delivered is one story in record, captures, Perfetto, qlog and replay."""

import csv
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import browser
import midpath
from conftest import ROOT
from midpath.trace import Trace, packet_life
from midpath.trace.perfetto import write_perfetto
from midpath.trace.qlog import write_qlog
from midpath.trace.replay import write_replay
from test_perfetto import fields
from test_trace import TRACE, scenario

sys.path.insert(0, str(ROOT / "evidence/lab" / "report-looks"))

from chromium import Page

CAPTURE = '[measure]\npcap = [{ from = "r0", to = "r1", drops = true }]\n'


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The folder, the record, the packet that was lost, and the one that repeats it."""
    folder = tmp_path_factory.mktemp("story") / "out"
    midpath.run(scenario(more=CAPTURE + TRACE)).save(folder)
    trace = Trace.of(folder)
    lost = trace.event(int(np.flatnonzero(trace.is_of("event", "dropped") & trace.is_of("kind", "data"))[0]))
    again = list(np.flatnonzero(trace.of_same(lost) & trace.is_of("event", "repeated")))
    repeat = trace.event(int(again[0]))
    assert packet_life(trace, repeat.packet).events[-1].what == "delivered"
    return folder, trace, lost, repeat


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark on this machine")
def test_captures_name_the_packet_and_why_it_was_dropped(story):
    folder, trace, lost, repeat = story
    names = ("frame.time_epoch", "tcp.seq_raw", "frame.packet_id", "midpath_trace.packet", "midpath_trace.dropped")
    asked = [word for name in names for word in ("-e", name)]
    dissector = f"lua_script:{ROOT / 'tools' / 'midpath.lua'}"
    command = ["tshark", "-X", dissector, "-r", folder / "r0-r1.pcapng", "-T", "fields", "-E", "separator=,", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = list(csv.reader(done.stdout.splitlines()))
    # Each packet that left or was dropped there is in it, under its number.
    here = trace.is_of("node", "r0") & trace.is_of("peer", "r1") & trace.is_of("event", "left", "dropped")
    assert [int(row[3]) for row in rows] == trace.columns["packet"][here].tolist()
    assert [row[4] for row in rows] == [trace.text("why", int(row)) for row in np.flatnonzero(here)]
    assert all(row[2] in ("", row[3]) for row in rows)
    of = {int(row[3]): row for row in rows}
    assert of[lost.packet][4] == "no room"
    assert float(of[lost.packet][0]) == pytest.approx(lost.time, abs=1e-9)
    assert of[repeat.packet][1] == of[lost.packet][1] == str(lost.number)
    assert of[repeat.packet][4] == ""


def test_captures_are_as_they_were_without_a_trace_and_without_drops(story):
    folder, *_ = story
    plain = midpath.run(scenario(more=CAPTURE.replace(", drops = true", ""))).files["r0-r1.pcapng"]
    assert b"packet " not in plain
    assert b"dropped" not in plain
    dropped = midpath.run(scenario(more=CAPTURE)).files["r0-r1.pcapng"]
    assert dropped.count(b"dropped: no room") == (folder / "r0-r1.pcapng").read_bytes().count(b"; dropped: no room") > 0
    assert len(plain) < len(dropped) < (folder / "r0-r1.pcapng").stat().st_size


def test_perfetto_has_both_as_flows_of_its_own(story, tmp_path):
    _, trace, lost, repeat = story
    data = write_perfetto(trace, tmp_path / "t").read_bytes()
    events = [fields(packet[11][0]) for packet in map(fields, fields(data)[1]) if 11 in packet]
    names = {}
    for event in events:
        for field in (47, 48):
            for flow in event.get(field, []):
                names.setdefault(int.from_bytes(flow, "little") - 1, []).append(event[23][0].decode())
    assert names[lost.packet][0] == f"sent data {lost.packet}"
    assert names[lost.packet][-1] == f"dropped data {lost.packet}: no room"
    assert names[repeat.packet][0].startswith(f"repeated data {repeat.packet}")
    assert names[repeat.packet][-1] == f"delivered data {repeat.packet}"


def test_qlog_has_the_same_events(story, tmp_path):
    _, trace, lost, repeat = story
    file = json.loads(write_qlog(trace, tmp_path / "t.qlog").read_text(encoding="utf-8"))
    network = [event for event in file["traces"][-1]["events"] if "packet" in event["data"]]
    for packet in (lost.packet, repeat.packet):
        mine = [event for event in network if event["data"]["packet"] == packet]
        life = trace.packet(packet)
        assert [event["row"] for event in mine] == [event.row for event in life]
        assert [event["name"] for event in mine] == [f"midpath:{event.what}" for event in life]
        assert mine[0]["data"]["number"] == lost.number


@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine")
def test_the_replay_shows_both_lives(story, tmp_path):
    _, trace, lost, repeat = story
    with Page(write_replay(trace, tmp_path / "replay.html")) as page:
        page.show(900, "light")
        for packet in (lost.packet, repeat.packet):
            page.run(f"replay.choose({{packet: {packet}}}); replay.draw()")
            shown = page.run("[...document.querySelectorAll('#life tr')].map(r => r.children[3].textContent)")
            assert shown == [event.what for event in trace.packet(packet)]
            assert page.run("document.getElementById('about').textContent").startswith(f"Packet {packet}: data")
