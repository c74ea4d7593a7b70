"""Faces of the NDN forwarder that come and go."""

import hashlib
import json
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import script
from conftest import ROOT

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
strangers = script.load(ROOT / "evidence/peers" / "ndn" / "strangers.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")
TIMES = 10_000
# What may grow in between: the nonces of 8,000 Interests, and an allocator's slack.
GROWTH = 2_000_000


class Forwarder:
    """A forwarder that runs."""

    def __init__(self, folder, process):
        self.config, self.process = folder / "ndn.toml", process
        self.unix = str(folder / "nfd.sock")
        self.tcp = nodes.free_port()
        self.udp = nodes.free_port(socket.SOCK_DGRAM)

    def status(self):
        done = subprocess.run(
            [nodes.daemon(), "ndn", "status", self.config], capture_output=True, text=True, check=False, timeout=60
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def files(self):
        time.sleep(0.3)  # the connection of the last `status` is closed by then
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def settled(self, faces):
        """The status once so many faces are left."""
        patience = time.monotonic() + 60
        while (said := self.status())["tables"]["fill"]["faces"] != faces and time.monotonic() < patience:
            time.sleep(0.05)
        assert said["tables"]["fill"]["faces"] == faces
        return said


@pytest.fixture
def forwarder(tmp_path):
    try:
        program = nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    made = Forwarder(tmp_path, None)
    made.config.write_text(
        f'[listen]\nunix = "{made.unix}"\ntcp = ["127.0.0.1:{made.tcp}"]\nudp = ["127.0.0.1:{made.udp}"]\n'
    )
    with (tmp_path / "log").open("wb") as log:
        made.process = subprocess.Popen([program, "ndn", "up", made.config], stdout=log, stderr=log)
    try:
        patience = time.monotonic() + 60
        while made.status() is None and time.monotonic() < patience:
            time.sleep(0.05)
        yield made
    finally:
        made.process.kill()
        made.process.wait()


@contextmanager
def connection(forwarder, kind):
    """An application's connection, which ends without a word."""
    with socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET) as face:
        face.settimeout(60)
        face.connect(forwarder.unix if kind == "unix" else ("127.0.0.1", forwarder.tcp))
        yield face
        if kind == "tcp":
            # A reset, which leaves no port in TIME_WAIT.
            face.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def registration(turn):
    """`rib/register` of /app, signed by its digest."""
    words = [strangers.component(word) for word in (b"localhost", b"nfd", b"rib", b"register")]
    parameters = strangers.element(0x68, strangers.element(7, strangers.component(b"app")))
    signed = [strangers.component(b) for b in (parameters, struct.pack(">Q", turn), struct.pack(">Q", turn))]
    signed.append(strangers.component(strangers.element(0x16, strangers.element(0x1B, b"\0"))))
    signed.append(strangers.component(strangers.element(0x17, hashlib.sha256(b"".join(words + signed)).digest())))
    return strangers.interest(*words, *signed)


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_face_that_reconnects_ten_thousand_times_leaves_nothing(forwarder, kind):
    files, after = forwarder.files(), {}
    for turn in range(1, TIMES + 1):
        with connection(forwarder, kind) as face:
            # Half of them leave a route and an Interest that waits; others go in the middle of a packet.
            if turn % 2:
                face.sendall(registration(turn))
                assert b"\x66\x01\xc8" in face.recv(9000)
                face.sendall(strangers.interest(strangers.component(b"app"), strangers.component(b"%d" % turn)))
            else:
                face.sendall(registration(turn)[:20])
        if turn in (TIMES // 5, TIMES):
            after[turn] = forwarder.settled(0)
    first, last = after.values()
    assert forwarder.files() == files
    assert last["resident_bytes"] - first["resident_bytes"] < GROWTH
    assert last["tables"]["fill"]["routes"] == last["tables"]["fill"]["output_bytes"] == 0
    assert last["fib_entries"] == 2
    assert len(last["closed"]) <= 100


def test_ten_thousand_strangers_by_udp_have_a_bounded_table(forwarder):
    most = forwarder.status()["tables"]["bound"]["faces"] // 2
    files = forwarder.files()
    for turn in range(TIMES):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as face:
            face.bind((f"127.1.{turn >> 8}.{turn & 255}", 0))
            face.sendto(strangers.interest(strangers.component(b"none")), ("127.0.0.1", forwarder.udp))
    said = forwarder.status()
    assert 0 < said["tables"]["fill"]["faces"] <= most
    assert forwarder.files() == files
    # An application still gets in.
    with connection(forwarder, "unix") as face:
        face.sendall(registration(1))
        assert b"\x66\x01\xc8" in face.recv(9000)
