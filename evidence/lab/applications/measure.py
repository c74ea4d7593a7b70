"""A client, a page and a call over Linux's sockets in virtual time, beside the simulator's: writes RESULTS.md.

    python evidence/lab/applications/measure.py

The client is `midpath lab`'s. Its program does the page and the call, too: with sockets what the scenario's
`[[client]]` and `[[flow]]` do, the same sizes in the same order, with the same service, thinking and computation. TCP
is CUBIC, Linux 6.1's and ours with Linux's HyStart.

Margins, fixed before the first run: means and medians within 10 %, 99th percentiles (of 20 loads of a page the longest)
within 20 %; a call's delays within 15 %, its loss within one percentage point.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from midpath.lab.clients import APPLICATION
from midpath.result import Result, load
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.units import quantity

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
PROGRAM = str(APPLICATION)
MEAN, TAIL, DELAY, LOSS = 0.10, 0.20, 0.15, 0.01

NETWORK = """
scheme = "cubic"
schemes.cubic.hystart = "linux"
stop = "{stop} s"
queue.limit = "{queue}"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "{rate} Mbps", delay = "9 ms" }}
access = {{ rate = "1 Gbps", delay = "500 us" }}
"""
CLIENTS = """
[[client]]
from = ["d0"]
to = ["s0"]
connections = "reuse"
requests = 200
concurrency = 4
request_sizes = { kind = "fixed", size = "500 B" }
reply_sizes = { kind = "exponential", mean = "50 kB" }
service_time = "5 ms"
think_time = "20 ms"
"""
LOADS = """
[[client]]
page = "page.har"
from = ["d0"]
to = ["s0"]
connections = "reuse"
requests = 20
think_time = "500 ms"
"""
BULK = '[[flow]]\nfrom = "s0"\nto = "d0"\nstart = "5 s"\nstop = "21 s"\ngroup = "bulk"\n'
CALL = """
[[flow]]
from = "s1"
to = "d1"
scheme = "udp"
write = "1200 B"
interval = "10 ms"
start = "1 s"
stop = "21 s"
group = "call"
"""
# Of a page: what waits for which, computation in ms, bytes of the response, the server's time in ms.
RESOURCES = [
    (None, 0, 30_000, 20),
    *((0, 5 * i, 25_000, 5) for i in range(1, 5)),
    *((1 + i % 4, 10, 15_000 + 4_000 * i, 2) for i in range(10)),
]
REQUEST, HEADER, RECEIVE_MS = 400, 300, 10


@dataclass(frozen=True)
class Figure:
    """What is compared, in seconds or as a share."""

    scene: str
    name: str
    real: float
    simulated: float
    margin: float
    absolute: bool = False

    @property
    def off(self) -> float:
        """The difference, of the simulated figure unless it is a share."""
        return abs(self.real - self.simulated) / (1.0 if self.absolute else self.simulated)

    def row(self) -> str:
        """A line of the table."""
        kind = "ratio" if self.absolute else "seconds"
        shown = [quantity(kind, value) for value in (self.real, self.simulated)]
        far = f"{100 * self.off:.1f} {'points' if self.absolute else '%'}"
        verdict = "yes" if self.off <= self.margin else "**no**"
        return f"| {self.scene} | {self.name} | {shown[0]} | {shown[1]} | {far} | {100 * self.margin:.0f} | {verdict} |"


def run_in_virtual_time(network: str, plan: dict[str, Any], *programs: tuple[str, str, list[str]]) -> list[float]:
    """What the first program prints that runs over a network in virtual time."""
    with tempfile.TemporaryDirectory() as folder:
        told, scenario, out = Path(folder) / "plan.json", Path(folder) / "network.toml", Path(folder) / "out"
        told.write_text(json.dumps(plan), encoding="utf-8")
        scenario.write_text(network, encoding="utf-8")
        command = [sys.executable, "-m", "midpath", "lab", "exec", str(scenario), "--virtual", "--out", str(out)]
        for option, host, words in programs:
            command += [option, host, "--", sys.executable, PROGRAM, *words]
            command += [] if words[0] == "hear" else [str(told)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            logs = "".join(log.read_text(encoding="utf-8") for log in out.glob("*.log")) if out.exists() else ""
            raise RuntimeError(f"{done.stderr or done.stdout}{logs}")
        first = next(host for option, host, _ in programs if option == "--at")
        return list(json.loads((out / f"{first}.log").read_text(encoding="utf-8")))


def loaded(network: str, plan: dict[str, Any]) -> list[float]:
    """A client at d0 that loads pages from s0."""
    return run_in_virtual_time(network, plan, ("--serve", "s0", ["serve"]), ("--at", "d0", ["load", "s0"]))


def figures(scene: str, real: list[float], simulated: list[float], tail: float) -> Iterator[Figure]:
    """Mean, median and tail."""
    yield Figure(scene, "mean", float(np.mean(real)), float(np.mean(simulated)), MEAN)
    yield Figure(scene, "median", float(np.median(real)), float(np.median(simulated)), MEAN)
    name = "longest" if tail == 1 else f"p{100 * tail:.0f}"
    yield Figure(scene, name, float(np.quantile(real, tail)), float(np.quantile(simulated, tail)), TAIL)


def clients() -> Iterator[Figure]:
    """Four closed loops over 20 Mbps."""
    text = NETWORK.format(rate=20, stop=60, queue="100 kB") + CLIENTS
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = Path(folder) / "clients.toml", Path(folder) / "out"
        scenario.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "midpath", "lab", "run", str(scenario), "--virtual", "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr or done.stdout)
        made = load(next(out.glob("**/run.json")).parent)
    both = [one.tables["requests"]["completion_s"].to_pylist() for one in (made, simulate(Scenario.from_toml(text)))]
    yield from figures("clients", *both, 0.99)


def har() -> str:
    """The page as an archive."""
    ends: list[int] = []
    entries = []
    for number, (after, compute, size, wait) in enumerate(RESOURCES):
        start = (ends[after] if after is not None else 0) + compute
        ends.append(start + wait + RECEIVE_MS)
        entry: dict[str, Any] = {
            "startedDateTime": f"2026-01-31T12:00:{start // 1000:02}.{start % 1000:03}Z",
            "request": {"url": f"https://page.example/{number}", "headersSize": REQUEST, "bodySize": 0},
            "response": {
                "status": 200, "headersSize": HEADER, "bodySize": size,
                "content": {"mimeType": "text/html" if after is None else "text/javascript"},
            },
            "timings": {"blocked": -1, "send": 0, "wait": wait, "receive": RECEIVE_MS},
        }  # fmt: skip
        if after is not None:
            entry["_initiator"] = {"type": "script", "url": f"https://page.example/{after}"}
        entries.append(entry)
    return json.dumps({"log": {"version": "1.2", "entries": entries}})


def page() -> Iterator[Figure]:
    """A page of 15 resources over 10 Mbps and six connections."""
    network = NETWORK.format(rate=10, stop=60, queue="60 kB")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.har").write_text(har(), encoding="utf-8")
        scenario = Path(folder) / "page.toml"
        scenario.write_text(network + LOADS, encoding="utf-8")
        found: Result = simulate(Scenario.from_toml(scenario))
    plan = {
        "exchanges": [[REQUEST, HEADER + size, wait / 1e3] for _, _, size, wait in RESOURCES],
        "after": [[after, compute / 1e3] for after, compute, _, _ in RESOURCES],
        "connections": 6,
        "loads": 20,
        "think": 0.5,
    }
    took = loaded(network, plan)
    yield from figures("page", took, found.tables["pages"].to_pandas().onload_s.tolist(), 1)


def call() -> Iterator[Figure]:
    """Datagrams beside a download, over 10 Mbps with a queue of 200 ms."""
    network = NETWORK.format(rate=10, stop=25, queue="250 kB") + BULK
    found = simulate(Scenario.from_toml(network + CALL)).tables["datagrams"].to_pylist()
    (ours,) = (row for row in found if row["group"] == "call")
    plan = {"datagrams": 2000, "interval": 0.01, "size": 1200, "start": 1.0}
    delays = run_in_virtual_time(network, plan, ("--at", "d1", ["hear", "22"]), ("--at", "s1", ["call", "d1"]))
    yield Figure("call", "mean delay", float(np.mean(delays)), ours["delay_mean_s"], DELAY)
    for key, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        yield Figure("call", f"{key} of delay", float(np.quantile(delays, q)), ours[f"delay_{key}_s"], DELAY)
    lost = 1 - ours["received_packets"] / ours["sent_packets"]
    yield Figure("call", "lost", 1 - len(delays) / plan["datagrams"], lost, LOSS, absolute=True)


def main() -> int:
    """Writes the page; fails if a figure is beyond its margin."""
    if shutil.which("ip") is None:
        raise SystemExit("iproute2 is missing")
    found = [figure for scene in (clients, page, call) for figure in scene()]
    lines = [
        "# Applications on Linux's sockets, beside the simulator\n",
        "Written by `python evidence/lab/applications/measure.py`, whose first lines say what is",
        "measured, and the margins, which were fixed before the first run.\n",
        "| scene | figure | Linux | simulated | apart | margin | within |",
        "|---|---|---|---|---|---|---|",
        *(figure.row() for figure in found),
        "\nWhy a margin is missed: [EXPLAINED.md](../EXPLAINED.md#applications).",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))
    return int(any(figure.off > figure.margin for figure in found))


if __name__ == "__main__":
    sys.exit(main())
