"""Links of nodes, over datagrams and over connections: bytes, what breaks and comes back, strangers, a slow path."""

import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress

import pytest

import script
from conftest import ROOT

CHECKS = ROOT / "evidence/lab" / "overlay"
nodes = script.load(CHECKS / "nodes.py")
soak = script.load(CHECKS / "soak.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")

SCHEMES = ("cubic", "fcp", "inrpp", "rcp")


@pytest.fixture(autouse=True)
def built():
    try:
        nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server():
    """It answers with what it was told, backwards, once that has ended."""
    with nodes.serving(soak.talk) as server:
        yield server


def by_connection(overlay, own, peer):
    """A neighbour of an earlier name in the line is waited for."""
    known = nodes.NODES.index(peer) > nodes.NODES.index(own)
    return 'kind = "tcp"' + (f'\naddress = "{overlay.address(peer)}"' if known else "")


def asked(overlay, server, length):
    """What comes of a question of so many bytes."""
    said = (2 * soak.CONTENT)[:length]
    return soak.ask(overlay.forward[server], said, said[::-1])


def held(overlay, name):
    """Connections of a node's links, and of strangers."""
    streams = overlay.ask(name)["streams"]
    return streams["opened"] + streams["accepted"] - streams["ended"]


def wait_for(what, done, seconds=20):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.02)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_connection_goes_through_every_scheme_and_closes_by_halves(scheme, server):
    with nodes.Overlay(scheme, forwards=(server,)) as overlay:
        assert asked(overlay, server, 400_000) == "right"
        assert overlay.ask("b")["conversations"]["left"] == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_links_may_go_over_connections(scheme, server):
    """Each node has what it should: one to a neighbour that it knows the address of."""
    with nodes.Overlay(scheme, forwards=(server,), reached=by_connection) as overlay:
        assert asked(overlay, server, 400_000) == "right"
        assert {name: held(overlay, name) for name in nodes.NODES} == {"a": 1, "r": 2, "b": 1}
        assert {overlay.ask(name)["ports"][0]["link"]["kind"] for name in nodes.NODES} == {"tcp"}


def test_who_know_each_other_have_a_connection_each_way(server):
    def both(overlay, _, peer):
        return f'kind = "tcp"\naddress = "{overlay.address(peer)}"'

    with nodes.Overlay("inrpp", forwards=(server,), reached=both) as overlay:
        # Longer than strangers are borne with.
        for pause in (0, 6):
            time.sleep(pause)
            assert asked(overlay, server, 300_000) == "right"
        assert held(overlay, "r") == 4


def test_a_connection_below_that_breaks_is_made_again(server):
    """A middle node is killed and comes back: who had connected to it does so again."""
    with nodes.Overlay(forwards=(server,), reached=by_connection) as overlay:
        overlay.kill("r")
        overlay.start("r")
        wait_for(overlay.printed(), lambda: asked(overlay, server, 50_000) == "right", 60)


def test_strangers_at_a_nodes_connections_are_few_and_not_for_long(server):
    """Who connects and says nothing, or nonsense, is closed; links go on."""
    with nodes.Overlay(forwards=(server,), reached=by_connection) as overlay:
        at = ("127.0.0.1", overlay.ports["r"])
        strangers = [socket.create_connection(at) for _ in range(40)]
        for stranger in strangers[:20]:
            with suppress(OSError):
                stranger.sendall(b"\xff" * 4000)
        assert asked(overlay, server, 100_000) == "right"
        with socket.create_connection(at) as fresh:
            fresh.settimeout(20)
            with suppress(OSError):
                assert fresh.recv(10) == b"", "nothing is said to a stranger"
        status = overlay.ask("r")
        assert held(overlay, "r") <= 18, status
        assert status["streams"]["strangers"] >= 20
        assert overlay.is_up("r") and overlay.is_up("a")
        for stranger in strangers:
            stranger.close()


def slow_line(to, mbps):
    """Carries connections on at a rate, with little room of its own; its port."""

    def carry(source, target):
        source.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100_000)
        begun, carried = time.monotonic(), 0
        with suppress(OSError):
            while piece := source.recv(1500):
                carried += len(piece)
                target.sendall(piece)
                time.sleep(max(0.0, carried * 8e-6 / mbps - (time.monotonic() - begun)))

    def handle(connection):
        with socket.create_connection(("127.0.0.1", to)) as onward:
            back = threading.Thread(target=carry, args=(onward, connection), daemon=True)
            back.start()
            carry(connection, onward)
            back.join()

    return nodes.serving(handle)


def test_what_a_slow_line_below_cannot_carry_waits_at_the_port(server):
    """There INRPP counts it: custody grows at `r`, and `a` is pushed back."""
    with ExitStack() as lines:

        def reached(overlay, own, peer):
            if (own, peer) == ("r", "b"):
                line = lines.enter_context(slow_line(overlay.ports["b"], 8))
                return f'kind = "tcp"\naddress = "127.0.0.1:{line}"'
            return 'kind = "tcp"' if own == "b" else f'address = "{overlay.address(peer)}"'

        with nodes.Overlay("inrpp", forwards=(server,), reached=reached) as overlay:
            outcome, served = [], []
            asks = threading.Thread(target=lambda: outcome.append(asked(overlay, server, 4_000_000)))
            asks.start()
            while asks.is_alive():
                served.append(overlay.ask("r")["ports"][1]["served_bps"])
                time.sleep(0.02)
            status = overlay.ask("r")
    assert outcome == ["right"]
    # The port's own record: on a busy machine a few looks miss the peak.
    assert status["ports"][1]["queue"]["most_bytes"] >= 50_000
    assert min(served) <= 20_000_000, "the port was never told of less"
    assert status["streams"]["lost"] == 0


def test_a_hangup_reads_the_configuration_again():
    """SIGHUP does what `reload` does, and a configuration that is wrong changes nothing."""
    with nodes.Overlay() as overlay:
        config, log = overlay.config("r"), overlay.config("r").with_suffix(".log")
        before = config.read_text()

        def hang_up(text):
            config.write_text(text)
            overlay.processes["r"].send_signal(signal.SIGHUP)

        def rate():
            return overlay.ask("r")["ports"][0]["link"]["configured_bps"]

        assert rate() == 50_000_000
        hang_up(before.replace("address", 'rate = "20 Mbps"\naddress', 1))
        wait_for("another rate", lambda: rate() == 20_000_000)
        wait_for("a line in the log", lambda: "reloaded: " in log.read_text())
        hang_up(f"{before}\nno-such-key = 1\n")
        wait_for("an error", lambda: "not reloaded: " in log.read_text())
        assert rate() == 20_000_000


def test_a_killed_nodes_numbers_go_on():
    """The bound that it left is where the next one begins, and what it leaves is further."""
    with nodes.Overlay("inrpp") as overlay:
        file = overlay.folder / "r.numbers"
        last = int(file.read_text())
        for _ in range(3):
            overlay.kill("r")
            assert int(file.read_text()) == last, "nobody is there"
            overlay.start("r")
            overlay.wait("r")
            assert int(file.read_text()) >= last + 300_000_000_000
            last = int(file.read_text())
        assert not (overlay.folder / "r.numbers-new").exists()
