"""MIRCC on real links beside the simulator: the paper's figures 4 and 6, scaled. Writes FIGURES.md beside it.

python evidence/peers/ndn/figures.py                    # both, real and simulated
python evidence/peers/ndn/figures.py --figure "figure 6" --print

Real: `midpathd ndn` in a namespace per node, links shaped by HTB, python-ndn producers, `midpathd ndn fetch` consumers.
Simulated: the same network with packets of the same size. Links have no delay of their own: this kernel has no netem.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forwarders import Mircc, Route, midpathd_program
from net import FIRST, Link, Network, ended
from transfers import APPS, ready

import midpath
from midpath import markdown
from midpath.papers.mircc.common import asked, data

HERE = Path(__file__).parent
# Bytes of a segment's Data on a link: content, names, signature, MIRCC's fields, and six datagrams' headers.
DATA = 8556
# More segments than any flow gets.
SEGMENTS = 1_000_000
ETA = 0.95
# Bytes of queue, real and simulated.
QUEUE = 250_000
WITHIN = 0.05
# A class that gets less of a flow is looked at as a part of it.
SMALL = 0.1
# Simulated runs, which differ in where between two Interests flows begin.
SEEDS = 10


class Storeless(Mircc):
    """As the paper's and the simulator's routers."""

    more = ("[tables]", 'store = "0 B"')


@dataclass(frozen=True)
class Flow:
    """A consumer at a node, and the prefix that it fetches from."""

    name: str
    at: str
    prefix: str
    begins: float = 0.0
    ends: float = float("inf")


@dataclass(frozen=True)
class Figure:
    """A network, who serves what, who fetches, and when rates count."""

    links: tuple[Link, ...]
    routes: dict[str, list[Route]]
    producers: dict[str, str]
    flows: tuple[Flow, ...]
    windows: dict[str, tuple[float, float]]
    note: str


SLINGSHOT = Figure(
    links=(
        Link("e1", "x", 15, QUEUE),
        Link("x", "e2", 12, QUEUE),
        Link("x", "e3", 9, QUEUE),
        Link("e2", "y", 100, QUEUE),
        Link("e3", "y", 100, QUEUE),
    ),
    routes={
        "e1": [("/p1", "x", 1), ("/p2", "x", 1)],
        "x": [("/p1", "e2", 1), ("/p1", "e3", 1), ("/p2", "e3", 1)],
        "e2": [("/p1", "y", 1)],
        "e3": [("/p1", "y", 1)],
        "y": [],
    },
    producers={"/p1": "y", "/p2": "e3"},
    flows=(Flow("consumer 1", "e1", "/p1"), Flow("consumer 2", "e1", "/p2", 40, 70)),
    windows={"consumer 1 alone": (10, 40), "both": (52, 70), "alone again": (80, 110)},
    note="Rates are the paper's: 15, 12 and 9 Mbps.",
)
DIAMOND = Figure(
    links=(
        Link("a", "c", 16, QUEUE),
        Link("a", "d", 16, QUEUE),
        Link("c", "g", 100, QUEUE),
        Link("d", "g", 100, QUEUE),
        Link("g", "p", 5, QUEUE),
    ),
    routes={
        "a": [("/p", "c", 1), ("/p", "d", 1), ("/c", "c", 1), ("/d", "d", 1)],
        "c": [("/p", "g", 1)],
        "d": [("/p", "g", 1)],
        "g": [("/p", "p", 1)],
        "p": [],
    },
    producers={"/p": "p", "/c": "c", "/d": "d"},
    flows=(
        Flow("A", "a", "/p"),
        *(Flow(f"over c {i}", "a", "/c") for i in range(3)),
        *(Flow(f"over d {i}", "a", "/d") for i in range(3)),
        *(Flow(f"E {i}", "g", "/p") for i in range(2)),
    ),
    windows={"all": (20, 40)},
    note="Scenario 2 with a tenth of the paper's rates, and three others on l_c and l_d each in place of fifteen.",
)
FIGURES = {"figure 6": SLINGSHOT, "figure 4": DIAMOND}


@dataclass
class Row:
    """Rates of a flow in a window, Mbps over η: what Data came, and what it asked for by class."""

    figure: str
    window: str
    flow: str
    real: dict[str, float]
    simulated: dict[str, float]
    dropped: int = 0
    again: int = 0
    runs: int = 1

    def away(self, what: str) -> float:
        """How far the real rate is from the simulated one, as a share of it; of all of the flow's if it is small."""
        least = SMALL * self.simulated["data"]
        share = self.simulated[what] if self.simulated[what] >= least else self.simulated["data"]
        return (self.real[what] - self.simulated[what]) / share


@dataclass
class Seen:
    """A real flow, as its forwarder's status tells of it."""

    process: subprocess.Popen[bytes]
    face: int
    samples: list[tuple[float, float, float, float]] = field(default_factory=list)
    """Time, bytes sent to it, rates by class."""


def real(figure: Figure, seconds: float) -> tuple[dict[tuple[str, str], dict[str, float]], int, int]:
    """Runs it in namespaces: rates by window and flow, frames that queues dropped, Interests sent again."""
    with Network(list(figure.links)) as network:
        found: dict[str, Mircc] = {}
        started: list[subprocess.Popen[bytes]] = []
        seen: dict[str, Seen] = {}
        try:
            for node, routes in figure.routes.items():
                found[node] = Storeless(network, node, routes)
            for number, (prefix, node) in enumerate(figure.producers.items()):
                words = (sys.executable, str(APPS), "stream", prefix, str(SEGMENTS))
                log = f"serve{number}"
                process = network.start(node, *words, log=log, env=found[node].env())
                started.append(process)
                ready(network, log, process, "ready")
            time.sleep(2)
            deaf = [n for n, f in found.items() if not all(link["speaks_mircc"] for link in f.status()["links"])]
            if deaf:
                raise TimeoutError(f"{deaf} have not heard their neighbours")
            begun = time.monotonic()
            while (now := time.monotonic() - begun) < seconds:
                for flow in figure.flows:
                    if flow.name not in seen and now >= flow.begins:
                        seen[flow.name] = fetching(network, found[flow.at], flow)
                    elif flow.name in seen and now >= flow.ends:
                        ended(seen[flow.name].process)
                sample(figure, found, seen, begun)
                time.sleep(0.2)
            rates = {
                (title, flow.name): window(seen[flow.name], begin, end)
                for title, (begin, end) in figure.windows.items()
                for flow in figure.flows
                if flow.begins <= begin and end <= flow.ends
            }
            again = sum(f.status()["packets"]["retried"] for f in found.values())
            return rates, network.dropped(), again
        finally:
            for process in [*(s.process for s in seen.values()), *started]:
                ended(process)
            for forwarder in found.values():
                forwarder.close()


def fetching(network: Network, at: Mircc, flow: Flow) -> Seen:
    """Starts a consumer, and finds its face."""
    before = {face["face"] for face in at.status()["faces"]}
    name = f"{flow.prefix}/{flow.name.replace(' ', '-')}"
    words = network.spaces[flow.at].command(*FIRST, str(midpathd_program()), "ndn", "fetch", name)
    with (network.folder / "fetch").open("ab") as log:
        process = subprocess.Popen(
            [*words, "--output", "/dev/null"], stdout=log, stderr=log, env=at.env(), cwd=network.folder
        )
    for _ in range(100):
        new = [f["face"] for f in at.status()["faces"] if f["face"] not in before and f["is_local"]]
        if new:
            return Seen(process, new[0])
        time.sleep(0.01)
    raise TimeoutError(f"{flow.name} does not connect: {(network.folder / 'fetch').read_text()}")


def sample(figure: Figure, found: dict[str, Mircc], seen: dict[str, Seen], begun: float) -> None:
    """Asks each forwarder that consumers are at what their flows do."""
    for node in {flow.at for flow in figure.flows}:
        status = found[node].status()
        now = time.monotonic() - begun
        sent = {face["face"]: face["sent"]["bytes"] for face in status["faces"]}
        flows = {flow["face"]: flow for flow in status["flows"]}
        for flow in figure.flows:
            one = seen.get(flow.name)
            if flow.at == node and one and one.face in sent:
                rates = flows.get(one.face, {"primary_rate_bps": 0.0, "secondary_rate_bps": 0.0})
                one.samples.append((now, sent[one.face], rates["primary_rate_bps"], rates["secondary_rate_bps"]))


def window(seen: Seen, begin: float, end: float) -> dict[str, float]:
    """Means in a window, Mbps over η. Data count as they are on links."""
    inside = [s for s in seen.samples if begin <= s[0] <= end]
    if len(inside) < 2:
        raise ValueError(f"nothing was seen from {begin} to {end} s")
    (first, before, *_), (last, after, *_) = inside[0], inside[-1]
    # To an application a segment goes without the datagrams' headers.
    scale = DATA / ON_SOCKET
    found = {"data": 8e-6 * (after - before) * scale / (last - first)}
    for place, name in ((2, "primary"), (3, "secondary")):
        found[name] = 1e-6 * statistics.fmean(s[place] for s in inside)
    return {name: value / ETA for name, value in found.items()}


# Bytes of a segment's Data as an application gets it: content, name, MetaInfo, signature.
ON_SOCKET = 8082


def scenario(figure: Figure, seconds: float) -> dict[str, Any]:
    """The same for the simulator: hosts behind links that are never short."""
    hosts = {f"host-{i}": flow.at for i, flow in enumerate(figure.flows)}
    sources = {f"source-{i}": node for i, node in enumerate(figure.producers.values())}
    links = [
        {"a": link.one, "b": link.other, "rate": f"{link.mbps} Mbps", "delay": "20 us", "mtu": DATA}
        for link in figure.links
    ]
    links += [
        {"a": host, "b": node, "rate": "1 Gbps", "delay": "20 us", "mtu": DATA}
        for host, node in (hosts | sources).items()
    ]
    of = {prefix: f"source-{i}" for i, prefix in enumerate(figure.producers)}
    flows = []
    for i, flow in enumerate(figure.flows):
        # One after the other, as processes are started.
        one = {"from": of[flow.prefix], "to": f"host-{i}", "start": f"{flow.begins + 0.05 * i} s"}
        flows.append(one | ({"stop": f"{flow.ends} s"} if flow.ends < seconds else {}))
    return {
        "scheme": "mircc",
        "seed": 1,
        "stop": f"{seconds} s",
        "schemes": {"mircc": {"burst": f"{2 * DATA} B", "interest": "150 B"}},
        "topology": {"nodes": [{"name": name, "kind": "host"} for name in hosts | sources], "links": links},
        "queue": {"limit": f"{QUEUE} B"},
        "flow": flows,
        "measure": {"series": True, "interval": "100 ms"},
    }


def simulated(figure: Figure, seconds: float) -> dict[tuple[str, str], dict[str, float]]:
    """Rates by window and flow, in the simulator."""
    results = [midpath.run(scenario(figure, seconds), seed=seed) for seed in range(1, SEEDS + 1)]
    found = {}
    for title, (begin, end) in figure.windows.items():
        for number, flow in enumerate(figure.flows):
            if flow.begins <= begin and end <= flow.ends:
                rates = {
                    name: statistics.fmean(asked(result, number, name, begin, end) for result in results)
                    for name in ("primary", "secondary")
                }
                rates["data"] = statistics.fmean(data(result, number, begin, end) for result in results)
                found[title, flow.name] = {name: 1e-6 * value / ETA for name, value in rates.items()}
    return found


HEAD = f"""# MIRCC on real links beside the simulator

Written by `python evidence/peers/ndn/figures.py`; its head says what is real and what is simulated. Rates in Mbps
over η, means of a window, of the runs and of {SEEDS}
seeds. *Away*: real less simulated, as a share of what is simulated;
of all that
the flow gets for a class that has less than {SMALL:.0%} of it. Bound, fixed before the first run: within {WITHIN:.0%},
both classes. Dropped: frames that any queue dropped in the whole run. Again: Interests that forwarders sent again.

"""
COLUMNS = (
    "figure | window | flow | runs | Data, real | simulated | away | primary, real | simulated | away"
    " | secondary, real | simulated | away | holds | dropped | again"
)


def line(row: Row) -> str:
    """A row of the table."""
    cells = [row.figure, row.window, row.flow, str(row.runs)]
    for what in ("data", "primary", "secondary"):
        cells += [f"{row.real[what]:.2f}", f"{row.simulated[what]:.2f}", f"{row.away(what):+.1%}"]
    holds = all(abs(row.away(what)) <= WITHIN for what in ("data", "primary", "secondary"))
    return markdown.line([*cells, "yes" if holds else "no", str(row.dropped), str(row.again)])


def measured(title: str, runs: int) -> list[Row]:
    """A figure, real and simulated."""
    figure = FIGURES[title]
    seconds = max(end for _, end in figure.windows.values()) + 1
    ideal = simulated(figure, seconds)
    seen = [real(figure, seconds) for _ in range(runs)]
    rows = []
    for (where, flow), rates in ideal.items():
        mean = {what: statistics.fmean(found[where, flow][what] for found, *_ in seen) for what in rates}
        dropped, again = max(run[1] for run in seen), max(run[2] for run in seen)
        rows.append(Row(title, where, flow, mean, rates, dropped, again, runs))
    return rows


def main() -> None:
    """Runs figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", action="append", choices=FIGURES)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--print", action="store_true", help="print what was found, and leave the page alone")
    chosen = parser.parse_args()
    store = HERE / "figures.json"
    rows = [Row(**row) for row in json.loads(store.read_text())] if store.exists() else []
    for title in chosen.figure or FIGURES:
        found = measured(title, chosen.runs)
        print(*map(line, found), sep="\n", flush=True, file=sys.stderr)
        rows = [row for row in rows if row.figure != title] + found
    if not chosen.print:
        rows.sort(key=lambda row: [*FIGURES].index(row.figure))
        store.write_text("[\n" + ",\n".join(json.dumps(vars(row)) for row in rows) + "\n]\n")
        notes = "".join(f"\n- *{title}*: {FIGURES[title].note}" for title in FIGURES)
        table = [markdown.head(COLUMNS.split(" | ")), *map(line, rows)]
        (HERE / "FIGURES.md").write_text(HEAD + "\n".join(table) + "\n" + notes + "\n")


if __name__ == "__main__":
    main()
