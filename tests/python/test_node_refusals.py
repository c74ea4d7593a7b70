"""What a node says and does where a connection cannot be had, for want of a target, of files, or of the node."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import script
from conftest import ROOT

CHECKS = ROOT / "evidence/lab" / "overlay"
nodes = script.load(CHECKS / "nodes.py")
dead = script.load(CHECKS / "dead.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")

# Nobody resolves a label of 64 bytes, and nobody has to be asked.
NO_NAME = "a" * 64 + ".example"


@pytest.fixture(autouse=True)
def built():
    try:
        nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server():
    with nodes.serving(lambda connection: connection.sendall(b"hello")) as server:
        yield server


@pytest.fixture(scope="module")
def overlay():
    try:
        found = nodes.Overlay("cubic")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with found as overlay:
        yield overlay


def by_connect(overlay, target, before=b""):
    with socket.create_connection(("127.0.0.1", overlay.connect)) as asking:
        asking.settimeout(60)
        asking.sendall(before + f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        return int(asking.recv(4096).split()[1])


def by_socks(overlay, host, port):
    with dead.ask(overlay.socks, host, port) as asking:
        asking.settimeout(60)
        return dead.answer(asking)


@pytest.mark.parametrize(
    ("target", "socks", "http"),
    [
        ("live", 0, 200),
        ("not allowed", 2, 403),
        ("no name", 4, 502),
        ("a name of other letters", 4, 502),
        ("dead", 4, 504),
        ("refuses", 5, 502),
    ],
)
def test_who_asks_is_told_what_is_so(overlay, server, target, socks, http):
    """RFC 1928, §6, and RFC 9209, §2.3."""
    with dead.full() as full:
        host, port = {
            "live": ("127.0.0.1", server),
            "not allowed": ("10.1.2.3", server),
            "no name": (NO_NAME, server),
            "a name of other letters": ("bücher" * 12 + ".example", server),
            "dead": ("127.0.0.1", full),
            "refuses": ("127.0.0.1", nodes.free_port()),
        }[target]
        with ThreadPoolExecutor() as both:
            by = both.submit(by_socks, overlay, host, port), both.submit(by_connect, overlay, f"{host}:{port}")
            assert [one.result() for one in by] == [socks, http]


@pytest.mark.parametrize("before", [b"\r\n", b"\n", b"\r\n\r\n"])
def test_empty_lines_before_connect_are_passed_over(overlay, server, before):
    """RFC 9112, §2.2."""
    assert by_connect(overlay, f"127.0.0.1:{server}", before) == 200


def test_an_exit_that_does_not_answer_is_no_reset(server):
    """Who waits for an answer gets one, after half a minute at most."""
    with nodes.Overlay("cubic") as overlay:
        overlay.kill("b")
        assert by_socks(overlay, "127.0.0.1", server) in (1, 4)


def connecting(overlay):
    return overlay.ask("b")["tables"]["fill"]["connecting"]


def wait_until(what, seconds=5):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_who_hangs_up_gives_the_place_back(overlay):
    """By a proper end, too, unless something has been said for the target: that is half a close."""
    with dead.full() as full:
        asking = [dead.ask(overlay.socks, "127.0.0.1", full) for _ in range(20)]
        wait_until(lambda: connecting(overlay) == 20)
        for one in asking[1:]:
            one.close()
        asking[0].sendall(b"and this")
        asking[0].shutdown(socket.SHUT_WR)
        wait_until(lambda: connecting(overlay) == 1)
        time.sleep(0.3)
        assert connecting(overlay) == 1
        asking[0].close()
    wait_until(lambda: connecting(overlay) == 0, seconds=20)


@pytest.mark.skipif(not nodes.may_have_namespaces("-Urnm"), reason="needs network and mount namespaces and ip")
def test_dead_targets_and_a_dead_resolver_stop_nobody_else():
    """evidence/lab/overlay/RESULTS.md has the milliseconds of a machine with nothing else to do."""
    command = ["unshare", "-Urnm", sys.executable, CHECKS / "dead.py", "1000", "names"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    beside = re.search(r"beside 1000 dead targets: .* p99 ([\d.]+) ms", done.stdout)
    assert beside, done.stdout
    assert float(beside[1]) < 2000, done.stdout
    assert re.search(r"all have an answer: \{4: 1000\}", done.stdout), done.stdout


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_node_that_is_told_to_end_leaves_nothing(stop):
    with nodes.Overlay("cubic") as overlay:
        assert overlay.config("a").with_suffix(".sock").exists()
        for process in overlay.processes.values():
            process.send_signal(stop)
        assert [process.wait(10) for process in overlay.processes.values()] == [0, 0, 0]
        left = {file.suffix for file in overlay.folder.iterdir()}
        assert left == {".toml", ".key", ".log"}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_forwarder_that_is_told_to_end_leaves_nothing(stop, tmp_path):
    config, control = tmp_path / "ndn.toml", tmp_path / "control"
    config.write_text('control = "control"\n[listen]\nunix = "applications"\n')
    with subprocess.Popen([nodes.daemon(), "ndn", "up", config], stdout=subprocess.DEVNULL) as forwarder:
        wait_until(control.exists, seconds=20)
        forwarder.send_signal(stop)
        assert forwarder.wait(10) == 0
    assert list(tmp_path.iterdir()) == [config]


def with_files(files, *command):
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_a_node_without_files_for_connections_does_not_start():
    overlay = nodes.Overlay("cubic")
    try:
        for word in ("check", "up"):
            for name in ("a", "b"):
                refused = with_files(64, overlay.program, "node", word, overlay.config(name))
                assert refused.returncode == 1
                assert "64 open files" in refused.stderr
                assert "ulimit -n" in refused.stderr
                assert "LimitNOFILE" in refused.stderr
        # One that only forwards needs few.
        assert with_files(64, overlay.program, "node", "check", overlay.config("r")).returncode == 0
    finally:
        overlay.close()


def test_what_runs_out_is_said_once_and_comes_back(server):
    """With 300 files a hundred connections open, and the others wait until these end."""
    overlay = nodes.Overlay("cubic", within={"a": ("sh", "-c", 'ulimit -n 300; exec "$@"', "sh")})
    try:
        overlay.start()
        overlay.wait()
        most = overlay.ask("a")["tables"]["bound"]["conversations"]
        assert 50 < most < 200
        for _ in range(2):
            with contextlib.ExitStack() as until:
                for _ in range(most + 20):
                    until.enter_context(socket.create_connection(("127.0.0.1", overlay.socks)))
                wait_until(lambda: overlay.ask("a")["conversations"]["open"] == most)
                with dead.ask(overlay.socks, "127.0.0.1", server) as late:
                    until.close()
                    late.settimeout(20)
                    assert dead.answer(late) == 0
        said = overlay.config("a").with_suffix(".log").read_text()
        assert said.count("connections are open") == 1, said
    finally:
        overlay.close()
