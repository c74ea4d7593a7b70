"""docs/see-it.md: its commands run, and what it says is seen there is in the record."""

import sys

import numpy as np
import pytest

from conftest import ROOT
from midpath.cli import main
from midpath.trace import Trace, packet_life

sys.path.insert(0, str(ROOT / "scripts"))

from replay_pictures import IMAGES, PAGE, STILLS, commands

COMMANDS = dict(commands())


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The record of a story, run as the page says."""
    folder, known = tmp_path_factory.mktemp("see"), {}

    def run(name):
        if name not in known:
            words = COMMANDS[name][1:]
            out = folder / name
            here = [str(ROOT / word) if word.endswith(".toml") else word for word in words]
            here[here.index("--out") + 1] = str(out)
            assert main(here) == 0
            known[name] = Trace.of(out)
        return known[name]

    return run


def frame(trace):
    return trace.table.to_pandas()


def test_each_story_has_its_picture():
    page = PAGE.read_text(encoding="utf-8")
    assert set(COMMANDS) == set(STILLS)
    for name in STILLS:
        assert (IMAGES / f"{name}.svg").stat().st_size > 5000
        assert f"(images/see/{name}.svg)" in page
    assert page.count("midpath replay ") == len(STILLS)


def test_slow_start_overshoots(told):
    events = frame(told("overshoot"))
    drops, windows = events[events.event == "dropped"], events[events.event == "window"]
    first = drops.time_ps.iloc[0]
    assert first / 1e12 == pytest.approx(1.168, abs=0.001)
    assert (len(drops), set(drops.node)) == (72, {"r0"})
    assert windows[windows.time_ps < first].value.iloc[-1] == pytest.approx(107e3, abs=1e3)
    assert windows.value.max() == pytest.approx(198e3, abs=1e3)
    queued = events[(events.event == "queued") & (events.node == "r0")]
    assert queued.value.max() == pytest.approx(62e3, abs=1e3)


def test_custody_fills_hop_by_hop_and_a_detour_is_taken(told):
    events = frame(told("inrpp-chain"))
    assert "dropped" not in set(events.event)
    pushing = events[events.event == "Backpressure"].groupby("node", observed=True).time_ps.min()
    assert list(pushing.sort_values().index) == ["r2", "r1", "r0"]
    last = events[events.event == "fetched"].groupby("node", observed=True).time_ps.max()
    assert list(last.sort_values().index) == ["r0", "r1", "r2"]
    detour = frame(told("inrpp-detour"))
    around = detour[(detour.event == "left") & (detour.node == "r0") & (detour.peer == "r1") & (detour.kind == "data")]
    near = around[(around.time_ps - 2.3e12).abs() < 1e10]
    assert len(near) > 3
    assert set(near.flow) == {0}
    assert {"r0", "r4"} <= set(detour[detour.event == "stored"].node)


def test_a_join_raises_fcps_price_by_a_half(told):
    events = frame(told("fcp-join"))
    price = events[events.event == "price"]
    third = price[price.flow == 2].value
    assert third.iloc[0] == 0
    before = price[(price.time_ps < 3e12) & (price.value > 0)].value.mean()
    first = price[(price.flow == 2) & (price.value > 0)]
    assert first.value.iloc[0] / before == pytest.approx(1.5, abs=0.1)
    heard = price[(price.value > 1.3 * before)].groupby("flow", observed=True).time_ps.min()
    assert heard.max() - heard.min() < 3e9
    assert price[price.time_ps > 3.27e12].value.mean() / before == pytest.approx(1.5, abs=0.1)


def test_mircc_stamps_less_where_both_meet(told):
    events = frame(told("mircc-stamps"))
    stamped = events[events.event == "stamped"]
    at = {key: rows.value.to_numpy() for key, rows in stamped.groupby(["node", "peer"], observed=True)}
    assert set(at["x", "e2"]) == {0.95 * 12e6}
    for key, most in ((("e1", "x"), 14.25e6), (("x", "e3"), 8.55e6)):
        assert at[key][0] == pytest.approx(most)
        assert at[key].min() < 0.6 * most


def test_rpms_ack_overtakes_the_loop(told):
    trace = told("rpm-loop")
    chosen = np.flatnonzero(trace.is_of("event", "congestion counted"))[0]
    event = trace.event(int(chosen))
    signal = trace.event(int(np.flatnonzero(trace.is_of("event", "ECE set"))[0]))
    assert (event.packet, event.node, signal.node) == (67, "r0", "r0")
    assert event.time == pytest.approx(1.1256, abs=1e-4)
    assert signal.time - event.time == pytest.approx(1.2e-3, abs=1e-4)
    heard = packet_life(trace, signal.packet).events[-1]
    arrived = packet_life(trace, event.packet).events[-1]
    assert (heard.what, heard.node, arrived.what, arrived.node) == ("delivered", "s0", "delivered", "d0")
    assert heard.time == pytest.approx(1.1317, abs=1e-4)
    assert arrived.time - heard.time == pytest.approx(5.3e-3, abs=1e-4)
    slower = trace.is_of("event", "window") & (trace.time >= heard.time)
    before = trace.is_of("event", "window") & (trace.time < heard.time)
    assert trace.value[slower][0] < 0.75 * trace.value[before][-1]
