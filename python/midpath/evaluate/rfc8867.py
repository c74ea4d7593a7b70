"""RFC 8867's test cases for interactive real-time media (5.1 to 5.8), as items: the evaluated scheme carries the calls.

A call is 30 pictures a second of 1.5 Mbps at most. SCReAM's and GCC's encoders adapt; other schemes' calls do not, and
what the path does not carry waits at the sender. The RFC expects words; the bounds are ours. evidence/properties/scream
draws around the same cases, and takes values and bounds from here, but for 5.3, which it judges over 5 s at .6, with
the way back.
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
# Of each case: until when the bottleneck has which rate, in Mbps; 5.3's way back, too.
PHASES: dict[str, Phases] = {
    "5.1": [(40, 1.0), (60, 2.5), (80, 0.6), (100, 1.0)],
    "5.2": [(25, 4.0), (50, 2.0), (75, 3.5), (100, 1.0), (125, 2.0)],
    "5.3": [(20, 2.0), (40, 1.0), (60, 0.5), (100, 2.0)],
    "5.4": [(20, 3.5), (40, 3.5), (120, 3.5)],
    "5.5": [(300, 4.0)],
    "5.6": [(120, 2.0)],
    "5.7": [(300, 2.0)],
    "5.8": [(40, 3.5), (60, 3.5), (100, 3.5)],
}
WAY_BACK: Phases = [(35, 2.0), (70, 0.8), (100, 2.0)]
# When calls begin.
STARTS = {
    "5.1": [0], "5.2": [0, 0], "5.3": [0], "5.4": [0, 20, 40], "5.5": [0, 10, 20, 30, 40], "5.6": [5], "5.7": [5, 5],
    "5.8": [0, 0, 0],
}  # fmt: skip
# 5.5: one-way delays, ms.
DELAYS = [10.0, 25.0, 50.0, 100.0, 150.0]
# 5.8: which call pauses when, and from when on it is judged.
PAUSED, PAUSE, RESUMED = 1, 40, 80
# The bounds: least use of the capacity, least share of the least rates beside TCP, Jain's index, the longest mean wait
# in seconds, losses, losses beside TCP, and what a call has after its pause, over the others.
USE, KEPT, FAIR, FAIR_TRIPS, WAIT, LOST, LOST_BESIDE_TCP, RETURNS = 0.7, 0.9, 0.8, 0.7, 0.06, 0.02, 0.05, 0.5


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


def use(item: str) -> Callable[[Facts], float]:
    """The least share of the capacity, or of the calls' highest rates if that is less, before each change."""

    def least(facts: Facts) -> float:
        shares = []
        for end, rate in PHASES[item]:
            own = [pair for pair, start in enumerate(STARTS[item]) if start <= end - LAST]
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


def media(item: str, title: str, asks: str, fair: float = 0.0, **more: Any) -> Item:
    """An item of calls by themselves."""
    case, phases, calls = title.lower(), PHASES[item], range(len(STARTS[item]))
    measures = [
        plain("use", "ratio", [case], use(item), USE, "find the capacity; ours", at_least=True),
        plain("longest mean wait", "seconds", [case], longest_wait(phases), WAIT, "SCReAM's target of the queue delay"),
        plain("loss", "ratio", [case], lost(calls), LOST, "ours"),
    ]
    if fair:
        last = phases[-1][0]
        measures.append(
            plain("Jain's index", "index", [case], shares(calls, last - LAST, last), fair, "ours", at_least=True)
        )
    own = scene(phases, *(call(pair, start) for pair, start in enumerate(STARTS[item])), **more)
    return Item(item, title, SHOULD, asks, [Case(case, own, mine=True)], measures)


def beside_tcp(item: str, title: str, *others: Scene, **more: Any) -> Item:
    """An item of calls beside NewReno: they keep their least rates."""
    case, starts, stop = title.lower(), STARTS[item], PHASES[item][-1][0]
    calls = range(len(starts))

    def kept(facts: Facts) -> float:
        return sum(delivered(facts, calls, stop / 3, stop)) / (LEAST * len(starts))

    measures: list[Measure] = [
        plain("rate over the calls' least rates", "times", [case], kept, KEPT, "ours", at_least=True),
        plain("loss", "ratio", [case], lost(calls), LOST_BESIDE_TCP, "ours"),
    ]
    own = scene(PHASES[item], *(call(pair, start) for pair, start in enumerate(starts)), *others, **more)
    return Item(item, title, SHOULD, "do not starve", [Case(case, own, mine=True)], measures)


def congested_feedback() -> Item:
    """5.3: a call each way."""
    steps = [{"at": f"{end:g} s", "rate": f"{rate:g} Mbps"} for (end, _), (_, rate) in pairwise(WAY_BACK)]
    item = media("5.3", "Congested feedback link", "reports wait, too", pairs=2)
    own = item.cases[0].scene
    own["flow"].append({"from": "d1", "to": "s1", "group": "back", "jitter": "50 ms", **PICTURES})
    own["vary"].append({"link": ["r1", "r0"], "one_way": True, "steps": steps})
    return item


def rtt_fairness() -> Item:
    """5.5: five calls."""
    item = media("5.5", "Round-trip time fairness", "share although round trips differ", FAIR_TRIPS)
    # The senders' links: a one-way delay without the bottleneck's and the receiver's.
    item.cases[0].scene["topology"]["access_delays"] = [f"{ms - TRIP * 0.05:g} ms" for ms in DELAYS]
    return item


def pause() -> Item:
    """5.8: the second of three calls pauses from 40 to 60 s."""
    case = "pause and resume"

    def back(facts: Facts) -> float:
        paused, *others = delivered(facts, (PAUSED, 0, 2), RESUMED, 100)
        return paused / (sum(others) / 2)

    calls = [call(0), call(PAUSED, on=f"{PAUSE} s", off="20 s"), call(2)]
    own = scene(PHASES["5.8"], *calls)
    measure = plain("its rate over the others', 20 s later", "times", [case], back, RETURNS, "ours", at_least=True)
    return Item(
        "5.8", "Media pause and resume", SHOULD, "come back from a pause", [Case(case, own, mine=True)],
        [measure, plain("loss", "ratio", [case], lost(range(3)), LOST, "ours")],
    )  # fmt: skip


SHORT = {
    "from": ["d2"], "to": ["s2"], "group": "tcp", "scheme": "newreno", "concurrency": 10, "requests": 100000,
    "request_sizes": {"kind": "fixed", "size": "100 B"},
    "reply_sizes": {"kind": "bounded-pareto", "shape": 0.001, "min": "30 kB", "max": "50 kB"},
    "think_time": {"kind": "exponential", "mean": "10 s"},
}  # fmt: skip

ITEMS = [
    media("5.1", "Variable available capacity, one flow", "find the capacity and adapt to it"),
    media("5.2", "Variable available capacity, two flows", "adapt, and share", FAIR),
    congested_feedback(),
    media("5.4", "Competing media flows", "share with calls that come later", FAIR),
    rtt_fairness(),
    beside_tcp("5.6", "Media beside a long TCP flow", flow(1, "tcp", scheme="newreno")),
    beside_tcp("5.7", "Media beside short TCP flows", client=[SHORT], pairs=3),
    pause(),
]
