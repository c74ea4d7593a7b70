"""The benchmark scenarios. The first four were also used for other simulators."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from midpath.topology.tiscali import offered, on_map


def long_flows(flows: int, scheme: str = "newreno", stop: str = "10 s") -> dict[str, Any]:
    """(b): 1 Gbps, 20 ms; flows on up to 32 pairs of hosts; a buffer of 20 ms, less for many flows."""
    pairs = min(flows, 32)
    buffer = 2_500_000 if flows < 64 else 524_288 if flows < 1024 else 131_072
    return {
        "title": f"{flows} long flows",
        "scheme": scheme,
        "stop": stop,
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


def chain(routers: int, stop: str = "2 s") -> dict[str, Any]:
    """(c): packets of 1500 B back to back, 1 Gbps."""
    return {
        "title": f"chain of {routers} routers",
        "stop": stop,
        "scheme": "udp",
        "topology": {"generate": "chain", "n": routers, "link": {"rate": "1 Gbps", "delay": "1 ms"}},
        "flow": [{"from": "s0", "to": "d0", "rate": "1 Gbps"}],
    }


def fat_tree(k: int, size: str = "20 MB") -> dict[str, Any]:
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
                "sizes": {"kind": "fixed", "size": size},
                "arrivals": {"kind": "once"},
            }
        ],
    }


def short_flows() -> dict[str, Any]:
    """(e): the FCP paper's short flows."""
    return {
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


def provider(scheme: str, rocketfuel: Path | None = None) -> dict[str, Any]:
    """A provider's network: INRPP's figure 17 on Rocketfuel's map of Tiscali if that file is given, else on GÉANT's."""
    text = (files("midpath.papers.inrpp") / "figure17" / "isp.toml").read_text(encoding="utf-8")
    scenario = tomllib.loads(text) | {"scheme": scheme}
    workload, topology = scenario["workload"][0], scenario["topology"]
    homes = 2 if scheme == "mptcp" else 1
    if rocketfuel is None:
        workload["flows"] = 2000  # ours: ten times the file's, so that a run takes about a second
        topology["hosts"]["homes"] = homes
        return scenario
    scenario["topology"] = on_map(topology, rocketfuel.resolve(), homes=homes)
    for key, value in offered().items():
        table, dot, inner = key.partition(".")
        if dot:
            workload[table][inner] = value
        else:
            workload[key] = value
    return scenario


def many_hosts(hosts: int, flows: int, size: str = "15 kB", rate_per_s: float = 200_000.0) -> dict[str, Any]:
    """GÉANT's 40 routers with many hosts each, and flows of one size between any of them."""
    return {
        "title": f"{hosts:,} hosts, {flows:,} flows",
        "topology": {
            "builtin": "geant",
            "hosts": {"per_node": hosts // 40, "rate": "1 Gbps", "delay": "10 us"},
        },
        "workload": [
            {
                "matrix": {"kind": "random"},
                "sizes": {"kind": "fixed", "size": size},
                "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s},
                "flows": flows,
            }
        ],
    }
