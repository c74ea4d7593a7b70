"""Nodes that are killed, attacked, and whose wall clock is stepped: `evidence/lab/overlay` in seconds."""

import re
import shutil
import subprocess
import sys
import time

import pytest

import script
from conftest import ROOT

CHECKS = ROOT / "evidence/lab" / "overlay"
nodes = script.load(CHECKS / "nodes.py")
soak = script.load(CHECKS / "soak.py")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only"),
    pytest.mark.nightly("net/", "crates/core/"),
]


@pytest.fixture(autouse=True)
def built():
    try:
        nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.skipif(not nodes.may_have_namespaces("-Urnm"), reason="needs namespaces and ip")
def test_a_days_events_leave_nothing():
    """The long run has a day in an hour, and bounds for memory; here are ten minutes of a day in five seconds."""
    command = ["unshare", "-Urnm", sys.executable, CHECKS / "day.py", "5", "--pace", "120"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "as it should be" in done.stdout
    happened = {line.split(":")[0] for line in done.stdout.splitlines() if re.match(r"[a-z ]+: \d+$", line)}
    assert {"fetch", "bulk", "hang up", "refused", "unknown name", "scrape"} <= happened, done.stdout


@pytest.mark.parametrize("scheme", ["cubic", "fcp"])
def test_nodes_that_are_killed_leave_nothing(scheme):
    said = []
    soak.run(2.5, scheme, say=said.append)
    kills = int(re.match(r"(\d+) kills", said[0])[1])
    assert kills >= 1, said


def test_as_many_connections_stay_open_as_the_budget_is_for():
    """The long run has ten thousand in 64 MB; here 4 MB are for 684."""
    done = subprocess.run(
        [sys.executable, CHECKS / "load.py", "open", "650", "--memory", "4 MB", "--idle", "0.5"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("650 answered, 0 wrong, 0 failed") == 2, done.stdout
    assert "nothing left" in done.stdout


def test_short_requests_are_answered_and_those_that_hang_up_disturb_nobody():
    done = subprocess.run(
        [sys.executable, CHECKS / "load.py", "requests", "300", "3", "10"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "810 answered, 90 hung up, 0 wrong, 0 failed" in done.stdout


@pytest.mark.skipif(not nodes.may_have_namespaces(), reason="needs network namespaces and ip")
def test_strangers_are_counted_and_honest_flows_live():
    """In a namespace: half-open handshakes, replays, changes and noise, each for half a second."""
    done = subprocess.run(
        ["unshare", "-Urn", sys.executable, CHECKS / "hostile.py", "0.5"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = {line.split(":")[0].strip(): line for line in done.stdout.splitlines()}
    for attack, counted in [
        ("half-open", "'shed'"),
        ("as a", "'shed'"),
        ("replayed", "'replayed'"),
        ("changed", "'forged'"),
        ("noise", "'malformed'"),
    ]:
        assert counted in lines[attack], done.stdout


def test_a_wall_clock_that_is_stepped_by_an_hour_is_not_noticed(tmp_path):
    """Each second forth and back, at all nodes, by a library that is preloaded; the nodes' clock is monotonic."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs cc")
    library, calls = tmp_path / "clock.so", tmp_path / "calls"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, CHECKS / "clock.c", "-ldl"], check=True)
    calls.write_bytes(bytes(4096))
    stepped = {"LD_PRELOAD": str(library), "CLOCK_CALLS": str(calls)}
    # The library does what it says.
    times = []
    for _ in range(2):
        times.append(int(subprocess.check_output(["date", "+%s"], env=stepped)))
        time.sleep(1)
    assert abs(times[1] - times[0]) > 7000
    before = counted(calls)
    with nodes.serving(soak.talk) as server:
        overlay = nodes.Overlay("inrpp", forwards=(server,))
        try:
            overlay.start(environment=stepped)
            overlay.wait()
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                assert soak.ask(overlay.forward[server], b"give", soak.CONTENT) == "right"
            ups = [port["link"]["ups"] for name in nodes.NODES for port in overlay.ask(name)["ports"]]
            assert ups == [1, 1, 1, 1]
            logged = len(overlay.printed().splitlines())
        finally:
            overlay.close()
    wall, steady = (now - old for now, old in zip(counted(calls), before, strict=True))
    assert steady > 1000
    assert wall <= logged, "nothing but the log asks what time of day it is"


def counted(calls):
    data = calls.read_bytes()
    return [int.from_bytes(data[8 * i : 8 * i + 8], sys.byteorder) for i in range(2)]
