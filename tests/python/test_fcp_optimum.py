"""FCP's steady state on random networks, against the weighted proportional-fair optimum of an independent solver."""

import itertools
import math
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import networkx as nx
import pytest

import midpath
from midpath.papers.fair import Flow, proportional

pytestmark = pytest.mark.nightly("crates/schemes/src/fcp/", "crates/ideal/", "evidence/properties/fcp/")

NETWORKS = 100
STOP_S = 60
# What a packet is on the wire, what it carries, and its ACK: FCP's shim has 40 B beside TCP's 52.
PACKET, PAYLOAD, ACK = 1500, 1408, 92
ACCESS = 50e6
# Below this a flow sends too few packets in half a run for 3 % to mean anything.
LEAST = 60e3
CLOSE = 0.03


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


@dataclass(frozen=True)
class Network:
    """Routers in a random tree with chords; every flow has hosts of its own, so that a host's budget is a flow's."""

    links: list[tuple[str, str, float, float]]
    hosts: list[tuple[str, str, float]]
    budgets: list[float]

    @classmethod
    def draw(cls, seed: int) -> "Network":
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
        ends = [(a, b) for a, b, *_ in self.links] + [(h, r) for h, r, _ in self.hosts]
        return nx.Graph(ends)

    def capacities(self) -> dict[str, float]:
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

    seed: int
    plain: float
    """From the optimum."""
    beyond: float
    """From the range of optima that 2 % more or less of one link's capacity gives."""
    queue_packets: float
    rtts_ms: tuple[float, float]


def run(seed: int, parameters: str) -> Outcome:
    network = Network.draw(seed)
    result = midpath.run(network.toml(parameters))
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
    return Outcome(seed, float(plain), float(beyond), float(queues.max()) / PACKET, (rtts.min(), rtts.max()))


def unambiguous(seed: int) -> bool:
    """Whether every flow has one shortest path: then NetworkX and the simulator agree on it."""
    network = Network.draw(seed)
    graph = network.graph()
    return all(len(list(nx.all_shortest_paths(graph, f"s{i}", f"d{i}"))) == 1 for i in range(len(network.budgets)))


# How many of the networks may be beyond: with the paper's round trip in the header, and with the price's age, which is
# the longer the fewer packets a flow sends. With either 98 are within 3 % (evidence/properties/fcp/RESULTS.md).
FAR = {"round-trip": 0.02, "price-age": 0.04}


@pytest.fixture(scope="module", params=["round-trip", "price-age"])
def header_rtt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def outcomes(header_rtt: str) -> list[Outcome]:
    seeds = [seed for seed in range(3 * NETWORKS) if unambiguous(seed)][:NETWORKS]
    assert len(seeds) == NETWORKS
    with ProcessPoolExecutor(max_workers=2) as pool:
        return list(pool.map(run, seeds, itertools.repeat(f'header_rtt = "{header_rtt}"')))


def test_rates_are_the_optimum(outcomes: list[Outcome], header_rtt: str) -> None:
    close = [o for o in outcomes if o.plain <= CLOSE]
    far = [o for o in outcomes if o.beyond > CLOSE]
    # Where two links are almost equally scarce, a hundredth of a capacity moves the optimum by more than 3 %.
    assert len(close) >= 0.9 * NETWORKS, sorted(outcomes, key=lambda o: -o.plain)[:10]
    assert len(far) <= FAR[header_rtt] * NETWORKS, far


def test_queues_are_a_few_packets(outcomes: list[Outcome]) -> None:
    deep = [o for o in outcomes if o.queue_packets > 5]
    assert len(deep) <= 0.02 * NETWORKS, deep


def test_the_networks_are_what_they_should_be(outcomes: list[Outcome]) -> None:
    networks = [Network.draw(o.seed) for o in outcomes]
    budgets = [b for n in networks for b in n.budgets]
    assert max(budgets) / min(budgets) > 1e3 * 9
    assert min(o.rtts_ms[0] for o in outcomes) < 2
    assert max(o.rtts_ms[1] for o in outcomes) > 400
