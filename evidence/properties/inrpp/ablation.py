"""What each of our additions to INRPP earns: random scenarios with it and without it.

A scenario follows from its number alone, and its number says its class. All flows have a size.

- *crowds*: 10 to 100 flows of 20 to 200 kB come within one to ten round trips to a core of 5 to 50 Mbps.
- *scarcity*: 20 to 120 flows of 5 to 20 kB, of which a fair share is .05 to 1 packet in a round trip; ports hold one
  packet to 40.
- *changes*: 4 to 20 flows of 50 to 500 kB; the core fails for .1 to 2 s, or has another rate from then on, or its
  first router restarts. In two of three the core has a detour.
- *corruption*: 4 to 20 flows of 20 to 300 kB over a core that loses .1 to 3 % of data, ACKs or both. In one of two it
  has a detour.
- *steady*: 2 to 6 flows of .5 to 3 MB, a second apart at most; one router, or two whose detours share a link.

Round trips are 4 to 200 ms and up to ten times unlike; ports hold 10 to 300 ms of their rate in all, in one of three
INRPP has a cache of .5 to 5 s beside that.

The bounds, with and without: *ended*: all flows end. *loss*: queues drop at most NewReno's share on the same scenario
and one percent. *late*: the 99th percentile is at most twice NewReno's.

What an addition is worth, and when it goes: ../ablation.py. With `--schemes "ours,steer,margin and sparse"` it runs
with all, without one and without two.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import ablation
import scenes
from harness import Suite

from midpath import Result

CLASSES = ("crowds", "scarcity", "changes", "corruption", "steady")
# Our additions: names that the key `without` takes.
ADDITIONS = (
    "margin", "standing", "steer", "promises", "count_buffer", "count_cuts", "sparse", "around_outages", "shuffle",
    "repair",
)  # fmt: skip
WITH, BASE = "ours", "newreno"
MORE_LOSS, LATER = 0.01, 2.0
BOUNDS = ("ended", "loss", "late")


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number."""

    number: int
    links: tuple[str, ...]
    hosts: tuple[str, ...]
    flows: tuple[str, ...]
    events: tuple[str, ...]
    queue: float
    """Of every port, ms of its rate."""
    cache: float | None
    """Beside that, s."""
    stop: float
    detour: bool = False
    shared: bool = False
    outage: bool = False

    @property
    def kind(self) -> str:
        """Its class."""
        return CLASSES[self.number % len(CLASSES)]

    def may_act(self, name: str) -> bool:
        """Whether an addition has anything to do here."""
        return {"shuffle": self.shared, "around_outages": self.detour and self.outage}.get(name, True)

    def toml(self, variant: str) -> str | None:
        """The scenario's text, where the variant may differ."""
        if not self.may_act(variant):
            return None
        own = [f'cache = "{self.cache:.2f} s"'] if self.cache else []
        own += [f"without = {[name for name in variant.split(' and ') if name in ADDITIONS]}"]
        return "\n".join([
            f'scheme = "{BASE if variant == BASE else "inrpp"}"\nseed = {self.number}\nstop = "{self.stop:.2f} s"',
            f'[queue]\nlimit = "{self.queue:.2f} ms"\n[routing]\necmp = "off"',
            "[schemes.inrpp]\n" + "\n".join(own) if variant != BASE else "",
            scenes.topology(self.links, self.hosts),
            *self.flows,
            *self.events,
        ])  # fmt: skip


class Drawing:
    """A network and its flows, while they are drawn."""

    def __init__(self, number: int) -> None:
        self.number, self.rng = number, random.Random(f"inrpp ablation {number}")
        self.links: list[str] = []
        self.hosts: list[str] = []
        self.flows: list[str] = []
        self.bytes = 0.0
        self.trip = scenes.log_uniform(self.rng, 4, 200)
        self.unlike = scenes.log_uniform(self.rng, 1, 10)
        self.core = self.trip / 2 / self.unlike

    def core_link(self, a: str, b: str, rate: float) -> None:
        """A link of the core."""
        self.links.append(scenes.link(a, b, f"{rate:.4f} Mbps", f"{self.core:.3f} ms"))

    def flow(self, source: str, target: str, start: float, size: float) -> None:
        """A flow between hosts of its own."""
        i, delay = len(self.flows), self.trip / 2 * self.unlike ** -self.rng.random() - self.core + 0.1
        for host, router, ms in ((f"s{i}", source, max(delay, 0.05)), (f"d{i}", target, 0.05)):
            self.links.append(scenes.link(host, router, "1 Gbps", f"{ms:.3f} ms"))
            self.hosts.append(host)
        self.flows.append(scenes.flow(f"s{i}", f"d{i}", f"{start:.4f} s", size=f"{size:.0f} B"))
        self.bytes += size

    def some(self, count: int, size: tuple[float, float], over: float, sources: Sequence[str] = ("r0",)) -> None:
        """So many flows that come within `over` seconds."""
        for _ in range(count):
            self.flow(self.rng.choice(sources), "r1", self.rng.uniform(0, over), scenes.log_uniform(self.rng, *size))

    def detour(self, rate: float, sources: Sequence[str] = ("r0",)) -> None:
        """Ways around the links to r1, over a router that they share."""
        for source in sources:
            self.core_link(source, "x", rate)
        self.core_link("x", "r1", rate * scenes.log_uniform(self.rng, 0.5, 2))


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    drawing, kind = Drawing(number), CLASSES[number % len(CLASSES)]
    rng, trip = drawing.rng, drawing.trip / 1e3
    rate, queue = scenes.log_uniform(rng, 5, 50), scenes.log_uniform(rng, 10, 300)
    cache = scenes.log_uniform(rng, 0.5, 5) if rng.random() < 1 / 3 else None
    events, detour, shared, outage = [], False, False, False
    if kind == "scarcity":
        count = rng.randint(20, 120)
        rate = scenes.log_uniform(rng, 0.05, 1) * count * 12e-3 / trip
        queue, cache = scenes.log_uniform(rng, 1, 40) * 12 / rate, None
        drawing.some(count, (5e3, 2e4), trip * rng.uniform(1, 20))
    queue = max(queue, 12.1 / rate)
    if kind == "crowds":
        drawing.some(rng.randint(10, 100), (2e4, 2e5), trip * rng.uniform(1, 10))
    if kind in ("changes", "corruption"):
        drawing.some(rng.randint(4, 20), (5e4, 5e5) if kind == "changes" else (2e4, 3e5), rng.uniform(0.1, 3))
        detour = rng.random() < (2 / 3 if kind == "changes" else 1 / 2)
    lasts = 8 * drawing.bytes / rate / 1e6
    if kind == "changes":
        at, what = rng.uniform(0.1, 0.8) * lasts, rng.choice(("outage", "outage", "rate", "restart"))
        outage = what == "outage"
        events.append({
            "outage": scenes.down("r0", "r1", f"{at:.4f} s", f"{at + scenes.log_uniform(rng, 0.1, 2):.4f} s"),
            "rate": scenes.rate_step("r0", "r1", f"{at:.4f} s", f"{rate * scenes.log_uniform(rng, 1 / 3, 3):.4f} Mbps"),
            "restart": scenes.restart(f"{at:.4f} s"),
        }[what])  # fmt: skip
    if kind == "corruption":
        lost, ways = scenes.log_uniform(rng, 1e-3, 3e-2), rng.choice(((1, 0), (0, 1), (1, 1)))
        events += [
            scenes.loses(*ends, lost) for ends, way in zip((("r0", "r1"), ("r1", "r0")), ways, strict=True) if way
        ]
    sources = ("r0",)
    if kind == "steady":
        shared = detour = rng.random() < 2 / 3
        sources = ("r0", "r2") if shared else sources
        drawing.some(rng.randint(2, 6), (5e5, 3e6), rng.uniform(0, 1), sources)
        if shared:
            drawing.core_link("r2", "r1", rate * scenes.log_uniform(rng, 0.5, 2))
    drawing.core_link("r0", "r1", rate)
    if detour:
        drawing.detour(rate * scenes.log_uniform(rng, 0.3, 2), sources)
    stop = 10 + 4 * 8 * drawing.bytes / rate / 1e6
    parts = (drawing.links, drawing.hosts, drawing.flows, events)
    return Scene(number, *(tuple(part) for part in parts), queue, cache, stop, detour, shared, outage)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Found(ablation.Found):
    """What one run came to."""

    ended: float
    loss: float


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """What came of a scenario as a variant has it."""
    flows, ports = result.flows.to_pandas(), result.ports.to_pandas()
    dropped = float((ports.drops_queue + ports.drops_aqm + ports.drops_policy).sum())
    loss = dropped / max(1.0, float(result.summary["sent_packets"]))
    return Found(**ablation.times(flows, scene.stop), ended=float(flows.fct_s.notna().mean()), loss=loss)


def failures(_: Scene, found: Found, base: Found) -> dict[str, float]:
    """The bounds that are not kept, with what was found."""
    kept = found.ended >= 1, found.loss <= base.loss + MORE_LOSS, found.late <= LATER * base.late
    values = found.ended, found.loss, found.late
    return {bound: value for bound, value, one in zip(BOUNDS, values, kept, strict=True) if not one}


SUITE = Suite(
    "INRPP without each of our additions",
    draw,
    lambda scene, variant, _: scene.toml(variant),
    judge,
    Found,
    ablation.page(WITH, [BASE], BOUNDS, lambda row: str(row.scene.kind)),
    missed=failures,
    schemes=(WITH, BASE, *ADDITIONS),
    base=BASE,
    scenarios=600,
    uses=[ablation],
)
