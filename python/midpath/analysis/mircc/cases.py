"""The paper's topologies, and random networks to try the model and the solvers on."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from midpath.analysis.mircc.network import Flow, Link, Network

MBPS = 1e6


def chain(starts: Sequence[float], bottleneck: int = 0, delay: float = 0.01) -> Network:
    """Figure 2: consumers on node 0, the producer on node 3, links of 1 Mbps.

    The paper's links are all alike, so that the first one, which has no delay before it, is the one that counts. With
    a `bottleneck` of 1 or 2 the others are ten times faster. The paper does not say the delays.
    """
    rates = [MBPS] * 3 if bottleneck == 0 else [MBPS * (1 if i == bottleneck else 10) for i in range(3)]
    links = {f"l{i}": Link(rate, delay) for i, rate in enumerate(rates)}
    return Network(links, {f"consumer {i}": Flow((tuple(links),), start=start) for i, start in enumerate(starts)})


def diamond(shared: float, delay: float = 0.003) -> Network:
    """Figure 4's consumer A: two paths of four hops that share l_a and l_g; l_c and l_d have 10 Mbps (§4.1).

    `shared` is l_g's rate in Mbps: 15 in scenario 2; scenario 1 has no less than l_c and l_d together. l_a's and the
    last links' rates are not in the text: they are never short here.
    """
    rates = {"a": 100.0, "g": shared, "c": 10.0, "d": 10.0, "last": 100.0}
    links = {name: Link(rate * MBPS, delay) for name, rate in rates.items()}
    return Network(links, {"A": Flow((("a", "g", "c", "last"), ("a", "g", "d", "last")))})


def slingshot(second: str | None = "c", start: float = 20.0, stop: float = 40.0) -> Network:
    """Figure 5: consumer 1 over l_a and then l_b or l_c, consumer 2 over l_a and the hop `second`; 15, 12, 9 Mbps.

    RTTs are about 25 ms (figure 6), here 25 ms over two hops of equal delay. Without `second` there is no consumer 2.
    """
    rates = {"a": 15.0, "b": 12.0, "c": 9.0}
    links = {name: Link(rate * MBPS, 0.00625) for name, rate in rates.items()}
    flows = {"1": Flow((("a", "b"), ("a", "c")))}
    if second:
        flows["2"] = Flow((("a", second),), start=start, stop=stop)
    return Network(links, flows)


def random_network(seed: int, most_paths: int = 4) -> Network:
    """4 to 8 links of 1 to 20 Mbps, 2 to 6 flows of up to `most_paths` paths of up to 3 links, RTTs of 1 to 300 ms."""
    draw = random.Random(seed)

    def log_uniform(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    links = {f"l{i}": Link(log_uniform(1, 20) * MBPS, log_uniform(0.0003, 0.03)) for i in range(draw.randint(4, 8))}
    flows = {}
    for i in range(draw.randint(2, 6)):
        wanted = draw.randint(1, most_paths)
        paths: set[tuple[str, ...]] = set()
        while len(paths) < wanted:
            paths.add(tuple(draw.sample(sorted(links), draw.randint(1, 3))))
        flows[f"f{i}"] = Flow(tuple(sorted(paths)), access=log_uniform(0.0003, 0.06))
    return Network(links, flows)


def side_by_side(networks: Sequence[Network]) -> Network:
    """Many networks as one without common links: the model advances them together, which is faster."""
    links: dict[str, Link] = {}
    flows: dict[str, Flow] = {}
    for i, network in enumerate(networks):
        links |= {f"{i}.{name}": link for name, link in network.links.items()}
        for name, flow in network.flows.items():
            paths = tuple(tuple(f"{i}.{link}" for link in path) for path in flow.paths)
            flows[f"{i}.{name}"] = Flow(paths, flow.start, flow.stop, flow.access, flow.demand)
    return Network(links, flows)
