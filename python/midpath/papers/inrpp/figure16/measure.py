"""Figure 16: completion times in a network of a core and stubs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath.papers.inrpp.common import WITHOUT, by_quarter, custody_lost, ratio, refused
from midpath.papers.lab import Lab, Measured

SCHEMES = {"inrpp": "inrpp", "rcp": "rcp", "tcp": "newreno", "mptcp": "mptcp"}
SERVERS = ("top0", "top1")
RECEIVERS = ("left0", "left1", "right0", "right1", "bottom0", "bottom1")
# §IV-C.2: 3000 senders at each of two edge routers, 1000 receivers at each of six; each sends one flow.
PAIRS, FLOWS = 6000, 6000
QUICK_PAIRS, QUICK_FLOWS = 60, 120
ACCESS = {"rate": "10 Mbps", "delay": "5 ms"}


def measure(lab: Lab) -> Iterator[Measured]:
    """Completion times against INRPP's, and what its caches refused."""
    pairs, flows = (QUICK_PAIRS, QUICK_FLOWS) if lab.quick else (PAIRS, FLOWS)
    runs = {}
    for name, scheme in SCHEMES.items():
        changes = network(lab, pairs, homes=2 if name == "mptcp" else 1) | {"workload[0].flows": flows}
        runs[name] = lab.runs("stubs", scheme=scheme, changes=changes)
    afct = {name: found.summary("afct_s") for name, found in runs.items()}
    for name in SCHEMES:
        yield Measured(f"afct.{name}", afct[name])
    for other in ("tcp", "rcp", "mptcp"):
        yield Measured(f"faster.{other}", list(map(ratio, afct["inrpp"], afct[other])))
        yield Measured(f"best.{other}", by_quarter(runs["inrpp"], runs[other]))
    for name, less in WITHOUT.items():
        changes = network(lab, pairs, homes=1) | {"workload[0].flows": flows}
        found = lab.runs("stubs", changes=changes | less, label=name)
        yield Measured(f"slower.{name}", list(map(ratio, found.summary("afct_s"), afct["inrpp"])))
    yield Measured("custody", runs["inrpp"].values(custody_lost), bound=0.0)
    yield Measured("refused", runs["inrpp"].values(refused), bound=0.0)


def network(lab: Lab, pairs: int, homes: int) -> dict[str, Any]:
    """The scenario's routers with this many pairs of hosts, dealt out to edge routers in turn, each with `homes` links.

    A second link leads to the other edge router of the same domain.
    """
    routers = lab.scenario("stubs").to_dict()["topology"]["links"]
    links = [link for link in routers if not link["a"].startswith(("s", "d"))]
    for i in range(pairs):
        for host, edges in ((f"s{i}", SERVERS), (f"d{i}", RECEIVERS)):
            first = edges[i % len(edges)]
            links += [{"a": host, "b": edge} | ACCESS for edge in (first, first[:-1] + flipped(first))[:homes]]
    return {
        "topology.nodes": [{"name": f"{kind}{i}", "kind": "host"} for kind in "sd" for i in range(pairs)],
        "topology.links": links,
        "workload[0].matrix.pairs": [[f"s{i}", f"d{i}"] for i in range(pairs)],
    }


def flipped(edge: str) -> str:
    """The last character of the other edge router's name."""
    return "1" if edge.endswith("0") else "0"
