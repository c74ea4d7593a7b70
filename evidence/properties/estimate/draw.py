"""Random scenarios for the error of `midpath estimate`, each with a scheme.

A scenario is a network of one of four kinds, sizes of one of five, and Poisson arrivals at 20 to 85 % of the link that
is short. Rates, round trips, memory and the number of flows are drawn, too. MPTCP has Abilene alone, with hosts at two
routers each: elsewhere it would have one path.
"""

from __future__ import annotations

import random
from typing import Any

from scenes import log_uniform

from midpath import Scenario
from midpath.entries import Entry

# Columns of the matrix that are drawn from.
SCHEMES = ("newreno", "cubic", "dctcp", "cubic+rpm", "rcp", "xcp", "fcp", "inrpp", "prague", "hpcc", "swift", "bbr")
# Their sizes' kinds; of those from measurements, the mean in bytes.
MEANS = {"web-search": 1.7e6, "hadoop": 1.2e5}
# Flows of a scenario, and all of them together in bytes where that is more than the fewest, so that a run is short.
FEWEST, LARGEST, MOST = 4000, 16_000, 2.4e9
SIZES: tuple[dict[str, Any], ...] = (
    {"kind": "cdf", "name": "web-search"},
    {"kind": "cdf", "name": "hadoop"},
    {"kind": "exponential"},
    {"kind": "pareto", "shape": 1.3},
    {"kind": "fixed"},
)


def scene(number: int, scheme: str = "") -> dict[str, Any]:
    """One scenario, without its queues' kind and its scheme."""
    rng = random.Random(number)
    kind = "two-homed" if scheme == "mptcp" else rng.choice(("dumbbell", "parking-lot", "fat-tree", "wan"))
    topology, rate, rtt, matrix, of = KINDS[kind](rng)
    held = rng.uniform(1.5e5, 6e5) if kind == "fat-tree" else max(rate * rtt / 8 * log_uniform(rng, 0.5, 2), 75e3)
    sizes = dict(rng.choice(SIZES))
    mean = MEANS[sizes["name"]] if sizes["kind"] == "cdf" else _mean(rng, rate * rtt / 8)
    if sizes["kind"] != "cdf":
        sizes["size" if sizes["kind"] == "fixed" else "mean"] = f"{round(mean)} B"
    load = rng.uniform(0.2, 0.85)
    return {
        "seed": number,
        "topology": topology,
        "queue": {"limit": f"{round(held)} B"},
        "workload": [
            {
                "sizes": sizes,
                "matrix": matrix,
                "arrivals": {"kind": "poisson", "load": f"{100 * load:.1f} %", "load_of": of},
                "flows": max(FEWEST, round(min(LARGEST, MOST / mean))),
            }
        ],
    }


def _mean(rng: random.Random, held: float) -> float:
    """A third of what the short link carries in a round trip, to thirty times that; less where runs would take long."""
    return min(max(3000.0, held * log_uniform(rng, 0.3, 30)), MOST / FEWEST)


def _rate(rng: random.Random, low: float, high: float) -> float:
    return float(f"{log_uniform(rng, low, high):.3g}")


def _link(rate: float, delay: float) -> dict[str, str]:
    return {"rate": f"{rate:.0f} bps", "delay": f"{delay * 1e6:.1f} us"}


def _dumbbell(rng: random.Random) -> Any:
    rate, pairs, rtt = _rate(rng, 2e7, 1e9), rng.randint(2, 16), log_uniform(rng, 2e-3, 0.15)
    share = rng.uniform(0.2, 0.8)
    access = (1 - share) * rtt / 4
    topology = {
        "generate": "dumbbell",
        "pairs": pairs,
        "bottleneck": _link(rate, share * rtt / 2),
        "access": _link(rate * rng.uniform(1.5, 10), access),
        "access_delays": [f"{access * rng.uniform(0.1, 4) * 1e6:.1f} us" for _ in range(pairs)],
    }
    between = [[f"s{i}", f"d{i}"] for i in range(pairs)]
    return topology, rate, rtt, {"kind": "pairs", "pairs": between}, "link:r0>r1"


def _parking_lot(rng: random.Random) -> Any:
    rate, hops, rtt = _rate(rng, 2e7, 1e9), rng.randint(2, 5), log_uniform(rng, 2e-3, 0.15)
    topology = {
        "generate": "parking-lot",
        "n": hops,
        "link": _link(rate, rtt / 2 / (hops + 1)),
        "access": _link(rate * rng.uniform(1.5, 10), rtt / 4 / (hops + 1)),
    }
    return topology, rate, rtt, {"kind": "random"}, f"{rate * hops / 2:.0f} bps"


def _fat_tree(rng: random.Random) -> Any:
    rate, delay = rng.choice((1e9, 1e10, 2.5e10)), log_uniform(rng, 5e-7, 2e-5)
    topology = {"generate": "fat-tree", "k": 4, "access": _link(rate, delay), "link": _link(rate, delay)}
    return topology, rate, 12 * delay + 6 * 12000 / rate, {"kind": "random"}, "hosts"


def _wan(rng: random.Random) -> Any:
    rate = _rate(rng, 2e7, 1e9)
    topology = {
        "builtin": "abilene",
        "rate": f"{rate:.0f} bps",
        "hosts": {"per_node": 1, "rate": f"{rate * rng.uniform(1, 10):.0f} bps", "delay": "100 us"},
    }
    return topology, rate, 0.04, {"kind": "random"}, f"{rate * 3.5:.0f} bps"


def _homed(rng: random.Random) -> Any:
    topology, *others = _wan(rng)
    topology["hosts"]["homes"] = 2
    return topology, *others


KINDS = {"dumbbell": _dumbbell, "parking-lot": _parking_lot, "fat-tree": _fat_tree, "wan": _wan, "two-homed": _homed}


def scheme_of(number: int) -> str:
    """The scheme that a scenario is run under, a column of the matrix."""
    return random.Random(f"scheme {number}").choice(SCHEMES)


def scenario(number: int, scheme: str = "") -> Scenario:
    """The scenario under a scheme, its own if none is said, and the queues that it is made for."""
    column = Entry(scheme or scheme_of(number))
    return Scenario.from_dict(scene(number, scheme)).with_(scheme=column.scheme, changes=column.changes)
