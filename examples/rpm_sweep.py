"""Where does RPM help, and where does it hurt? One switch tells CUBIC's senders by RPM, by CE marks, or by drops.

Prints fairness, the link's use, the queue and completion times over unlike round trips, numbers of flows, sizes of
the register file, and ACK thinning. SEEDS in the environment says how many runs a line is the mean of; else one.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import midpath
from midpath.stats import student_t

SEEDS = int(os.environ.get("SEEDS", "1"))
HOSTS = 10
MODES = ("rpm", "fwd", "drop")
TABLE = "{:32} {:5} {:>10} {:>6} {:>9} {:>9} {:>9} {:>10}"


def scenario(mode: str, flows: int, spread: float, params: dict[str, Any], tcp: dict[str, Any]) -> midpath.Scenario:
    """Ten pairs of hosts over 50 Mbps; round trips from 24 ms to `spread` times that, by the way behind the switch."""
    behind = 6 + 24 * (spread - 1) / 2 * np.arange(HOSTS) / (HOSTS - 1)
    access = [{"a": f"s{i}", "b": "r0", "rate": "1 Gbps", "delay": "5 ms"} for i in range(HOSTS)]
    far = [{"a": "r1", "b": f"d{i}", "rate": "1 Gbps", "delay": f"{behind[i]:.3f} ms"} for i in range(HOSTS)]
    long = [
        {
            "from": f"s{i}",
            "to": f"d{i}",
            "count": flows // HOSTS + (i < flows % HOSTS),
            "jitter": "1 s",
            "group": "long",
        }
        for i in range(min(flows, HOSTS))
    ]
    short = {
        "group": "short",
        "sizes": {"kind": "fixed", "size": "30 kB"},
        "arrivals": {"kind": "poisson", "rate_per_s": 10.0},
        "matrix": {"kind": "pairs", "pairs": [[f"s{i}", f"d{i}"] for i in range(HOSTS)]},
        "start": "5 s",
        "until": "18 s",
    }
    return midpath.Scenario.from_dict(
        {
            "scheme": "cubic",
            "stop": "20 s",
            "schemes": {"cubic": {"ecn": True, "min_rto": "200 ms"} | tcp},
            "topology": {"links": [{"a": "r0", "b": "r1", "rate": "50 Mbps", "delay": "1 ms"}, *access, *far]},
            "queue": {"limit": "100 ms"},
            "host_queue": {"limit": "1 s"},
            "queues": {"codel": {"kind": "codel", "target": "2 ms", "interval": "50 ms", "limit": "100 ms"}},
            "deploy": [{"scheme": "rpm", "nodes": ["r0"], "queue": "codel", "params": {"mode": mode} | params}],
            "flow": long,
            "workload": [short],
        }
    )


def figures(result: midpath.Result) -> list[float]:
    """What the long flows share, and what short flows meet: a line of the table."""
    flows = result.flows.to_pandas()
    got = flows.loc[flows.group.astype(str) == "long", "delivered_bytes"].to_numpy(dtype=float)
    times = 1e3 * flows.loc[flows.group.astype(str) == "short", "fct_s"].dropna().to_numpy(dtype=float)
    port = next(p for p in result.ports.to_pylist() if (p["node"], p["peer"]) == ("r0", "r1"))
    delays = [1e3 * port["delay_mean_s"], 1e3 * port["delay_p99_s"]]
    jain = got.sum() ** 2 / (got.size * (got**2).sum())
    return [jain, 100 * port["utilisation"], *delays, float(np.median(times)), float(np.percentile(times, 99))]


def compare(name: str, make: Callable[[str], midpath.Scenario], modes: tuple[str, ...] = MODES) -> None:
    """The same network under each way of telling."""
    for mode in modes:
        runs = np.array([figures(midpath.run(make(mode).with_(seed=seed))) for seed in range(1, SEEDS + 1)])
        jain, used, *times = runs.mean(axis=0)
        spread = f"±{student_t(SEEDS - 1) * runs[:, 0].std(ddof=1) / SEEDS**0.5:.2f}" if SEEDS > 1 else ""
        shown = [f"{time:.0f} ms" if time > 100 else f"{time:.1f} ms" for time in times]
        print(TABLE.format(name, mode, f"{jain:.2f}{spread}", f"{used:.0f} %", *shown), flush=True)


print(TABLE.format("", "", "Jain", "used", "mean", "p99", "FCT p50", "FCT p99"))
for spread in (1, 5, 20):
    compare(f"10 flows, longest RTT {spread}x", lambda mode, s=spread: scenario(mode, 10, s, {}, {}))
for flows in (2, 100, 1000):
    compare(f"{flows} flows", lambda mode, n=flows: scenario(mode, n, 1, {}, {}))
for size in (16, 256):
    compare(f"100 flows, {size} registers", lambda mode, n=size: scenario(mode, 100, 1, {"size": n}, {}), ("rpm",))
plain = {"size": 16, "registers": "plain"}
compare("100 flows, 16 plain registers", lambda mode: scenario(mode, 100, 1, plain, {}), ("rpm",))
compare("10 flows, one counter for all", lambda mode: scenario(mode, 10, 5, {"aggregate": True}, {}), ("rpm",))
for every in (1, 8):
    name = f"10 flows, an ACK per {every}"
    compare(name, lambda mode, n=every: scenario(mode, 10, 5, {}, {"delayed_ack": n}), ("rpm", "fwd"))
