"""What an operator does with a node that runs: keys, neighbours that go, metrics, connections that are routed to it."""

import hashlib
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

import script
from conftest import ROOT

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")

CONTENT = hashlib.shake_256(b"midpath").digest(1_000_000)


@contextmanager
def overlay_to(server, **more):
    try:
        found = nodes.Overlay(forwards=(server,), **more)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with found as overlay:
        yield overlay


@pytest.fixture(scope="module")
def server():
    """Gives CONTENT to whoever connects."""
    with nodes.serving(lambda connection: connection.sendall(CONTENT)) as port:
        yield port


@pytest.fixture
def overlay(server):
    with overlay_to(server) as overlay:
        yield overlay


def download(port, seconds=30):
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        got = b""
        while piece := connection.recv(1 << 16):
            got += piece
        return got


@contextmanager
def downloading(port):
    """Downloads again and again; says at the end what came, and how long the longest wait was."""
    found = {"right": 0, "wrong": [], "longest": 0.0}
    over = threading.Event()

    def work():
        while not over.is_set():
            try:
                begun = time.monotonic()
                assert download(port) == CONTENT
                found["right"] += 1
                found["longest"] = max(found["longest"], time.monotonic() - begun)
            except Exception as error:
                found["wrong"].append(repr(error))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield found
    finally:
        over.set()
        worker.join()


def restarts(overlay):
    return [
        (port["link"]["ups"], port["link"]["restarts"]) for name in nodes.NODES for port in overlay.ask(name)["ports"]
    ]


def test_keys_are_changed_while_bytes_flow(overlay, server):
    """A new key of `r` is listed, taken, and the old one struck off: no connection notices, no link goes down."""
    before = restarts(overlay)
    with downloading(overlay.forward[server]) as found:
        while not found["right"]:
            time.sleep(0.05)
        fresh = overlay.new_key("fresh.key")
        both = {"r": [overlay.keys["r"], fresh]}
        for name in ("a", "b"):
            overlay.configure(name, both)
            overlay.command("reload", overlay.config(name))
        overlay.configure("r", key="fresh.key")
        overlay.command("reload", overlay.config("r"))
        time.sleep(0.5)
        for name in ("a", "b"):
            overlay.configure(name, {"r": [fresh]})
            overlay.command("reload", overlay.config(name))
        settled = found["right"]
        until = time.monotonic() + 20
        while found["right"] < settled + 3 and time.monotonic() < until:
            time.sleep(0.05)
    assert not found["wrong"]
    assert found["right"] >= settled + 3
    assert found["longest"] < 5, "no session was waited for"
    assert restarts(overlay) == before
    overlay.wait_until_empty()


def test_a_neighbour_that_is_removed_is_gone_at_once_and_comes_back(overlay, server):
    overlay.configure("r", {"b": []})
    overlay.command("reload", overlay.config("r"))
    links = {port["link"]["neighbour"]: port["link"]["up"] for port in overlay.ask("r")["ports"]}
    assert links == {"a": True, "b": False}
    time.sleep(1.5)
    assert overlay.ask("r")["datagrams"]["strangers"] + overlay.ask("r")["datagrams"]["unknown"] > 0
    assert not overlay.is_up("r")
    overlay.configure("r")
    overlay.command("reload", overlay.config("r"))
    overlay.wait(seconds=60)
    assert download(overlay.forward[server]) == CONTENT


def test_what_is_allowed_changes_without_a_restart(overlay, server):
    config = overlay.config("b")
    good = config.read_text()
    config.write_text(good.replace("127.0.0.0/8:1024-65535", "127.0.0.0/8:1"))
    overlay.command("reload", config)
    with pytest.raises(ConnectionError):
        download(overlay.forward[server])
    config.write_text(good)
    overlay.command("reload", config)
    assert download(overlay.forward[server]) == CONTENT


def test_a_rate_changes_without_a_restart(overlay, server):
    config = overlay.config("a")
    config.write_text(config.read_text().replace("[[neighbour]]", '[[neighbour]]\nrate = "2 Mbps"'))
    overlay.command("reload", config)
    begun = time.monotonic()
    assert download(overlay.forward[server]) == CONTENT
    (port,) = overlay.ask("a")["ports"]
    assert port["served_bps"] <= port["link"]["configured_bps"] == 2_000_000
    assert time.monotonic() - begun < 20, "what comes back is not slowed"


def test_what_needs_a_restart_is_refused_and_changes_nothing(overlay, server):
    config = overlay.config("a")
    good = config.read_text()
    changed = good.replace(f'"127.0.0.1:{overlay.socks}"', f'"127.0.0.1:{nodes.free_port()}"')
    for text, says in [
        (changed, "the entrance at 127.0.0.1"),
        (good.replace("[[socks]]", "[[sock]]"), "unknown field"),
    ]:
        config.write_text(text)
        done = overlay.command("reload", config, check=False)
        assert done.returncode != 0
        assert says in done.stderr
    config.write_text(good)
    assert download(overlay.forward[server]) == CONTENT


def test_prometheus_reads_a_node(overlay, server):
    assert download(overlay.forward[server]) == CONTENT
    overlay.wait_until_empty()
    port = nodes.free_port()
    command = [overlay.program, "node", "metrics", overlay.config("a"), "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True) as process:
        assert "/metrics" in process.stderr.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        process.terminate()
    # The format's lines, each with a value that is a number.
    line = re.compile(r'midpath_node_\w+\{node="a"(,\w+="[^"]*")*\} [-+.e\d]+')
    assert all(line.fullmatch(each) for each in text.splitlines() if not each.startswith("# ")), text
    names = [each.split()[2] for each in text.splitlines() if each.startswith("# TYPE")]
    assert len(names) == len(set(names))
    values = dict(each.rsplit(" ", 1) for each in text.splitlines() if not each.startswith("# "))
    labels = '{node="a",neighbour="r"}'
    assert float(values[f"midpath_node_link_up{labels}"]) == 1
    assert 0 < float(values[f"midpath_node_port_served_bits_per_second{labels}"]) <= 50e6
    assert float(values['midpath_node_conversations_completed_total{node="a"}']) == 1
    assert float(values['midpath_node_table_bound{node="a",table="promised_bytes"}']) == 64 << 20
    for name in (
        "port_queue_bytes",
        "port_drops_total",
        "custody_packets",
        "late_seconds",
        "table_fill",
        "drops_total",
    ):
        assert f"midpath_node_{name}" in names, name
    buckets = [int(v) for name, v in values.items() if name.startswith("midpath_node_late_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] > 0


@pytest.mark.skipif(not nodes.may_have_namespaces(), reason="needs network namespaces and ip")
def test_connections_that_are_routed_here_go_where_they_wanted(tmp_path):
    """Two namespaces: an unmodified curl in one asks for an address of the other, and is routed to its own node."""
    if shutil.which("curl") is None or not Path("/proc/net/if_inet6").exists():
        pytest.skip("needs curl and IPv6")
    done = subprocess.run(
        ["unshare", "-Urn", sys.executable, ROOT / "evidence/lab" / "overlay" / "transparent.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "198.51.100.3: curl 0, 100000 bytes, right"
    assert said[1] == "[2001:db8:1::7]: curl 0, 100000 bytes, right"
    # What the exit does not allow has no words here: it is a reset.
    assert said[2] == "198.51.100.3:81: reset, 0 bytes"
    # The machine's other addresses are not for the node, whoever listens there.
    assert said[3] == "127.0.0.1: reset, 0 bytes"
    assert said[4] == "3 entered, 2 left, 1 refused"


def test_a_hub_of_5000_neighbours_says_what_each_does(tmp_path):
    """Its status is more than a socket holds. None of them is there: greetings are ever rarer, and cost little."""
    try:
        program = nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    count = 5000
    leaves = ", ".join(f'{{ name = "n{i}", kind = "host" }}' for i in range(count))
    links = ",\n".join(f'{{ a = "hub", b = "n{i}", rate = "10 Mbps", delay = "1 ms" }}' for i in range(count))
    (tmp_path / "net.toml").write_text(
        f'scheme = "cubic"\n[topology]\nnodes = [{{ name = "hub" }}, {leaves}]\nlinks = [\n{links}\n]\n'
        '[[flow]]\nfrom = "n0"\nto = "n1"\nsize = "1 MB"\n'
    )
    port = nodes.free_port(socket.SOCK_DGRAM)
    lines = ['network = "net.toml"', 'node = "hub"', 'key = "hub.key"', f'listen = "127.0.0.1:{port}"']
    for i in range(count):
        key = hashlib.sha256(f"{i}".encode()).hexdigest()
        lines += ["[[neighbour]]", f'node = "n{i}"', f'key = "{key}"', 'address = "127.0.0.1:9"']
    (tmp_path / "hub.toml").write_text("\n".join(lines) + "\n")

    def midpathd(*words):
        command = [program, "node", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60).stdout

    midpathd("key", "hub.key")
    hub = subprocess.Popen([program, "node", "up", "hub.toml"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not (tmp_path / "hub.sock").exists() and time.monotonic() < until:
            time.sleep(0.05)
        status = json.loads(midpathd("status", "hub.toml"))
        assert [port["link"]["neighbour"] for port in status["ports"]] == [f"n{i}" for i in range(count)]
        assert status["resident_bytes"] < 150e6, "14 kB a neighbour are measured"
        midpathd("down", "hub.toml")
        assert hub.wait(timeout=10) == 0
    finally:
        hub.kill()
        hub.wait()
