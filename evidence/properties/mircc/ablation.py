"""What each of our additions to MIRCC is worth: random scenarios with and without it, and the paper's text.

A number draws one scenario of each family. Flows are objects that end; FCT is the time to the end, or to the
scenario's.

- **crowds**: 8 to 30 flows of 10 to 150 kB begin within 50 ms over one link of 2 to 50 Mbps; round trips of 2 to 100
  ms.
- **scarcity**: 15 to 40 flows of 8 to 40 kB, some the other way, over .5 to 2 Mbps: less than a Data in a round trip
  for each.
- **changes**: `midpath.papers.mircc.layered` with up to three paths for a flow; each moves two objects of 50 to 500
  kB. A link between routers fails for .2 to 1 s, or has another rate from then on.
- **corruption**: 5 to 15 flows of 20 to 200 kB over 5 to 50 Mbps; .1 to 3 % of what crosses the link one way, or
  both, is lost.
- **steady**: 30 to 80 flows of 10 to 200 kB come evenly, at 50 to 90 % of a link of 5 to 50 Mbps.
- **thin**: 20 to 60 flows of 3 to 12 kB come within 20 s over 30 to 300 kbps: less than an Interest a second for each.
- **webs**: the networks of `networks.py` in no order, several paths of unlike rates and delays for half of the flows.
  Each flow moves two objects of 50 kB to 1 MB.

Queues hold 40 packets. What an addition is worth, and when it goes: ../ablation.py. Bounds: all flows end (*ended*); no
packet is dropped by a queue (*drops*); at most 1.2 Interests for each Data (*asked*).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import ablation
import scenes
from harness import Bound, Suite
from mircc import networks

from midpath import Result
from midpath.papers.mircc import layered

PAPER = 'text = "paper"'
QUEUE = 40
BOUNDS = (Bound("ended", 0, "unfinished"), Bound("drops", 0), Bound("asked", 1.2))
# Names that the key `without` takes, and keys with the paper's values.
ADDITIONS = (
    "sparse", "drain", "max_interval", "floors", "headroom", "passing", "split", "spread", "repair", "explore", "probe",
)  # fmt: skip
KEYS = {
    "residual": '"printed"', "secondary_count": '"printed"', "capacity": '"link"', "cap": "0.0", "rtt": '"average"',
    "min_packets": "0.0", "outstanding": '"paced"',
}  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A scenario's text without the scheme's parameters."""

    text: str
    stop: float
    seed: int = 0
    needed: str = ""
    """Parameters without which its paths are others."""

    def toml(self, parameters: str) -> str:
        """All of it."""
        return "\n".join([
            f'title = "ablation"\nscheme = "mircc"\nseed = {self.seed}\nstop = "{self.stop} s"',
            f'[schemes.mircc]\n{self.needed}\n{parameters}\n[queue]\nlimit = "{QUEUE} packets"\n{self.text}',
        ])  # fmt: skip


def dumbbell(rng: random.Random, rate: float, flows: list[tuple[float, int, bool]], more: str, stop: float) -> Scene:
    """Flows over one link: their starts, sizes, and whether they go the other way. Ten pairs of hosts."""
    trips = [scenes.log_uniform(rng, 2, 100) for _ in range(10)]
    ends = [("r0", "r1") if i % 2 else ("r1", "r0") for i in range(10)]
    links = [scenes.link("r0", "r1", f"{rate:.4f} Mbps", "0.3 ms")]
    for i, (trip, (p, c)) in enumerate(zip(trips, ends, strict=True)):
        links += [
            scenes.link(f"p{i}", p, "1 Gbps", f"{trip / 2 - 0.4:.4f} ms"),
            scenes.link(f"c{i}", c, "1 Gbps", "0.1 ms"),
        ]
    text = [scenes.topology(links, [f"{end}{i}" for i in range(10) for end in "pc"]), more]
    for start, size, back in flows:
        i = 2 * rng.randrange(5) + back
        text.append(scenes.flow(f"p{i}", f"c{i}", f"{start:.6f} s", size=f"{size} B"))
    return Scene("\n".join(text), stop)


def crowds(rng: random.Random) -> Scene:
    """Many begin together."""
    flows = [
        (0.05 * rng.random(), round(scenes.log_uniform(rng, 10e3, 150e3)), False) for _ in range(rng.randint(8, 30))
    ]
    return dumbbell(rng, scenes.log_uniform(rng, 2, 50), flows, "", 20.0)


def scarce(
    rng: random.Random,
    count: tuple[int, int],
    sizes: tuple[float, float],
    over: float,
    rates: tuple[float, float],
    stop: float,
) -> Scene:
    """So many flows of these sizes begin over so many seconds, three in ten the other way. Rates in Mbps."""
    flows = [
        (over * rng.random(), round(scenes.log_uniform(rng, *sizes)), rng.random() < 0.3)
        for _ in range(rng.randint(*count))
    ]
    return dumbbell(rng, scenes.log_uniform(rng, *rates), flows, "", stop)


def scarcity(rng: random.Random) -> Scene:
    """Less than a packet for each in a round trip."""
    return scarce(rng, (15, 40), (8e3, 40e3), 2, (0.5, 2), 40.0)


def changes(rng: random.Random) -> Scene:
    """A network of several paths, of which a link fails or has another rate."""
    found = layered.draw(rng.randrange(10**6, 10**9), 3)
    links = [
        scenes.link(a, b, f"{rate:.0f} bps", f"{1e6 * delay:.0f} us") for (a, b), (rate, delay) in found.links.items()
    ]
    links += [scenes.link(h, r, "1 Gbps", f"{1e6 * delay:.0f} us") for h, (r, delay) in found.hosts.items()]
    (a, b), (rate, _) = rng.choice(list(found.links.items()))
    at = rng.uniform(0.3, 2)
    fault = scenes.down(a, b, f"{at:.3f} s", f"{at + rng.uniform(0.2, 1):.3f} s")
    if rng.random() < 0.5:
        fault = scenes.rate_step(a, b, f"{at:.3f} s", f"{rate * scenes.log_uniform(rng, 0.3, 3):.0f} bps")
    flows = [
        scenes.flow(p, c, f"{2 * rng.random():.3f} s", size=f"{scenes.log_uniform(rng, 50e3, 500e3):.0f} B")
        for p, c in found.flows for _ in range(2)
    ]  # fmt: skip
    return Scene("\n".join([scenes.topology(links, found.hosts), *flows, fault]), 40.0)


def corruption(rng: random.Random) -> Scene:
    """A link that loses."""
    flows = [(rng.random(), round(scenes.log_uniform(rng, 20e3, 200e3)), False) for _ in range(rng.randint(5, 15))]
    share = scenes.log_uniform(rng, 1e-3, 3e-2)
    ways = rng.choice(([("r0", "r1")], [("r1", "r0")], [("r0", "r1"), ("r1", "r0")]))
    return dumbbell(
        rng, scenes.log_uniform(rng, 5, 50), flows, "\n".join(scenes.loses(a, b, share) for a, b in ways), 20.0
    )


def steady(rng: random.Random) -> Scene:
    """As much as a link carries well."""
    rate, load, count = scenes.log_uniform(rng, 5, 50), rng.uniform(0.5, 0.9), rng.randint(30, 80)
    sizes = [round(scenes.log_uniform(rng, 10e3, 200e3)) for _ in range(count)]
    over = 8 * sum(sizes) / (load * rate * 1e6)
    return dumbbell(rng, rate, [(over * rng.random(), size, False) for size in sizes], "", round(over + 20, 3))


def thin(rng: random.Random) -> Scene:
    """Less than a packet for each in a second."""
    return scarce(rng, (20, 60), (3e3, 12e3), 20, (0.03, 0.3), 200.0)


def webs(rng: random.Random) -> Scene:
    """Routers in no order, several paths."""
    found = networks.webs(0, rng)
    flows = [
        scenes.flow(p, c, f"{2 * rng.random():.3f} s", size=f"{scenes.log_uniform(rng, 50e3, 1e6):.0f} B")
        for p, c, *_ in found.flows for _ in range(2)
    ]  # fmt: skip
    return Scene("\n".join([scenes.topology(found.lines(), found.hosts), *flows]), 60.0, needed=found.needed)


FAMILIES = {each.__name__: each for each in (crowds, scarcity, changes, corruption, steady, thin, webs)}


@dataclass(frozen=True)
class Found(ablation.Found):
    """What one run came to: flows that did not end, packets that queues dropped, and Interests for each Data."""

    unfinished: int
    drops: int
    asked: float


def draw(family: str, number: int) -> Scene:
    """The scenario of a family with this number."""
    return replace(FAMILIES[family](random.Random(f"ablation {family} {number}")), seed=number)


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """One run."""
    flows = result.flows.to_pandas()
    sent, again = float(flows.sent_packets.sum()), float(flows.retransmitted_packets.sum())
    return Found(
        **ablation.times(flows, scene.stop),
        unfinished=int(flows.fct_s.isna().sum()),
        drops=int(result.ports["drops_queue"].to_numpy().sum()),
        asked=sent / max(sent - again, 1.0),
    )


VARIANTS = {
    "": "",
    **{name: f"{name} = {value}" for name, value in KEYS.items()},
    **{name: f'without = ["{name}"]' for name in ADDITIONS},
    PAPER: PAPER,
}


SUITE = Suite(
    "MIRCC with and without each of our additions",
    draw,
    lambda scene, variant, _: scene.toml(VARIANTS[variant]),
    judge,
    Found,
    ablation.page("", [], [bound.name for bound in BOUNDS], lambda row: row.family),
    BOUNDS,
    families=tuple(FAMILIES),
    schemes=tuple(VARIANTS),
    base="",
    uses=[ablation],
)
