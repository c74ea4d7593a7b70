"""The ends of the laboratory's flows: one process per namespace.

`python traffic.py receive CC PORT` listens; `… send` reads flows from standard input. Both write what they have
measured to standard output as JSON. A flow begins with a header that names it, so that its bytes are counted at both
ends; all clocks are the machine's one monotonic clock. Only the standard library is used: these processes start often.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from typing import Any

# Long flows and short ones end in processes of their own: the former's bytes must not hold up the latter's clock.
LONG_PORT, SHORT_PORT = 7466, 7467
# Flow and bytes to come, 0 without end.
HEADER = struct.Struct("!QQ")
CHUNK = 1 << 16
# Connections that wait to be taken. With more half open than that the kernel answers by SYN cookies, and a flow whose
# last ACK of the handshake finds no room is reset by its next data. A namespace allows 4096 (net.core.somaxconn).
BACKLOG = 4096
SAMPLE_S = 0.1

# linux/tcp.h, struct tcp_info: what we read of it, by its place.
TCP_INFO = {
    "rtt_us": (68, "I"),
    "cwnd": (80, "I"),
    "total_retrans": (100, "I"),
    "bytes_acked": (120, "Q"),
    "min_rtt_us": (148, "I"),
    "data_segs_out": (156, "I"),
    "delivered": (192, "I"),
    "delivered_ce": (196, "I"),
}
TCP_INFO_BYTES = 232
# The option's older structure ends before what was added later; what is not there reads as 0.
ECN_OPTION, ECN_SEEN_OPTION = 8, 16
# asm-generic/socket.h; bytes per second. With any limit the kernel paces a socket at its window per round trip, also
# without the qdisc fq; this one is never reached.
SO_MAX_PACING_RATE = 47
UNREACHED = 1 << 31


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """What the kernel knows of a connection."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES).ljust(TCP_INFO_BYTES, b"\0")
    found = {name: struct.unpack_from(f"={kind}", raw, at)[0] for name, (at, kind) in TCP_INFO.items()}
    return found | {"ecn": int(bool(raw[5] & ECN_OPTION))}


def listen(congestion: str, port: int) -> socket.socket:
    """A socket that takes flows; their ACKs are those of the congestion control, for DCTCP has its own."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    server.bind(("", port))
    server.listen(BACKLOG)
    return server


class Receiver:
    """Counts what arrives, flow by flow."""

    def __init__(self, congestion: str, port: int) -> None:
        self.server = listen(congestion, port)
        self.bytes: dict[int, int] = {}
        self.ended: dict[int, float] = {}
        self.samples: list[tuple[float, dict[int, int]]] = []

    def run(self) -> dict[str, Any]:
        """Until standard input ends."""
        threading.Thread(target=self._accept, daemon=True).start()
        print("ready", flush=True)
        stop = threading.Event()

        def wait() -> None:
            sys.stdin.read()
            stop.set()

        threading.Thread(target=wait, daemon=True).start()
        while not stop.wait(SAMPLE_S):
            self.samples.append((time.monotonic(), dict(self.bytes)))
        self.samples.append((time.monotonic(), dict(self.bytes)))
        return {"bytes": self.bytes, "ended": self.ended, "samples": self.samples}

    def _accept(self) -> None:
        while True:
            connection, _ = self.server.accept()
            threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            flow, size = HEADER.unpack(connection.recv(HEADER.size, socket.MSG_WAITALL))
            self.bytes[flow] = 0
            space = bytearray(1 << 18)
            while got := connection.recv_into(space):
                self.bytes[flow] += got
                if self.bytes[flow] == size:
                    self.ended[flow] = time.monotonic()


class Flow:
    """One flow's sending end."""

    def __init__(self, asked: dict[str, Any], begin: float) -> None:
        self.asked, self.begin = asked, begin
        self.started: float | None = None
        self.connection: socket.socket | None = None
        self.samples: list[tuple[float, dict[str, int]]] = []
        self.last: dict[str, int] = {}
        self.error: str | None = None

    def run(self) -> None:
        """Waits for its time, sends, and closes."""
        time.sleep(max(0.0, self.begin + self.asked["start_s"] - time.monotonic()))
        try:
            self._send()
        except OSError as error:
            self.error = str(error)

    def _send(self) -> None:
        asked = self.asked
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, asked["cc"].encode())
            if asked["paced"]:
                connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("I", UNREACHED))
            connection.settimeout(30)
            self.started = time.monotonic()
            connection.connect((asked["to"], SHORT_PORT if asked["size_bytes"] else LONG_PORT))
            self.connection = connection
            size = asked["size_bytes"] or 0
            connection.sendall(HEADER.pack(asked["flow"], size))
            if size:
                connection.sendall(bytes(size))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            else:
                self._endless(connection)
            self.last = tcp_info(connection)
            self.connection = None
            if not size:
                # What is still in the socket would go on to fill the queue of the next run.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _endless(self, connection: socket.socket) -> None:
        data, end = bytes(CHUNK), self.begin + self.asked["stop_s"]
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            with suppress(TimeoutError):
                connection.send(data)

    def sample(self) -> None:
        """Looks at the connection."""
        connection = self.connection
        if connection is not None:
            with suppress(OSError):
                self.samples.append((time.monotonic(), tcp_info(connection)))


def send(asked: dict[str, Any]) -> dict[str, Any]:
    """Sends all flows; `begin` is the time that their starts count from."""
    flows = [Flow(one, asked["begin"]) for one in asked["flows"]]
    threads = [threading.Thread(target=flow.run, daemon=True) for flow in flows]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(SAMPLE_S)
        for flow in flows:
            # A flow of some packets is over before there is anything to see.
            if not flow.asked["size_bytes"]:
                flow.sample()
    return {
        "flows": [
            {"flow": f.asked["flow"], "started": f.started, "last": f.last, "samples": f.samples, "error": f.error}
            for f in flows
        ]
    }


def main(arguments: list[str]) -> None:
    """What a process of the laboratory does."""
    if arguments[0] == "receive":
        found = Receiver(arguments[1], int(arguments[2])).run()
    else:
        print("ready", flush=True)
        found = send(json.loads(sys.stdin.read()))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
