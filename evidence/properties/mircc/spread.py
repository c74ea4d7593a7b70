"""Unlike round trips over one bottleneck or two: random scenarios for the Interest shaper, without any fault.

A number draws a core of 2 to 200 Mbps, in one half a second one behind it (0.5 to 2 times as fast), one to three flows
that are there from the start, one to eight that join between 0.5 and 3 s, and a round trip for each: 0.2 to 300 ms,
evenly over their logarithms. Half of the joiners have 30 kB to 1 MB, all others no end. In one of four a flow goes the
other way. Each queue holds ten packets and one for each flow, whose round trip is not known before its first Data.

The bounds, fixed before the first run:

- **drops**: no queue drops a packet.
- **asked**: once all are there for 4 s, or 30 of the longest round trips, at most 1.1 Interests are sent per Data.
- **goodput**: what all flows have got in the end is at least 98 % of what they get with `outstanding = "booked"` and
  queues without a bound.

What would cheat the first is to be slow: *time* is the joiners' mean completion time over that with unbounded queues,
which has no bound.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

import scenes
from harness import Bound, Suite, tallied

import midpath
from midpath import Result

UNBOUNDED = 1_000_000
# Bytes of payload of a full Data.
PAYLOAD = 1428


@dataclass(frozen=True)
class Flow:
    """One of a scenario: its round trip in seconds, when it starts, its bytes if it has an end."""

    trip: float
    start: float
    size: int | None = None
    far: bool = False
    """Its producer is behind the second core, if there is one."""
    back: bool = False


@dataclass(frozen=True)
class Scene:
    """What a number draws; rates in Mbps."""

    number: int
    rate: float
    second: float | None
    flows: list[Flow]

    @property
    def settled(self) -> float:
        """When all should be at rest."""
        trips = 30 * max(flow.trip for flow in self.flows)
        return round(max(flow.start for flow in self.flows) + max(4.0, trips), 3)

    @property
    def stop(self) -> float:
        """The end."""
        return round(self.settled + 3.0, 3)

    def toml(self, parameters: str, queue: int, stop: float) -> str:
        """Its text."""
        inner = 0.04
        links = [scenes.link("r0", "r1", f"{self.rate} Mbps", f"{inner} ms")]
        if self.second:
            links.append(scenes.link("r1", "r2", f"{self.second:.3f} Mbps", f"{inner} ms"))
        for i, flow in enumerate(self.flows):
            producer = "r2" if flow.far and self.second else "r1"
            ends = (producer, "r0") if not flow.back else ("r0", producer)
            hops = 2 if producer == "r2" else 1
            rest = max(1e3 * flow.trip / 2 - hops * inner - 0.01, 0.01)
            links += [scenes.link(f"p{i}", ends[0], "1 Gbps", f"{rest:.4f} ms")]
            links += [scenes.link(f"c{i}", ends[1], "1 Gbps", "0.01 ms")]
        hosts = [f"{end}{i}" for i in range(len(self.flows)) for end in "pc"]
        return "\n".join([
            f'title = "spread {self.number}"\nscheme = "mircc"\nseed = {self.number}\nstop = "{stop} s"',
            f"[schemes.mircc]\n{parameters}\n[queue]\nlimit = \"{queue} packets\"",
            scenes.topology(links, hosts),
            *(
                scenes.flow(f"p{i}", f"c{i}", f"{flow.start} s", size=f"{flow.size} B" if flow.size else None)
                for i, flow in enumerate(self.flows)
            ),
        ])  # fmt: skip


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"spread {number}")

    rate = float(f"{scenes.log_uniform(rng, 2, 200):.3g}")
    second = rate * scenes.log_uniform(rng, 0.5, 2) if rng.random() < 0.5 else None
    flows = []
    for i in range(rng.randint(1, 3) + rng.randint(1, 8)):
        joins = i >= 1 and rng.random() < 0.7
        size = round(scenes.log_uniform(rng, 30e3, 1e6)) if joins and rng.random() < 0.5 else None
        start = round(rng.uniform(0.5, 3.0), 3) if joins else 0.0
        flows.append(Flow(scenes.log_uniform(rng, 2e-4, 0.3), start, size, far=rng.random() < 0.5))
    if rng.random() < 0.25:
        flows.append(Flow(scenes.log_uniform(rng, 2e-4, 0.3), 0.0, back=True))
    return Scene(number, rate, second, flows)


@dataclass(frozen=True)
class Found:
    """What a scenario came to."""

    drops: int
    asked: float
    goodput: float
    time: float


def text(scene: Scene, _: str, params: str) -> str:
    """It with a packet of queue for each flow, and ten."""
    return scene.toml(params, 10 + len(scene.flows), scene.stop)


def judge(scene: Scene, whole: Result, _: str, params: str) -> Found:
    """Beside it: the run up to when all is at rest, and one with queues without a bound."""
    before = midpath.run(scene.toml(params, 10 + len(scene.flows), scene.settled))
    free = midpath.run(scene.toml('outstanding = "booked"', UNBOUNDED, scene.stop))
    sent = _sum(whole, "sent_packets") - _sum(before, "sent_packets")
    data = (_sum(whole, "delivered_bytes") - _sum(before, "delivered_bytes")) / PAYLOAD
    return Found(
        drops=int(whole.ports["drops_queue"].to_numpy().sum()),
        asked=sent / max(data, 1.0),
        goodput=_sum(whole, "delivered_bytes") / _sum(free, "delivered_bytes"),
        time=_time(whole, scene) / _time(free, scene) if _ends(scene) else 1.0,
    )


def _sum(result: Result, column: str) -> float:
    return float(result.flows[column].to_numpy().sum())


def _ends(scene: Scene) -> list[int]:
    """Rows of the flows with an end; a result has flows in the order of their starts."""
    order = sorted(range(len(scene.flows)), key=lambda i: scene.flows[i].start)
    return [row for row, i in enumerate(order) if scene.flows[i].size]


def _time(result: Result, scene: Scene) -> float:
    times = result.flows["fct_s"].to_numpy()
    return statistics.fmean(float(times[row]) if times[row] > 0 else scene.stop for row in _ends(scene))


SUITE = Suite(
    "MIRCC's shaper where round trips differ",
    draw,
    text,
    judge,
    Found,
    tallied(
        {},
        {
            "dropped in all": lambda found: str(sum(one.drops for one in found)),
            "most asked": lambda found: f"{max(one.asked for one in found):.3f}",
            "least goodput": lambda found: f"{100 * min(one.goodput for one in found):.1f} %",
            "time, median": lambda found: f"{statistics.median(one.time for one in found):.2f}",
            "time, most": lambda found: f"{max(one.time for one in found):.2f}",
        },
    ),
    (Bound("drops", 0), Bound("asked", 1.1), Bound("goodput", 0.98, at_least=True)),
    params=True,
)
