"""An overlay of INRPP over plain routers, with tunnels of TCP between neighbours (§V-B): what share of routers buys
what share of the gain, at equal memory.

    python evidence/papers/inrpp/tunnels.py [--seeds N] [--rocketfuel DIR] > evidence/papers/inrpp/TUNNELS.md

Routers become INRPP's in one of two orders: the *busiest* first, by the bytes that they send under TCP, or *spread*:
the next is as many links as can be from those that are. Flows between hosts whose two routers are INRPP's use it; all
others are TCP's. The gain is what the mean completion time of all flows falls from TCP alone, as a share of what it
falls with INRPP everywhere.

Equal memory: the ports between routers, those of tunnels counted, hold as many bytes in all as without tunnels. What a
tunnel's own sender keeps until it is acknowledged is shown beside that.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import stats

import midpath
from midpath import __version__, markdown

MEMORY_MS = 25.0
TCP = "newreno"
WAYS = (
    ("spread", "tunnels of NewReno", "newreno"),
    ("spread", "tunnels of CUBIC", "cubic"),
    ("spread", "no tunnels", None),
    ("busiest", "tunnels of NewReno", "newreno"),
    ("busiest", "no tunnels", None),
)

ABILENE = """
title = "An overlay on Abilene"
scheme = "newreno"
[topology]
builtin = "abilene"
rate = "100 Mbps"
hosts = { per_node = 1, rate = "1 Gbps", delay = "100 us" }
[routing]
metric = "weight"
"""
ABILENE_LOAD = """
[[workload]]
sizes = { kind = "cdf", name = "web-search" }
matrix = { kind = "random" }
arrivals = { kind = "poisson", load = "320 %", load_of = "100 Mbps" }
until = "10 s"
"""

# As figure 17's network (python/midpath/topology/tiscali.py), with a host for each edge router.
PROVIDER = """
title = "An overlay on a provider's map"
scheme = "newreno"
[topology]
file = "{file}"
radius = 9
drop_edge_links = true
component = "largest"
delay = "1 ms"
rules = [{{ from = "edge", to = "gateway", rate = "100 Mbps" }}, {{ rate = "1 Gbps" }}]
hosts = {{ per_node = 1, on = "edge", rate = "1 Gbps", delay = "1 ms" }}
"""
PROVIDER_LOAD = """
[[workload]]
sizes = {{ kind = "pareto", shape = 1.2, mean = "1 MB" }}
matrix = {{ kind = "random" }}
arrivals = {{ kind = "poisson", load = "80 %", load_of = "{load_of}" }}
flows = 1500
"""
MAP = "3257.pop.cch"
COLUMNS = (
    "routers",
    "order",
    "tunnels",
    "flows within",
    "mean completion time",
    "of the gain",
    "segments repeated",
    "packets repeated",
    "kept",
)


@dataclass(frozen=True)
class Network:
    """A network without flows, what is offered to it, and how many of its routers become INRPP's, by order."""

    name: str
    text: str
    load: str
    shares: Mapping[str, Sequence[float]]
    cubic: bool = True
    most_seeds: int = 100


@dataclass(frozen=True)
class Base:
    """The run with TCP alone: its flows, the routers by what they send, and who is at which."""

    flows: pd.DataFrame
    orders: Mapping[str, Sequence[str]]
    router_of: Mapping[str, str]
    rates: float
    afct: float


def head(network: Network, seed: int, memory_ms: float) -> str:
    """What all runs have."""
    return f'seed = {seed}\n{network.text}\n[queue]\nlimit = "{memory_ms:.6f} ms"\n'


def base(network: Network, seed: int) -> Base:
    """TCP alone."""
    result = midpath.run(head(network, seed, MEMORY_MS) + network.load)
    ports = result.ports.to_pandas()
    hosts = set(result.flows["src"].to_pylist() + result.flows["dst"].to_pylist())
    everyone = set(ports["node"])
    # A host without flows: its name is that of one with a number.
    hosts |= {name for name in everyone if name[:1] == "h" and name[1:].isdigit()}
    between = ports[~ports["node"].isin(hosts) & ~ports["peer"].isin(hosts)]
    sent = between.groupby("node", observed=True)["bytes"].sum().sort_values(ascending=False, kind="stable")
    access = ports[ports["node"].isin(hosts)]
    router_of = dict(zip(access["node"], access["peer"], strict=True))
    flows = result.flows.to_pandas()[["src", "dst", "size_bytes", "start_s"]]
    links = list(zip(between["node"], between["peer"], strict=True))
    orders = {"busiest": list(sent.index), "spread": spread(list(sent.index), links)}
    return Base(flows, orders, router_of, float(between["rate_bps"].sum()), result.summary["afct_s"])


def spread(busiest: Sequence[str], links: Sequence[tuple[str, str]]) -> list[str]:
    """The routers, each as far as can be from those before it; of several the busiest."""
    graph = nx.Graph(links)
    away = dict.fromkeys(busiest, len(busiest))
    order: list[str] = []
    while away:
        order.append(max(away, key=lambda name: (away[name], -busiest.index(name))))
        del away[order[-1]]
        hops = nx.single_source_shortest_path_length(graph, order[-1])
        away = {name: min(far, hops.get(name, far)) for name, far in away.items()}
    return order


def text(network: Network, found: Base, chosen: frozenset[str], tunnels: str | None, seed: int, memory: float) -> str:
    """The network with INRPP at these routers and their hosts."""
    hosts = [host for host, router in found.router_of.items() if router in chosen]
    nodes = ", ".join(f'"{name}"' for name in sorted(chosen) + hosts)
    row = f'[[deploy]]\nscheme = "none"\n[[deploy]]\nscheme = "inrpp"\nnodes = [{nodes}]\n'
    row += f'tunnels = "{tunnels}"\n' if tunnels else ""
    flows = "".join(
        f'[[flow]]\nfrom = "{src}"\nto = "{dst}"\nsize = "{int(size)} B"\nstart = "{start:.9f} s"\n'
        + ('scheme = "inrpp"\n' if _within(found, chosen, src, dst) else "")
        for src, dst, size, start in found.flows.itertuples(index=False)
    )
    return head(network, seed, memory) + row + flows


def _within(found: Base, chosen: frozenset[str], src: str, dst: str) -> bool:
    return found.router_of[src] in chosen and found.router_of[dst] in chosen


@dataclass(frozen=True)
class Outcome:
    """Of one run: the gain's parts, and what its tunnels did."""

    afct: float
    base: float
    within: float
    tunnels: int
    repeated: float
    kept: float
    again: float


def outcome(network: Network, found: Base, way: tuple[str, float, str | None], seed: int) -> Outcome:
    """One row's run of one seed."""
    order, share, tunnels = way
    routers = found.orders[order]
    chosen = frozenset(routers[: round(share * len(routers))])
    short = 'stop = "1 ms"\n' + text(network, found, chosen, tunnels, seed, MEMORY_MS)
    there = midpath.run(short).run.get("tunnels", [])
    memory = MEMORY_MS * found.rates / (found.rates + sum(one["rate_bps"] for one in there))
    result = midpath.run(text(network, found, chosen, tunnels, seed, memory))
    carried = result.run.get("tunnels", [])
    flows = result.flows.to_pandas()
    inside = [_within(found, chosen, src, dst) for src, dst in zip(flows["src"], flows["dst"], strict=True)]
    return Outcome(
        result.summary["afct_s"],
        found.afct,
        float(np.mean(inside)),
        len(carried) // 2,
        _share(carried, "retransmitted", "segments"),
        sum(one["kept_bytes_max"] for one in carried) / (MEMORY_MS / 8e3 * found.rates),
        _again(flows[inside]),
    )


def _share(rows: Sequence[Mapping[str, Any]], part: str, whole: str) -> float:
    return sum(row[part] for row in rows) / max(1, sum(row[whole] for row in rows))


def _again(flows: pd.DataFrame) -> float:
    return float(flows["retransmitted_packets"].sum() / max(1, flows["sent_packets"].sum()))


def rows(network: Network, seeds: int, jobs: int) -> Iterator[str]:
    """The network's table."""
    yield f"## {network.name}\n\n"
    yield f"{markdown.head(COLUMNS)}\n"
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        numbers = range(1, seeds + 1)
        bases = [one.result() for one in [pool.submit(base, network, seed) for seed in numbers]]

        def run(order: str, share: float, tcp: str | None) -> list[Future[Outcome]]:
            way = (order, share, tcp)
            return [pool.submit(outcome, network, bases[seed - 1], way, seed) for seed in numbers]

        every = run("busiest", 1.0, None)
        asked = {
            (share, order, name): run(order, share, tcp)
            for share in sorted({share for shares in network.shares.values() for share in shares})
            for order, name, tcp in WAYS
            if share in network.shares[order] and (network.cubic or tcp != "cubic")
        }
        full = [one.result() for one in every]
        before = float(np.mean([one.base for one in full]))
        yield f"| 0 % | – | TCP alone | 0 % | {before:.3f} s | 0 % | – | – | – |\n"
        for (share, order, name), futures in asked.items():
            yield row(share, order, name, [one.result() for one in futures], full)
        yield row(1.0, "–", "INRPP everywhere", full, full)


def row(share: float, order: str, way: str, outcomes: Sequence[Outcome], full: Sequence[Outcome]) -> str:
    """Means over the seeds; the gain's interval is of the seeds' gains."""
    gains = [(one.base - one.afct) / (whole.base - whole.afct) for one, whole in zip(outcomes, full, strict=True)]
    mean = partial(_mean, outcomes)
    within = f" ± {100 * _half_width(gains):.0f}" if len(gains) > 1 and share < 1 else ""
    tunnels = mean("tunnels")
    cells = (
        f"{100 * share:.0f} %",
        order,
        f"{way} ({tunnels:.0f})" if tunnels else way,
        f"{100 * mean('within'):.0f} %",
        f"{mean('afct'):.3f} s",
        f"{100 * float(np.mean(gains)):.0f}{within} %",
        f"{100 * mean('repeated'):.2f} %" if tunnels else "–",
        f"{100 * mean('again'):.2f} %",
        f"{100 * mean('kept'):.0f} %" if tunnels else "–",
    )
    return f"{markdown.line(cells)}\n"


def _mean(outcomes: Sequence[Outcome], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in outcomes]))


def _half_width(values: Sequence[float]) -> float:
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rocketfuel", type=Path, default=os.environ.get("MIDPATH_ROCKETFUEL"))
    asked = parser.parse_args()
    print("# INRPP's overlay: routers and gain\n")
    print(
        f"Midpath {__version__}, written by `python evidence/papers/inrpp/tunnels.py --seeds {asked.seeds}`, which says"
    )
    print("what is compared. *Within*: flows between hosts of INRPP's routers.")
    print("*Segments repeated*: by tunnels, of those sent.")
    print(
        "*Packets repeated*: by INRPP's senders. *Kept*: what tunnels' senders held at most, over all ports' memory.\n"
    )
    all_of = (0.2, 0.4, 0.6, 0.8)
    networks = [Network("Abilene, 11 routers", ABILENE, ABILENE_LOAD, {"spread": all_of, "busiest": all_of})]
    file = Path(asked.rocketfuel) / MAP if asked.rocketfuel else None
    if file is not None and file.is_file():
        shares = {"spread": (0.1, 0.2), "busiest": (0.3, 0.6)}
        text, load = PROVIDER.format(file=file), PROVIDER_LOAD.format(load_of="2 Gbps")
        networks.append(Network("Tiscali's map, 442 routers, two seeds", text, load, shares, cubic=False, most_seeds=2))
    for network in networks:
        print("".join(rows(network, min(asked.seeds, network.most_seeds), asked.jobs)), flush=True)
    if len(networks) == 1:
        print(f"Tiscali's map is skipped: there is no `{MAP}` (`--rocketfuel DIR`, Rocketfuel's maps).")


if __name__ == "__main__":
    main()
