"""Balancers in switches while things change: LetFlow, DRILL, hashing by packet and by job, beside hashing by flow.

Two families of fabrics. *Leaf-spine*: 2 to 6 leaves, 2 to 8 spines, 2 to 8 hosts a leaf. *Others*: fat-trees,
dragonfly+ and tori of two and three dimensions. Links of 10 to 100 Gbps and .5 to 5 us; queues of 400 kB. A number
draws the transport (NewReno, DCTCP, Swift, BBR; shortest timeout 1 ms), the traffic (a permutation of long flows, a
thousand short ones at once, or a job's all-to-alls) and what happens meanwhile: nothing, an outage of a switch without
hosts (of a link in a torus), its restart, or a link at a tenth of its rate. Nodes reroute .1 to 1 ms after an outage.

Bounds, fixed before the first run. They hold for each scene beside its run with `ecmp = "flow"`:

- `unended`: flows that do not end within 3 s: 0.
- `wrong`: flows that do not deliver their size: 0.
- `slower`: the last end is at most 1.25 times that by flow, and 3 ms later: two timeouts in a row.
- `again`: at most a fifth more of the packets sent are sent again.
- `uneven`: by packet and by DRILL, of a leaf's uplinks the busiest sends at most 1.25 times their mean: where nothing
  happens in a leaf-spine and the leaf sends 1,000 packets a link.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import scenes
from harness import Bound, Suite, tallied

from midpath import Result

FLOW = "flow"
ECMP = (FLOW, "letflow", "drill", "packet", "job")
LEAF_SPINE, OTHERS = "leaf-spine", "others"
TRANSPORTS = ("newreno", "dctcp", "swift", "bbr")
TRAFFIC = ("permutation", "thousand", "job")
EVENTS = ("nothing", "outage", "restart", "slow")
SLOWER, LATER_MS, MORE_AGAIN, UNEVEN = 1.25, 3.0, 0.2, 1.25
PACKET = 1500
# A leaf that sends fewer on each of its uplinks has them uneven by chance.
ENOUGH = 1000


@dataclass(frozen=True)
class Scene:
    """What a number draws."""

    number: int
    fabric: str
    """Lines of `[topology]`."""
    links: list[tuple[str, str]]
    """Those of one switch, or of a torus one: what fails; the first is what slows down."""
    leaves: int
    """Of a leaf-spine."""
    gbps: int
    delay_us: float
    transport: str
    traffic: str
    size: int
    event: str
    at_us: float
    lasts_us: float
    reconverge_us: float

    def toml(self, ecmp: str) -> str:
        """Its text."""
        gap = 'flowlet_gap = "50 us"\n' if ecmp == "letflow" else ""
        link = f'{{ rate = "{self.gbps} Gbps", delay = "{self.delay_us:.3f} us", mtu = {PACKET} }}'
        return (
            f'scheme = "{self.transport}"\nseed = {self.number}\nstop = "3 s"\n'
            f'[schemes.{self.transport}]\nmin_rto = "1 ms"\n'
            f"[topology]\n{self.fabric}\nlink = {link}\n"
            f'[routing]\necmp = "{ecmp}"\nreconverge = "{self.reconverge_us:.1f} us"\n{gap}'
            f'[queue]\nlimit = "400 kB"\n{self.flows()}{self.faults()}'
        )

    def flows(self) -> str:
        """What is sent."""
        if self.traffic == "job":
            return f'[[job]]\ncollective = "all-to-all"\nhosts = ["h*"]\nsize = "{self.size} B"\niterations = 5\n'
        matrix, count = ("permutation", "") if self.traffic == "permutation" else ("random", "flows = 1000\n")
        return (
            f'[[workload]]\nsizes = {{ kind = "fixed", size = "{self.size} B" }}\nmatrix = {{ kind = "{matrix}" }}\n'
            f'arrivals = {{ kind = "once" }}\n{count}'
        )

    def faults(self) -> str:
        """What happens."""
        at, until = f"{self.at_us:.1f} us", f"{self.at_us + self.lasts_us:.1f} us"
        (a, b), switch = self.links[0], self.links[0][1]
        told = {
            "outage": [scenes.down(*link, at, until) for link in self.links],
            "restart": [f'[[fault]]\nkind = "restart"\nnode = "{switch}"\nat = "{at}"'],
            "slow": [
                scenes.rate_step(a, b, at, f"{self.gbps / 10} Gbps"),
                scenes.rate_step(a, b, until, f"{self.gbps} Gbps"),
            ],
        }
        return "\n".join(told.get(self.event, [])) + "\n"


def leaf_spine(rng: random.Random) -> tuple[str, list[tuple[str, str]], int, int]:
    """One: its lines, the links of its first spine, leaves, hosts."""
    leaves, spines, per_leaf = rng.randint(2, 6), rng.randint(2, 8), rng.randint(2, 8)
    lines = f'generate = "leaf-spine"\nleaves = {leaves}\nspines = {spines}\nper_leaf = {per_leaf}'
    return lines, [(f"l{i}", "s0") for i in range(leaves)], leaves, leaves * per_leaf


def other(rng: random.Random) -> tuple[str, list[tuple[str, str]], int, int]:
    """A fat-tree, a dragonfly+ or a torus: likewise."""
    kind = rng.choice(("fat-tree", "dragonfly-plus", "torus"))
    if kind == "fat-tree":
        over = rng.randint(1, 2)
        lines = f'generate = "fat-tree"\nk = 4\noversubscription = {over}'
        return lines, [(f"a{pod}.0", "c0") for pod in range(4)], 0, 16 * over
    if kind == "dragonfly-plus":
        groups, per_leaf = rng.randint(3, 5), rng.randint(1, 3)
        lines = (
            f'generate = "dragonfly-plus"\ngroups = {groups}\nleaves = 2\nspines = 2\nper_leaf = {per_leaf}\n'
            f"global_ports = {groups - 1}"
        )
        # Its links to its leaves; those to other groups stay, and nothing is behind them.
        return lines, [(f"l0.{i}", "s0.0") for i in range(2)], 0, groups * 2 * per_leaf
    dims = rng.choice(([3, 3], [4, 4], [3, 3, 3], [2, 3, 4]))
    return f'generate = "torus"\ndims = {dims}', [("r0", "r1")], 0, math.prod(dims)


def draw(family: str, number: int) -> Scene:
    """The scene with this number."""
    rng = random.Random(f"balancers {family} {number}")
    fabric, links, leaves, hosts = (leaf_spine if family == LEAF_SPINE else other)(rng)
    gbps, traffic = rng.choice((10, 25, 100)), rng.choice(TRAFFIC)
    least, most = {"permutation": (300, 3000), "thousand": (3, 100), "job": (20, 200)}[traffic]
    packets = round(scenes.log_uniform(rng, least, most))
    # How long a host's link takes at least.
    each = {"permutation": packets, "thousand": 1000 * packets / hosts, "job": 5 * packets}[traffic]
    alone = each * 8 * PACKET / gbps / 1e3
    return Scene(
        number,
        fabric,
        links,
        leaves,
        gbps,
        scenes.log_uniform(rng, 0.5, 5),
        rng.choice(TRANSPORTS),
        traffic,
        PACKET * packets,
        rng.choice(EVENTS),
        alone * rng.uniform(0.1, 0.6) + 20,
        alone * scenes.log_uniform(rng, 0.2, 5) + 20,
        scenes.log_uniform(rng, 100, 1000),
    )


@dataclass(frozen=True)
class Found:
    """Of a run: the last end, ms; of its packets; the worst leaf's busiest uplink over their mean."""

    last: float
    again: float
    lost: float
    unended: int
    wrong: int
    uneven: float

    def __str__(self) -> str:
        """What it came to."""
        return f"{self.last:.2f} ms, {self.again:.1%} again, {self.lost:.1%} lost, {self.unended} without end"


def judge(scene: Scene, result: Result, ecmp: str, _: str) -> Found:
    """Of a run."""
    flows = result.flows.to_pandas()
    sent = max(int(flows.sent_packets.sum()), 1)
    done = flows[flows.fct_s.notna()]
    ends = (done.start_s + done.fct_s).max() if len(done) else float("nan")
    return Found(
        1e3 * float(ends),
        int(flows.retransmitted_packets.sum()) / sent,
        int(flows.lost_packets.sum()) / sent,
        int(flows.fct_s.isna().sum()),
        int((done.delivered_bytes != done.size_bytes).sum()),
        uneven(scene, result) if ecmp in ("packet", "drill") and scene.event == "nothing" else 1.0,
    )


def uneven(scene: Scene, result: Result) -> float:
    """Of the leaf where that is most: its busiest uplink's bytes over their mean."""
    ports, worst = result.ports.to_pandas(), 1.0
    for leaf in range(scene.leaves):
        up = ports[(ports.node == f"l{leaf}") & ports.peer.str.startswith("s")]
        if up.packets.mean() >= ENOUGH:
            worst = max(worst, float(up.bytes.max() / up.bytes.mean()))
    return worst


BOUNDS = (
    Bound("unended", 0),
    Bound("wrong", 0),
    Bound("slower", lambda _, base: SLOWER * base.last + LATER_MS, of="last"),
    Bound("again", lambda _, base: base.again + MORE_AGAIN),
    Bound("uneven", UNEVEN),
)


SUITE = Suite(
    "Balancers while things change",
    draw,
    lambda scene, ecmp, _: scene.toml(ecmp),
    judge,
    Found,
    tallied(
        {"fabric": lambda row: row.family, "ecmp": lambda row: row.scheme},
        {
            "mean last end, ms": lambda found: f"{sum(one.last for one in found) / len(found):.2f}",
            "sent again": lambda found: f"{sum(one.again for one in found) / len(found):.1%}",
            "lost": lambda found: f"{sum(one.lost for one in found) / len(found):.1%}",
            "most uneven": lambda found: f"{max(one.uneven for one in found):.2f}",
        },
        lambda row, _: f"{row.scene.transport}, {row.scene.traffic}, {row.scene.event}",
    ),
    bounds=BOUNDS,
    families=(LEAF_SPINE, OTHERS),
    schemes=ECMP,
    base=FLOW,
    scenarios=100,
)
