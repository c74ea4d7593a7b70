"""What is measured: long flows through a bottleneck, forwarding alone, a data centre, many short flows.

The scenarios are those of which other simulators were measured at the same sizes; checks/ns3 has ns-3's side of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bench:
    """A scenario, and the program of checks/ns3 that runs the same in ns-3.

    `together`: all flows are active at the same time, so memory can be divided by their number.
    """

    id: str
    title: str
    scenario: dict[str, Any]
    ns3: list[str] = field(default_factory=list)
    together: bool = False


def suite(full: bool = False) -> list[Bench]:
    """The benchmarks; with `full`, also the sizes at which memory shows."""
    return [*_long_flows(full), *_chains(full), *_fat_trees(full), _short_flows()]


def _long_flows(full: bool) -> Iterator[Bench]:
    for flows in (4, 64, 1024, 16384) if full else (4, 64, 1024):
        yield Bench(
            f"long-{flows}",
            f"{flows:,} NewReno flows, one bottleneck",
            long_flows(flows),
            ["long_flows_b", f"--flows={flows}"] if flows <= 1024 else [],
            together=True,
        )


def long_flows(flows: int) -> dict[str, Any]:
    """(b): 1 Gbps, 20 ms, 10 s; flows on up to 32 pairs of hosts; a buffer of 20 ms, less for many flows."""
    pairs = min(flows, 32)
    buffer = 2_500_000 if flows < 64 else 524_288 if flows < 1024 else 131_072
    return {
        "title": f"{flows} long flows",
        "stop": "10 s",
        "topology": {
            "generate": "dumbbell",
            "pairs": pairs,
            "bottleneck": {"rate": "1 Gbps", "delay": "8 ms"},
            "access": {"rate": "10 Gbps", "delay": "1 ms"},
        },
        "queue": {"limit": f"{buffer} B"},
        "host_queue": {"limit": "100 MB"},
        "flow": [{"from": f"s{i}", "to": f"d{i}", "count": flows // pairs, "jitter": "100 ms"} for i in range(pairs)],
    }


def _chains(full: bool) -> Iterator[Bench]:
    for routers in (2, 8, 32) if full else (8,):
        ns3 = ["chain_c"] if routers == 8 else []
        yield Bench(f"chain-{routers}", f"constant rate over {routers} routers", chain(routers), ns3)


def chain(routers: int) -> dict[str, Any]:
    """(c): packets of 1500 B back to back, 1 Gbps, 2 s."""
    return {
        "title": f"chain of {routers} routers",
        "stop": "2 s",
        "scheme": "udp",
        "topology": {"generate": "chain", "n": routers, "link": {"rate": "1 Gbps", "delay": "1 ms"}},
        "flow": [{"from": "s0", "to": "d0", "rate": "1 Gbps"}],
    }


def _fat_trees(full: bool) -> Iterator[Bench]:
    for k in (4, 8, 16) if full else (4, 8):
        hosts = k**3 // 4
        ns3 = ["fattree_d"] if k == 4 else []
        yield Bench(f"fat-tree-{k}", f"DCTCP permutation of {hosts:,} hosts", fat_tree(k), ns3, True)


def fat_tree(k: int) -> dict[str, Any]:
    """(d): 10 Gbps, 1 us, every host sends 20 MB to another; packets take random shortest paths."""
    return {
        "title": f"fat-tree k={k}",
        "scheme": "dctcp",
        "topology": {"generate": "fat-tree", "k": k, "link": {"rate": "10 Gbps", "delay": "1 us"}},
        "routing": {"ecmp": "packet"},
        "schemes": {
            "dctcp": {
                "min_rto": "10 ms",
                "delack_timeout": "1 ms",
                "queue": {"kind": "step", "limit": "1 MB", "threshold": "65 packets"},
            }
        },
        "workload": [
            {
                "matrix": {"kind": "permutation"},
                "sizes": {"kind": "fixed", "size": "20 MB"},
                "arrivals": {"kind": "once"},
            }
        ],
    }


def _short_flows() -> Bench:
    """(e): the FCP paper's short flows."""
    scenario = {
        "title": "short flows",
        "topology": {
            "generate": "dumbbell",
            "pairs": 1,
            "bottleneck": {"rate": "150 Mbps", "delay": "48 ms"},
            "access": {"rate": "10 Gbps", "delay": "1 ms"},
        },
        "workload": [
            {
                "matrix": {"kind": "pairs", "pairs": [["s0", "d0"]]},
                "sizes": {"kind": "pareto", "mean": "30 kB", "shape": 1.2},
                "arrivals": {"kind": "poisson", "rate_per_s": 438.0},
                "until": "30 s",
            }
        ],
    }
    return Bench("short", "438 short flows/s, Pareto sizes", scenario, ["short_flows_e"])
