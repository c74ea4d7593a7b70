"""FCP: how soon the others have what a flow leaves, by how it ends (section 4.1: "preloads -1 when it is terminating").

A scenario follows from its number alone. Flows share a core; one ends while the others go on: by `stop`, and in a
second run by a `size` that is what it had delivered then. Two families in turn:

- **alike**: a dumbbell, two to six hosts with a flow each, equal round trips.
- **unlike**: round trips differ by up to twenty times, a second bottleneck behind the core takes half of the flows,
  hosts have one to three flows, budgets from a half to two.

*Idle* is what of the core's capacity is not used from a round trip before the end to 20 after it, in seconds, less what
is not used then where the flow goes on. Bounds, fixed before the draws from number 1001 on, which are the measurement:

- *idle*: by `stop` it is idle no longer than by `size`, and a quarter of the flow's share of a round trip.
- *drops*: nothing is dropped after the end.
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Bound, Row, Suite, groups, kept
from scenes import log_uniform

import midpath
from midpath import Result, markdown

FAMILIES = ("alike", "unlike")
QUARTER = 0.25
ROUNDS = 20


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number. Rates in Mbps, delays in ms, times in seconds."""

    number: int
    family: str
    rate: float
    delay: float
    delays: list[float]
    """Of senders' links; the first host's first flow ends."""
    flows: list[int]
    """Their hosts."""
    budgets: list[float]
    second: float
    """Of the second bottleneck; 0 for none."""
    end: float

    @property
    def rtt(self) -> float:
        """Of the flow that ends."""
        return 2 * (self.delay + self.delays[0] + 0.1) / 1e3

    @property
    def step(self) -> float:
        """Between samples."""
        return max(self.rtt / 8, 0.002)

    @property
    def until(self) -> float:
        """The run's end."""
        return self.end + (ROUNDS + 2) * self.rtt

    def toml(self, how: str) -> str:
        """The scenario's text; how the flow ends is a line of it, or none."""
        links = [scenes.link("r0", "r1", f"{self.rate} Mbps", f"{self.delay} ms")]
        links += [scenes.link(f"s{i}", "r0", "1 Gbps", f"{ms} ms") for i, ms in enumerate(self.delays)]
        behind = [bool(self.second) and i % 2 == 1 for i in range(len(self.delays))]
        if self.second:
            links.append(scenes.link("r1", "r2", f"{self.second} Mbps", "1 ms"))
        links += [scenes.link("r2" if far else "r1", f"d{i}", "1 Gbps", "0.1 ms") for i, far in enumerate(behind)]
        hosts = [f"{end}{i}" for i in range(len(self.delays)) for end in "sd"]
        flows = [scenes.flow(f"s{host}", f"d{host}", f"{0.03 * i:.2f} s") for i, host in enumerate(self.flows)]
        budgets = [f"[schemes.fcp.hosts.s{i}]\nbudget = {budget}" for i, budget in enumerate(self.budgets)]
        points = int(self.until / self.step) + 10
        return "\n".join([
            f'title = "ends {self.number}"\nscheme = "fcp"\nseed = {self.number}\nstop = "{self.until:.4f} s"',
            '[queue]\nlimit = "200 ms"',
            scenes.topology(links, hosts),
            f'[measure]\nseries = true\ninterval = "{self.step:.6f} s"\npoints = {points}\nports = 1\nflows = 0',
            *budgets,
            flows[0] + f"\n{how}",
            *flows[1:],
        ])  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What one run came to."""

    unused: float
    """Of the core around the end, s."""
    delivered: int
    share: float
    """Of the core, that the flow had."""
    drops: int


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"fcp ends {number}")
    family = FAMILIES[number % 2]
    rate, delay, hosts = round(log_uniform(rng, 5, 100), 2), round(log_uniform(rng, 2, 30), 2), rng.randint(2, 6)
    ratio = log_uniform(rng, 1, 20) if family == "unlike" else 1.0
    delays = [round(delay * (ratio ** rng.random() - 1) + 1, 3) for _ in range(hosts)]
    flows = [i for i in range(hosts) for _ in range(rng.randint(1, 3) if family == "unlike" else 1)]
    budgets = [round(log_uniform(rng, 0.5, 2), 2) if family == "unlike" else 1.0 for _ in range(hosts)]
    second = round(rate * rng.uniform(0.4, 0.8), 2) if family == "unlike" else 0.0
    settled = 60 * 2 * (delay + max(delays)) / 1e3
    return Scene(number, family, rate, delay, delays, flows, budgets, second, round(max(2.0, settled), 3))


@dataclass(frozen=True)
class Found:
    """What each end came to: idle seconds; the bound; drops more than where the flow goes on."""

    stop: float
    size: float
    bound: float
    drops: float

    @property
    def over(self) -> float:
        """By how much it is longer idle than may be."""
        return self.stop - self.bound


def run_of(scene: Scene, result: Result) -> Run:
    """What a run came to."""
    series, flows, ports = (table.to_pandas() for table in (result.series, result.flows, result.ports))
    core = series[(series.entity == "port:r0>r1") & (series.metric == "throughput_bps")]
    around = core[(core.time_s > scene.end - scene.rtt) & (core.time_s <= scene.end + ROUNDS * scene.rtt)]
    unused = float((1 - around.value / (scene.rate * 1e6)).clip(lower=0).sum()) * scene.step
    first = int(flows.delivered_bytes[0])
    share = first * 8 / scene.end / (scene.rate * 1e6)
    return Run(unused, first, share, int(ports.drops_queue.sum()))


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """Beside the run in which the flow stops: one in which it goes on, and one in which it ends by its size."""
    stopped, on = run_of(scene, result), run_of(scene, midpath.run(scene.toml("")))
    sized = run_of(scene, midpath.run(scene.toml(f'size = "{stopped.delivered} B"')))
    stop, size = (max(0.0, found.unused - on.unused) for found in (stopped, sized))
    return Found(stop, size, size + QUARTER * stopped.share * scene.rtt, float(stopped.drops - on.drops))


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """ENDS.md."""
    yield markdown.head(["family", "bounds kept", "idle after `stop`, in round trips", "after `size`"])
    of = groups(rows, lambda row: row.scene.family)
    for family in filter(of.get, FAMILIES):
        own = [row for row in of[family] if isinstance(row.found, Found)]
        means = [sum(getattr(row.found, how) / row.scene.rtt for row in own) / len(own) for how in ("stop", "size")]
        yield markdown.line([family, kept(of[family]), *(f"{mean:.3f}" for mean in means)])
    yield "\nNot kept:\n"
    yield from [note(row) for row in rows if row.missed] or ["- none"]


def note(row: Row) -> str:
    """A scenario that misses a bound."""
    one = row.found
    said = str(one)
    if isinstance(one, Found):
        said = f"idle {one.stop:.4f} s, bound {one.bound:.4f} s, {one.drops:.0f} dropped"
    return f"- {row.number} ({row.scene.family}): {', '.join(row.missed)} ({said})"


SUITE = Suite(
    "FCP: what flows leave when they end",
    draw,
    lambda scene, _, __: scene.toml(f'stop = "{scene.end} s"'),
    judge,
    Found,
    page,
    (Bound("idle", 0.0, of="over"), Bound("drops", 0.0)),
)
