"""Datagrams of a stranger to a forwarder: run in a namespace of its own by attacks.py.

python evidence/peers/ndn/strangers.py KIND ADDRESS PER_SECOND SECONDS
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator

from packets import number

PORT = 6363
RNG = random.Random(1)


def element(kind: int, *parts: bytes) -> bytes:
    """A TLV."""
    value = b"".join(parts)
    return number(kind) + number(len(value)) + value


def component(value: bytes) -> bytes:
    """A generic one."""
    return element(8, value)


def interest(*components: bytes, lifetime: int = 4000) -> bytes:
    """An Interest that no one has asked before."""
    name = element(7, *components)
    return element(5, name, element(0x0A, RNG.randbytes(4)), element(0x0C, lifetime.to_bytes(4, "big")))


def data(*components: bytes, content: bytes = b"") -> bytes:
    """Data with a digest that is none."""
    info = element(0x16, element(0x1B, b"\0"))
    return element(6, element(7, *components), element(0x15, content), info, element(0x17, bytes(32)))


def framed(packet: bytes, *fields: bytes) -> bytes:
    """With a header."""
    return element(0x64, *fields, element(0x50, packet))


def random_names() -> Iterator[bytes]:
    """Under a prefix that is routed, and that nobody serves; each pending for a minute."""
    while True:
        yield interest(component(b"check"), component(b"none"), component(RNG.randbytes(8)), lifetime=60_000)


def forged_paths() -> Iterator[bytes]:
    """Interests that follow paths that nobody has stamped, of both classes, by pathId, value and filter."""
    for turn in itertools.count():
        packet = interest(component(b"check"), component(b"none"), component(RNG.randbytes(8)))
        steer = [element(0x3B0, RNG.randbytes(8)), element(0x3B8, RNG.randbytes(8)), element(0x3B4, RNG.randbytes(32))]
        size = RNG.choice([b"\0", b"\xff" * 8, b"\x05\xdc"])
        rtt = element(0x3A8, RNG.choice([b"\x01", b"\xff" * 8]))
        yield framed(packet, element(0x3A0, bytes([turn % 2])), element(0x3A4, size), rtt, steer[turn % 3])


def absurd_stamps() -> Iterator[bytes]:
    """Data that nobody asked for, and Nacks, with rates of nothing, of everything, and ids."""
    for turn in itertools.count():
        rates = element(0x3AC, RNG.choice([bytes(16), b"\xff" * 16, b"\x7f" + b"\xff" * 15]))
        path = element(0x3B0, RNG.randbytes(8))
        segment = element(0x32, (turn % 1250).to_bytes(2, "big"))
        honest = (component(b"check"), component(b"file"), segment)
        if turn % 3:
            yield framed(data(*honest, content=RNG.randbytes(100)), rates, path)
        else:
            yield framed(interest(*honest), element(0x320, element(0x321, b"\x32")), rates, path)


def own_stamps() -> Iterator[bytes]:
    """Asks for names under a prefix that leads back here: what comes is answered with absurd stamps."""
    while True:
        yield interest(component(b"stranger"), component(RNG.randbytes(8)))


def long_names() -> Iterator[bytes]:
    """Names of 8 kB, in pieces: half of them whole, half never finished."""
    for turn in itertools.count():
        components = (
            [component(RNG.randbytes(100)) for _ in range(78)] if turn % 2 else [component(RNG.randbytes(7990))]
        )
        packet = interest(component(b"check"), *components)
        pieces = [packet[at : at + 1300] for at in range(0, len(packet), 1300)]
        base = RNG.randrange(1 << 60)
        for index, piece in enumerate(pieces[: None if turn % 4 < 2 else -1]):
            header = (element(0x51, (base + index).to_bytes(8, "big")), element(0x52, bytes([index])))
            yield framed(piece, *header, element(0x53, bytes([len(pieces)])))


def noise() -> Iterator[bytes]:
    """Bytes."""
    while True:
        yield RNG.choice([b"\x05", b"\x06", b"\x64", b""]) + RNG.randbytes(RNG.randrange(1, 200))


KINDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "random names": random_names,
    "forged pathIds": forged_paths,
    "absurd stamps": absurd_stamps,
    "absurd stamps on own Data": own_stamps,
    "names of 8 kB": long_names,
    "noise": noise,
}


def answer_absurdly(link: socket.socket) -> None:
    """Answers what has been forwarded to here."""
    while True:
        try:
            came = link.recv(9000, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        fields = []
        if came[:1] == b"\x64":
            # The header's length has one or three bytes, and the token comes first if there is one.
            at = came.find(b"\x62")
            if 0 < at < 6:
                fields.append(came[at : at + 2 + came[at + 1]])
        at = came.find(b"\x05", 2 if came[:1] == b"\x64" else 0)
        name = came[came.find(b"\x07", at) :]
        name = name[: 2 + name[1]]
        info = element(0x16, element(0x1B, b"\0"))
        packet = element(6, name, element(0x15, b"x"), info, element(0x17, bytes(32)))
        rates = element(0x3AC, RNG.choice([bytes(16), b"\xff" * 16]))
        link.send(framed(packet, *fields, rates, element(0x3B0, RNG.randbytes(8))))


def many_faces(address: str, count: int) -> int:
    """Datagrams from so many ports, of as many addresses as it takes; how many it were."""
    sent = 0
    for host in range(1, 1 + -(-count // 60_000)):
        for port in range(2000, 62_000):
            if sent == count:
                return sent
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as face:
                face.bind((f"10.77.0.{host}", port))
                face.sendto(
                    interest(component(b"check"), component(b"none"), component(RNG.randbytes(8))), (address, PORT)
                )
            sent += 1
    return sent


def flood(kind: str, address: str, per_second: float, seconds: float) -> int:
    """Sends at a rate; how many it were."""
    packets, sent, begun = KINDS[kind](), 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        if kind == "absurd stamps on own Data":
            link.bind(("", PORT))
        link.connect((address, PORT))
        while (now := time.monotonic() - begun) < seconds:
            while sent < now * per_second:
                with contextlib.suppress(ConnectionRefusedError):
                    link.send(next(packets))
                sent += 1
            answer_absurdly(link)
            time.sleep(0.002)
    return sent


if __name__ == "__main__":
    what, where, rate, duration = sys.argv[1:]
    print(many_faces(where, int(rate)) if what == "faces" else flood(what, where, float(rate), float(duration)))
