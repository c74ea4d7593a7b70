"""Fetches NDN's objects through the forwarder of this machine, as `midpathd ndn fetch` does: MIRCC from end to end.

The forwarder paces Interests and reports the rate of Data; this consumer keeps one and a half seconds of it
pending, retransmits lost Interests, and delivers segments in order. Digests are verified; with a key (HMAC with
SHA-256) or a certificate (RSA, ECDSA, Ed25519), signatures by it. It waits for the forwarder by `asyncio` only.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from midpath._midpath import NdnConsumer

USUAL = "unix:///run/nfd/nfd.sock"
"""Where a forwarder is unless something else is said."""
TRANSPORT = "NDN_CLIENT_TRANSPORT"
"""The variable that says so."""

_READ = 1 << 16
_LONGEST_S = 1.0


@dataclass
class Fetch:
    """One object, as an asynchronous iterator over its bytes in order.

    `ConnectionError` says why it cannot be had, `ValueError` what is wrong with what was asked for. An iterator that is
    left early gives the object up.
    """

    object: str
    """Its name: the newest version below it, in segments or in one piece."""
    forwarder: str | None = None
    """`unix:///path` or `tcp4://address:port`; unless given, what `NDN_CLIENT_TRANSPORT` says."""
    window: int = 256
    """Interests under way at most."""
    key: bytes | None = None
    """The key that Data are signed by; others are refused."""
    certificate: bytes | None = None
    """Or the producer's certificate: its packet, or that in base64. How long it is valid is not looked at."""
    again: int = field(default=0, init=False)
    """Interests that were sent again so far."""
    unverified: int = field(default=0, init=False)
    """Segments so far that a key has signed which was not given."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Pieces of any length."""
        consumer = NdnConsumer(self.object, self.window, secrets.randbits(64), self.key, self.certificate)
        reader, writer = await _connect(self.forwarder or os.environ.get(TRANSPORT, USUAL))
        began = time.monotonic()
        try:
            while True:
                if sends := consumer.sends():
                    writer.write(sends)
                    await writer.drain()
                if piece := consumer.take():
                    yield piece
                self.again, self.unverified = consumer.again, consumer.unverified
                if consumer.is_done():
                    return
                patience = min(max(consumer.next() - (time.monotonic() - began), 0.0), _LONGEST_S)
                try:
                    data = await asyncio.wait_for(reader.read(_READ), patience)
                except TimeoutError:
                    pass
                else:
                    if not data:
                        raise ConnectionError("the forwarder closed the connection")
                    consumer.receive(time.monotonic() - began, data)
                consumer.on_time(time.monotonic() - began)
        finally:
            writer.transport.abort()


async def fetch(
    object: str,
    forwarder: str | None = None,
    window: int = 256,
    key: bytes | None = None,
    certificate: bytes | None = None,
) -> bytes:
    """All of an object. See `Fetch`."""
    return b"".join([piece async for piece in Fetch(object, forwarder, window, key, certificate)])


async def _connect(transport: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        if path := transport.removeprefix("unix://") if transport.startswith("unix://") else "":
            return await asyncio.open_unix_connection(path)
        for scheme in ("tcp://", "tcp4://", "tcp6://"):
            host, colon, port = transport.removeprefix(scheme).rpartition(":")
            if transport.startswith(scheme) and colon and port.isdecimal():
                return await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError as error:
        raise ConnectionError(f"no forwarder answers at {transport}: {error}") from None
    raise ValueError(f"{transport}: write a forwarder as unix:///path or tcp4://address:port")
