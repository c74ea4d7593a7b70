"""A file from one node to another by stock applications: how long, how many frames lost, how many wrong bytes."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from apps import SMALL, wrong
from forwarders import KINDS, Forwarder, Route, midpathd_program, ndnd_program
from net import FIRST, Link, Network, ended

APPS = Path(__file__).with_name("apps.py")
PREFIX = "/check/file"


@dataclass(frozen=True)
class Scene:
    """Links, routes of each node, and which link fails."""

    links: tuple[Link, ...]
    routes: dict[str, list[Route]]
    fails: tuple[str, str] | None = None
    # All paths together, Mbit/s.
    mbps: float = 0.0


ALONG: dict[str, list[Route]] = {"a": [("/check", "r", 10)], "r": [("/check", "b", 10)], "b": []}
PATHS = (Link("a", "r", 20), Link("r", "b", 50), Link("a", "s", 10), Link("s", "b", 50))
BOTH: dict[str, list[Route]] = {
    "a": [("/check", "r", 10), ("/check", "s", 20)],
    "r": [("/check", "b", 10)],
    "s": [("/check", "b", 10)],
    "b": [],
}
SCENES = {
    "line": Scene((Link("a", "r", 50), Link("r", "b", 20)), ALONG, mbps=20),
    # 64 datagrams of 1,500 bytes: less than a socket's buffer holds.
    "short queues": Scene((Link("a", "r", 50, 96_000), Link("r", "b", 20, 96_000)), ALONG, mbps=20),
    "two paths": Scene(PATHS, BOTH, mbps=30),
    "one path fails": Scene(PATHS, BOTH, fails=("a", "r"), mbps=30),
}


@dataclass
class Result:
    """What a transfer came to."""

    forwarder: str
    scene: str
    client: str
    megabytes: float
    seconds: float
    # Of the file; all, unless it failed or ran out of time.
    received: float
    wrong: int
    dropped: int
    # Of small objects fetched meanwhile, ms.
    ping_median: float | None
    ping_worst: float | None
    pings_lost: int
    # CPU seconds of all forwarders together, and the largest one's resident megabytes.
    cpu: float
    memory: float
    why: str = ""

    def row(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


@contextmanager
def running(kind: str, scene: Scene) -> Iterator[tuple[Network, dict[str, Forwarder]]]:
    """The scene's network with a forwarder at each node."""
    with Network(list(scene.links)) as network:
        found: dict[str, Forwarder] = {}
        try:
            for node, routes in scene.routes.items():
                found[node] = KINDS[kind](network, node, routes)
            yield network, found
        finally:
            for forwarder in found.values():
                forwarder.close()


def ready(network: Network, log: str, process: subprocess.Popen[bytes], word: str) -> None:
    """Waits until an application has said so."""
    until = time.monotonic() + 20
    while word not in (network.folder / log).read_text():
        if time.monotonic() > until or process.poll() is not None:
            raise TimeoutError(f"the producer does not start: {(network.folder / log).read_text()}")
        time.sleep(0.02)


def producer(network: Network, at: Forwarder, file: Path) -> subprocess.Popen[bytes]:
    """Serves the file with python-ndn, and small objects."""
    serve = network.start("b", sys.executable, str(APPS), "serve", PREFIX, str(file), log="serve", env=at.env())
    ready(network, "serve", serve, "ready")
    return serve


@contextmanager
def put(network: Network, at: Forwarder, file: Path) -> Iterator[None]:
    """ndnd's put, beside the other producer."""
    with (network.folder / "put").open("wb") as log, file.open("rb") as content:
        words = network.spaces["b"].command(*FIRST, str(ndnd_program()), "put", f"{PREFIX}-of-ndnd")
        process = subprocess.Popen(words, stdin=content, stdout=log, stderr=log, env=at.env())
    try:
        ready(network, "put", process, "Object produced")
        time.sleep(0.5)
        yield
    finally:
        ended(process)


# Our consumer as a Python program has it.
FETCH = """
import asyncio, sys
from midpath import ndn
sys.stdout.buffer.write(asyncio.run(ndn.fetch(sys.argv[1])))
"""


def command(client: str, file: Path) -> list[str]:
    """How a client fetches the file; what it has fetched comes on its standard output, or a line of JSON."""
    if client == "segment_fetcher":
        return [sys.executable, str(APPS), "fetch", PREFIX, str(file)]
    if client == "ndnd cat":
        return [str(ndnd_program()), "cat", f"{PREFIX}-of-ndnd"]
    if client == "midpath.ndn":
        return [sys.executable, "-c", FETCH, PREFIX]
    return [str(midpathd_program()), "ndn", "fetch", PREFIX]


def fetch(
    network: Network, at: Forwarder, client: str, file: Path, limit: float, meanwhile: Callable[[], None]
) -> tuple[float, float, int, str]:
    """Runs a client; seconds, the share received, wrong bytes, and why it failed."""
    out, content = network.folder / "out", file.read_bytes()
    with out.open("wb") as stdout, (network.folder / "client").open("wb") as log:
        words = network.spaces["a"].command(*FIRST, *command(client, file))
        begun = time.monotonic()
        process = subprocess.Popen(words, stdout=stdout, stderr=log, env=at.env())
    why = ""
    while process.poll() is None:
        if time.monotonic() > begun + limit:
            ended(process)
            why = f"not done after {limit:.0f} s"
            break
        meanwhile()
        time.sleep(0.01)
    seconds = time.monotonic() - begun
    if not why and process.returncode:
        lines = (network.folder / "client").read_text().strip().splitlines()
        why = (lines or [f"status {process.returncode}"])[-1].split("err=")[-1][-120:].replace('"', "")
    if client == "segment_fetcher":
        said = json.loads(out.read_text() or '{"bytes": 0, "wrong": 0}')
        return said.get("seconds", seconds), said["bytes"] / len(content), said["wrong"], why or said.get("failed", "")
    got = out.read_bytes()
    return seconds, len(got) / len(content), wrong(got, content), why


def transfer(kind: str, title: str, client: str, file: Path, limit: float) -> Result:
    """One transfer in a network of its own."""
    scene = SCENES[title]
    megabytes = file.stat().st_size / 1e6
    with running(kind, scene) as (network, forwarders):
        serve = producer(network, forwarders["b"], file)
        ping = network.start(
            "a", sys.executable, str(APPS), "ping", SMALL, "0.25", log="ping", env=forwarders["a"].env()
        )
        time.sleep(1)
        before = (network.folder / "ping").stat().st_size
        cpu = sum(f.cpu() for f in forwarders.values())
        fail_at = time.monotonic() + megabytes * 8 / scene.mbps / 2

        def meanwhile() -> None:
            nonlocal fail_at
            if scene.fails and time.monotonic() > fail_at:
                network.cut(*scene.fails)
                fail_at = float("inf")

        try:
            if client == "ndnd cat":
                with put(network, forwarders["b"], file):
                    fail_at = time.monotonic() + megabytes * 8 / scene.mbps / 2
                    found = fetch(network, forwarders["a"], client, file, limit, meanwhile)
            else:
                found = fetch(network, forwarders["a"], client, file, limit, meanwhile)
            lines = (network.folder / "ping").read_text()[before:].splitlines()
            took = [json.loads(line) for line in lines if line[:1] in "n0123456789"]
            pings = [1000 * seconds for seconds in took if seconds is not None]
            seconds, received, bad, why = found
            return Result(
                forwarder=kind,
                scene=title,
                client=client,
                megabytes=megabytes,
                seconds=seconds,
                received=received,
                wrong=bad,
                dropped=network.dropped(),
                ping_median=statistics.median(pings) if pings else None,
                ping_worst=max(pings, default=None),
                pings_lost=len(took) - len(pings),
                cpu=sum(f.cpu() for f in forwarders.values()) - cpu,
                memory=max(f.memory() for f in forwarders.values()) / 1e6,
                why=why,
            )
        finally:
            ended(ping)
            ended(serve)
