"""Where a segment's time goes: frames' times at both links of the scene `line`, for a client that asks one by one.

python evidence/peers/ndn/hops.py                       # ndnd and midpathd in turns, writes HOPS.md beside it
python evidence/peers/ndn/hops.py midpathd --runs 2 --print

`segment_fetcher` has one Interest on its way at a time. So what lies between two frames is one node's: the kernel tells
when each frame is on its link.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import statistics
import struct
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from compare import content
from forwarders import KINDS
from net import Network, ended
from transfers import SCENES, fetch, producer, running

from midpath import markdown
from midpath.lab.spaces import inside

HERE = Path(__file__).parent
SCENE = "line"
# linux/if_packet.h, linux/if_ether.h, asm/socket.h
OUTGOING, ALL, TIMESTAMPS = 4, 3, 35
# Longer than an Interest, shorter than a piece of Data.
INTEREST = 300
STEPS = (
    "router, Interest",
    "producer and its forwarder",
    "Data on 20 Mbit/s",
    "router, Data",
    "Data on 50 Mbit/s",
    "consumer and its forwarder",
)
HEAD = """# Where a segment's time goes

Written by `python evidence/peers/ndn/hops.py`: `segment_fetcher` over the scene *line*,
{segments:,} segments of 8,000 bytes
a forwarder, forwarders in turns. Medians in microseconds; in brackets the time that one in ten is below, for other work
on the machine only adds: its load was {load:.0f} on {cores} cores. *Bytes*: of a segment's Data on a link, with all
headers from Ethernet's on. The first 3 kB of Data on a link that was idle take no time on it: HTB's burst.

"""


@dataclass
class Frames:
    """Frames of a link, seen at one end: time in ns, whether they go towards the producer, bytes."""

    seen: list[tuple[int, bool, int]] = field(default_factory=list)


@contextmanager
def watching(network: Network) -> Iterator[dict[str, Frames]]:
    """Notes the frames of both links while the block runs."""
    found = {"a": Frames(), "r": Frames()}
    selector, over = selectors.DefaultSelector(), threading.Event()
    for node, peer in (("a", "r"), ("r", "b")):
        with inside(network.spaces[node].name):
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
            tap.bind((f"to-{peer}", ALL))
        tap.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        selector.register(tap, selectors.EVENT_READ, found[node])

    def watch() -> None:
        while not over.is_set():
            for key, _ in selector.select(0.1):
                frame, told, _, address = key.fileobj.recvmsg(64, 64, socket.MSG_TRUNC)  # type: ignore[union-attr]
                seconds, ns = struct.unpack("qq", told[0][2][:16])
                # UDP over IPv4: its length is in IP's header.
                if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP:
                    length = int.from_bytes(frame[16:18], "big") + 14
                    key.data.seen.append((seconds * 10**9 + ns, address[2] == OUTGOING, length))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]


def rounds(frames: Frames) -> list[tuple[int, int, int, int]]:
    """Of each segment on a link: when its Interest was there, the first and the last frame of its Data, their bytes."""
    found: list[tuple[int, int, int, int]] = []
    asked: int | None = None
    pieces: list[tuple[int, int]] = []
    for time, up, size in sorted(frames.seen):
        if up and size < INTEREST:
            if asked is not None and pieces:
                found.append((asked, pieces[0][0], pieces[-1][0], sum(size for _, size in pieces)))
            asked, pieces = time, []
        elif not up and asked is not None:
            pieces.append((time, size))
    return found


def steps(found: dict[str, Frames]) -> Iterator[tuple[list[float], int]]:
    """Of each segment: its steps in us, and its bytes."""
    near, far = rounds(found["a"]), rounds(found["r"])
    times = {round(one[0], -3): one for one in far}
    places = sorted(times)
    for one, after in pairwise(near):
        between = [times[place] for place in places if one[0] <= times[place][0] <= one[1]]
        if len(between) != 1:
            continue  # It was asked for twice, or came from a store.
        (asked, first, last, _) = between[0]
        ns = [asked - one[0], first - asked, last - first, one[1] - last, one[2] - one[1], after[0] - one[2]]
        yield [t / 1000 for t in ns], one[3]


def run(kind: str, file: Path) -> list[tuple[list[float], int]]:
    """One transfer."""
    with running(kind, SCENES[SCENE]) as (network, forwarders):
        serve = producer(network, forwarders["b"], file)
        try:
            with watching(network) as found:
                said = fetch(network, forwarders["a"], "segment_fetcher", file, 60, lambda: None)
        finally:
            ended(serve)
    if said[1] < 1 or said[2]:
        raise RuntimeError(f"{kind}: {said}")
    return list(steps(found))


def page(segments: dict[str, list[tuple[list[float], int]]]) -> Iterator[str]:
    """HOPS.md."""
    yield HEAD.format(
        segments=min(len(each) for each in segments.values()), load=os.getloadavg()[1], cores=os.cpu_count()
    )
    yield markdown.head(["forwarder", *STEPS, "sum", "bytes"])
    for kind, each in segments.items():
        columns = [*zip(*(times for times, _ in each), strict=True), [sum(times) for times, _ in each]]
        cells = [f"{statistics.median(c):.0f} ({statistics.quantiles(c, n=10)[0]:.0f})" for c in columns]
        yield markdown.line([kind, *cells, f"{statistics.median(size for _, size in each):.0f}"])


def main() -> None:
    """Runs the forwarders in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forwarder", nargs="*", help=f"of {', '.join(KINDS)}: ndnd and midpathd unless said")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--print", action="store_true", help="print what was found, and leave the page alone")
    asked = parser.parse_args()
    segments: dict[str, list[tuple[list[float], int]]] = defaultdict(list)
    with tempfile.NamedTemporaryFile() as file:
        file.write(content(2))
        file.flush()
        for _ in range(asked.runs):
            for kind in asked.forwarder or ("ndnd", "midpathd"):
                segments[kind] += run(kind, Path(file.name))
    text = "\n".join(page(segments)) + "\n"
    sys.stdout.write(text)
    if not asked.print:
        (HERE / "HOPS.md").write_text(text)


if __name__ == "__main__":
    main()
