"""Random networks for MIRCC in packets, and the equations' equilibrium on them, by independent solvers."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from midpath.analysis.mircc.network import Floats, Network
from midpath.analysis.mircc.solvers import (
    max_min,
    max_min_flows,
    most_throughput,
    secondary_max_min,
    stamps_fixed_point,
)
from midpath.papers.mircc.common import ETA

# Bytes of an Interest for a full Data of 1500.
INTEREST, DATA = 64, 1500


@dataclass(frozen=True)
class Layered:
    """Routers in layers, links between neighbouring layers only, so that all ways through have the same number of hops.

    Consumers and producers sit at the two ends, in both directions. Rates in bit/s, delays in seconds.
    """

    links: dict[tuple[str, str], tuple[float, float]]
    """Between routers: rate and delay."""
    hosts: dict[str, tuple[str, float]]
    """Their router and the delay of their link, which is never short."""
    flows: list[tuple[str, str]]
    """Producer and consumer of each."""

    def faster(self, times: float) -> Layered:
        """The same with all rates so many times as high."""
        links = {ends: (times * rate, delay) for ends, (rate, delay) in self.links.items()}
        return replace(self, links=links)

    def paths(self, flow: tuple[str, str]) -> list[list[str]]:
        """The router sequences of the shortest paths, from the producer to the consumer."""
        first, last = (self.hosts[host][0] for host in flow)
        forward = _layer(first) < _layer(last)
        found = [[first]]
        for _ in range(abs(_layer(first) - _layer(last))):
            found = [[*path, after] for path in found for after in self._next(path[-1], forward)]
        return [path for path in found if path[-1] == last]

    def _next(self, router: str, forward: bool) -> list[str]:
        return [b if forward else a for a, b in self.links if (a if forward else b) == router]

    def rtt(self, flow: tuple[str, str]) -> tuple[float, float]:
        """The shortest and longest round trip of a flow, transmissions left out."""
        access = sum(self.hosts[host][1] for host in flow)
        ways = [sum(self._delay(hop) for hop in pairwise(path)) for path in self.paths(flow)]
        return 2 * (access + min(ways)), 2 * (access + max(ways))

    def _delay(self, hop: tuple[str, str]) -> float:
        return (self.links.get(hop) or self.links[hop[1], hop[0]])[1]

    def scenario(self) -> dict[str, Any]:
        """Changes that put this network and its flows into a scenario."""
        links = [
            {"a": a, "b": b, "rate": f"{rate:.0f} bps", "delay": f"{1e6 * delay:.0f} us"}
            for (a, b), (rate, delay) in self.links.items()
        ]
        links += [
            {"a": host, "b": router, "rate": "1 Gbps", "delay": f"{1e6 * delay:.0f} us"}
            for host, (router, delay) in self.hosts.items()
        ]
        nodes = [{"name": host, "kind": "host"} for host in self.hosts]
        nodes += [{"name": router, "kind": "router"} for router in sorted({r for link in self.links for r in link})]
        flows = [{"from": producer, "to": consumer, "group": consumer} for producer, consumer in self.flows]
        return {"topology": {"links": links, "nodes": nodes}, "flow": flows}

    def network(self) -> Network:
        """What solvers need: each direction of a link is one."""
        rates = {f"{x}>{y}": rate for (a, b), (rate, _) in self.links.items() for x, y in ((a, b), (b, a))}
        ways = {
            f"{i}": [[f"{a}>{b}" for a, b in pairwise(path)] for path in self.paths(flow)]
            for i, flow in enumerate(self.flows)
        }
        return Network.of(rates, ways)


@dataclass(frozen=True)
class Rest:
    """Each flow's rates by the solvers, in bits of Data per second."""

    max_min: Floats
    """Max-min fair between paths: with one path per flow, between flows."""
    fair: Floats
    """Max-min fair between flows that may split at will; none above its widest path."""
    primary: Floats
    secondary: Floats
    optimum: float
    """The largest sum of all rates."""


@dataclass(frozen=True)
class Run:
    """A network, where its rates rest by the solvers, and what packets came to: a value per flow in bit/s."""

    found: Layered
    rest: Rest
    data: Floats
    primary: Floats
    secondary: Floats
    dropped: float


def draw(seed: int, most_paths: int) -> Layered:
    """A network of 3 or 4 layers of 1 to 3 routers, links of 1 to 20 Mbps, 2 to 6 flows with RTTs of 1 to 300 ms."""
    rng = random.Random(seed)

    def log_uniform(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    while True:
        widths = [rng.randint(1, 3) for _ in range(rng.randint(3, 4))]
        links = {
            (f"r{layer}{i}", f"r{layer + 1}{j}"): (log_uniform(1e6, 20e6), log_uniform(1e-4, 3e-2))
            for layer, (here, there) in enumerate(pairwise(widths))
            for i, j in product(range(here), range(there))
            if rng.random() < 0.8
        }
        ends = {layer: [f"r{layer}{i}" for i in range(widths[layer])] for layer in (0, len(widths) - 1)}
        hosts: dict[str, tuple[str, float]] = {}
        flows = []
        for i in range(rng.randint(2, 6)):
            sides = rng.sample(sorted(ends), 2)
            for name, layer in (("p", sides[0]), ("c", sides[1])):
                hosts[f"{name}{i}"] = (rng.choice(ends[layer]), log_uniform(1e-4, 6e-2))
            flows.append((f"p{i}", f"c{i}"))
        found = Layered(links, hosts, flows)
        if _fits(found, most_paths):
            return found


def _fits(found: Layered, most_paths: int) -> bool:
    if not _connected(found):
        return False
    counts = [len(found.paths(flow)) for flow in found.flows]
    if min(counts) < 1 or max(counts) > most_paths or (most_paths > 1 and max(counts) < 2):
        return False
    rtts = [found.rtt(flow) for flow in found.flows]
    # The shortest a little above 1 ms is rare: delays are drawn evenly over their logarithms.
    return min(rtt[0] for rtt in rtts) >= 1e-3 and max(rtt[1] for rtt in rtts) <= 0.3


def _connected(found: Layered) -> bool:
    routers = {router for link in found.links for router in link} | {router for router, _ in found.hosts.values()}
    reached, open_ = set(), [next(iter(routers))]
    while open_:
        router = open_.pop()
        if router not in reached:
            reached.add(router)
            open_ += found._next(router, True) + found._next(router, False)
    return reached == routers


def _layer(router: str) -> int:
    return int(router[1])


def rest(found: Layered) -> Rest:
    """Where rates rest. Opposite Interests take a share of each link that depends on the rates: to a fixed point."""
    whole = found.network()
    back = [whole.link_names.index("{1}>{0}".format(*name.split(">"))) for name in whole.link_names]
    capacity = whole.capacity
    # Each round leaves 64/1500 of the error.
    for _ in range(4):
        network = Network.of(dict(zip(whole.link_names, capacity.tolist(), strict=True)), _ways(whole))
        primary = stamps_fixed_point(network, ETA, cap=ETA * whole.capacity).path
        secondary = secondary_max_min(network, primary, ETA)
        load = network.link_load(primary + secondary)
        capacity = whole.capacity - load[back] * INTEREST / DATA
    widest = np.maximum.reduceat(network.path_minimum(ETA * capacity), network.flow_start)
    return Rest(
        max_min=network.flow_sum(max_min(network, ETA * capacity)),
        fair=max_min_flows(network, ETA * capacity, widest),
        primary=network.flow_sum(primary),
        secondary=network.flow_sum(secondary),
        optimum=most_throughput(network, ETA * capacity),
    )


def _ways(network: Network) -> dict[str, list[list[str]]]:
    return {name: [list(path) for path in flow.paths] for name, flow in network.flows.items()}
