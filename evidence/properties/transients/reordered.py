"""Packets that arrive out of order, and are not lost: TCPs beside the same jitter with packets in order.

Two families. *Line*: a flow over one link, 2 to 200 Mbps, round trips of 4 to 300 ms, a buffer of half to twice their
product. *Chain*: two to five flows with round trips up to 50 times unlike over three links in a row, of which all cross
the middle one, some joining late. Jitter (uniform, exponential, normal, Pareto) of a link that all flows cross is on
the way there, back, or on both. It reaches *a quarter* of the least round trip, both ways together, or *a round trip*.

Bounds, fixed before the first run: what all flows deliver, three seeds together, is at least 90 % of what it is with
`reorder = false` where the jitter is up to a quarter of the least round trip, and at least 50 % up to a round trip.

*Lossy*: 24 flows of 5 to 300 packets one after the other, which lose packets by chance or in bursts, in order. Bound:
the geometric mean of their completion times is at most 1.02 of that with `loss_detection = "rfc6675"`, over all draws,
by its 95 % interval.
"""

from __future__ import annotations

import math
import random
import statistics
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import scenes
from harness import Crash, Row, Suite, ended, groups

import midpath
from midpath import Result, markdown
from midpath.stats import estimate

SCHEMES = ("newreno", "cubic", "dctcp", "prague", "bbr", "mptcp", "cubic+rpm", "swift", "hpcc", "rcp")
# REORDERED_FALCON.md has Falcon. Not BFC, which delivers nothing of *chain* in order either (EXPLAINED.md).
FAMILIES, LOSSY = ("line", "chain"), "lossy"
LEAST = {"quarter": 0.9, "round trip": 0.5}
SEEDS = (1, 2, 3)
AS_FAST = 1.02
LAWS = ("uniform", "exponential", "normal", "pareto")
# Enough for the sawtooth, few enough for a run in a second.
PACKETS = 60_000


@dataclass(frozen=True)
class Found:
    """What a scheme delivers in order and out of order, in bytes; of *lossy*, how long flows take by RFC 6675 and by
    RACK-TLP, as sums of logarithms."""

    before: float
    after: float


def jitter(rng: random.Random, most_ms: float) -> str:
    """A law whose largest delay is `most_ms`."""
    law, mean = rng.choice(LAWS), most_ms * rng.uniform(0.1, 0.4)
    more = {"uniform": "", "pareto": "shape = 2.5, ", "normal": f'sd = "{most_ms / 5:.6f} ms", '}.get(law, "")
    more += "" if law == "uniform" else f'mean = "{mean:.6f} ms", '
    return f'law = "{law}", {more}max = "{most_ms:.6f} ms"'


def varies(rng: random.Random, a: str, b: str, most_ms: float) -> str:
    """Jitter on the way there, back, or on both, as much together as `most_ms`."""
    ways = rng.choice(([((a, b), 1.0)], [((b, a), 1.0)], [((a, b), 0.5), ((b, a), 0.5)]))
    return "\n".join(
        f'[[vary]]\nlink = ["{one}", "{other}"]\none_way = true\n'
        f"jitter = {{ {jitter(rng, share * most_ms)}, reorder = ORDER }}"
        for (one, other), share in ways
    )


def lasting(rtt_ms: float, mbps: float) -> float:
    """Seconds of a run: 150 round trips and 4 s, at most so many packets."""
    return min(max(4.0, 0.15 * rtt_ms), PACKETS * 0.012 / mbps)


def line(rng: random.Random, reach: str) -> str:
    """A flow over one link."""
    rtt = scenes.log_uniform(rng, 4, 300)
    mbps = scenes.log_uniform(rng, 2, 200)
    seconds = lasting(rtt, mbps)
    mbps = min(mbps, PACKETS * 0.012 / seconds)
    most = rtt * (scenes.log_uniform(rng, 0.01, 0.25) if reach == "quarter" else rng.uniform(0.25, 1.0))
    buffer = max(10 * 1500, mbps * rtt * 125 * scenes.log_uniform(rng, 0.5, 2))
    return "\n".join(
        (
            f'stop = "{seconds:.3f} s"\n[queue]\nlimit = "{buffer:.0f} B"',
            scenes.dumbbell(f"{mbps:.3f} Mbps", rtt / 2 - 0.11, "1 Gbps", [0.01]),
            varies(rng, "r0", "r1", most),
            scenes.flow("s0", "d0", "0 s"),
        )
    )


def chain(rng: random.Random, reach: str) -> str:
    """Flows with unlike round trips over three links in a row."""
    least = scenes.log_uniform(rng, 4, 60)
    mbps = scenes.log_uniform(rng, 5, 100)
    flows = rng.randint(2, 5)
    more = [0.01, *(least / 2 * (scenes.log_uniform(rng, 1, 50) - 1) for _ in range(flows - 1))]
    seconds = lasting(min(least + 2 * max(more), 300), mbps)
    mbps = min(mbps, PACKETS * 0.012 / seconds)
    most = least * (scenes.log_uniform(rng, 0.01, 0.25) if reach == "quarter" else rng.uniform(0.25, 1.0))
    rates = [mbps * rng.uniform(1.0, 2.0), mbps, mbps * rng.uniform(1.0, 2.0)]
    links = [
        scenes.link(f"r{i}", f"r{i + 1}", f"{rate:.3f} Mbps", f"{least / 6 - 0.05:.4f} ms")
        for i, rate in enumerate(rates)
    ]
    for i, ms in enumerate(more):
        first, last = rng.choice((0, 1)), rng.choice((2, 3))
        links += [
            scenes.link(f"s{i}", f"r{first}", "1 Gbps", f"{ms + first * least / 6:.4f} ms"),
            scenes.link(f"d{i}", f"r{last}", "1 Gbps", f"{0.01 + (3 - last) * least / 6:.4f} ms"),
        ]
    hosts = [f"{end}{i}" for i in range(flows) for end in "sd"]
    buffer = max(20 * 1500, mbps * least * 125 * scenes.log_uniform(rng, 0.5, 2))
    starts = [0.0, *(rng.choice((0.0, seconds / 4)) for _ in range(flows - 1))]
    return "\n".join(
        (
            f'stop = "{seconds:.3f} s"\n[queue]\nlimit = "{buffer:.0f} B"',
            scenes.topology(links, hosts),
            varies(rng, "r1", "r2", most),
            *(scenes.flow(f"s{i}", f"d{i}", f"{start:.3f} s") for i, start in enumerate(starts)),
        )
    )


def lossy(rng: random.Random) -> str:
    """Short flows one after the other that lose packets, in order."""
    rtt, mbps = scenes.log_uniform(rng, 1, 200), scenes.log_uniform(rng, 5, 500)
    chance = scenes.log_uniform(rng, 0.003, 0.05)
    burst = rng.random() < 0.5
    p, r = (chance / 4, rng.uniform(0.15, 0.5)) if burst else (1.0, 1.0)
    good, bad = (0.0, 1.0) if burst else (chance, chance)
    states = ", ".join(f'{key} = "{100 * of:.4f} %"' for key, of in (("p", p), ("r", r), ("good", good), ("bad", bad)))
    flows = [
        scenes.flow("s0", "d0", f"{20 * i} s", size=f"{1448 * round(scenes.log_uniform(rng, 5, 300))} B")
        for i in range(24)
    ]
    return "\n".join(
        (
            f'stop = "{20 * len(flows)} s"\n[queue]\nlimit = "1 MB"',
            scenes.dumbbell(f"{mbps:.3f} Mbps", rtt / 2 - 0.11, "1 Gbps", [0.01]),
            f'[[vary]]\nlink = ["r0", "r1"]\none_way = true\nloss = {{ {states} }}',
            *flows,
        )
    )


def text(family: str, reach: str, number: int) -> str:
    """The scenario with this number."""
    rng = random.Random(f"reordered {family} {reach} {number}")
    return lossy(rng) if family == "lossy" else {"line": line, "chain": chain}[family](rng, reach)


def draw(family: str, number: int) -> tuple[str, str]:
    """The family and the scenario with this number."""
    return family, text(*(family.split(", ") if family != LOSSY else (LOSSY, "")), number)


def ran(scene: tuple[str, str], scheme: str, _: str) -> str:
    """The first seed's run, out of order; of *lossy* with RACK-TLP."""
    family, scenario = scene
    first = f'scheme = "{scheme}"\n' + (f"seed = {SEEDS[0]}\n" if family != LOSSY else "")
    return first + scenario.replace("ORDER", "true")


def delivered(*runs: Result) -> float:
    """Bytes that all flows deliver, of all these runs together."""
    return float(sum(run.flows["delivered_bytes"].to_pandas().sum() for run in runs))


def others(scenario: str, scheme: str, order: str, seeds: Sequence[int]) -> list[Result]:
    """Runs with packets in order, or not."""
    return [midpath.run(scenario.replace("ORDER", order), scheme=scheme, seed=seed) for seed in seeds]


def logarithms(result: Result) -> float:
    """The sum of the logarithms of completion times."""
    return float(sum(math.log(taken) for taken in result.flows.to_pandas().fct_s.fillna(20.0)))


def judge(scene: tuple[str, str], result: Result, scheme: str, _: str) -> Found:
    """Beside the run: other seeds, and in order; of *lossy* with RFC 6675."""
    family, scenario = scene
    if family == LOSSY:
        classic = f'[schemes.{scheme.split("+", maxsplit=1)[0]}]\nloss_detection = "rfc6675"\n'
        head, network = scenario.split("[topology]", 1)
        before = midpath.run(f"{head}{classic}[topology]{network}", scheme=scheme)
        return Found(logarithms(before), logarithms(result))
    before = delivered(*others(scenario, scheme, "false", SEEDS))
    return Found(before, delivered(result, *others(scenario, scheme, "true", SEEDS[1:])))


def missed(scene: tuple[str, str], found: Found, _: object) -> dict[str, float]:
    """The bound, where it is not kept. That of *lossy* is on all draws together."""
    if scene[0] == LOSSY:
        return {}
    ratio = found.after / found.before
    return {"less": ratio} if ratio < LEAST[scene[0].split(", ")[1]] else {}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """The results, by family and scheme."""
    yield markdown.head(("family", "jitter up to", "scheme", "least", "median", "below the bound"))
    by = groups(rows, lambda row: (row.family, row.scheme))
    below: list[str] = []
    for (family, scheme), own in by.items():
        if family == LOSSY:
            continue
        name, reach = family.split(", ")
        ratios, wrong = [one.after / one.before for one in ended(own)], [row for row in own if row.missed]
        below += [f"- {family}, {scheme}: {', '.join(map(said, wrong))}"] if wrong else []
        told = (f"{min(ratios):.2f}", f"{statistics.median(ratios):.2f}", f"{len(wrong)} of {len(own)}")
        yield markdown.line((name, f"{reach} ({LEAST[reach]:.0%})", scheme, *told))
    yield from ["", *below, ""]
    yield markdown.head(("genuine loss", "completion time over RFC 6675's", "bound"))
    for (family, scheme), own in by.items():
        if family == LOSSY and (found := estimate([(one.after - one.before) / 24 for one in ended(own)])) is not None:
            low, high = (math.exp(end) for end in found.interval)
            yield markdown.line((scheme, f"{math.exp(found.mean):.3f} ({low:.3f} to {high:.3f})", f"{AS_FAST}"))


def said(row: Row) -> str:
    """A scenario that is below its bound."""
    return f"{row.number} ({row.found})" if isinstance(row.found, Crash) else str(row.number)


SUITE = Suite(
    "Reordering without loss",
    draw,
    ran,
    judge,
    Found,
    page,
    missed=missed,
    families=(*(f"{family}, {reach}" for family in FAMILIES for reach in LEAST), LOSSY),
    schemes=SCHEMES,
)
