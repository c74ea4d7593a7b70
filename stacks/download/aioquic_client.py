"""`aioquic_client.py HOST PORT CERTIFICATE FILE`: fetches a file by HTTP/0.9 over QUIC and prints how long that took.

The server is `midpath`, whose certificate is the one in the PEM file.
"""

import asyncio
import sys
import time
from pathlib import Path

from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration


async def main(host: str, port: str, certificate: str, file: str) -> None:
    """Fetches it once."""
    configuration = QuicConfiguration(alpn_protocols=["hq-interop"], server_name="midpath")
    configuration.load_verify_locations(certificate)
    began = time.monotonic()
    async with connect(host, int(port), configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"GET /file\r\n")
        writer.write_eof()
        content = await reader.read()
        print(f"{len(content)} bytes in {time.monotonic() - began:.6f} s")
    Path(file).write_bytes(content)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
