"""Strangers at a router between an honest consumer and its producer: writes ATTACKS.md beside it.

python evidence/peers/ndn/attacks.py midpathd                      # each attack beside 10 MB of an honest flow
python evidence/peers/ndn/attacks.py ndnd --kind "random names" --print
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from compare import content
from forwarders import KINDS, Forwarder
from net import Link, ended
from strangers import KINDS as ATTACKS
from transfers import Scene, fetch, producer, put, running

from midpath import markdown

HERE = Path(__file__).parent
STRANGERS = HERE / "strangers.py"
# The stranger `x` is at the router; nothing of its link is of the honest flow's.
SCENE = Scene(
    (Link("a", "r", 50), Link("r", "b", 20), Link("x", "r", 20)),
    {"a": [("/check", "r", 10)], "r": [("/check", "b", 10), ("/stranger", "x", 10)], "b": []},
    mbps=20,
)
# Datagrams a second. Ours: what a stranger's link of 20 Mbit/s carries of packets of 500 bytes.
RATE = 5000
# Fixed before the first run: the honest flow's part of its rate alone, and the router's resident megabytes above
# what it has before.
LEAST, MOST = 0.9, 256.0


@dataclass
class Result:
    """What an attack came to."""

    forwarder: str
    attack: str
    client: str
    # Datagrams a second; of faces, all.
    datagrams: int
    # Mbit/s of the honest flow, each run: without strangers and with them.
    alone: list[float]
    beside: list[float]
    wrong: int
    # The router's resident megabytes, before and at most; CPU seconds.
    before: float
    most: float
    cpu: float
    why: str = ""

    def kept(self) -> float:
        """The part of its rate that the honest flow keeps."""
        return statistics.median(self.beside) / statistics.median(self.alone)

    def holds(self) -> bool:
        """Whether both bounds do."""
        return self.kept() >= LEAST and self.most - self.before <= MOST and not self.wrong and not self.why


class Watch:
    """The most memory that a forwarder has."""

    def __init__(self, forwarder: Forwarder) -> None:
        self.forwarder, self.most, self.ends = forwarder, 0, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        """Looks ten times a second."""
        while not self.ends.wait(0.1):
            try:
                self.most = max(self.most, self.forwarder.memory())
            except (OSError, IndexError):
                return

    def close(self) -> int:
        """The most, bytes."""
        self.ends.set()
        self.thread.join()
        return self.most


def honest(kind: str, client: str, file: Path, attack: str, rate: float, seconds: float) -> dict:
    """One transfer, with this attack or with none."""
    with running(kind, SCENE) as (network, forwarders):
        serve = producer(network, forwarders["b"], file)
        router, stranger = forwarders["r"], None
        address = network.address(network.between("x", "r"), "r")
        before, cpu = router.memory(), router.cpu()
        watch = Watch(router)
        if attack:
            space = network.spaces["x"]
            for host in range(1, 4):
                space.run("ip", "addr", "add", f"10.77.0.{host}/24", "dev", "lo")
            network.spaces["r"].run(
                "ip", "route", "add", "10.77.0.0/24", "via", network.address(network.between("x", "r"), "x")
            )
            words = (sys.executable, str(STRANGERS), attack, address, str(rate), str(seconds))
            stranger = network.start("x", *words, log="stranger")
            if attack == "faces":
                stranger.wait()
            time.sleep(1)
        try:
            serving = put(network, forwarders["b"], file) if client == "ndnd cat" else nullcontext()
            with serving:
                took, received, wrong, why = fetch(network, forwarders["a"], client, file, seconds, lambda: None)
            died = router.process.poll() is not None
            return {
                "mbps": received * file.stat().st_size * 8e-6 / took,
                "wrong": wrong,
                "why": "the router ended" if died else why,
                "cpu": 0.0 if died else router.cpu() - cpu,
                "before": before / 1e6,
                "most": watch.close() / 1e6,
                "log": (network.folder / "stranger").read_text() if attack else "",
            }
        finally:
            watch.close()
            if stranger is not None:
                ended(stranger)
            ended(serve)


def attacked(kind: str, attack: str, client: str, file: Path, runs: int, rate: float = RATE) -> Result:
    """Alone and beside, in turn."""
    seconds = 10 + file.stat().st_size * 8e-6
    pairs = [[honest(kind, client, file, name, rate, seconds) for name in ("", attack)] for _ in range(runs)]
    beside = [pair[1] for pair in pairs]
    return Result(
        forwarder=kind,
        attack=attack,
        client=client,
        datagrams=int(rate),
        alone=[pair[0]["mbps"] for pair in pairs],
        beside=[found["mbps"] for found in beside],
        wrong=sum(found["wrong"] for found in beside),
        before=beside[0]["before"],
        most=max(found["most"] for found in beside),
        cpu=max(found["cpu"] for found in beside),
        why="; ".join(sorted({found["why"] for found in beside} - {""})),
    )


def line(found: Result) -> str:
    """A row of the table."""
    rates = [f"{statistics.median(rates):.1f}" for rates in (found.alone, found.beside)]
    cells = [
        found.attack,
        found.client,
        found.forwarder,
        f"{found.datagrams:,}" + ("" if found.attack == "faces" else "/s"),
        *rates,
        f"{found.kept():.0%}",
    ]
    cells += [f"{found.before:.0f}", f"{found.most:.0f}", f"{found.cpu:.1f}", str(found.wrong)]
    cells += ["yes" if found.holds() else f"no {found.why}".strip()]
    return markdown.line(cells)


def page(rows: list[Result]) -> str:
    """The results page."""
    head = "attack | client | forwarder | datagrams | Mbit/s alone | beside | kept"
    head += " | MB before | most | CPU s | wrong bytes | holds"
    text = [
        "# Strangers at a router",
        "",
        "Written by `python evidence/peers/ndn/attacks.py`. Bounds, fixed before the first run: the honest flow keeps",
        f"{LEAST:.0%} of its rate, and the router's memory grows by at most {MOST:.0f} MB. Medians of the runs.",
        "",
        markdown.head(head.split(" | ")),
    ]
    rows = sorted(rows, key=lambda row: (row.forwarder, row.attack, row.client))
    return "\n".join([*text, *map(line, rows)]) + "\n"


def main() -> None:
    """Runs attacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forwarder", choices=KINDS)
    parser.add_argument("--kind", action="append", choices=[*ATTACKS, "faces"])
    parser.add_argument("--client", action="append", choices=("segment_fetcher", "ndnd cat", "midpathd fetch"))
    parser.add_argument("--size", type=float, default=10, help="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--faces", type=int, default=100_000)
    parser.add_argument("--print", action="store_true", help="print what was found, and leave the page alone")
    asked = parser.parse_args()
    store = HERE / "attacks.json"
    rows = [Result(**row) for row in json.loads(store.read_text())] if store.exists() else []
    with tempfile.NamedTemporaryFile() as file:
        file.write(content(asked.size))
        file.flush()
        for attack in asked.kind or [*ATTACKS, "faces"]:
            for client in asked.client or ["ndnd cat"]:
                rate = asked.faces if attack == "faces" else RATE
                found = attacked(asked.forwarder, attack, client, Path(file.name), asked.runs, rate)
                same = (asked.forwarder, attack, client)
                rows = [row for row in rows if (row.forwarder, row.attack, row.client) != same] + [found]
                print(line(found), flush=True, file=sys.stderr)
                if not asked.print:
                    store.write_text("[\n" + ",\n".join(json.dumps(vars(row)) for row in rows) + "\n]\n")
                    (HERE / "ATTACKS.md").write_text(page(rows))


if __name__ == "__main__":
    main()
