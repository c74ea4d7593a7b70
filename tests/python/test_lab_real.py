"""Scenarios in network namespaces of this machine, with the kernel's own TCP. Short, and no figure is a claim."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from conftest import ROOT
from midpath import load
from midpath.errors import UsageError
from midpath.lab import budget, clean, machine, real
from midpath.scenario import Scenario

# What a container may keep from root. Asked for without the laboratory.
NEEDS = """
ip netns add $0
trap "ip netns delete $0" EXIT
ip link add e0 netns $0 gso_max_segs 1 type veth peer name l0 netns $0
nsenter --net=/run/netns/$0 sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
nsenter --net=/run/netns/$0 ip route show
"""
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def folders():
    """What a laboratory may leave; overlays are of other tests."""
    found = Path(tempfile.gettempdir()).glob("midpath-*")
    return {path for path in found if path.is_dir() and not path.name.startswith("midpath-overlay-")}


def lacking():
    """Why namespaces are not enough here, or `None`."""
    if (why := machine.no_spaces()) is not None:
        return why
    done = subprocess.run(
        ["sh", "-ec", NEEDS, f"midpath-try-{os.getpid()}"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return f"this machine refuses: {' '.join(done.stderr.split())}"
    if "cubic" not in CONTROLS.read_text().split():
        return "this kernel has no cubic"
    return None


def tool():
    """What these tests start: what `make test` has built, before anything that lies around."""
    built = ROOT / "target" / "debug" / "midpath-lab"
    return machine.program("midpath-lab", str(built) if built.exists() else None)


WHY = lacking()
if WHY is None:
    try:
        TOOL = tool()
    except UsageError as error:
        WHY = str(error)
pytestmark = pytest.mark.skipif(WHY is not None, reason=WHY or "")

SCENARIO = {
    "title": "a test",
    "scheme": "cubic",
    "stop": "3 s",
    "topology": {
        "generate": "dumbbell",
        "pairs": 2,
        "bottleneck": {"rate": "10 Mbps", "delay": "10 ms"},
        "access": {"rate": "50 Mbps", "delay": "1 ms"},
    },
    "queue": {"limit": "50 ms"},
    "flow": [
        {"from": "s0", "to": "d0", "size": "500 kB", "start": "100 ms", "group": "short"},
        {"from": "s1", "to": "d1", "group": "long"},
    ],
    "measure": {"series": True, "interval": "20 ms", "pcap": [{"from": "r0", "to": "r1", "packets": 50}]},
}
# What nodes send is encrypted, so they have no captures.
SERIES = {"series": True, "interval": "20 ms"}


@pytest.fixture(scope="module")
def laboratory():
    return real.Laboratory(TOOL, budget.Budget(1e9, 0.0, real_time=True))


def run(laboratory, **changes):
    scenario = Scenario.from_dict(SCENARIO)
    return real.run(
        scenario.with_(changes={key.replace("__", "."): value for key, value in changes.items()}), laboratory
    )


def port(result, node, peer):
    return next(one for one in result.ports.to_pylist() if (one["node"], one["peer"]) == (node, peer))


def test_flows_go_through_the_scenario_s_links(laboratory, tmp_path):
    result = run(laboratory)
    long, short = result.flows.to_pylist()
    assert (short["delivered_bytes"], short["completed"], long["completed"]) == (500_000, True, False)
    # No faster than the link: 500 kB are 0.4 s at 10 Mbps, and a round trip is 24 ms.
    assert short["fct_s"] > 0.42
    assert short["rtt_min_s"] >= 0.024
    assert long["delivered_bytes"] > 500_000
    middle, back = port(result, "r0", "r1"), port(result, "r1", "r0")
    assert middle["bytes"] * 8 <= 10e6 * 3.1
    # Data one way, ACKs the other; all of them on each link of the way.
    assert back["packets"] > middle["packets"] / 3
    assert back["bytes"] < middle["bytes"] / 10
    # 50 ms of 10 Mbps are 62.5 kB.
    assert 0 < middle["queue_max_bytes"] <= 62_500
    assert middle["delay_max_s"] <= 0.0501
    # What was lost there was the flows'.
    lost = middle["drops_queue"] + port(result, "s0", "r0")["drops_queue"] + port(result, "s1", "r0")["drops_queue"]
    assert sum(flow["lost_packets"] for flow in (short, long)) == lost
    assert result.run["emulator"]["late_us"]["p50"] is not None
    assert result.run["emulator"]["missed"] == 0
    metrics = set(zip(*(result.series[name].to_pylist() for name in ("entity", "metric")), strict=True))
    assert {("port:r0>r1", "queue_bytes"), ("flow:0", "cwnd_bytes"), ("group:long", "goodput_bps")} <= metrics
    capture = result.files["r0-r1.pcapng"]
    assert capture[:4] == b"\x0a\x0d\x0d\x0a"
    assert 3000 < len(capture) < 10_000
    result.save(tmp_path / "run")
    assert load(tmp_path / "run").summary == result.summary


def test_super_frames_are_cut_on_the_first_link(laboratory):
    whole = real.Laboratory(laboratory.midpath_lab, laboratory.budget, whole=True)
    # 500 kB beside another flow, with time for a timeout of the kernel's.
    result = run(whole, stop="4 s")
    sent = port(result, "s1", "r0")
    assert sent["packets"] > 100
    # An IP packet is no longer than the MTU.
    assert sent["bytes"] / sent["packets"] < 1501
    assert result.flows.to_pylist()[1]["delivered_bytes"] == 500_000


def test_queues_mark_and_links_lose_and_fail(laboratory):
    vary = [{"link": ["r0", "r1"], "one_way": True, "loss": {"p": "1 %", "r": "50 %"}}]
    fault = [{"at": "1 s", "kind": "link-down", "link": ["r0", "r1"], "until": "1.5 s"}]
    queue = {"kind": "delay-step", "target": "5 ms", "limit": "100 ms"}
    changes = {"vary": vary, "fault": fault, "queue": queue, "schemes": {"cubic": {"ecn": True}}}
    result = run(laboratory, **changes)
    middle = port(result, "r0", "r1")
    assert middle["corrupted"] > 0
    assert middle["marks"] > 0
    flows = result.flows.to_pylist()
    assert all(flow["ecn"] for flow in flows)
    assert sum(flow["marked_packets"] for flow in flows) == middle["marks"]
    assert sum(flow["echoed_packets"] for flow in flows) > 0
    # Nothing passes while the link is down.
    series = result.series.to_pandas()
    down = series[(series.entity == "group:long") & (series.time_s > 1.1) & (series.time_s < 1.5)]
    assert len(down) > 5
    assert (down.value == 0).all()


@pytest.fixture
def midpathd(monkeypatch):
    """The program that `make test` has built, as the one on the path."""
    built = ROOT / "target" / "debug" / "midpathd"
    if not built.exists():
        try:
            machine.program("midpathd")
        except UsageError as error:
            pytest.skip(str(error))
        return
    monkeypatch.setenv("PATH", f"{built.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("scheme", ["fcp", "rcp", "inrpp", "newreno"])
def test_midpath_s_nodes_carry_flows_over_the_scenario_s_links(laboratory, midpathd, scheme):
    before = folders()
    by_nodes = real.Laboratory(laboratory.midpath_lab, laboratory.budget, nodes=scheme == "newreno")
    result = run(by_nodes, scheme=scheme, measure=SERIES)
    short, long = sorted(result.flows.to_pylist(), key=lambda flow: flow["group"], reverse=True)
    assert (short["delivered_bytes"], short["completed"], long["completed"]) == (500_000, True, False)
    assert short["fct_s"] > 0.42
    # 500 kB and the rest of 3 s: a node's ports have the scenario's rate.
    assert 0.5 * 10e6 * 2.9 < 8 * (500_000 + long["delivered_bytes"]) < 10e6 * 3.1
    middle = port(result, "r0", "r1")
    assert 0.5 < middle["utilisation"] < 1.03
    assert middle["queue_max_bytes"] >= 1415
    assert middle["delay_max_s"] > 0
    # What wakes late, or a line that is too slow, loses some; not many.
    assert result.summary["sent_packets"] >= (500_000 + long["delivered_bytes"]) // 1415
    assert result.run["nodes"]["late_us"]["p99"] > 0
    assert short["sent_packets"] is None
    metrics = set(zip(*(result.series[name].to_pylist() for name in ("entity", "metric")), strict=True))
    assert ("group:long", "goodput_bps") in metrics
    # Keys and configurations are gone.
    assert folders() == before


def test_a_line_under_nodes_fails_and_they_go_on(laboratory, midpathd):
    fault = [{"at": "1 s", "kind": "link-down", "link": ["r0", "r1"], "until": "1.5 s"}]
    result = run(laboratory, scheme="fcp", fault=fault, stop="5 s", measure=SERIES)
    series = result.series.to_pandas()
    long = series[series.entity == "group:long"]
    down = long[(long.time_s > 1.1) & (long.time_s < 1.5)]
    assert len(down) > 5
    assert (down.value == 0).all()
    assert long[long.time_s > 3].value.mean() > 3e6


def test_what_is_refused_builds_nothing(laboratory):
    before = set(Path("/run/netns").iterdir()) if Path("/run/netns").is_dir() else set()
    with pytest.raises(ValueError, match="deploy"):
        run(laboratory, deploy=[{"scheme": "rpm", "nodes": ["routers"]}])
    slow = real.Laboratory(laboratory.midpath_lab, budget.Budget(10.0, 0.0, real_time=True))
    with pytest.raises(ValueError, match=r"topology\.\w+\.rate: .* budget is 10 link transmissions"):
        run(slow)
    assert set(Path("/run/netns").iterdir()) - before == set()


def test_a_calibration_says_what_a_frame_costs():
    found = budget.calibrate(TOOL)
    # Between 100 ns and 1 ms, on whatever machine.
    assert 500 < found.hops_per_s < 5e6
    assert 0 < found.shortest_rtt_s < 10


KILLED = """
import sys
from midpath.lab import budget, real
from midpath.scenario import Scenario
laboratory = real.Laboratory(sys.argv[1], budget.Budget(1e9, 0.0, real_time=True))
changes = {"stop": "60 s", "measure": {}}
real.run(Scenario.from_toml(sys.stdin.read()).with_(scheme=sys.argv[2], changes=changes), laboratory)
"""


@pytest.mark.parametrize("scheme", ["cubic", "fcp"])
def test_a_killed_laboratory_leaves_nothing(cli, midpathd, scheme):
    process = subprocess.Popen([sys.executable, "-c", KILLED, TOOL, scheme], stdin=subprocess.PIPE, text=True)
    process.stdin.write(Scenario.from_dict(SCENARIO).to_toml())
    process.stdin.close()
    name = f"midpath-{process.pid}."
    patience = time.monotonic() + 60
    command, many = ("midpath-lab run", 1) if scheme == "cubic" else ("midpathd node up", 6)
    while len(runs := children(process.pid, command)) < many and time.monotonic() < patience:
        time.sleep(0.05)
    assert len(runs) == many
    assert clean.left() == [path for path in clean.left() if not path.name.startswith(name)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Links and flows end with it; its namespaces are found by their name.
    while any(Path(f"/proc/{run}").exists() for run in runs) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{run}").exists() for run in runs)
    left = [path.name for path in clean.left() if path.name.startswith(name)]
    assert len(left) == 7
    folders = [path.name for path in clean.left_folders() if path.name.startswith(name)]
    assert len(folders) == (scheme == "fcp")
    said = cli("lab", "clean").out
    assert all(f"removed {one}" in said for one in [*left, *folders])
    assert clean.left_folders() == [path for path in clean.left_folders() if not path.name.startswith(name)]
    assert not [path for path in Path("/run/netns").iterdir() if path.name.startswith(name)]


def children(parent, command):
    """Numbers of a process's children with this command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            words = (path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if fields[1] == str(parent) and command in words:
                found.append(int(path.parent.name))
    return found
