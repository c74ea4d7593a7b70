"""Groups of one host (FCP, section 4.2): what a group's flows get beside another group, and alone with the same budget.

A scenario follows from its number alone. All 25 pairs of policies take turns: group `a` has one, group `b` the other.
Their flows share the host's budget and no link but the host's own, so `a` is to notice nothing of `b` but its part of
the budget. It is run again alone, on a host whose whole budget is that part. Two families:

- **stars**: each flow of the host has a bottleneck of its own, with one cross flow of another host. Two to four flows
  in `a`, one to three in `b`; flows of `b` come and go all the time, one stays.
- **chains**: `a`'s flows share a chain of two to four bottlenecks, and leave it after any of them; each has a cross
  flow. `b` has a chain, too. `b`'s flows stay, and those on its links come and go, so that what it asks for changes.

Bounds, over the last two thirds; fixed before the draws from number 1001 on, which are the measurement:

- *flow*: each flow of `a` gets within 5 % (or three packets) of what it gets alone.
- *even*: where `a` is `equal-throughput`, its flows' rates are within 5 % of their mean.
- *sum*: where `a` is `max-throughput`, its flows together get 95 % at least of what they get alone. The ascent's end
  depends on chance (alone, .1 % more of budget changes it by up to 27 %): the least of five budgets within .2 % counts.
- *given*: a `stable` group takes from the others, or leaves them, what its prices ask for (section 4.2). Where `a` or
  `b` is one, `a` is compared with itself alone on a host with the budget that it had on average; 10 % are the bound.
"""

from __future__ import annotations

import itertools
import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Crash, Row, Suite, groups, kept
from scenes import log_uniform

import midpath
from midpath import Result, markdown

POLICIES = ("equal-budget", "equal-throughput", "max-throughput", "stable", "background")
PAIRS = tuple(itertools.product(POLICIES, POLICIES))
FAMILIES = ("stars", "chains")
NEAR, NEAR_GIVEN = 0.05, 0.10
AROUND = (1.0, 0.998, 0.999, 1.001, 1.002)
PACKETS = 3
# Of a host's budget, for background groups: not the paper's 1/10000, which a flow cannot be measured at.
BACKGROUND = 0.05
WIDE = "10 Gbps"
PACKET = 1500 * 8


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number. Rates in Mbps, delays in ms, times in seconds."""

    number: int
    family: str
    own: str
    other: str
    weight: float
    rates: list[float]
    """Of the bottlenecks: `a`'s first."""
    delays: list[float]
    a: list[tuple[int, float]]
    """Of each flow, the last bottleneck that it crosses, and the delay of its own link, ms."""
    b: list[tuple[int, float]]
    stop: float
    b_times: list[tuple[float, float]]
    """When flows of `b` besides the first come and go, or the cross flows on its links."""
    firsts: int
    """How many bottlenecks are `a`'s."""

    @property
    def part(self) -> float:
        """The budget of `a` beside `b`."""
        back = [policy == "background" for policy in (self.own, self.other)]
        share = self.weight / (self.weight + 1)
        if back[0] == back[1]:
            return share  # of 1, or of the background groups' part of it, which is the same part of a host's alone
        return 1.0 if back[0] else 1 - BACKGROUND

    @property
    def steals(self) -> bool:
        """Whether one takes from the other what it needs."""
        return "stable" in (self.own, self.other)

    def toml(self, alone: float | None) -> str:
        """The scenario's text: beside `b`, or alone with this part of a budget."""
        links, hosts, flows = [scenes.link("s", "hub", WIDE, "0.5 ms")], ["s"], list[str]()
        for i, (rate, delay) in enumerate(zip(self.rates, self.delays, strict=True)):
            first = self.family == "stars" or i in (0, self.firsts)
            links += [scenes.link("hub" if first else f"v{i - 1}", f"u{i}", WIDE, "0.1 ms")]
            links += [scenes.link(f"u{i}", f"v{i}", f"{rate} Mbps", f"{delay} ms")]
            links += [scenes.link(f"x{i}", f"u{i}", WIDE, "1 ms"), scenes.link(f"v{i}", f"y{i}", WIDE, "1 ms")]
            hosts += [f"x{i}", f"y{i}"]
            comes = self.family == "chains" and i >= self.firsts
            flows += [self.flow(f"x{i}", f"y{i}", times) for times in (self.b_times if comes else [(0.0, self.stop)])]
        for group, ways in (("a", self.a), ("b", self.b)):
            for i, (last, delay) in enumerate(ways):
                links.append(scenes.link(f"v{last}", f"{group}{i}", WIDE, f"{delay} ms"))
                hosts.append(f"{group}{i}")
                comes = group == "b" and i > 0 and self.family == "stars"
                more = {"budget": group, "group": f"{group}{i}"}
                if group == "a" or alone is None:
                    times = self.b_times if comes else [(0.0, self.stop)]
                    flows += [self.flow("s", f"{group}{i}", one, **more) for one in times]
        budget = f"[schemes.fcp]\nbackground_share = {BACKGROUND}\n[schemes.fcp.hosts.s]\nbudget = {alone or 1.0}"
        groups = f'[schemes.fcp.groups.a]\nweight = {self.weight}\npolicy = "{self.own}"'
        if alone is None:
            groups += f'\n[schemes.fcp.groups.b]\npolicy = "{self.other}"'
        return "\n".join([
            f'title = "groups {self.number}"\nscheme = "fcp"\nseed = {self.number}\nstop = "{self.stop} s"',
            '[queue]\nlimit = "200 ms"',
            scenes.topology(links, hosts),
            '[measure]\nseries = true\ninterval = "100 ms"\nports = 0\nflows = 200',
            budget,
            groups,
            *flows,
        ])  # fmt: skip

    def flow(self, source: str, target: str, times: tuple[float, float], **more: str) -> str:
        """A flow that stops where that is before the run's end."""
        begin, end = times
        return scenes.flow(source, target, f"{begin} s", stop=f"{end} s" if end < self.stop else None, **more)


def ways(rng: random.Random, family: str, first: int, count: int, chain: int) -> list[tuple[int, float]]:
    """Where the flows leave the bottlenecks from number `first` on, and their own delays."""
    last = [first + (i if family == "stars" else rng.randrange(chain)) for i in range(count)]
    return [(link, round(log_uniform(rng, 1, 20), 2)) for link in last]


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"fcp groups {number}")
    own, other = PAIRS[number % len(PAIRS)]
    family = FAMILIES[number // len(PAIRS) % len(FAMILIES)]
    counts = rng.randint(2, 4), rng.randint(2, 3)
    chains = counts if family == "stars" else (rng.randint(2, 4), rng.randint(2, 3))
    rates = [round(log_uniform(rng, 2, 15), 2) for _ in range(sum(chains))]
    delays = [round(log_uniform(rng, 1, 10), 2) for _ in rates]
    a = ways(rng, family, 0, counts[0], chains[0])
    b = ways(rng, family, chains[0], counts[1], chains[1])
    stop, times, now = 15.0, list[tuple[float, float]](), 1.0
    while now < stop - 1:
        lasts = log_uniform(rng, 0.1, 1)
        times.append((round(now, 3), round(min(now + lasts, stop), 3)))
        now += lasts + log_uniform(rng, 0.05, 0.5)
    weight = round(log_uniform(rng, 0.5, 2), 2)
    return Scene(number, family, own, other, weight, rates, delays, a, b, stop, times, chains[0])


@dataclass(frozen=True)
class Found:
    """What each flow of `a` gets, Mbps: beside `b`, and alone, with budgets around what it has there."""

    beside: list[float]
    alone: list[list[float]]


def rates(scene: Scene, result: Result) -> tuple[list[float], float]:
    """What each flow of `a` gets over the last two thirds, Mbps, and what all together may spend."""
    flows, series = result.flows.to_pandas(), result.series.to_pandas()
    late = series[(series.time_s > scene.stop / 3) & series.entity.str.startswith("flow:")]
    means = late.groupby(["metric", "entity"], observed=True).value.mean()
    of = [f"flow:{int(flows[flows.group == f'a{i}'].flow.iloc[0])}" for i in range(len(scene.a))]
    budget = sum(float(means["target", flow]) for flow in of)
    return [float(means["goodput_bps", flow]) / 1e6 for flow in of], budget


def off(beside: list[float], alone: list[float], seconds: float) -> float:
    """How far the worst is from what it is alone; a few packets don't count."""
    few = PACKETS * PACKET / 1e6 / seconds
    return max(max(abs(x - y) - few, 0.0) / max(y, few) for x, y in zip(beside, alone, strict=True))


def failures(scene: Scene, found_: Found, _: object) -> dict[str, float]:
    """The bounds that are not kept, with how far they are missed."""
    beside, alone = found_.beside, found_.alone
    seconds, near = 2 / 3 * scene.stop, NEAR_GIVEN if scene.steals else NEAR
    mean = sum(beside) / len(beside)
    if scene.own == "max-throughput":
        found = {"sum": 1 - sum(beside) / min(map(sum, alone))}
    else:
        found = {"given" if scene.steals else "flow": off(beside, alone[0], seconds)}
    wrong = {bound: by for bound, by in found.items() if by > near}
    even = off(beside, [mean] * len(beside), seconds)
    return wrong | ({"even": even} if scene.own == "equal-throughput" and even > NEAR else {})


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """Beside the run with `b`: those alone."""
    beside, had = rates(scene, result)
    budget = had / (BACKGROUND if scene.own == "background" else 1.0) if scene.steals else scene.part
    moved = AROUND if scene.own == "max-throughput" else AROUND[:1]
    return Found(beside, [rates(scene, midpath.run(scene.toml(budget * times)))[0] for times in moved])


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """GROUPS.md."""
    yield markdown.head(["policy of `a`", *(f"beside `{policy}`" for policy in POLICIES)])
    of = groups(rows, lambda row: (row.scene.own, row.scene.other))
    for own in POLICIES:
        yield markdown.line([f"`{own}`", *(kept(of.get((own, other), [])) for other in POLICIES)])
    yield f"\nAll bounds kept: {kept(rows)}. The others:\n"
    yield from [note(row) for row in rows if row.missed] or ["- none"]


def note(row: Row) -> str:
    """A scenario that misses a bound."""
    scene, missed = row.scene, ", ".join(f"{bound} {100 * by:.0f} %" for bound, by in row.missed.items())
    said = row.found if isinstance(row.found, Crash) else missed
    return f"- {scene.number} ({scene.family}, `{scene.own}` beside `{scene.other}`): {said}"


SUITE = Suite(
    "FCP: groups of one host",
    draw,
    lambda scene, _, __: scene.toml(None),
    judge,
    Found,
    page,
    missed=failures,
)
