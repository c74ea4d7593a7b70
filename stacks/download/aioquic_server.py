"""`aioquic_server.py PORT CERTIFICATE KEY FILE [cubic|reno]`: answers each QUIC stream with the file (HTTP/0.9)."""

import asyncio
import sys
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived


async def main(port: str, certificate: str, key: str, file: str, controller: str = "cubic") -> None:
    """Serves until it is ended."""
    content = Path(file).read_bytes()

    class Files(QuicConnectionProtocol):
        """A connection."""

        def quic_event_received(self, event: QuicEvent) -> None:
            """Answers a request that is whole."""
            if isinstance(event, StreamDataReceived) and event.end_stream:
                self._quic.send_stream_data(event.stream_id, content, end_stream=True)
                self.transmit()

    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=["hq-interop"], congestion_control_algorithm=controller
    )
    configuration.load_cert_chain(certificate, key)
    await serve("::", int(port), configuration=configuration, create_protocol=Files)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
