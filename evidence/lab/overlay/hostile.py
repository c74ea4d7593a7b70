"""What strangers send to a node, in a namespace: bounded, counted, and honest flows live.

    unshare -Urn python evidence/lab/overlay/hostile.py [SECONDS]    # of each attack

`r`, in the middle of three nodes, is attacked while a file is downloaded through it again and again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import hmac
import itertools
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nodes import Overlay, serving

CONTENT = hashlib.shake_256(b"hostile").digest(500_000)
RATE = 100_000
# net/link/src/datagram.rs
VERSION = 1
COUNTERS = ("malformed", "strangers", "repeated_hellos", "retries", "shed", "unknown", "forged", "replayed")


def hello(public: bytes, draws: random.Random) -> bytes:
    """A handshake's first message as somebody sends it who knows the node's public key, and has none that it knows."""
    signed = struct.pack(">BBHI", VERSION, 1, 0, draws.getrandbits(32)) + draws.randbytes(108)
    name = hashlib.sha256(b"midpath link mac" + public).digest()
    return signed + hmac.digest(name, signed, "sha256")[:16] + bytes(16)


def ip_udp(source: tuple[str, int], target: tuple[str, int], payload: bytes) -> bytes:
    """A packet with a source that is somebody else's; the kernel fills in length and checksum."""
    udp = struct.pack(">HHHH", source[1], target[1], 8 + len(payload), 0) + payload
    ends = socket.inet_aton(source[0]) + socket.inet_aton(target[0])
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, socket.IPPROTO_UDP, 0) + ends + udp


def record(target: int, count: int) -> list[tuple[tuple[str, int], bytes]]:
    """So many datagrams that neighbours send to a port meanwhile, with where they are from."""
    found, until = [], time.monotonic() + 30
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as tap:
        tap.bind(("lo", 0))
        tap.settimeout(0.1)
        while len(found) < count and time.monotonic() < until:
            try:
                packet = tap.recv(65536)
            except TimeoutError:
                continue
            if packet[9] == socket.IPPROTO_UDP and struct.unpack_from(">H", packet, 22)[0] == target:
                found.append(((socket.inet_ntoa(packet[12:16]), struct.unpack_from(">H", packet, 20)[0]), packet[28:]))
    return found


Send = Callable[[], object]


def from_anywhere(port: int, payloads: list[bytes]) -> Iterator[Send]:
    """Sends these from a thousand addresses."""
    sockets = []
    for number in range(1000):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.bind((f"127.1.{number // 250}.{number % 250 + 1}", 0))
        sender.connect(("127.0.0.1", port))
        sender.setblocking(False)
        sockets.append(sender)
    for sender, payload in zip(itertools.cycle(sockets), itertools.cycle(payloads), strict=False):
        yield lambda sender=sender, payload=payload: sender.send(payload)


def as_neighbour(port: int, packets: list[bytes]) -> Iterator[Send]:
    """Sends packets whose sources are not ours."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.setblocking(False)
    for packet in itertools.cycle(packets):
        yield lambda packet=packet: raw.sendto(packet, ("127.0.0.1", port))


def flood(sends: Iterator[Send], seconds: float) -> int:
    """Sends RATE times a second, if it can; how often it did."""
    begun, sent = time.monotonic(), 0
    while (now := time.monotonic() - begun) < seconds:
        due = int(now * RATE) - sent
        for send in itertools.islice(sends, min(max(due, 0), 1000)):
            with contextlib.suppress(OSError):  # its own buffer is full
                send()
            sent += 1
        if due <= 0:
            time.sleep(0.0002)
    return sent


@dataclass
class Downloads:
    """A file, again and again."""

    port: int
    right: int = 0
    longest: float = 0.0
    wrong: int = 0
    over: bool = False

    def work(self) -> None:
        """Until it is over."""
        while not self.over:
            begun = time.monotonic()
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                    got = b""
                    while piece := connection.recv(1 << 16):
                        got += piece
                good = got == CONTENT
            except OSError:
                good = False
            self.right, self.wrong = self.right + good, self.wrong + (not good)
            self.longest = max(self.longest, time.monotonic() - begun)


def attack(overlay: Overlay, port: int, name: str, sends: Iterator[Send] | None, seconds: float) -> str:
    """One attack; raises where it does harm that it must not do."""
    downloads = Downloads(port)
    before, memory, cpu = overlay.ask("r"), overlay.memory("r"), overlay.cpu("r")
    worker = threading.Thread(target=downloads.work)
    worker.start()
    sent = 0
    if sends is None:
        time.sleep(seconds)
    else:
        # In a process of its own: threads of this one would wait for each other.
        reads, writes = os.pipe()
        if (child := os.fork()) == 0:
            try:
                os.write(writes, str(flood(sends, seconds)).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        sent = int(os.read(reads, 100))
        os.close(reads)
        os.close(writes)
    used = overlay.cpu("r") - cpu
    downloads.over = True
    worker.join()
    after = overlay.ask("r")
    counted = {c: after["datagrams"][c] - before["datagrams"][c] for c in COUNTERS}
    counted = {name: count for name, count in counted.items() if count}
    grown = (overlay.memory("r") - memory) / 2**20
    ups = [port["link"]["ups"] for port in after["ports"]]
    assert ups == [port["link"]["ups"] for port in before["ports"]], "no link went down"
    assert not downloads.wrong and downloads.right, downloads
    assert grown < 8, grown
    rate = 8 * downloads.right * len(CONTENT) / seconds / 1e6
    return (
        f"{name:>10}: {sent / seconds:7.0f} a second, CPU of r {100 * used / seconds:3.0f} %, "
        f"{downloads.right} files at {rate:.1f} Mbps, longest {downloads.longest:.1f} s, {grown:+.1f} MiB, {counted}"
    )


def main() -> None:
    """Prints what came of each attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, nargs="?", default=10)
    options = parser.parse_args()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    draws = random.Random(1)
    with (
        serving(lambda connection: connection.sendall(CONTENT)) as server,
        Overlay(rate="20 Mbps", forwards=(server,)) as overlay,
    ):
        port, target = overlay.forward[server], overlay.ports["r"]
        print(f"{overlay.program.parent.name} build, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")

        def run(name: str, sends: Iterator[Send] | None) -> None:
            print(attack(overlay, port, name, sends, options.seconds), flush=True)

        run("nobody", None)
        public = bytes.fromhex(overlay.keys["r"])
        hellos = [hello(public, draws) for _ in range(2000)]
        run("half-open", from_anywhere(target, hellos))
        a, r = ("127.0.0.1", overlay.ports["a"]), ("127.0.0.1", target)
        run("as a", as_neighbour(target, [ip_udp(a, r, h) for h in hellos]))
        recording = Downloads(port)
        worker = threading.Thread(target=recording.work)
        worker.start()
        recorded = record(target, 2000)
        recording.over = True
        worker.join()
        print(f"{len(recorded)} datagrams to r recorded")
        run("replayed", as_neighbour(target, [ip_udp(source, r, payload) for source, payload in recorded]))
        changed = []
        for source, payload in recorded:
            at = draws.randrange(len(payload))
            other = payload[:at] + bytes([payload[at] ^ 1 << draws.randrange(8)]) + payload[at + 1 :]
            changed.append(ip_udp(source, r, other))
        run("changed", as_neighbour(target, changed))
        run("noise", from_anywhere(target, [draws.randbytes(draws.randrange(1, 1400)) for _ in range(2000)]))
        run("nobody", None)


if __name__ == "__main__":
    sys.exit(main())
