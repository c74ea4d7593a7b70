"""RFC 8867's test cases for interactive real-time media (5.1 to 5.8), as items: the evaluated scheme carries the calls.

A call is 30 pictures a second of 1.5 Mbps at most. SCReAM's and GCC's encoders adapt; other schemes' calls do not, and
what the path does not carry waits at the sender. Values are those of evidence/properties/scream, as are the bounds,
which are ours: the RFC expects words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from midpath.evaluate.facts import SUBJECT, Facts
from midpath.evaluate.items import SHOULD, Case, Item, Measure, plain
from midpath.evaluate.scenes import Scene, dumbbell, flow, vary
from midpath.stats import jain

MOST, LEAST = 1.5, 0.15
# Round trips of 100 ms, and a queue of 300 ms at the first rate.
TRIP, QUEUE = 100.0, 0.3
ENCODER = {"min_rate": "150 kbps", "start_rate": "150 kbps", "max_rate": "1500 kbps", "frames": 30}
ADAPTIVE = {"scream": ENCODER, "gcc": ENCODER}
PICTURES = {"write": "6250 B", "interval": "33333 us"}
# The seconds before each change that are judged.
LAST = 10.0
Phases = Sequence[tuple[float, float]]


def call(pair: int, start: float = 0.0, **more: Any) -> Scene:
    """A call; each has a group of its own, the first one the scheme's."""
    return flow(pair, name(pair), "50 ms", start=f"{start:g} s", **PICTURES, **more)


def name(pair: int) -> str:
    """The group of a call."""
    return SUBJECT if pair == 0 else f"call {pair}"


def scene(phases: Phases, *flows: Scene, **more: Any) -> Scene:
    """Calls over a bottleneck whose rate, in Mbps, holds until the time beside it, in seconds."""
    first, stop = phases[0][1], phases[-1][0]
    steps = [
        {"at": f"{end:g} s", "rate": f"{rate:g} Mbps"}
        for (end, before), (_, rate) in pairwise(phases)
        if rate != before
    ]
    own = dumbbell(*flows, rate=first, trip=TRIP, depth=QUEUE / TRIP * 1000, stop=stop, schemes=ADAPTIVE, **more)
    return own | ({"vary": [vary(steps=steps)]} if steps else {})


def delivered(facts: Facts, calls: Sequence[int], start: float, end: float) -> list[float]:
    """Of each call, in Mbps."""
    return [facts.goodput(start, end, name(pair)) / 1e6 for pair in calls]


def use(phases: Phases, starts: Sequence[float]) -> Callable[[Facts], float]:
    """The least share of the capacity, or of the calls' highest rates if that is less, before each change."""

    def least(facts: Facts) -> float:
        shares = []
        for end, rate in phases:
            own = [pair for pair, start in enumerate(starts) if start <= end - LAST]
            shares.append(sum(delivered(facts, own, end - LAST, end)) / min(rate, MOST * len(own)))
        return min(shares)

    return least


def longest_wait(phases: Phases) -> Callable[[Facts], float]:
    """The longest mean wait before each change, by the rate of that time."""
    return lambda facts: max(
        facts.mean("port:r0>r1 queue_bytes", end - LAST, end) * 8 / (rate * 1e6) for end, rate in phases
    )


def lost(calls: Sequence[int]) -> Callable[[Facts], float]:
    """The share of the calls' packets that was lost."""
    return lambda facts: max(facts.lost_of(name(pair)) for pair in calls)


def shares(calls: Sequence[int], start: float, end: float) -> Callable[[Facts], float]:
    """Jain's index of the calls' rates."""
    return lambda facts: jain(delivered(facts, calls, start, end))


def media(
    item: str,
    title: str,
    asks: str,
    phases: Phases,
    starts: Sequence[float],
    *others: Scene,
    fair: float = 0.0,
    **more: Any,
) -> Item:
    """An item of calls by themselves."""
    case, calls = title.lower(), range(len(starts))
    measures = [
        plain("use", "ratio", [case], use(phases, starts), 0.7, "find the capacity; ours", at_least=True),
        plain("longest mean wait", "seconds", [case], longest_wait(phases), 0.06, "SCReAM's target of the queue delay"),
        plain("loss", "ratio", [case], lost(calls), 0.02, "ours"),
    ]
    if fair:
        last = phases[-1][0]
        measures.append(
            plain("Jain's index", "index", [case], shares(calls, last - LAST, last), fair, "ours", at_least=True)
        )
    own = scene(phases, *(call(pair, start) for pair, start in enumerate(starts)), *others, **more)
    return Item(item, title, SHOULD, asks, [Case(case, own, mine=True)], measures)


def beside_tcp(item: str, title: str, stop: float, starts: Sequence[float], *others: Scene, **more: Any) -> Item:
    """An item of calls beside NewReno: they keep their least rates."""
    case, calls = title.lower(), range(len(starts))

    def kept(facts: Facts) -> float:
        return sum(delivered(facts, calls, stop / 3, stop)) / (LEAST * len(starts))

    measures: list[Measure] = [
        plain("rate over the calls' least rates", "times", [case], kept, 0.9, "ours", at_least=True),
        plain("loss", "ratio", [case], lost(calls), 0.05, "ours"),
    ]
    own = scene([(stop, 2.0)], *(call(pair, start) for pair, start in enumerate(starts)), *others, **more)
    return Item(item, title, SHOULD, "do not starve", [Case(case, own, mine=True)], measures)


def congested_feedback() -> Item:
    """5.3: a call each way."""
    there, back = [(20, 2.0), (40, 1.0), (60, 0.5), (100, 2.0)], [(35, 2.0), (70, 0.8), (100, 2.0)]
    steps = [{"at": f"{end:g} s", "rate": f"{rate:g} Mbps"} for (end, _), (_, rate) in pairwise(back)]
    reverse = {"from": "d1", "to": "s1", "group": "back", "jitter": "50 ms", **PICTURES}
    own = scene(there, call(0), pairs=2)
    own["flow"] = [*own["flow"], reverse]
    own["vary"] = [*own["vary"], {"link": ["r1", "r0"], "one_way": True, "steps": steps}]
    item = media("5.3", "Congested feedback link", "reports wait, too", there, [0])
    return Item("5.3", item.title, SHOULD, item.asks, [Case(item.cases[0].name, own, mine=True)], item.measures)


def rtt_fairness() -> Item:
    """5.5: five calls."""
    item = media(
        "5.5",
        "Round-trip time fairness",
        "share although round trips differ",
        [(300, 4.0)],
        [0, 10, 20, 30, 40],
        fair=0.7,
    )
    own = dict(item.cases[0].scene)
    own["topology"] = own["topology"] | {"access_delays": [f"{ms} ms" for ms in (5, 20, 45, 95, 145)]}
    return Item("5.5", item.title, SHOULD, item.asks, [Case(item.cases[0].name, own, mine=True)], item.measures)


def pause() -> Item:
    """5.8: the second of three calls pauses from 40 to 60 s."""
    case = "pause and resume"

    def back(facts: Facts) -> float:
        paused, *others = delivered(facts, (1, 0, 2), 80, 100)
        return paused / (sum(others) / 2)

    own = scene([(100, 3.5)], call(0), call(1, on="40 s", off="20 s"), call(2))
    measure = plain("its rate over the others', 20 s later", "times", [case], back, 0.5, "ours", at_least=True)
    return Item(
        "5.8", "Media pause and resume", SHOULD, "come back from a pause", [Case(case, own, mine=True)],
        [measure, plain("loss", "ratio", [case], lost(range(3)), 0.02, "ours")],
    )  # fmt: skip


SHORT = {
    "from": ["d2"], "to": ["s2"], "group": "tcp", "scheme": "newreno", "concurrency": 10, "requests": 100000,
    "request_sizes": {"kind": "fixed", "size": "100 B"},
    "reply_sizes": {"kind": "bounded-pareto", "shape": 0.001, "min": "30 kB", "max": "50 kB"},
    "think_time": {"kind": "exponential", "mean": "10 s"},
}  # fmt: skip

ITEMS = [
    media(
        "5.1", "Variable available capacity, one flow", "find the capacity and adapt to it",
        [(40, 1.0), (60, 2.5), (80, 0.6), (100, 1.0)], [0],
    ),
    media(
        "5.2", "Variable available capacity, two flows", "adapt, and share",
        [(25, 4.0), (50, 2.0), (75, 3.5), (100, 1.0), (125, 2.0)], [0, 0], fair=0.8,
    ),
    congested_feedback(),
    media(
        "5.4", "Competing media flows", "share with calls that come later",
        [(20, 3.5), (40, 3.5), (120, 3.5)], [0, 20, 40], fair=0.8,
    ),
    rtt_fairness(),
    beside_tcp("5.6", "Media beside a long TCP flow", 120, [5], flow(1, "tcp", scheme="newreno")),
    beside_tcp("5.7", "Media beside short TCP flows", 300, [5, 5], client=[SHORT], pairs=3),
    pause(),
]  # fmt: skip
