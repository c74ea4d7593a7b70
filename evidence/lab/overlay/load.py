"""Many connections through an overlay of three processes: how many stay open, how many short ones a second.

python evidence/lab/overlay/load.py open 10000       # all open at once, each asked twice
python evidence/lab/overlay/load.py requests 1000 60 # short requests a second, for so many seconds
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nodes import NODES, Overlay

QUESTION = 64
ANSWER = 1000


def question(number: int) -> bytes:
    """What the connection of this number asks."""
    return number.to_bytes(8, "big") + hashlib.shake_128(number.to_bytes(8, "big")).digest(QUESTION - 8)


def answer(asked: bytes) -> bytes:
    """What it is to be told: nobody else's."""
    return (asked * (ANSWER // QUESTION + 1))[:ANSWER]


def serve(listener: socket.socket) -> None:
    """Answers each question; hangs up when the client does."""
    listener.setblocking(False)
    poll, connections = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    said: dict[int, bytes] = {}
    while True:
        for handle, _ in poll.poll():
            if handle == listener.fileno():
                try:
                    while True:
                        connection, _ = listener.accept()
                        connection.setblocking(False)
                        connections[connection.fileno()] = connection
                        poll.register(connection, select.EPOLLIN)
                except BlockingIOError:
                    continue
            connection = connections[handle]
            try:
                piece = connection.recv(4096)
                asked = said.pop(handle, b"") + piece
                while len(asked) >= QUESTION:
                    connection.send(answer(asked[:QUESTION]))
                    asked = asked[QUESTION:]
                if asked:
                    said[handle] = asked
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                poll.unregister(connection)
                connections.pop(handle).close()
                said.pop(handle, None)


def forked(listener: socket.socket) -> int:
    """The server as a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            serve(listener)
        finally:
            os._exit(0)
    return child


@dataclass
class Client:
    """Asks by a connection, and checks what it is told."""

    number: int
    connection: socket.socket
    since: float
    got: bytes = b""


@dataclass
class Crowd:
    """Clients of one entrance."""

    port: int
    abort: int = 0
    poll: select.epoll = field(default_factory=select.epoll)
    clients: dict[int, Client] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    wrong: int = 0
    failed: int = 0
    aborted: int = 0
    begun: int = 0

    def begin(self) -> Client:
        """One more."""
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", self.port))
        client = Client(self.begun, connection, time.monotonic())
        self.begun += 1
        self.clients[connection.fileno()] = client
        self.poll.register(connection, select.EPOLLIN | select.EPOLLOUT | select.EPOLLONESHOT)
        return client

    def turn(self, timeout: float, done: Callable[[Client], None]) -> None:
        """What has happened: clients that have connected ask, clients that have been answered are `done`."""
        for handle, events in self.poll.poll(timeout):
            client = self.clients[handle]
            try:
                if events & select.EPOLLOUT and not client.got:
                    client.connection.send(question(client.number))
                    if client.number % 100 < self.abort:
                        self.aborted += 1
                        client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        self.end(client)
                        continue
                elif events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    piece = client.connection.recv(4096)
                    if not piece:
                        raise ConnectionError("it ends early")
                    client.got += piece
            except OSError:
                self.failed += 1
                self.end(client)
                continue
            if len(client.got) >= ANSWER:
                self.waits.append(time.monotonic() - client.since)
                self.wrong += client.got != answer(question(client.number))
                client.got = b""
                done(client)
            else:
                self.poll.modify(handle, select.EPOLLIN | select.EPOLLONESHOT)

    def ask_again(self, clients: list[Client]) -> None:
        """These clients ask once more."""
        for client in clients:
            client.since = time.monotonic()
            self.poll.modify(client.connection, select.EPOLLOUT | select.EPOLLONESHOT)

    def end(self, client: Client) -> None:
        """Hangs up."""
        del self.clients[client.connection.fileno()]
        client.connection.close()

    def said(self) -> str:
        """How long answers took."""
        waits = sorted(self.waits)
        shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        of = [
            f"{name} {1000 * waits[min(int(share * len(waits)), len(waits) - 1)]:.0f}" for name, share in shares.items()
        ]
        hung_up = f"{self.aborted} hung up, " if self.aborted else ""
        return f"{len(waits)} answered, {hung_up}{self.wrong} wrong, {self.failed} failed; ms: {', '.join(of)}"


def keep_open(overlay: Overlay, port: int, count: int, idle: float = 10) -> Iterator[str]:
    """Opens so many, asks by all twice while all are open, and closes them."""
    before = {name: overlay.memory(name) for name in NODES}
    crowd, begun = Crowd(port), time.monotonic()
    answered: list[Client] = []
    until = begun + 60 + count / 50
    while len(answered) + crowd.failed < count and time.monotonic() < until:
        # No more than a thousand wait at once: it is how many stay open that is asked.
        while crowd.begun < count and crowd.begun - len(answered) - crowd.failed < 1000:
            crowd.begin()
        crowd.turn(0.1, answered.append)
    yield f"opened in {time.monotonic() - begun:.1f} s: {crowd.said()}"
    held = overlay.held()
    for name in NODES:
        grown = overlay.memory(name) - before[name]
        each = f", {grown / count / 1024:.2f} kB a connection" if name != "r" else ""
        yield f"{name}: {held[name]['open']} open, {grown / 2**20:.1f} MiB more memory{each}; held {held[name]}"
    cpu = {name: overlay.cpu(name) for name in NODES}
    time.sleep(idle)
    used = ", ".join(f"{name} {100 * (overlay.cpu(name) - cpu[name]) / idle:.1f} %" for name in NODES)
    yield f"CPU of all open and idle, over {idle:g} s: {used}"
    crowd.waits.clear()
    answered.clear()
    begun, waits = time.monotonic(), list(crowd.clients.values())
    while len(answered) + crowd.failed < count and time.monotonic() < begun + 60 + count / 50:
        # No more than a thousand at once here, too.
        room = 1000 - (count - len(waits) - len(answered) - crowd.failed)
        crowd.ask_again([waits.pop() for _ in range(min(room, len(waits)))])
        crowd.turn(0.1, answered.append)
    yield f"each asked again, in {time.monotonic() - begun:.1f} s: {crowd.said()}"
    assert len(answered) == count and not crowd.wrong and not crowd.failed
    for client in list(crowd.clients.values()):
        crowd.end(client)
    begun = time.monotonic()
    overlay.wait_until_empty(120)
    yield f"all closed, nothing left after {time.monotonic() - begun:.1f} s"


def request(overlay: Overlay, port: int, rate: int, seconds: float, abort: int = 0) -> Iterator[str]:
    """So many short requests a second, each a connection of its own, whether the last ones are answered or not.

    Of a hundred `abort` hang up when they have asked.
    """
    crowd, begun = Crowd(port, abort), time.monotonic()
    before = {name: (overlay.cpu(name), overlay.memory(name)) for name in NODES}
    count, done = round(rate * seconds), 0

    def finish(client: Client) -> None:
        crowd.end(client)

    while (done := len(crowd.waits) + crowd.failed + crowd.aborted) < count and time.monotonic() < begun + seconds + 30:
        due = min(int((time.monotonic() - begun) * rate) + 1, count)
        while crowd.begun < due:
            crowd.begin()
        crowd.turn(0.001, finish)
    took = time.monotonic() - begun
    yield f"{done} of {count} in {took:.1f} s: {crowd.said()}"
    for name in NODES:
        cpu, memory = before[name]
        used, grown = overlay.cpu(name) - cpu, (overlay.memory(name) - memory) / 2**20
        each = f"{1e6 * used / count:.0f} us a request"
        yield f"{name}: {100 * used / took:.0f} % CPU, {each}, {grown:.1f} MiB more memory"
    assert done == count and not crowd.wrong and not crowd.failed
    overlay.wait_until_empty(120)


def main() -> None:
    """Prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["open", "requests"])
    parser.add_argument("numbers", type=int, nargs="+", help="how many; of requests a second, for how long, percent")
    parser.add_argument("--scheme", default="cubic")
    parser.add_argument("--rate", default="50 Mbps")
    parser.add_argument("--idle", type=float, default=10, help="seconds in which all are open and silent")
    parser.add_argument("--memory", default="64 MiB", help="each node's budget")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {hard} files a process")
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        server = forked(listener)
        port = listener.getsockname()[1]
        try:
            memory = f'[memory]\nbudget = "{options.memory}"\n'
            with Overlay(options.scheme, options.rate, (port,), a=memory, b=memory) as overlay:
                print(f"{options.scheme}, {options.rate}, budget {options.memory}, {overlay.program.parent.name} build")
                entrance, numbers = overlay.forward[port], options.numbers
                if options.what == "open":
                    work = keep_open(overlay, entrance, *numbers, idle=options.idle)
                else:
                    work = request(overlay, entrance, *numbers)
                for line in work:
                    print(line, flush=True)
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


if __name__ == "__main__":
    sys.exit(main())
