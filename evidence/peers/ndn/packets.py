"""Packets as python-ndn writes them, and the same with something wrong: random, but the same each time."""

from __future__ import annotations

import random

from ndn.encoding import Component, InterestParam, MetaInfo, Name, make_data, make_interest
from ndn.encoding.ndnlp_v2 import LpPacket, LpPacketValue, NetworkNack
from ndn.security import DigestSha256Signer, HmacSha256Signer

# Elements that hold elements, by what the specifications say.
NESTED = {0x05, 0x06, 0x07, 0x14, 0x16, 0x1A, 0x1C, 0x1E, 0x2C, 0x50, 0x64, 0x320}
SIGNER = HmacSha256Signer(Name.from_str("/check/KEY/1"), b"key")
# An element: its type, and its bytes or its elements.
Element = tuple[int, "bytes | list[Element]"]


def name(rng: random.Random) -> list[bytes]:
    """One to six components."""
    parts = [Component.from_bytes(rng.randbytes(rng.randrange(0, 12))) for _ in range(rng.randrange(1, 6))]
    if rng.random() < 0.4:
        parts.append(Component.from_segment(rng.randrange(1 << 20)))
    return parts


def interest(rng: random.Random) -> bytes:
    """With any of what an Interest can have."""
    maybe = rng.random
    param = InterestParam(
        can_be_prefix=maybe() < 0.3,
        must_be_fresh=maybe() < 0.3,
        nonce=rng.randrange(1 << 32) if maybe() < 0.9 else None,
        lifetime=rng.choice([None, 10, 4000, 70_000, 1 << 40]),
        hop_limit=rng.randrange(256) if maybe() < 0.4 else None,
        forwarding_hint=[name(rng) for _ in range(rng.randrange(1, 3))] if maybe() < 0.08 else [],
    )
    parameters = rng.randbytes(rng.randrange(40)) if maybe() < 0.1 else None
    signer = (
        (DigestSha256Signer(True) if maybe() < 0.5 else SIGNER) if parameters is not None and maybe() < 0.5 else None
    )
    return bytes(make_interest(name(rng), param, parameters, signer))


def data(rng: random.Random) -> bytes:
    """Signed in one of two ways."""
    final = Component.from_segment(rng.randrange(1000)) if rng.random() < 0.3 else None
    meta = MetaInfo(
        content_type=rng.choice([None, 0, 2, 3]),
        freshness_period=rng.choice([None, 0, 1000, 1 << 40]),
        final_block_id=final,
    )
    return bytes(
        make_data(name(rng), meta, rng.randbytes(rng.randrange(300)), rng.choice([DigestSha256Signer(), SIGNER]))
    )


def packet(rng: random.Random) -> bytes:
    """An Interest, Data or Nack, bare or with a header."""
    inner = rng.choice([interest, data])(rng)
    if rng.random() < 0.5:
        return inner
    around = LpPacketValue()
    if rng.random() < 0.6:
        around.pit_token = rng.randbytes(rng.randrange(1, 33))
    if rng.random() < 0.3:
        around.congestion_mark = rng.randrange(3)
    if inner[0] == 5 and rng.random() < 0.3:
        around.nack = NetworkNack()
        around.nack.nack_reason = rng.choice([None, 50, 100, 150])
    if rng.random() < 0.1:
        around.next_hop_face_id = rng.randrange(1000)
    around.fragment = inner
    whole = LpPacket()
    whole.lp_packet = around
    return bytes(whole.encode())


def number(value: int) -> bytes:
    """A type or a length."""
    if value < 253:
        return bytes([value])
    return b"\xfd" + value.to_bytes(2, "big") if value < 1 << 16 else b"\xfe" + value.to_bytes(4, "big")


def long_number(value: int) -> bytes:
    """The same in more bytes than it takes."""
    return b"\xfd" + value.to_bytes(2, "big") if value < 253 else b"\xfe" + value.to_bytes(4, "big")


def read_number(wire: bytes, at: int) -> tuple[int, int]:
    """And where it ends."""
    size = {253: 2, 254: 4, 255: 8}.get(wire[at], 0)
    return (int.from_bytes(wire[at + 1 : at + 1 + size], "big"), at + 1 + size) if size else (wire[at], at + 1)


def tree(wire: bytes) -> list[Element]:
    """The elements of good bytes."""
    found: list[Element] = []
    at = 0
    while at < len(wire):
        kind, at = read_number(wire, at)
        length, at = read_number(wire, at)
        value = wire[at : at + length]
        found.append((kind, tree(value) if kind in NESTED else value))
        at += length
    return found


def write(elements: list[Element], long_at: list[int] | None = None) -> bytes:
    """Their bytes; the element of number `long_at[0]`, in this order, has its length in too many bytes."""
    out = b""
    for kind, value in elements:
        is_long = False
        if long_at is not None:
            is_long = long_at[0] == 0
            long_at[0] -= 1
        inner = write(value, long_at) if isinstance(value, list) else value
        out += number(kind) + (long_number if is_long else number)(len(inner)) + inner
    return out


def lists(elements: list[Element]) -> list[list[Element]]:
    """All lists of elements, the outermost first."""
    return [elements] + [found for _, value in elements if isinstance(value, list) for found in lists(value)]


def flip(rng: random.Random, wire: bytes) -> bytes:
    """One to three bytes are others."""
    out = bytearray(wire)
    for _ in range(rng.randrange(1, 4)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def cut(rng: random.Random, wire: bytes) -> bytes:
    """A byte is missing, or there is one too many, or the end is missing."""
    at = rng.randrange(len(wire))
    return rng.choice([wire[:at] + wire[at + 1 :], wire[:at] + rng.randbytes(1) + wire[at:], wire[:at]])


def rearrange(rng: random.Random, wire: bytes) -> bytes:
    """An element goes elsewhere, goes missing, comes twice, is replaced by an unknown one; all lengths are right."""
    whole = tree(wire)
    among = rng.choice(lists(whole)[1:])
    if not among:
        return wire
    at = rng.randrange(len(among))
    what = rng.randrange(5)
    if what == 0:
        among.insert(rng.randrange(len(among)), among.pop(at))
    elif what == 1:
        among.pop(at)
    elif what == 2:
        among.insert(at, among[at])
    elif what == 3:
        kind = rng.choice([0x09, 0x1F, 0x21, 0x23, 0xF0, 0xF1, 0x322, 0x324, 0x325, 0x390, 0x3FF, 0x1_0000, 0x1_0001])
        among.insert(rng.randrange(len(among) + 1), (kind, rng.randbytes(rng.randrange(4))))
    else:
        kind, value = among[at]
        among[at] = (kind, (write(value) if isinstance(value, list) else value) + rng.randbytes(1))
    return write(whole)


def lengthen(rng: random.Random, wire: bytes) -> bytes:
    """A length has more bytes than it takes."""
    whole = tree(wire)
    return write(whole, [rng.randrange(3 * len(lists(whole)))])


def mutation(rng: random.Random) -> bytes:
    """A packet with something wrong, mostly."""
    change = rng.choices([flip, cut, rearrange, lengthen], [4, 2, 4, 1])[0]
    return change(rng, packet(rng))
