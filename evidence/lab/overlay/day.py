"""A busy node's day in less: its events at 24 times their rate or more, memory and descriptors all the while.

    unshare -Urnm python evidence/lab/overlay/day.py 3600 [SCHEME]    # a day in an hour

Nodes `a` and `b`, clients and servers are here; `r` is two namespaces away. `DAY` says what happens, and how often in a
day. It ends with 1 if an answer is wrong, or if memory, descriptors or tables grow: bounds are `GROWTH` and `LOG`.
"""

from __future__ import annotations

import argparse
import random
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import dead
import mtu
from nodes import NODES, Overlay, serving
from soak import CONTENT, ask, files_of, settle, talk

# How much more memory a node may hold in the last sixth of the time than in the second one, in runs of ten minutes or
# more: 18 bytes for each of the connections in between, in an hour.
GROWTH = 1 << 20
STEADY = 600
# A node's log of a day.
LOG = 1 << 20
# What happens in a day of a node that 100 people use.
DAY = {
    "fetch": 70_000,
    "bulk": 1_000,
    "hang up": 8_000,
    "refused": 5_000,
    "unknown name": 2_000,
    "scrape": 5_760,  # every 15 s
    "reload": 48,
    "outage": 48,
    "other path": 96,
}
WORKERS = 12
PORT_OF_NOBODY = 1025


def know_nothing(asked: socket.socket) -> None:
    """A resolver that knows no name (RFC 1035 §4.1.1: a response, recursion available, RCODE 3)."""
    with suppress(OSError):
        while True:
            question, whose = asked.recvfrom(1500)
            asked.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], whose)


@dataclass
class Day:
    """What happens to an overlay, and what its nodes hold."""

    overlay: Overlay
    port: int
    path: mtu.Path
    pace: float
    draws: random.Random
    over: threading.Event = field(default_factory=threading.Event)
    came: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    # Of each node: bytes and descriptors, one after the other.
    held: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {name: [] for name in NODES})

    def fetch(self) -> None:
        """A short question and its answer."""
        said = CONTENT[: self.draws.randrange(1, 30_000)]
        self.count("fetch", ask(self.port, said, said[::-1]))

    def bulk(self) -> None:
        """2 MB."""
        self.count("bulk", ask(self.port, b"give", CONTENT))

    def hang_up(self) -> None:
        """A client that goes while it is answered."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
            connection.sendall(b"give")
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)

    def refused(self) -> None:
        """A target that nobody is at."""
        self.socks("refused", "127.0.0.1", PORT_OF_NOBODY)

    def unknown_name(self) -> None:
        """A name that no resolver knows."""
        self.socks("unknown name", f"{self.draws.randrange(10**9)}.example", 80)

    def socks(self, event: str, host: str, port: int) -> None:
        """A target that SOCKS5 has to say no to."""
        with dead.ask(self.overlay.socks, host, port) as connection:
            connection.settimeout(60)
            self.count(event, "right" if dead.answer(connection) else "WRONG: it is there")

    def scrape(self) -> None:
        """What metrics ask."""
        for name in NODES:
            self.overlay.ask(name)

    def reload(self) -> None:
        """The same configuration again."""
        for name in NODES:
            self.overlay.ask(name, "reload")

    def outage(self) -> None:
        """The path carries nothing for up to ten seconds."""
        self.path.set("down")
        self.over.wait(self.draws.uniform(0.5, 10))
        self.path.set("up")

    def other_path(self) -> None:
        """Another MTU."""
        self.path.carry(self.draws.choice((1280, 1400, 1480, 1492, 1500)))

    def count(self, event: str, outcome: str) -> None:
        """What became of a question; an outage may end a connection, never change what it carries."""
        self.came[f"{event}: {outcome}"] += 1
        if outcome.startswith("WRONG") or outcome == "stuck":
            self.wrong.append(f"{event}: {outcome}")

    def repeat(self, event: str, per_day: float, workers: int) -> None:
        """An event, at random, until the day is over."""
        act: Callable[[], None] = getattr(self, event.replace(" ", "_"))
        gap = 86_400 * workers / per_day / self.pace
        while not self.over.wait(self.draws.expovariate(1 / gap)):
            self.came[event] += 1
            try:
                act()
            except OSError as error:
                self.came[f"{event}: {type(error).__name__}"] += 1

    def threads(self) -> list[threading.Thread]:
        """All that happens; what happens often has many threads, since each waits for its answer."""
        made = []
        for event, per_day in DAY.items():
            workers = WORKERS if per_day > 10_000 else 4 if per_day >= 1_000 else 1
            made += [threading.Thread(target=self.repeat, args=(event, per_day, workers)) for _ in range(workers)]
        return made

    def look(self, seconds: float, say: Callable[[str], None]) -> None:
        """Notes what nodes hold, 120 times in all and at most once a second; twice a second in less than a minute."""
        begun, told = time.monotonic(), 0.0
        while (since := time.monotonic() - begun) < seconds:
            for name in NODES:
                self.held[name].append((self.overlay.memory(name), files_of(self.overlay, name)))
            if since >= told:
                held = ", ".join(f"{name} {m / 2**20:.1f} MiB {f} files" for name, [*_, (m, f)] in self.held.items())
                say(f"{since:5.0f} s: {held}")
                told += seconds / 12
            time.sleep(max(1.0, seconds / 120) if seconds > 60 else 0.5)

    def grown(self, name: str) -> float:
        """The median of a node's memory in the last sixth, less that of the second sixth."""
        held = [memory for memory, _ in self.held[name]]
        sixth = max(len(held) // 6, 1)
        return statistics.median(held[-sixth:]) - statistics.median(held[sixth : 2 * sixth])


def live(seconds: float, scheme: str, pace: float, seed: int = 1, say: Callable[[str], None] = print) -> None:
    """So many seconds of days at this pace; raises where something is not as it has to be."""
    with ExitStack() as stack:
        asked = dead.resolver(stack)
        threading.Thread(target=know_nothing, args=(asked,), daemon=True).start()
        path = mtu.cable(stack)
        server = stack.enter_context(serving(talk))
        hosts = {"a": "10.58.1.1", "b": "10.58.1.1", "r": "10.58.2.2"}
        overlay = stack.enter_context(Overlay(scheme, "50 Mbps", (server,), hosts, within={"r": path.in_there}))
        files = {name: files_of(overlay, name) for name in NODES}
        day = Day(overlay, overlay.forward[server], path, pace, random.Random(seed))
        threads = day.threads()
        for thread in threads:
            thread.start()
        day.look(seconds, say)
        day.over.set()
        for thread in threads:
            thread.join(100)
            assert not thread.is_alive()
        path.set("up")
        overlay.wait(seconds=60)
        for event, count in sorted(day.came.items()):
            say(f"{event}: {count}")
        settle(overlay, files, say)
        for name in NODES:
            log = overlay.config(name).with_suffix(".log").stat().st_size
            say(f"{name}: {day.grown(name) / 1024:+.0f} KiB from the second sixth to the last, {log} B of log")
            assert seconds < STEADY or day.grown(name) < GROWTH, name
            assert log < LOG, name
        assert not day.wrong, day.wrong[:5]
        assert day.came["fetch: right"], day.came


def main() -> None:
    """Prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("scheme", nargs="?", default="cubic")
    parser.add_argument("--pace", type=float, default=24, help="How many times a day's events happen in a day.")
    options = parser.parse_args()
    begun = time.monotonic()
    live(options.seconds, options.scheme, options.pace)
    print(f"{options.scheme}: as it should be, after {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
