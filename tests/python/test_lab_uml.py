"""Scenarios in user-mode Linux: what is asked of it, and short runs where it has been built (`midpath lab kernel`)."""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import midpath
from midpath.compare.comparison import Comparison
from midpath.errors import UsageError
from midpath.lab import clean, kernel, qdiscs, real
from midpath.lab.guest import Guest
from midpath.scenario import Scenario
from test_lab_real import SCENARIO, port, tool
from test_lab_scenario import plan


def with_queues(qdisc="bfifo limit 62500", varies=False):
    """The plan of a dumbbell, s0 r0 r1 d0, whose ports have this queue."""
    queue = {"key": "queue", "qdisc": qdisc, "varies": varies}
    return plan(links=[link | {"queues": [queue, queue]} for link in plan().links])


# -- what it is told --


def test_routers_get_the_kernel_s_queues_and_hosts_keep_ours():
    found = qdiscs.queues(with_queues(), None)
    # Both routers' ports on the link between them, and towards their hosts.
    assert [queue.way for queue in found] == [1, 2, 3, 4]
    assert qdiscs.queues(with_queues(None), None) == []
    assert len(qdiscs.queues(with_queues(None), "cake")) == 4
    # Where the rate changes, only ours follow.
    assert qdiscs.queues(with_queues(varies=True), None) == []
    with pytest.raises(UsageError, match="--qdisc: s0–r0 varies in rate or state"):
        qdiscs.queues(with_queues(varies=True), "cake")
    said = qdiscs.said(with_queues(), found)
    assert said["r0>r1"] == "Linux: bfifo limit 62500"
    assert set(said) == {"r0>r1", "r1>r0", "r0>s0", "r1>d0"}
    assert set(qdiscs.said(with_queues(None), []).values()) == {"Midpath's"}


def test_a_shaper_at_the_link_s_rate_comes_before_the_discipline():
    queue = qdiscs.queues(with_queues("codel limit 9"), None)[1]
    assert list(qdiscs.script(with_queues(), queue)) == [
        "tc qdisc add dev e1 root handle 1: stab overhead -14 tbf rate 20000000bit burst 1540 limit 1540",
        "tc qdisc add dev e1 parent 1:1 handle 10: codel limit 9",
    ]
    # CAKE shapes by itself.
    queue = qdiscs.queues(with_queues(), "cake rtt 50ms")[1]
    assert list(qdiscs.script(with_queues(), queue)) == [
        "tc qdisc add dev e1 root handle 10: cake rtt 50ms bandwidth 20000000bit overhead 0"
    ]


@pytest.mark.parametrize("asked", ["netem delay 1ms", "", "codel; reboot", "codel\nroot", "fq_codel $(id)"])
def test_a_discipline_that_is_none_is_refused_in_one_line(asked):
    if asked == "codel\nroot":
        # Blanks of any kind are one.
        assert qdiscs.check(asked) == "codel root"
        return
    with pytest.raises(UsageError, match="--qdisc") as error:
        qdiscs.check(asked)
    assert "\n" not in str(error.value)


def test_drops_are_parted_by_what_tc_has_counted():
    leaf = {"kind": "fq_codel", "handle": "10:", "dev": "e1", "drops": 9, "drop_overlimit": 2}
    count = json.dumps([{"kind": "tbf", "handle": "1:", "dev": "e1", "drops": 9}, leaf])
    ports = [{"node": "r0", "peer": "r1", "drops_queue": 9, "drops_aqm": 0}]
    chosen = [queue for queue in qdiscs.queues(with_queues(), None) if queue.way == 2]
    qdiscs.split(ports, with_queues(), chosen, {1: count})
    assert (ports[0]["drops_queue"], ports[0]["drops_aqm"]) == (2, 7)
    assert qdiscs.no_room(json.dumps([{"kind": "bfifo", "handle": "10:", "dev": "e0", "drops": 4}])) == {"e0": 4}


def test_options_of_the_other_kernel_need_it(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "place", lambda: tmp_path / "none")
    for arguments, says in (
        (["--qdisc", "cake"], "--qdisc needs --virtual"),
        (["--virtual"], "build it with: midpath lab kernel" if sys.platform == "linux" else "needs Linux"),
    ):
        answer = cli("lab", "x.toml", *arguments)
        assert answer.code == 2
        assert says in answer.err
        assert len(answer.err.strip().splitlines()) == 1
    answer = cli("lab", "kernel", "--source", tmp_path / "none.tar.xz")
    assert answer.code == 2
    assert "apt-get install linux-source-6.1" in answer.err


# -- where it has been built --


def lacking():
    """Why nothing can be run in it here, or `None`."""
    if (why := kernel.missing()) is not None:
        return why
    try:
        tool()
    except UsageError as error:
        return str(error)
    return None


WHY = lacking()
built = pytest.mark.skipif(WHY is not None, reason=WHY or "")


def run(qdisc=None, **changes):
    # A second of the guest's is some of ours.
    scenario = Scenario.from_dict(SCENARIO | {"stop": "1500 ms"}).with_(changes=changes)
    return real.run(scenario, real.Laboratory(tool(), None, linux=kernel.find(), qdisc=qdisc))


@pytest.fixture(scope="module")
def first():
    return run()


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_a_guest_runs_a_scenario_with_the_kernel_s_queues(first):
    result = first
    long, short = result.flows.to_pylist()
    # Together they have nine tenths of the link; how they share it in a second is TCP's, and its buffers'.
    assert min(short["delivered_bytes"], long["delivered_bytes"]) > 0
    assert short["delivered_bytes"] + long["delivered_bytes"] > 0.9 * 10e6 / 8 * 1.4
    assert short["rtt_min_s"] >= 0.024
    middle = port(result, "r0", "r1")
    assert middle["bytes"] * 8 <= 10e6 * 1.51
    # 50 ms of 10 Mbps are 62.5 kB, in the kernel's queue; the packet that is sent is not in it.
    assert 55_000 < middle["queue_max_bytes"] <= 62_500
    assert 0.045 < middle["delay_max_s"] <= 0.052
    assert middle["drops_queue"] > 0
    lost = sum(row["drops_queue"] + row["drops_aqm"] for row in result.ports.to_pylist())
    assert sum(flow["lost_packets"] for flow in (short, long)) == lost
    assert result.run["emulator"]["missed"] == 0
    # Time stands while anything runs.
    assert result.run["emulator"]["late_us"]["p99"] <= 10
    assert result.run["machine"]["queues"]["r0>r1"] == "Linux: bfifo limit 62500"
    assert result.run["machine"]["kernel"].startswith("6.1.")
    assert "virtual time; user-mode Linux 6.1." in real.footnote(compared(result))
    assert result.files["r0-r1.pcapng"][:4] == b"\x0a\x0d\x0d\x0a"


def compared(result):
    return Comparison("", None, ["cubic"], [1], {("cubic", 1): result})


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
@pytest.mark.parametrize("qdisc", ["codel", "fq_codel", "cake"])
def test_disciplines_keep_the_queue_short(qdisc):
    result = run(qdisc, **{"schemes.cubic.ecn": True})
    middle = port(result, "r0", "r1")
    assert middle["marks"] + middle["drops_aqm"] > 0
    # CoDel needs half a second for what slow start leaves, then packets wait for twice its target at most; in a FIFO of
    # 50 ms for 42 ms in the mean.
    series = result.series.to_pandas()
    late = series[(series.entity == "port:r0>r1") & (series.metric == "queue_bytes") & (series.time_s > 1)]
    assert late.value.mean() * 8 / 10e6 < 0.010
    assert sum(flow["marked_packets"] for flow in result.flows.to_pylist()) == middle["marks"]


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_the_scenario_s_aqm_is_the_kernel_s():
    # CoDel goes by times alone; PIE's marks are by chance, and there may be none.
    result = run(**{"schemes.cubic.ecn": True, "queue": {"kind": "codel", "limit": "50 ms"}})
    assert result.run["machine"]["queues"]["r0>r1"] == "Linux: codel limit 41 target 5000us interval 100000us ecn"
    middle = port(result, "r0", "r1")
    # It marks; what finds no room is dropped, and told apart.
    assert middle["marks"] > 0
    assert middle["queue_max_bytes"] <= 42 * 1500
    assert sum(flow["marked_packets"] for flow in result.flows.to_pylist()) == middle["marks"]


TWO_WAYS = {
    "links": [
        {"a": "s0", "b": "r0", "rate": "100 Mbps", "delay": "1 ms"},
        {"a": "r0", "b": "r1", "rate": "10 Mbps", "delay": "10 ms"},
        {"a": "r0", "b": "r2", "rate": "10 Mbps", "delay": "20 ms"},
        {"a": "r2", "b": "r1", "rate": "10 Mbps", "delay": "20 ms"},
        {"a": "r1", "b": "d0", "rate": "100 Mbps", "delay": "1 ms"},
    ]
}


ALONE = {
    "links": [
        {"a": "s0", "b": "r0", "rate": "100 Mbps", "delay": "1 ms"},
        {"a": "r0", "b": "d0", "rate": "100 Mbps", "delay": "10 ms"},
    ],
    "nodes": [{"name": "s0", "kind": "host"}, {"name": "d0", "kind": "host"}],
}


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_routes_follow_a_failure_after_the_time_to_reconverge():
    fails = [{"kind": "link-down", "at": "300 ms", "link": ["r0", "r1"]}]
    flow = [{"from": "s0", "to": "d0", "size": "600 kB"}]
    more = {"topology": TWO_WAYS, "fault": fails, "routing": {"reconverge": "50 ms"}, "flow": flow}
    scenario = Scenario.from_dict({"scheme": "cubic", "stop": "4 s"} | more)
    result = real.run(scenario, real.Laboratory(tool(), None, linux=kernel.find()))
    # What is left takes .3 s or more on the other way, and what was cut is sent again.
    assert 0.6 < result.flows.to_pylist()[0]["fct_s"] < 3
    before, after = (port(result, "r0", router)["packets"] for router in ("r1", "r2"))
    assert min(before, after) > 100
    # 600 kB are 415 segments.
    assert before + after > 415
    # ACKs come back by the way that there is.
    assert port(result, "r1", "r2")["packets"] > 50


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_applications_write_when_the_scenario_says():
    flow = [{"from": "s0", "to": "d0", "size": "150 kB", "write": "50 kB", "interval": "400 ms"}]
    result = run(**{"flow": flow})
    # The last at .8 s; 50 kB at 10 Mbps are 40 ms.
    assert 0.84 < result.flows.to_pylist()[0]["fct_s"] < 0.95


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
@pytest.mark.parametrize(("connections", "trips"), [("new", 3), ("reuse", 1)])
def test_clients_ask_over_sockets(connections, trips):
    """Alone on a way of 22 ms there and back: a reply of a packet takes a round trip, two more where connections are
    opened for its request and for it; then the server's 5 ms. Bounds: 2 ms, for both ends' own time and packets.
    """
    client = {"from": ["s0"], "to": ["d0"], "requests": 6, "concurrency": 2, "connections": connections, "group": "web"}
    fixed = {"kind": "fixed", "size": "500 B"}
    client |= {"request_sizes": fixed, "reply_sizes": fixed, "service_time": "5 ms", "think_time": "100 ms"}
    asked = {"client": [client | {"deadline": "20 ms"}], "topology": ALONE, "stop": "5 s", "scheme": "cubic"}
    result = real.run(Scenario.from_dict(asked), real.Laboratory(tool(), None, linux=kernel.find()))
    rows = result.tables["requests"].to_pylist()
    assert [row["request"] for row in rows] == list(range(6))
    # The first of a loop opens its connections in any case.
    later = [row for row in rows if row["request"] % 3]
    assert all(abs(row["completion_s"] - trips * 0.022 - 0.005) < 0.002 for row in later)
    assert all(row["missed"] and row["completed"] for row in rows)
    simulated = midpath.run(Scenario.from_dict(asked)).tables["requests"]["completion_s"].to_pylist()
    assert [row["completion_s"] for row in rows] == pytest.approx(simulated, abs=0.002)
    (said,) = result.run["clients"]
    assert (said["group"], said["requests"], said["completed"], said["missed"]) == ("web", 6, 6, 6)
    begun = [row["start_s"] for row in rows[:3]]
    assert all(0.1 < after - before < 0.2 for before, after in itertools.pairwise(begun))


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_a_middlebox_bleaches_and_takes_acks():
    queue = {"schemes.cubic.ecn": True, "queue": {"kind": "codel", "limit": "50 ms"}}
    bleach = [{"link": [host, "r0"], "one_way": True, "ecn": {"bleach": "100 %"}} for host in ("s0", "s1")]
    thin = {"link": ["r1", "r0"], "one_way": True, "ack_thinning": 4}
    result = run(**queue, vary=[*bleach, thin])
    middle, acks = port(result, "r0", "r1"), port(result, "r1", "r0")
    assert middle["marks"] == 0 < middle["drops_aqm"]
    assert acks["corrupted"] == pytest.approx(acks["packets"] * 3 / 4, rel=0.15)


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_two_runs_are_nearly_the_same(first):
    one, other = first.summary, run().summary
    assert one["sent_packets"] == pytest.approx(other["sent_packets"], rel=0.01)
    assert one["goodput_total_bps"] == pytest.approx(other["goodput_total_bps"], rel=0.01)


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_what_tc_refuses_is_one_line():
    with pytest.raises(OSError, match="the guest failed: ") as error:
        run("codel limt 5")
    assert "limt" in str(error.value)
    assert "\n" not in str(error.value)


KILLED = """
import sys
from pathlib import Path
from midpath.lab import real
from midpath.scenario import Scenario
laboratory = real.Laboratory(sys.argv[1], None, linux=Path(sys.argv[2]))
real.run(Scenario.from_toml(sys.stdin.read()).with_(changes={"stop": "500 s"}), laboratory)
"""


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@built
def test_a_killed_laboratory_takes_its_guest_along():
    command = [sys.executable, "-c", KILLED, tool(), str(kernel.find())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    process.stdin.write(Scenario.from_dict(SCENARIO).to_toml())
    process.stdin.close()
    folder = f"midpath-{process.pid}."
    patience = time.monotonic() + 120
    while not guests(folder) and time.monotonic() < patience:
        time.sleep(0.05)
    assert guests(folder)
    assert not [path for path in clean.left_folders() if path.name.startswith(folder)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    while guests(folder) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not guests(folder)
    left = [path.name for path in clean.left_folders() if path.name.startswith(folder)]
    assert len(left) == 1
    assert left[0] in clean.clean()
    assert not [path for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith(folder)]


def guests(folder):
    """Processes whose command line names this directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if folder.encode() in words and path.name != str(os.getpid()):
            found.append(int(path.name))
    return found


def test_a_guest_s_script_is_the_network_s(monkeypatch, tmp_path):
    routes = [{"at": 0, "to": 3, "links": [0]}, {"at": 1, "to": 3, "links": [1]}]
    after = [routes[0], {"at": 1, "to": 3, "links": []}]
    values = {**with_queues().values, "routes": routes, "reroutes": [[0.8, after]]}
    guest = Guest(type(plan())(plan().scenario, values), tmp_path / "linux", None)
    text = "\n".join(guest.lines)
    assert "ip route add 10.77.0.3/32 src 10.77.0.0" in text
    assert "tc qdisc add dev e1 root handle 1: stab" in text
    s0, r0 = guest.space(0), guest.space(1)
    ((at, script),) = guest.paths()["reroutes"]
    assert at == 0.8
    assert script.splitlines() == [
        f"ip -n {s0} -batch - <<'END'",
        "route replace 10.77.0.3/32 src 10.77.0.0 via 10.77.0.1 dev e0 onlink",
        "END",
        f"ip -n {r0} -batch - <<'END'",
        # Nobody is told, as in the simulator.
        "route replace blackhole 10.77.0.3/32",
        "END",
    ]
    assert guest.made == [guest.between, *(guest.space(node) for node in range(4))]
    # Nothing of it is there.
    assert not list(clean.SPACES.glob(f"{guest.stem}*"))
