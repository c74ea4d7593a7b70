"""An application over real sockets: a client's closed loops, a page's loader or a call, and the servers they ask.

    application.py serve PLAN           # works and replies
    application.py ask HOST PLAN        # its closed loops; writes when each request began, and how long it took, in s
    application.py load SERVER PLAN     # loads a page; prints how long each load took
    application.py hear SECONDS         # takes datagrams; prints their one-way delays
    application.py call SERVER PLAN     # sends datagrams, each with its time

A plan's `exchanges` are the bytes of a request and its reply, the server's time, and of loops the server and the time
until the next one. As in the simulator a connection goes one way: a server opens one back with its first reply, or with
each where connections are `new`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import sys
import threading
import time
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

SERVER, CLIENT = 8000, 20_000
# A request begins with the number of its exchange, and the port to which the reply goes.
REQUEST = struct.Struct("!IH")
# Before a run's end a client says what it has.
SPARE_S = 0.05
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


def connect(host: str, port: int) -> socket.socket:
    """A connection to a host by name, where the laboratory says that it is, or to an address."""
    name = re.sub(r"\W", "_", host, flags=re.ASCII)
    made = socket.create_connection((os.environ.get(f"MIDPATH_ADDRESS_{name}", host), port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def answer(connection: socket.socket, peer: tuple[str, int], plan: Plan) -> None:
    """Takes requests, works, and replies."""
    back = None
    try:
        while True:
            number, port = REQUEST.unpack(receive(connection, REQUEST.size))
            request, reply, service = plan["exchanges"][number][:3]
            receive(connection, request - REQUEST.size)
            time.sleep(service)
            back = back or connect(peer[0], port)
            back.sendall(bytes(reply))
            if plan.get("new"):
                back.close()
                return
    except ConnectionError:
        pass


def serve(plan: Plan) -> None:
    """Answers whoever comes."""
    door = listener(SERVER)
    while True:
        threading.Thread(target=answer, args=(*door.accept(), plan), daemon=True).start()


class Pair:
    """A connection to the server, and the one back; the first request opens them, or each does."""

    def __init__(self, server: str, number: int, plan: Plan) -> None:
        self.server, self.port, self.plan = server, CLIENT + number, plan
        self.door = listener(self.port)
        self.there: socket.socket | None = None
        self.back: socket.socket | None = None

    def ask(self, number: int) -> float:
        """Makes an exchange; when it is over."""
        request, reply = self.plan["exchanges"][number][:2]
        self.there = self.there or connect(self.server, SERVER)
        self.there.sendall(REQUEST.pack(number, self.port) + bytes(request - REQUEST.size))
        if self.plan.get("new"):
            self.there.close()
        self.back = self.back or self.door.accept()[0]
        receive(self.back, reply)
        now = time.monotonic()
        if self.plan.get("new"):
            self.back.close()
            self.there = self.back = None
        return now


def ask(host: str, plan: Plan) -> list[tuple[int, float, float | None]]:
    """A host's closed loops, side by side: of each request that began its number, when, and how long it took."""
    zero = time.monotonic()
    found: dict[int, tuple[int, float, float | None]] = {}
    ports = iter(range(1000))

    def loop(start: float, exchanges: list[int]) -> None:
        pairs: dict[str, Pair] = {}
        time.sleep(max(zero + start - time.monotonic(), 0))
        for number in exchanges:
            server, think = plan["exchanges"][number][3:]
            if server not in pairs:
                pairs[server] = Pair(server, next(ports), plan)
            begin = time.monotonic()
            found[number] = (number, begin - zero, None)
            found[number] = (number, begin - zero, pairs[server].ask(number) - begin)
            time.sleep(think)

    loops = [threading.Thread(target=loop, args=own, daemon=True) for own in plan["loops"][host]]
    for one in loops:
        one.start()
    for one in loops:
        one.join(None if plan["stop"] is None else max(zero + plan["stop"] - SPARE_S - time.monotonic(), 0))
    return list(found.values())


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
    """One end; what it has measured goes to standard output, of clients to the folder that the plan names."""
    found: object
    if what == "hear":
        found = hear(float(first))
    elif what == "serve":
        serve(json.loads(Path(first).read_text(encoding="utf-8")))
    else:
        told = json.loads(Path(plan[0]).read_text(encoding="utf-8"))
        found = {"ask": ask, "load": load, "call": call}[what](first, told)
    if what == "ask":
        Path(told["answers"], f"{first}.json").write_text(json.dumps(found), encoding="utf-8")
    else:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
