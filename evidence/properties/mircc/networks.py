"""MIRCC at its defaults on random multipath networks, and near producers that join a far one: what is dropped.

A number draws one scenario of each family. Each runs for 12 s.

- **layers**: `midpath.papers.mircc.layered`, up to four paths for a flow. Queues hold ten packets and one for each
  path of a flow, for the first Data of a path come unasked for there.
- **webs**: 4 to 9 routers in a tree with 2 to as many more links, rates of 0.2 to 200 Mbps, delays of 0.1 to 200 ms,
  both evenly over their logarithms. Two to five flows have up to four paths of at most 1.5 times the hops, half of
  them two or more. Half of them start within 4 s, three in ten have 30 kB to 1 MB. Queues as above.
- **beside**: one flow of 60 to 300 ms over a link of 5 to 100 Mbps. After 2 s one to eight of 1 to 20 ms join within
  half a second. Queues hold 20 to 60 packets.

The bounds, fixed before the first run: no packet is dropped, and all flows of a scenario together ask for each Data
at most 1.1 times, from start to end.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import scenes
from harness import Bound, Suite, tallied

from midpath import Result
from midpath.papers.mircc import layered

FAMILIES = ("layers", "webs", "beside")
STOP = 12.0
STRETCH = 1.5


Flow = tuple[str, str, float, int | None]
"""Producer, consumer, start in s, bytes if it has an end."""


@dataclass(frozen=True)
class Scene:
    """A network and its flows. Rates in Mbps, delays in ms."""

    title: str
    seed: int
    links: dict[tuple[str, str], tuple[float, float]]
    hosts: dict[str, tuple[str, float]]
    flows: list[Flow]
    queue: int
    needed: str = ""
    """Parameters without which its paths are others."""

    def lines(self) -> list[str]:
        """Its links."""
        links = [
            scenes.link(a, b, f"{rate:.4f} Mbps", f"{delay:.4f} ms") for (a, b), (rate, delay) in self.links.items()
        ]
        return [
            *links,
            *(scenes.link(host, at, "1 Gbps", f"{delay:.4f} ms") for host, (at, delay) in self.hosts.items()),
        ]

    def toml(self, parameters: str) -> str:
        """Its text."""
        parameters = f"{self.needed}\n{parameters}"
        return "\n".join([
            f'title = "{self.title}"\nscheme = "mircc"\nseed = {self.seed}\nstop = "{STOP} s"',
            f"[schemes.mircc]\n{parameters}\n[queue]\nlimit = \"{self.queue} packets\"",
            scenes.topology(self.lines(), self.hosts),
            *(scenes.flow(p, c, f"{start} s", size=f"{size} B" if size else None) for p, c, start, size in self.flows),
        ])  # fmt: skip


def draw(family: str, number: int) -> Scene:
    """The scenario of a family with this number."""
    rng = random.Random(f"{family} {number}")
    if family == "layers":
        return layers(number)
    return webs(number, rng) if family == "webs" else beside(number, rng)


def layers(number: int) -> Scene:
    """Routers in layers."""
    found = layered.draw(number, 4)
    links = {ends: (rate / 1e6, 1e3 * delay) for ends, (rate, delay) in found.links.items()}
    hosts = {host: (at, 1e3 * delay) for host, (at, delay) in found.hosts.items()}
    paths = sum(len(found.paths(flow)) for flow in found.flows)
    return Scene(f"layers {number}", number, links, hosts, [(p, c, 0.0, None) for p, c in found.flows], 10 + paths)


def paths(links: Iterable[tuple[str, str]], a: str, b: str) -> list[list[str]]:
    """Ways from a to b within the stretch, in hops, hosts' links counted."""
    near: dict[str, set[str]] = {}
    for x, y in links:
        near.setdefault(x, set()).add(y)
        near.setdefault(y, set()).add(x)
    found, open_ = [], [[a]]
    while open_:
        way = open_.pop()
        if way[-1] == b:
            found.append(way)
        else:
            open_ += [[*way, after] for after in sorted(near[way[-1]]) if after not in way]
    least = min(map(len, found)) + 1
    return [way for way in found if len(way) + 1 <= STRETCH * least]


def webs(number: int, rng: random.Random) -> Scene:
    """Routers in no order."""
    while True:
        names = [f"r{i}" for i in range(rng.randint(4, 9))]
        ends = {(names[rng.randrange(i)], names[i]) for i in range(1, len(names))}
        for _ in range(rng.randint(2, len(names))):
            a, b = sorted(rng.sample(range(len(names)), 2))
            ends.add((names[a], names[b]))
        links = {pair: (scenes.log_uniform(rng, 0.2, 200), scenes.log_uniform(rng, 0.1, 200)) for pair in sorted(ends)}
        hosts: dict[str, tuple[str, float]] = {}
        flows: list[Flow] = []
        ways = []
        for i in range(rng.randint(2, 5)):
            p, c = rng.sample(names, 2)
            hosts |= {f"p{i}": (p, scenes.log_uniform(rng, 0.01, 10)), f"c{i}": (c, 0.01)}
            ways.append(len(paths(links, c, p)))
            start = 0.0 if rng.random() < 0.5 else round(rng.uniform(0.5, 4), 3)
            size = round(scenes.log_uniform(rng, 30e3, 1e6)) if rng.random() < 0.3 else None
            flows.append((f"p{i}", f"c{i}", start, size))
        if max(ways) <= 4 and 2 * sum(way > 1 for way in ways) >= len(ways):
            return Scene(f"webs {number}", number, links, hosts, flows, 10 + sum(ways), f"stretch = {STRETCH}")


def beside(number: int, rng: random.Random) -> Scene:
    """Near producers join a far one."""
    trips = [scenes.log_uniform(rng, 60, 300), *(scenes.log_uniform(rng, 1, 20) for _ in range(rng.randint(1, 8)))]
    links = {("r0", "r1"): (scenes.log_uniform(rng, 5, 100), 0.1)}
    hosts: dict[str, tuple[str, float]] = {}
    flows: list[Flow] = []
    for i, trip in enumerate(trips):
        hosts |= {f"p{i}": ("r1", trip / 2 - 0.11), f"c{i}": ("r0", 0.01)}
        flows.append((f"p{i}", f"c{i}", round(2 + 0.5 * rng.random(), 3) if i else 0.0, None))
    return Scene(f"beside {number}", number, links, hosts, flows, rng.randint(20, 60))


@dataclass(frozen=True)
class Found:
    """What a scenario came to."""

    drops: int
    asked: float


def judge(_: Scene, result: Result, __: str, ___: str) -> Found:
    """What a run came to."""
    flows = result.flows
    sent, again = (float(flows[f"{name}_packets"].to_numpy().sum()) for name in ("sent", "retransmitted"))
    return Found(
        drops=int(result.ports["drops_queue"].to_numpy().sum()),
        asked=sent / max(sent - again, 1.0),
    )


SUITE = Suite(
    "MIRCC on random multipath networks",
    draw,
    lambda scene, _, params: scene.toml(params),
    judge,
    Found,
    tallied(
        {"family": lambda row: row.family},
        {
            "dropped in all": lambda found: str(sum(one.drops for one in found)),
            "asked, mean": lambda found: f"{sum(one.asked for one in found) / len(found):.3f}",
            "most": lambda found: f"{max(one.asked for one in found):.3f}",
        },
    ),
    (Bound("drops", 0), Bound("asked", 1.1)),
    families=FAMILIES,
    params=True,
)
