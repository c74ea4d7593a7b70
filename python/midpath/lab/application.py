"""An application over real sockets: a client's closed loops, a page's loader or a call, and the servers they ask.

    application.py serve PLAN           # works and replies
    application.py ask SERVER PLAN      # closed loops; prints how long each request took, in s
    application.py load SERVER PLAN     # loads a page; prints how long each load took
    application.py hear SECONDS         # takes datagrams; prints their one-way delays
    application.py call SERVER PLAN     # sends datagrams, each with its time

A plan's `exchanges` are the bytes of a request and its reply, and the server's time. As in the simulator a connection
goes one way: a server opens one back with its first reply, to the port that lies BACK above the client's.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

SERVER, CLIENT, BACK = 8000, 20_000, 10_000
NUMBER = struct.Struct("!I")
TIME = struct.Struct("!d")

Plan = dict[str, Any]


def receive(connection: socket.socket, size: int) -> bytes:
    """Takes so many bytes; the first of them."""
    first = b""
    while size:
        got = connection.recv(min(size, 65_536))
        if not got:
            raise ConnectionError("the other end has closed")
        first = first or got
        size -= len(got)
    return first


def listener(port: int) -> socket.socket:
    """A socket that takes connections."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("", port))
    made.listen()
    return made


def connect(address: tuple[str, int], port: int = 0) -> socket.socket:
    """A connection, from a port of one's own perhaps."""
    made = socket.create_connection(address, source_address=("", port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def answer(connection: socket.socket, peer: tuple[str, int], plan: Plan) -> None:
    """Takes requests, which begin with the number of their exchange, works, and replies."""
    back = None
    try:
        while True:
            (number,) = NUMBER.unpack(receive(connection, NUMBER.size))
            request, reply, service = plan["exchanges"][number]
            receive(connection, request - NUMBER.size)
            time.sleep(service)
            back = back or connect((peer[0], peer[1] + BACK))
            back.sendall(bytes(reply))
    except ConnectionError:
        pass


def serve(plan: Plan) -> None:
    """Answers whoever comes."""
    door = listener(SERVER)
    while True:
        threading.Thread(target=answer, args=(*door.accept(), plan), daemon=True).start()


class Pair:
    """A connection to the server, and the one back; the first request opens them."""

    def __init__(self, server: str, number: int, plan: Plan) -> None:
        self.server, self.port, self.plan = server, CLIENT + number, plan
        self.door = listener(self.port + BACK)
        self.there: socket.socket | None = None
        self.back: socket.socket | None = None

    def ask(self, number: int) -> float:
        """Makes an exchange; when it is over."""
        request, reply, _ = self.plan["exchanges"][number]
        self.there = self.there or connect((self.server, SERVER), self.port)
        self.there.sendall(NUMBER.pack(number) + bytes(request - NUMBER.size))
        self.back = self.back or self.door.accept()[0]
        receive(self.back, reply)
        return time.monotonic()


def ask(server: str, plan: Plan) -> list[float]:
    """Closed loops, side by side."""
    took: list[float] = []

    def loop(number: int, exchanges: list[int]) -> None:
        pair = Pair(server, number, plan)
        for exchange in exchanges:
            begin = time.monotonic()
            took.append(pair.ask(exchange) - begin)
            time.sleep(plan["think"])

    loops = [threading.Thread(target=loop, args=own) for own in enumerate(plan["loops"])]
    for one in loops:
        one.start()
    for one in loops:
        one.join()
    return took


class Load:
    """A load of a page: an exchange waits for another one, computes, and takes the first connection that is free."""

    def __init__(self, pairs: list[Pair], plan: Plan) -> None:
        self.pairs, self.plan = pairs, plan
        self.free = list(range(len(pairs)))
        self.ready: list[tuple[float, int]] = []
        self.left = len(plan["exchanges"])
        self.changed = threading.Condition()

    def follow(self, done: int | None, now: float) -> None:
        """What waits for `done` is ready when its computation is over."""
        for number, (after, compute) in enumerate(self.plan["after"]):
            if after == done:
                heappush(self.ready, (now + compute, number))

    def fetch(self, place: int, number: int) -> None:
        """Makes an exchange over a connection."""
        now = self.pairs[place].ask(number)
        with self.changed:
            self.left -= 1
            heappush(self.free, place)
            self.follow(number, now)
            self.changed.notify()

    def run(self) -> float:
        """How long it takes."""
        begin = time.monotonic()
        self.follow(None, begin)
        with self.changed:
            while self.left:
                now = time.monotonic()
                if self.ready and self.free and self.ready[0][0] <= now:
                    _, number = heappop(self.ready)
                    threading.Thread(target=self.fetch, args=(heappop(self.free), number), daemon=True).start()
                else:
                    self.changed.wait(self.ready[0][0] - now if self.ready and self.free else None)
        return time.monotonic() - begin


def load(server: str, plan: Plan) -> list[float]:
    """Loads one after another, over connections that are kept."""
    pairs = [Pair(server, number, plan) for number in range(plan["connections"])]
    took = []
    for _ in range(plan["loads"]):
        took.append(Load(pairs, plan).run())
        time.sleep(plan["think"])
    return took


def hear(seconds: float) -> list[float]:
    """Delays of datagrams: both ends are on one machine, and have one clock."""
    sock = socket.socket(type=socket.SOCK_DGRAM)
    sock.bind(("", SERVER))
    delays, end = [], time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        sock.settimeout(rest)
        try:
            got = sock.recv(2048)
        except TimeoutError:
            break
        delays.append(time.monotonic() - TIME.unpack(got[: TIME.size])[0])
    return delays


def call(server: str, plan: Plan) -> list[float]:
    """Datagrams at equal intervals."""
    sock, begin = socket.socket(type=socket.SOCK_DGRAM), time.monotonic() + plan["start"]
    for number in range(plan["datagrams"]):
        time.sleep(max(0.0, begin + number * plan["interval"] - time.monotonic()))
        sock.sendto(TIME.pack(time.monotonic()) + bytes(plan["size"] - TIME.size), (server, SERVER))
    return []


def main(what: str, first: str, *plan: str) -> None:
    """One end; what it has measured goes to standard output."""
    if what == "hear":
        found = hear(float(first))
    elif what == "serve":
        serve(json.loads(Path(first).read_text(encoding="utf-8")))
    else:
        told = json.loads(Path(plan[0]).read_text(encoding="utf-8"))
        found = {"ask": ask, "load": load, "call": call}[what](first, told)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
