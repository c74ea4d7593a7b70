"""FCP's steady state on random networks, with and without each of our additions, beside a solver's optimum.

Routers in a random tree with chords. *Close*: no flow's goodput of the second half of a minute is further than 3 % from
SciPy's weighted proportional-fair optimum. *Deep*: a queue of more than five packets on average. Neither is a bound
here: `tests/python/test_fcp_optimum.py` has them. About a minute for each variant on two cores.
"""

from __future__ import annotations

import itertools
import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import networkx as nx
from fcp.ablation import ADDITIONS, KEYS, written
from harness import Row, Suite, crashes, ended, groups
from scenes import log_uniform

from midpath import Result, markdown
from midpath.papers.fair import Flow, proportional

NETWORKS = 100
STOP_S = 60
# What a packet is on the wire, what it carries, and its ACK: FCP's shim has 40 B beside TCP's 52.
PACKET, PAYLOAD, ACK = 1500, 1408, 92
ACCESS = 50e6
# Below this a flow sends too few packets in half a run for 3 % to mean anything.
LEAST = 60e3
CLOSE = 0.03


@dataclass(frozen=True)
class Network:
    """Routers in a random tree with chords; every flow has hosts of its own, so that a host's budget is a flow's."""

    links: list[tuple[str, str, float, float]]
    hosts: list[tuple[str, str, float]]
    budgets: list[float]

    @classmethod
    def draw(cls, seed: int) -> Network:
        """From a seed."""
        rng = random.Random(seed)
        n = rng.randint(3, 6)
        tree = nx.random_labeled_tree(n, seed=seed)
        for _ in range(rng.randint(0, 2)):
            tree.add_edge(*rng.sample(range(n), 2))
        links = [
            (f"r{a}", f"r{b}", round(log_uniform(rng, 0.8, 8), 2), log_uniform(rng, 0.1, 100))
            for a, b in sorted(tree.edges)
        ]
        hosts, budgets = [], []
        for i in range(rng.randint(2, 7)):
            a, b = rng.sample(range(n), 2)
            hosts += [(f"s{i}", f"r{a}", log_uniform(rng, 0.1, 100)), (f"d{i}", f"r{b}", 0.1)]
            budgets.append(10 ** rng.uniform(-2, 2))
        return cls(links, hosts, budgets)

    def graph(self) -> nx.Graph:
        """Nodes and links."""
        ends = [(a, b) for a, b, *_ in self.links] + [(h, r) for h, r, _ in self.hosts]
        return nx.Graph(ends)

    def capacities(self) -> dict[str, float]:
        """Of each link's directions, bits/s."""
        both = [(a, b, rate * 1e6) for a, b, rate, _ in self.links] + [(h, r, ACCESS) for h, r, _ in self.hosts]
        return {f"{x}>{y}": rate for a, b, rate in both for x, y in ((a, b), (b, a))}

    def toml(self, parameters: str) -> str:
        """With these parameters of FCP."""
        routers = sorted({end for a, b, *_ in self.links for end in (a, b)})
        nodes = ", ".join(f'{{ name = "{name}", kind = "router" }}' for name in routers)
        links = [f'{{ a = "{a}", b = "{b}", rate = "{r} Mbps", delay = "{d:.3f} ms" }},' for a, b, r, d in self.links]
        access = [f'{{ a = "{h}", b = "{r}", rate = "50 Mbps", delay = "{d:.3f} ms" }},' for h, r, d in self.hosts]
        flows = [
            f'[schemes.fcp.hosts.s{i}]\nbudget = {w:.6g}\n[[flow]]\nfrom = "s{i}"\nto = "d{i}"\n'
            for i, w in enumerate(self.budgets)
        ]
        head = f'scheme = "fcp"\nstop = "{STOP_S} s"\n[routing]\necmp = "off"\n[queue]\nlimit = "200 ms"\n'
        head += f"[schemes.fcp]\n{parameters}\n"
        measure = "[measure]\nseries = true\npoints = 120\nflows = 20\nports = 40\n"
        topology = f"[topology]\nnodes = [{nodes}]\nlinks = [\n" + "\n".join(links + access) + "\n]\n"
        return head + measure + topology + "".join(flows)


def optima(capacity: dict[str, float], paths: list[list[str]], budgets: list[float]) -> Iterator[list[float]]:
    """Rates in bits/s at the optimum, then at those with 2 % more or less of one scarce link's capacity.

    ACKs take their part of the links that they go back over, and pay nothing.
    """
    hops = [[f"{a}>{b}" for a, b in itertools.pairwise(p)] for p in paths]
    flows = {str(i): Flow(w, h) for i, (w, h) in enumerate(zip(budgets, hops, strict=True))}
    used = {link: capacity[link] for path in hops for link in path}
    left = dict(used)
    for _ in range(4):
        rates = proportional(left, flows)
        left = dict(used)
        for i, path in enumerate(paths):
            for a, b in itertools.pairwise(path):
                if f"{b}>{a}" in left:
                    left[f"{b}>{a}"] -= rates[str(i)] * ACK / PACKET
    load = {link: sum(rates[str(i)] for i, path in enumerate(hops) if link in path) for link in used}
    scarce = [link for link in used if load[link] > 0.9 * left[link]]
    yield list(rates.values())
    for link, factor in itertools.product(scarce, (0.98, 1.02)):
        yield list(proportional(left | {link: left[link] * factor}, flows).values())


@dataclass(frozen=True)
class Outcome:
    """Worst deviations of one network, and the mean queue of its worst port."""

    plain: float
    """From the optimum."""
    beyond: float
    """From the range of optima that 2 % more or less of one link's capacity gives."""
    queue_packets: float
    least_rtt_ms: float
    most_rtt_ms: float


def judge(network: Network, result: Result, _: str, __: str) -> Outcome:
    """How far goodput is from the optimum."""
    series = result.series.to_pandas()
    late = series[series.time_s > STOP_S / 2]
    means = late.groupby(["entity", "metric"]).value.mean()
    graph, capacity = network.graph(), network.capacities()
    paths = [nx.shortest_path(graph, f"s{i}", f"d{i}") for i in range(len(network.budgets))]
    near = optima(capacity, paths, network.budgets)
    best = next(near)
    measured = [means[f"flow:{i}", "goodput_bps"] * PACKET / PAYLOAD for i in range(len(best))]
    counts = [i for i, rate in enumerate(best) if rate >= LEAST]
    plain = max((abs(measured[i] / best[i] - 1) for i in counts), default=0.0)
    beyond = 0.0
    if plain > CLOSE:
        ranges = [(min(rates), max(rates)) for rates in zip(best, *near, strict=True)]
        beyond = max(max(1 - measured[i] / ranges[i][0], measured[i] / ranges[i][1] - 1) for i in counts)
    queues = means.xs("queue_bytes", level="metric")
    rtts = result.flows.to_pandas().rtt_min_s * 1e3
    deepest = float(queues.max()) / PACKET
    return Outcome(float(plain), float(beyond), deepest, float(rtts.min()), float(rtts.max()))


def unambiguous(seed: int) -> bool:
    """Whether every flow has one shortest path: then NetworkX and the simulator agree on it."""
    network = Network.draw(seed)
    graph = network.graph()
    return all(len(list(nx.all_shortest_paths(graph, f"s{i}", f"d{i}"))) == 1 for i in range(len(network.budgets)))


@cache
def seeds() -> list[int]:
    """Of networks that are unambiguous."""
    return [seed for seed in range(3 * NETWORKS) if unambiguous(seed)]


# What is written into [schemes.fcp], by what the table calls it.
VARIANTS = {
    "all of ours": "",
    **{f"without `{name}`": written([name]) for name in ADDITIONS},
    **{f"`{line}`": line for line in KEYS.values()},
    '`text = "paper"`': 'text = "paper"',
    '`text = "paper"`, but `header_rtt = "price-age"`': 'text = "paper"\nheader_rtt = "price-age"',
}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """RESULTS.md."""
    yield markdown.head(["FCP", "close", "furthest", "deep"])
    for name, own in groups(rows, lambda row: row.scheme).items():
        found = ended(own)
        close, deep = sum(one.plain <= CLOSE for one in found), sum(one.queue_packets > 5 for one in found)
        yield markdown.line([name, str(close), f"{100 * max(one.plain for one in found):.0f} %", str(deep)])
    yield from crashes(rows)


SUITE = Suite(
    "FCP on random networks, with and without what we add",
    lambda _, number: Network.draw(seeds()[number - 1]),
    lambda network, variant, _: network.toml(VARIANTS[variant]),
    judge,
    Outcome,
    page,
    schemes=tuple(VARIANTS),
    scenarios=NETWORKS,
)
