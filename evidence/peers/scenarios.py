"""The scenarios that every simulator runs: a fat-tree, a list of flows, and for each pair of hosts its path."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RATE, DELAY = "10 Gbps", "1 us"


@dataclass(frozen=True)
class Flow:
    """Hosts by number, payload, start in ns, and which aggregation and core of it the flow goes through."""

    src: int
    dst: int
    size: int
    start: int
    aggregation: int
    core: int


@dataclass(frozen=True)
class Scenario:
    """Flows on a fat-tree of arity `k`; ports mark above `mark` packets. `drawn`: so many that Midpath draws."""

    name: str
    title: str
    k: int
    mark: int
    size: int = 0
    drawn: int = 0
    load: int = 0
    limit: int = 1_500_000
    # All-to-all in as many phases as are run, of one flow from each host: the next one when its own of the phase before
    # has ended.
    phases: int = 0

    @property
    def hosts(self) -> int:
        """Hosts of the fat-tree."""
        return self.k**3 // 4

    def midpath(self, flows: list[Flow], folder: Path) -> dict[str, Any]:
        """Midpath's scenario with these flows, on their paths; those of phases are read from htsim's file."""
        if self.phases:
            return self._common() | {"job": [{"trace": str(folder / MATRIX), "hosts": ["h*"]}]}
        listed = [
            {
                "from": f"h{flow.src}",
                "to": f"h{flow.dst}",
                "size": f"{flow.size} B",
                "start": f"{flow.start} ns",
                "path": path(self.k, flow),
            }
            for flow in flows
        ]
        return self._common() | {"flow": listed}

    def workload(self) -> dict[str, Any]:
        """Midpath's scenario that draws the flows, on paths that it chooses: a flow keeps to one."""
        arrivals = {"kind": "poisson", "load": f"{self.load} %", "load_of": "hosts"}
        sizes = {"kind": "cdf", "name": "web-search"}
        row = {"matrix": {"kind": "random"}, "sizes": sizes, "arrivals": arrivals, "flows": self.drawn}
        return self._common() | {"workload": [row]}

    def _common(self) -> dict[str, Any]:
        queue = {"kind": "step", "limit": f"{self.limit} B", "threshold": f"{self.mark} packets"}
        return {
            "scheme": "dctcp",
            "seed": 1,
            "topology": {"generate": "fat-tree", "k": self.k, "link": {"rate": RATE, "delay": DELAY}},
            # The others have no RACK.
            "schemes": {
                "dctcp": {"min_rto": "10 ms", "delack_timeout": "1 ms", "loss_detection": "rfc6675", "queue": queue}
            },
        }


# htsim's connection matrix, with triggers.
MATRIX = "phases.cm"

SCENARIOS = (
    Scenario("permutation-4", "Permutation of 16 hosts, 10 MB each", 4, 65, size=10_000_000),
    Scenario("permutation-8", "Permutation of 128 hosts, 1 MB each", 8, 65, size=1_000_000),
    Scenario("permutation-16", "Permutation of 1,024 hosts, 1 MB each", 16, 65, size=1_000_000),
    # Parsimon's link simulator marks above 3 kB a Gbps: 20 packets.
    Scenario("all-to-all-32", "All-to-all of 8,192 hosts, four phases of 1 MB each", 32, 65, size=1_000_000, phases=4),
    Scenario("web-search-8", "6,000 flows of 128 hosts, web-search sizes, load 50 %", 8, 20, drawn=6_000, load=50),
)


def way(k: int, src: int, dst: int) -> tuple[int, int]:
    """Aggregation and core of a pair of hosts: by a hash, the same there and back."""
    key = zlib.crc32(f"{min(src, dst)}-{max(src, dst)}".encode())
    return key % (k // 2), key // (k // 2) % (k // 2)


def path(k: int, flow: Flow) -> list[str]:
    """The routers that a flow goes through, by Midpath's names."""
    half = k // 2
    (pod, edge), (to_pod, to_edge) = (divmod(host // half, half) for host in (flow.src, flow.dst))
    up = [f"h{flow.src}", f"e{pod}.{edge}"]
    down = [f"e{to_pod}.{to_edge}", f"h{flow.dst}"]
    if up[1] == down[0]:
        return [*up, down[1]]
    above = f"a{pod}.{flow.aggregation}"
    if pod == to_pod:
        return [*up, above, *down]
    return [*up, above, f"c{flow.aggregation * half + flow.core}", f"a{to_pod}.{flow.aggregation}", *down]


def permutation(scenario: Scenario) -> list[Flow]:
    """Every host sends to another, all at once."""
    to = list(range(scenario.hosts))
    draw = random.Random(1)
    while any(src == dst for src, dst in enumerate(to)):
        draw.shuffle(to)
    return [Flow(src, dst, scenario.size, 0, *way(scenario.k, src, dst)) for src, dst in enumerate(to)]


def phased(scenario: Scenario) -> list[Flow]:
    """Phase by phase, each host's flow: as far ahead as all phases of the all-to-all are, evenly chosen."""
    n = scenario.hosts
    found = []
    for phase in range(scenario.phases):
        apart = 1 + phase * (n // scenario.phases)
        pairs = [(src, (src + apart) % n) for src in range(n)]
        found += [Flow(src, dst, scenario.size, 0, *way(scenario.k, src, dst)) for src, dst in pairs]
    return found


def matrix(scenario: Scenario, flows: list[Flow]) -> str:
    """htsim's connection matrix: each flow but a host's first starts on the trigger of the one before."""
    n, waiting = scenario.hosts, len(flows) - scenario.hosts
    lines = [f"Nodes {n}", f"Connections {len(flows)}", f"Triggers {waiting}"]
    for number, flow in enumerate(flows, start=1):
        start = f"trigger {number - n}" if number > n else "start 0"
        fires = f" recv_done_trigger {number}" if number <= waiting else ""
        lines.append(f"{flow.src}->{flow.dst} id {number} {start} size {flow.size}{fires}")
    lines += [f"trigger id {number} oneshot" for number in range(1, waiting + 1)]
    return "\n".join(lines) + "\n"


def drawn(scenario: Scenario, rows: list[dict[str, Any]]) -> list[Flow]:
    """The flows of a run of `workload`, in the order of their starts."""
    found = []
    for row in sorted(rows, key=lambda row: row["start_s"]):
        src, dst = (int(row[end].removeprefix("h")) for end in ("src", "dst"))
        found.append(Flow(src, dst, int(row["size_bytes"]), round(row["start_s"] * 1e9), *way(scenario.k, src, dst)))
    return found


def links(k: int) -> list[tuple[int, int]]:
    """All links between numbered nodes: hosts, edges, aggregations, cores."""
    half, hosts = k // 2, k**3 // 4
    layer = k * half
    found = []
    for edge in range(layer):
        found += [(edge * half + i, hosts + edge) for i in range(half)]
        found += [(hosts + edge, hosts + layer + edge // half * half + i) for i in range(half)]
    for aggregation in range(layer):
        top = hosts + 2 * layer + aggregation % half * half
        found += [(hosts + layer + aggregation, top + i) for i in range(half)]
    return found


def write(scenario: Scenario, flows: list[Flow], folder: Path) -> None:
    """The files that the programs read."""
    folder.mkdir(parents=True, exist_ok=True)
    if scenario.phases:
        (folder / MATRIX).write_text(matrix(scenario, flows), encoding="ascii")
    rows = [f"{f.src} {f.dst} {f.size} {f.start} {f.aggregation} {f.core}" for f in flows]
    (folder / "flows.txt").write_text("\n".join(rows) + "\n", encoding="ascii")
    nodes = scenario.hosts + scenario.k**2 + scenario.k**2 // 4
    ends = [f"{scenario.hosts} {nodes}", *(f"{a} {b} 10 1000" for a, b in links(scenario.k))]
    (folder / "links.txt").write_text("\n".join(ends) + "\n", encoding="ascii")


def ideal_s(k: int, flow: Flow) -> float:
    """Alone in the network at the links' rate: full packets of 1,500 B one after another, the last over all links."""
    packets = -(-flow.size // 1448)
    hops = len(path(k, flow)) - 1
    wire = flow.size + 52 * packets
    return (8 * wire + (hops - 1) * 8 * min(wire, 1500)) / 10e9 + hops * 1e-6
