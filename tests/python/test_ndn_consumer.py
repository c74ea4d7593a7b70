"""Objects fetched in Python, from a producer that answers Interests itself, and through a forwarder."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
from pathlib import Path

import pytest

from midpath import ndn

COMPONENT, NAME, INTEREST, DATA, META, CONTENT, SIGNATURE, VALUE = 8, 7, 5, 6, 20, 21, 22, 23
SEGMENT, FINAL, VERSION, TYPE = 50, 26, 54, 27


def number(value):
    """A TLV number of NDN's packet specification."""
    return bytes([value]) if value < 253 else b"\xfd" + value.to_bytes(2, "big")


def block(kind, *parts):
    """A TLV block."""
    inside = b"".join(parts)
    return number(kind) + number(len(inside)) + inside


def blocks(data):
    """The blocks that bytes are made of: kind, inside, whole."""
    at, found = 0, []
    while at < len(data):
        begin, values = at, []
        for _ in range(2):
            wide = data[at] == 253
            values.append(int.from_bytes(data[at + 1 : at + 3], "big") if wide else data[at])
            at += 3 if wide else 1
        found.append((values[0], data[at : at + values[1]], data[begin : at + values[1]]))
        at += values[1]
    return found


class Producer:
    """A forwarder and a producer in one: an object in segments, of which some answers get lost."""

    def __init__(self, content, size=1000, losing=0, key=None):
        self.content, self.size, self.losing, self.key = content, size, losing, key
        self.asked = 0

    def data(self, name, content, last):
        """A packet, signed by its digest or by the key."""
        final = block(FINAL, block(SEGMENT, bytes([last])))
        signed = block(NAME, name) + block(META, final) + block(CONTENT, content)
        signed += block(SIGNATURE, block(TYPE, bytes([0 if self.key is None else 4])))
        value = hashlib.sha256(signed).digest() if self.key is None else hmac.digest(self.key, signed, "sha256")
        return block(DATA, signed, block(VALUE, value))

    def answer(self, interest):
        """Data, or nothing."""
        self.asked += 1
        if self.losing and self.asked % self.losing == 0:
            return b""
        asked = blocks(blocks(interest)[0][1])
        segments = [int.from_bytes(inside, "big") for kind, inside, _ in asked if kind == SEGMENT]
        segment = segments[0] if segments else 0
        name = b"".join(whole for kind, _, whole in asked if kind == COMPONENT)
        name += block(VERSION, bytes([1])) + block(SEGMENT, bytes([segment]))
        last = (len(self.content) - 1) // self.size
        if segment > last:
            return b""
        return self.data(name, self.content[segment * self.size : (segment + 1) * self.size], last)

    async def serve(self, reader, writer):
        """One connection."""
        kept = b""
        while piece := await reader.read(4096):
            kept += piece
            with contextlib.suppress(IndexError):
                for kind, inside, whole in blocks(kept):
                    if len(whole) < len(inside) + 2 or (kind, inside, whole) == (0, b"", b""):
                        break
                    kept = kept[len(whole) :]
                    if kind == INTEREST:
                        writer.write(self.answer(inside))
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def standing(producer, tmp_path):
    """Where it listens."""
    path = tmp_path / "nfd.sock"
    async with await asyncio.start_unix_server(producer.serve, path):
        yield f"unix://{path}"
        await asyncio.sleep(0.05)  # the other end sees that it is over


CONTENT_BYTES = bytes(range(256)) * 300


@pytest.mark.parametrize("losing", [0, 7])
def test_an_object_comes_whole(tmp_path, losing):
    async def run():
        producer = Producer(CONTENT_BYTES, losing=losing)
        async with standing(producer, tmp_path) as at:
            fetches = ndn.Fetch("/a/file", at)
            pieces = [piece async for piece in fetches]
        assert b"".join(pieces) == CONTENT_BYTES
        assert len(pieces) > 1
        assert (fetches.again > 0) == (losing > 0)
        assert fetches.unverified == 0

    asyncio.run(run())


def test_a_key_refuses_what_others_have_signed(tmp_path, monkeypatch):
    async def run(key):
        async with standing(Producer(CONTENT_BYTES[:5000], key=b"theirs"), tmp_path) as at:
            monkeypatch.setenv(ndn.TRANSPORT, at)
            return await asyncio.wait_for(ndn.fetch("/a/file", key=key), 3)

    assert asyncio.run(run(b"theirs")) == CONTENT_BYTES[:5000]
    with pytest.raises((ConnectionError, TimeoutError)):
        asyncio.run(run(b"ours"))


SIGNATURES = Path(__file__).parents[2] / "net/ndn-forwarder/tests/vectors/signatures.txt"
# Of each kind, python-ndn's certificate in base64, and Data of its key.
SIGNED = {
    kind: (certificate.encode(), base64.b64decode(data))
    for kind, certificate, data in (line.split() for line in SIGNATURES.read_text().splitlines() if line[0] != "#")
}


@pytest.mark.parametrize("kind", SIGNED)
def test_a_certificate_refuses_what_others_have_signed(kind, tmp_path):
    async def run(certificate):
        async def answer(reader, writer):
            await reader.read(4096)
            writer.write(SIGNED[kind][1])
            await reader.read()
            writer.close()

        path = tmp_path / "nfd.sock"
        async with await asyncio.start_unix_server(answer, path):
            fetches = ndn.fetch("/a", f"unix://{path}", certificate=certificate)
            return await asyncio.wait_for(fetches, 3 if certificate is SIGNED[kind][0] else 0.5)

    assert asyncio.run(run(SIGNED[kind][0])) == b"all"
    for other in SIGNED.keys() - {kind}:
        with pytest.raises(TimeoutError):
            asyncio.run(run(SIGNED[other][0]))


def test_what_cannot_be_fetched_is_said(tmp_path):
    def raises(error, match, **asked):
        with pytest.raises(error, match=match):
            asyncio.run(ndn.fetch(**{"object": "/a", "forwarder": f"unix://{tmp_path}/none"} | asked))

    raises(ConnectionError, "no forwarder answers at unix://")
    raises(ValueError, "write a forwarder as unix", forwarder="udp4://127.0.0.1:6363")
    raises(ValueError, "give the name of an object to fetch", object="/")
    raises(ValueError, "window: must be at least 1", window=0)
    raises(ValueError, "certificate: neither a packet nor base64 of one", certificate=b"-----BEGIN")
    raises(ValueError, "pass a key or a certificate, not both", key=b"k", certificate=SIGNED["ed25519"][0])


def test_a_forwarder_that_goes_is_an_error(tmp_path):
    async def leaves(reader, writer):
        await reader.read(1)
        writer.close()

    async def run(serve, said):
        path = tmp_path / "nfd.sock"
        async with await asyncio.start_unix_server(serve, path):
            with pytest.raises(ConnectionError, match=said):
                await ndn.fetch("/a", f"unix://{path}")
            await asyncio.sleep(0.05)  # the other end sees it

    async def nonsense(reader, writer):
        await reader.read(1)
        writer.write(b"\x05\xfd\xff\xff" * 10)
        await reader.read()
        writer.close()

    asyncio.run(run(leaves, "closed the connection"))
    asyncio.run(run(nonsense, "invalid NDN"))
