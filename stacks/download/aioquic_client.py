"""`aioquic_client.py HOST PORT CERTIFICATE FILE [PROXY]`: fetches a file by HTTP/0.9 over QUIC.

It prints how long that took. The server is `midpath`, whose certificate is the one in the PEM file. With the port of a
SOCKS5 proxy on this machine its datagrams go through that one's UDP ASSOCIATE (RFC 1928, section 7).
"""

import asyncio
import ipaddress
import socket
import sys
import time
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.quic.configuration import QuicConfiguration


class ByProxy(QuicConnectionProtocol):
    """A connection that is its own transport: a header goes before each datagram, and comes before each."""

    relay: tuple[Any, ...]

    def connection_made(self, transport: Any) -> None:
        """Stands between the socket and QUIC."""
        self.udp = transport
        super().connection_made(self)  # type: ignore[arg-type]

    def sendto(self, data: bytes, server: Any) -> None:
        """To the relay, which sends it on to the server."""
        self.server = server
        mapped = ipaddress.IPv6Address(server[0]).ipv4_mapped
        assert mapped is not None, "IPv4 only"
        self.udp.sendto(b"\0\0\0\1" + mapped.packed + server[1].to_bytes(2, "big") + data, self.relay)

    def datagram_received(self, data: Any, addr: Any) -> None:  # noqa: ARG002
        """From the relay: ten bytes, then what the server sent."""
        super().datagram_received(data[10:], self.server)


async def associate(port: int) -> asyncio.StreamWriter:
    """Asks the proxy for a relay, which lives as long as the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for said, length in ((b"\5\1\0", 2), (b"\5\3\0\1" + bytes(6), 10)):
        writer.write(said)
        answer = await reader.readexactly(length)
        if answer[1]:
            raise OSError(f"the proxy refuses: {answer[1]}")
    ByProxy.relay = ("::ffff:" + socket.inet_ntoa(answer[4:8]), int.from_bytes(answer[8:], "big"), 0, 0)
    return writer


async def main(host: str, port: str, certificate: str, file: str, proxy: str | None = None) -> None:
    """Fetches it once."""
    configuration = QuicConfiguration(alpn_protocols=["hq-interop"], server_name="midpath")
    configuration.load_verify_locations(certificate)
    control = await associate(int(proxy)) if proxy else None
    kind = ByProxy if proxy else QuicConnectionProtocol
    began = time.monotonic()
    async with connect(host, int(port), configuration=configuration, create_protocol=kind) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"GET /file\r\n")
        writer.write_eof()
        content = await reader.read()
        print(f"{len(content)} bytes in {time.monotonic() - began:.6f} s")
    if control:
        control.close()
    Path(file).write_bytes(content)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
