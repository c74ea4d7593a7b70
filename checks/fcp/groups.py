"""Groups of one host (FCP, section 4.2): what a group's flows get beside another group, and alone with the same budget.

    python checks/fcp/groups.py --first 1001 --scenarios 100 > checks/fcp/GROUPS.md
    python checks/fcp/groups.py --first 1001 --scenarios 1 --show   # one again, with its text

A scenario follows from its number alone. All 25 pairs of policies take turns: group `a` has one, group `b` the other.
Their flows share the host's budget and no link but the host's own, so `a` is to notice nothing of `b` but its part of
the budget. It is run again alone, on a host whose whole budget is that part. Two families:

- **stars**: each flow of the host has a bottleneck of its own, with one cross flow of another host. Two to four flows in
  `a`, one to three in `b`; flows of `b` come and go all the time, one stays.
- **chains**: `a`'s flows share a chain of two to four links, of which each takes a part; each link has a cross flow.
  `b` has a chain, too. `b`'s flows stay, and those on its links come and go, so that what it asks for changes.

Bounds, fixed before the first run, over the last two thirds:

- *flow*: each flow of `a` gets within 5 % of what it gets alone. Where `a` is `max-throughput`, whose ascent takes
  another way from any start, that holds of the sum of its flows.
- *even*: where `a` is `equal-throughput`, its flows' rates are within 5 % of each other's mean.
- *own*: where `b` is `stable` and cross flows come, it takes from `a` (section 4.2). Then the bounds are on parts: each
  flow's part of what `a` gets is within 5 % of that alone; of `max-throughput`, nothing is said.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import midpath

sys.path.insert(0, str(Path(__file__).parents[1]))
import scenes
from scenes import log_uniform

POLICIES = ("equal-budget", "equal-throughput", "max-throughput", "stable", "background")
PAIRS = tuple(itertools.product(POLICIES, POLICIES))
FAMILIES = ("stars", "chains")
NEAR = 0.05
# Of a host's budget, for background groups: not the paper's 1/10000, which a flow cannot be measured at.
BACKGROUND = 0.05
WIDE = "10 Gbps"


@dataclass(frozen=True)
class Path_:
    """A flow of the host: its bottlenecks by number, and the delay of its own last link, ms."""

    links: tuple[int, ...]
    delay: float


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
    a: list[Path_]
    b: list[Path_]
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
        """Whether `b` takes from `a` what it needs."""
        return self.other == "stable" and self.family == "chains"

    def toml(self, alone: bool) -> str:
        """The scenario's text."""
        links, hosts = [scenes.link("s", "hub", WIDE, "0.5 ms")], ["s"]
        flows = list[str]()
        for i, (rate, delay) in enumerate(zip(self.rates, self.delays, strict=True)):
            links.append(scenes.link(f"u{i}", f"v{i}", f"{rate} Mbps", f"{delay} ms"))
            links += [scenes.link(f"x{i}", f"u{i}", WIDE, "1 ms"), scenes.link(f"v{i}", f"y{i}", WIDE, "1 ms")]
            hosts += [f"x{i}", f"y{i}"]
            times = self.b_times if self.family == "chains" and i >= self.firsts else [(0.0, self.stop)]
            flows += [self.flow(f"x{i}", f"y{i}", begin, end) for begin, end in times]
        # A chain's links stand one after the other.
        chains = [range(self.firsts), range(self.firsts, len(self.rates))]
        for i, j in (pair for chain in chains for pair in itertools.pairwise(chain)):
            if self.family == "chains":
                links.append(scenes.link(f"v{i}", f"u{j}", WIDE, "0.1 ms"))
        ways = [("a", i, way) for i, way in enumerate(self.a)] + [("b", i, way) for i, way in enumerate(self.b)]
        for group, i, way in ways:
            first, last = way.links[0], way.links[-1]
            links.append(scenes.link(f"v{last}", f"{group}{i}", WIDE, f"{way.delay} ms"))
            hosts.append(f"{group}{i}")
            begin, end = (0.0, self.stop)
            if group == "b" and i > 0 and self.family == "stars":
                times = self.b_times
            else:
                times = [(begin, end)]
            links += [scenes.link("hub", f"u{first}", WIDE, "0.1 ms")] if first not in self.doors(group, i) else []
            if group == "b" and alone:
                continue
            flows += [
                self.flow("s", f"{group}{i}", begin, end, budget=group, group=f"{group}{i}") for begin, end in times
            ]
        budget = f"[schemes.fcp]\nbackground_share = {BACKGROUND}\n[schemes.fcp.hosts.s]\nbudget = {self.part if alone else 1.0}"
        groups = f'[schemes.fcp.groups.a]\nweight = {self.weight}\npolicy = "{self.own}"'
        if not alone:
            groups += f'\n[schemes.fcp.groups.b]\npolicy = "{self.other}"'
        return "\n".join([
            f'title = "groups {self.number}"\nscheme = "fcp"\nseed = {self.number}\nstop = "{self.stop} s"',
            '[queue]\nlimit = "200 ms"',
            scenes.topology(links, hosts),
            f'[measure]\nseries = true\ninterval = "{(self.stop - 0.1) / 3:.4f} s"\nports = 0\nflows = 200',
            budget,
            groups,
            *flows,
        ])  # fmt: skip

    def flow(self, source: str, target: str, begin: float, end: float, **more: str) -> str:
        """A flow that stops where that is before the run's end."""
        return scenes.flow(source, target, f"{begin} s", stop=f"{end} s" if end < self.stop else None, **more)

    def doors(self, group: str, place: int) -> set[int]:
        """The bottlenecks to which flows before this one have a link from the hub."""
        before = self.a[:place] if group == "a" else self.a + self.b[:place]
        return {way.links[0] for way in before}


def ways(rng: random.Random, family: str, first: int, count: int, chain: int) -> list[Path_]:
    """The flows' ways over bottlenecks from number `first` on."""
    found = []
    for i in range(count):
        if family == "stars":
            links = (first + i,)
        else:
            begin = rng.randrange(chain)
            links = tuple(range(first + begin, first + rng.randint(begin + 1, chain)))
        found.append(Path_(links, round(log_uniform(rng, 1, 20), 2)))
    return found


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"fcp groups {number}")
    own, other = PAIRS[number % len(PAIRS)]
    family = FAMILIES[number // len(PAIRS) % len(FAMILIES)]
    counts = rng.randint(2, 4), rng.randint(2, 3)
    chains = (counts if family == "stars" else (rng.randint(2, 4), rng.randint(2, 3)))
    rates = [round(log_uniform(rng, 5, 60), 2) for _ in range(sum(chains))]
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


def rates(scene: Scene, alone: bool) -> list[float]:
    """What each flow of `a` gets over the last two thirds, Mbps."""
    result = midpath.run(scene.toml(alone))
    flows, series = result.flows.to_pandas(), result.series.to_pandas()
    late = series[(series.metric == "goodput_bps") & (series.time_s > 0.4 * scene.stop)]
    means = late.groupby("entity").value.mean()
    return [
        float(sum(means[f"flow:{flow}"] for flow in flows[flows.group == f"a{i}"].flow)) / 1e6
        for i in range(len(scene.a))
    ]


def off(beside: list[float], alone: list[float]) -> float:
    """How far the worst is from what it is alone."""
    return max(abs(x / y - 1) if y else float(x != y) for x, y in zip(beside, alone, strict=True))


def failures(scene: Scene, beside: list[float], alone: list[float]) -> dict[str, float]:
    """The bounds that are not kept, with how far they are missed."""
    parts = [[x / sum(of) for x in of] for of in (beside, alone)]
    if scene.own == "max-throughput":
        found = {} if scene.steals else {"flow": off([sum(beside)], [sum(alone)])}
    else:
        found = {"own": off(*parts)} if scene.steals else {"flow": off(beside, alone)}
    if scene.own == "equal-throughput":
        mean = sum(beside) / len(beside)
        found["even"] = off(beside, [mean] * len(beside))
    return {bound: by for bound, by in found.items() if by > NEAR}


def both(number: int) -> tuple[Scene, list[float], list[float]]:
    """A scenario, with what `a` gets beside `b` and alone."""
    scene = draw(number)
    return scene, rates(scene, False), rates(scene, True)


def page(numbers: range, jobs: int) -> Iterator[str]:
    """GROUPS.md."""
    yield "# FCP: groups of one host\n"
    yield f"{scenes.written(numbers, 'fcp/groups.py')} Families and bounds stand at the head of `groups.py`.\n"
    yield scenes.head(["policy of `a`", *(f"beside `{policy}`" for policy in POLICIES)])
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        found = list(pool.map(both, numbers))
    missed = [(scene, failures(scene, beside, alone)) for scene, beside, alone in found]
    for own in POLICIES:
        cells = []
        for other in POLICIES:
            of = [not wrong for scene, wrong in missed if (scene.own, scene.other) == (own, other)]
            cells.append(f"{sum(of)} of {len(of)}")
        yield scenes.row([f"`{own}`", *cells])
    yield f"\nAll bounds kept: {sum(not wrong for _, wrong in missed)} of {len(missed)}. The others:\n"
    lines = [
        f"- {scene.number} ({scene.family}, `{scene.own}` beside `{scene.other}`): "
        + ", ".join(f"{bound} {100 * by:.0f} %" for bound, by in wrong.items())
        for scene, wrong in missed
        if wrong
    ]
    yield from lines or ["- none"]


def main() -> None:
    """Prints the page, or scenarios."""
    options: argparse.Namespace = scenes.options(__doc__, 100).parse_args()
    if options.show:
        for number in scenes.numbers_of(options):
            scene, beside, alone = both(number)
            print(scene.toml(alone=False))
            print(f"# beside: {beside}\n# alone: {alone}\n# not kept: {failures(scene, beside, alone)}")
        return
    for line in page(scenes.numbers_of(options), options.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
