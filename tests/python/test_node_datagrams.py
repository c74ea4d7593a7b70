"""UDP through the gateway (SOCKS5's UDP ASSOCIATE), by three processes of `midpathd`."""

import contextlib
import random
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

import script
from conftest import ROOT

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
measure = script.load(ROOT / "evidence/lab" / "exec" / "measure.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")


@pytest.fixture(scope="module", params=["inrpp", "fcp"])
def overlay(request):
    try:
        found = nodes.Overlay(request.param, rate="20 Mbps")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with found as overlay:
        yield overlay


@pytest.fixture
def echo():
    """Addresses of a server of IPv4 and one of IPv6 that send back what comes."""
    ends = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]

    def serve(end):
        with contextlib.suppress(OSError):
            while True:
                end.sendto(*end.recvfrom(1 << 16))

    for end, host in zip(ends, ("127.0.0.1", "::1"), strict=True):
        end.bind((host, 0))
        threading.Thread(target=serve, args=(end,), daemon=True).start()
    yield [end.getsockname()[:2] for end in ends]
    for end in ends:
        end.close()


class Client:
    """An application that knows SOCKS5."""

    def __init__(self, port, command=b"\5\3\0\1\0\0\0\0\0\0"):
        self.control = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.control.sendall(b"\5\1\0")
        assert self.control.recv(2) == b"\5\0"
        self.control.sendall(command)
        self.answer = self.control.recv(10)
        self.relay = (socket.inet_ntoa(self.answer[4:8]), *struct.unpack("!H", self.answer[8:10]))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.settimeout(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.control.close()
        self.udp.close()

    def send(self, target, data, fragment=0):
        self.udp.sendto(bytes([0, 0, fragment]) + written(target) + data, self.relay)

    def receive(self):
        """Who has said what."""
        said = self.udp.recv(1 << 16)
        assert said[:3] == b"\0\0\0"
        length, family = {1: (4, socket.AF_INET), 4: (16, socket.AF_INET6)}[said[3]]
        ip = socket.inet_ntop(family, said[4 : 4 + length])
        return (ip, *struct.unpack("!H", said[4 + length : 6 + length])), said[6 + length :]


def written(target):
    host, port = target
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return bytes([4 if ":" in host else 1]) + socket.inet_pton(family, host) + struct.pack("!H", port)


def counted(overlay, name):
    return overlay.ask(name)["associations"]


def waits_for(what):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return False


def test_datagrams_come_back_as_they_were_sent(overlay, echo):
    draw = random.Random(3)
    with Client(overlay.socks) as client:
        assert client.answer[:4] == b"\5\0\0\1"
        for size in (0, 1, 1200, 1500, 20_000, *(draw.randrange(1400) for _ in range(60))):
            data = draw.randbytes(size)
            target = draw.choice(echo)
            client.send(target, data)
            assert client.receive() == (target, data)


def test_several_at_a_time_have_associations_of_their_own(overlay, echo):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(overlay.socks)) for _ in range(10)]
        for number, client in enumerate(clients):
            for n in range(5):
                client.send(echo[0], bytes([number, n]))
        for number, client in enumerate(clients):
            assert [client.receive() for _ in range(5)] == [(echo[0], bytes([number, n])) for n in range(5)]


def test_what_socks_or_the_exit_does_not_take_is_dropped_and_the_rest_goes_on(overlay, echo):
    before = {name: counted(overlay, name)["dropped"] for name in "ab"}
    with Client(overlay.socks) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        client.send(echo[0], b"first")
        assert client.receive() == (echo[0], b"first")
        # A fragment, junk, a name, and somebody else who found the port.
        client.send(echo[0], b"half", fragment=1)
        for junk in (b"", b"\0", b"\0\0\0\1\x7f", b"\0\0\0\3\4host\0\x35", b"\xff" * 300):
            client.udp.sendto(junk, client.relay)
        stranger.sendto(b"\0\0\0" + written(echo[0]) + b"mine", client.relay)
        # Where the exit does not go; and a port that nobody has, about which UDP says nothing.
        client.send(("127.0.0.1", 80), b"forbidden")
        client.send(("127.0.0.1", nodes.free_port(socket.SOCK_DGRAM)), b"nobody")
        client.send(echo[1], b"last")
        assert client.receive() == (echo[1], b"last")
        assert waits_for(lambda: counted(overlay, "a")["dropped"] >= before["a"] + 7)
        assert counted(overlay, "b")["dropped"] == before["b"] + 1


def test_who_answers_without_being_asked_is_not_heard(overlay, echo):
    with Client(overlay.socks) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        client.send(server.getsockname(), b"hello")
        _, exit_ = server.recvfrom(100)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"spoofed", exit_)
        server.sendto(b"answer", exit_)
        assert client.receive() == (server.getsockname(), b"answer")


def test_an_association_ends_with_its_connection(overlay, echo):
    with Client(overlay.socks) as client:
        client.send(echo[0], b"x")
        client.receive()
        assert overlay.ask("a")["conversations"]["open"] >= 1
    assert waits_for(lambda: all(overlay.ask(name)["conversations"]["open"] == 0 for name in "ab"))
    gone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    gone.bind(client.relay)
    gone.close()


def test_too_much_at_once_is_dropped_and_not_stored(overlay, echo):
    before = counted(overlay, "a")
    with Client(overlay.socks) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sink.bind(("127.0.0.1", 0))
        # Two seconds of 20 Mbps, at four times that.
        for n in range(4000):
            client.send(sink.getsockname(), n.to_bytes(4, "big") + bytes(1246))
            if n % 40 == 39:
                time.sleep(0.005)
        # A queue of at most 64 kB and a quarter of a second more is empty soon.
        began = time.monotonic()
        client.send(echo[0], b"after")
        while True:
            client.udp.settimeout(1)
            try:
                assert client.receive() == (echo[0], b"after")
                break
            except TimeoutError:
                client.send(echo[0], b"after")
        assert time.monotonic() - began < 5
    after = counted(overlay, "a")
    assert after["dropped"] > before["dropped"]
    assert after["sent"] > before["sent"] + 500


def test_a_quic_client_fetches_a_file(overlay, tmp_path):
    case = next(case for case in measure.CASES if case.library == "aioquic")
    if why := case.missing():
        pytest.skip(why)
    port = str(nodes.free_port(socket.SOCK_DGRAM))
    measure.provide(tmp_path, 3_000_000)
    before = {name: counted(overlay, name) for name in "ab"}
    with subprocess.Popen(case.server(tmp_path, port)) as server:
        try:
            client = [*case.client(tmp_path, "127.0.0.1", port), str(overlay.socks)]
            subprocess.run(client, check=True, timeout=60)
        finally:
            server.terminate()
    assert (tmp_path / "got").read_bytes() == (tmp_path / "file").read_bytes()
    # All of it went over the links: datagrams of at most 1,200 bytes.
    after = {name: counted(overlay, name) for name in "ab"}
    assert after["b"]["sent"] - before["b"]["sent"] >= 3_000_000 / 1200
    assert after["a"]["received"] - before["a"]["received"] >= 3_000_000 / 1200


def test_an_exit_that_goes_nowhere_refuses_once():
    try:
        found = nodes.Overlay()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    config = found.config("b")
    config.write_text(config.read_text().partition("[exit]")[0])
    with found as overlay, Client(overlay.socks) as client:
        # As CONNECT is answered there.
        assert client.answer == b"\5\1\0\1" + bytes(6)
        # And hangs up: there is no second answer.
        assert client.control.recv(100) == b""


def test_one_that_is_no_associate_is_answered_as_before(overlay):
    # BIND.
    with Client(overlay.socks, b"\5\2\0\1\0\0\0\0\0\0") as client:
        assert client.answer[:2] == b"\5\7"
