"""The 22 example test cases of BBR's draft (draft-ietf-ccwg-bbr at commit 4ce5e87, August 2026), as items.

What the draft asks of states needs a scheme that shows BBR's states; what comes of it is asked of any scheme. Bounds
are the draft's numbers where it has them. Where the path or the application changes when a state begins, a first run
with the same seed says when that is; up to then the second one is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from midpath.evaluate.facts import SUBJECT, Facts
from midpath.evaluate.items import (
    AFTER,
    CONSIDER,
    LOSS,
    SHOULD,
    USE,
    Case,
    Item,
    Measure,
    Runs,
    Subject,
    over_own,
    plain,
)
from midpath.evaluate.scenes import MTU, RATE, TRIP, Scene, dumbbell, flow, loses, vary
from midpath.schemes import described

# As BBR's gauge numbers them.
CRUISE, STARTUP, DRAIN, DOWN, REFILL, UP, PROBE_RTT = range(7)
# PROBE_DOWN may be over within a sample.
PROBE_BW = (DOWN, CRUISE, REFILL, UP)
STATE = "phase"
# A full packet's payload with TCP's timestamps: estimates are of payload.
PAYLOAD = 1448 / MTU
# Samples of states: every 10 ms, half of the shortest state.
FINE = {"series": True, "interval": "10 ms", "points": 6000, "flows": 1, "ports": 8}
# The run that says when a state begins.
FIRST = "unchanged"
# Of states, in seconds. PROBE_DOWN may be over within one: then PROBE_CRUISE follows.
SAMPLE_S = 0.01


def stateful(subject: Subject) -> str:
    """Whether a scheme shows BBR's states."""
    gauge = described(subject.entry.column.transport).flows.get(STATE)
    known = gauge is not None and any(state.name == "Startup" for state in gauge.states)
    return "" if known else "it shows no states of BBR"


def states(facts: Facts) -> list[tuple[int, float, float]]:
    """States in order, with when each began and ended; the last one is cut off by the run's end."""
    return facts.states(STATE)[:-1]


def followed(by: Sequence[int], state: int, others: Sequence[int] = ()) -> Callable[[Facts], float]:
    """How often a state is followed by one of these, as a share; NaN if it never comes. `others` may come between."""

    def share(facts: Facts) -> float:
        own = [one for one in facts.states(STATE) if one[0] not in others]
        pairs = [(a[0], b[0]) for a, b in pairwise(own) if a[0] == state]
        return sum(pair[1] in by for pair in pairs) / len(pairs) if pairs else math.nan

    return share


def lasts(state: int, of: Callable[[Sequence[float]], float]) -> Callable[[Facts], float]:
    """How long a state lasts: the least or the most of its times."""

    def time(facts: Facts) -> float:
        own = [end - start for one, start, end in states(facts) if one == state]
        return of(own) if own else math.nan

    return time


def within(state: int, start: float, end: float) -> Callable[[Facts], float]:
    """The share of a time that a state takes."""

    def share(facts: Facts) -> float:
        parts = (min(b, end) - max(a, start) for one, a, b in facts.states(STATE) if one == state)
        return sum(part for part in parts if part > 0) / (end - start)

    return share


def watch(item: str, scene: Scene, *series: str) -> Case:
    """A case whose first flow's states are recorded."""
    return Case(item, scene | {"measure": FINE}, watched=(STATE, *series), mine=True, look=5.0)


def limited(mbps: float) -> dict[str, Any]:
    """An application that writes at a rate."""
    return {"write": f"{mbps * 1250:g} B", "interval": "10 ms"}


def stated(
    number: int, title: str, asks: str, scene: Scene, measures: Callable[[list[str]], list[Measure]], *series: str
) -> Item:
    """An item about states."""
    case = title.lower()
    return Item(str(number), title, SHOULD, asks, [watch(case, scene, *series)], measures([case]), applies=stateful)


def begins(facts: Facts, state: int, after: float = 0.0) -> float | None:
    """When a state begins for the first time after a time."""
    return next((start for one, start, _ in facts.states(STATE) if one == state and start >= after), None)


@dataclass(frozen=True)
class Moment:
    """An item whose scene changes when a state begins, for the first time after a time."""

    number: int
    title: str
    asks: str
    state: int
    scene: Callable[[float], Scene]
    """With the change at a time."""
    after: float = 0.0

    def measure(
        self, label: str, kind: str, of: Callable[[Facts, float], float], bound: float, source: str, **more: Any
    ) -> Measure:
        """Of the changed run, with the time of the change."""

        def at_change(runs: Runs, case: str) -> float:
            at = begins(runs.me(FIRST), self.state, self.after)
            return math.nan if at is None else of(runs.me(case), at)

        return Measure(label, kind, [self.title.lower()], at_change, bound, source, **more)

    def item(self, *measures: Measure, series: Sequence[str] = ()) -> Item:
        """With both runs."""

        def then(facts: Facts) -> Scene | None:
            at = begins(facts, self.state, self.after)
            return None if at is None else self.scene(at) | {"measure": FINE}

        # Before the end of time nothing changes.
        first = watch(FIRST, self.scene(NEVER), *series)
        second = replace(watch(self.title.lower(), self.scene(NEVER), *series), after=FIRST, then=then)
        return Item(str(self.number), self.title, SHOULD, self.asks, [first, second], measures, applies=stateful)


NEVER = 1000.0


def next_of(facts: Facts, at: float) -> tuple[float, float]:
    """Of the state that begins at a time: how long it lasts, and the one that follows."""
    own = [one for one in facts.states(STATE) if one[2] > at + 1e-6]
    return (own[0][2] - at, float(own[1][0])) if len(own) > 1 else (math.nan, math.nan)


def goes_to(*others: int) -> Callable[[Facts, float], float]:
    """Whether one of these states follows the one that begins at a time."""
    return lambda facts, at: float(next_of(facts, at)[1] in others)


def of_rate(start: float, end: float, mbps: float) -> Callable[[Facts], float]:
    """Goodput in a time, as a share of what a link carries as payload."""
    return lambda facts: facts.goodput(start, end) / (mbps * 1e6 * PAYLOAD)


def estimate_error(facts: Facts) -> float:
    """How far the estimate of the bandwidth is from the link's when Startup ends, as a share."""
    end = next((end for state, _, end in states(facts) if state == STARTUP), math.nan)
    return abs(facts.mean("flow:0 bw_bps", end, end + 0.05) / (RATE * 1e6 * PAYLOAD) - 1)


def queue_after_drain(facts: Facts) -> float:
    """The bottleneck's wait in the round trip after Drain, in round trips."""
    end = next((end for state, _, end in states(facts) if state == DRAIN), math.nan)
    return facts.wait(end, end + TRIP / 1000) / (TRIP / 1000)


def probe_gap(facts: Facts) -> float:
    """The longest time from one ProbeRTT to the next."""
    starts = [start for state, start, _ in facts.states(STATE) if state == PROBE_RTT]
    return max((b - a for a, b in pairwise(starts)), default=math.nan)


def least_window(facts: Facts) -> float:
    """The least window after a second, in packets."""
    return facts.least("flow:0 cwnd_bytes", 1.0, facts.told["simulated_s"] - 1, 1.0) / 1448


def startup() -> list[Item]:
    """Cases of STARTUP and DRAIN."""
    plain_scene = dumbbell(flow(jitter="0 s"), stop=12, depth=4)
    app, lossy = flow(jitter="0 s", **limited(5)), [vary(loss=loses(0.1))]
    return [
        stated(
            1,
            "Exiting STARTUP on bandwidth plateau",
            "the estimate within 2 % of the bandwidth, then DRAIN",
            plain_scene,
            lambda case: [
                plain("estimate off by", "ratio", case, estimate_error, 0.02, "the draft: within 2 %"),
                plain(
                    "STARTUP is followed by DRAIN",
                    "ratio",
                    case,
                    followed([DRAIN], STARTUP),
                    1.0,
                    "the draft",
                    at_least=True,
                ),
            ],
            "bw_bps",
        ),
        stated(
            2,
            "Exiting STARTUP on loss when application-limited",
            "loss above 2 % ends STARTUP",
            dumbbell(app, stop=12, vary=lossy),
            lambda case: [
                plain("STARTUP lasts", "seconds", case, lasts(STARTUP, max), 1.0, "ours: 25 round trips of 10 % loss"),
            ],
        ),
        stated(
            3,
            "Exiting DRAIN based on inflight",
            "DRAIN ends when one bandwidth-delay product is in flight",
            plain_scene,
            lambda case: [
                plain(
                    "wait after DRAIN, in round trips", "times", case, queue_after_drain, 0.25, "ours: no queue stays"
                ),
                plain(
                    "DRAIN is followed by PROBE_BW",
                    "ratio",
                    case,
                    followed(PROBE_BW, DRAIN),
                    1.0,
                    "the draft",
                    at_least=True,
                ),
            ],
        ),
        drain_by_time(),
    ]


def drain_by_time() -> Item:
    """4. With the draft's tenth less DRAIN ends by inflight, after 120 ms; with half, inflight stays above."""
    less = RATE / 2

    def scene(at: float) -> Scene:
        steps = [{"at": "0 s", "rate": f"{RATE:g} Mbps"}, {"at": f"{at:.3f} s", "rate": f"{less:g} Mbps"}]
        return dumbbell(flow(jitter="0 s"), stop=12, depth=4, vary=[vary(steps=steps)])

    def wait_of(facts: Facts, start: float, end: float) -> float:
        return facts.mean("port:r0>r1 queue_bytes", start, end) * 8 / (less * 1e6)

    def left(facts: Facts, at: float) -> float:
        end = at + next_of(facts, at)[0]
        return wait_of(facts, end - 0.02, end) / (TRIP / 1000)

    def rounds(facts: Facts, at: float) -> float:
        # A round ends when what is sent at its beginning, and waits half a round trip later, is acknowledged.
        end, count = at + next_of(facts, at)[0], 0
        while (at := at + TRIP / 1000 + wait_of(facts, at + 0.015, at + 0.025)) < end + SAMPLE_S:
            count += 1
        return float(count)

    own = Moment(4, "Exiting DRAIN based on time", "after three rounds DRAIN ends anyway", DRAIN, scene)
    return own.item(
        own.measure("wait when DRAIN ends, in round trips", "times", left, 0.25, "the target is not reached; as in 3",
                    at_least=True),
        own.measure("rounds that end in DRAIN", "count", rounds, 4.0, "the draft: 3; one that has begun ends"),
        own.measure("PROBE_BW follows", "ratio", goes_to(*PROBE_BW), 1.0, "the draft", at_least=True),
    )  # fmt: skip


def up_by_loss() -> Item:
    """6. Datagrams fill the queue for 200 ms: after 1 s, which ends STARTUP, and when PROBE_UP begins."""

    def burst(pair: int, at: float) -> Scene:
        return flow(pair, "burst", "0 s", scheme="udp", rate="30 Mbps", start=f"{at:.3f} s", stop=f"{at + 0.2:.3f} s")

    def scene(at: float) -> Scene:
        return dumbbell(flow(jitter="0 s", **limited(5)), burst(1, 1.0), *([burst(2, at)] if at < NEVER else []),
                        pairs=3, stop=12)  # fmt: skip

    def not_raised(facts: Facts, at: float) -> float:
        name = "flow:0 inflight_longterm_bytes"
        return float(facts.mean(name, at + 0.5, at + 0.6) <= facts.mean(name, at - 0.1, at))

    own = Moment(6, "Exiting PROBE_UP on loss when application-limited", "loss ends PROBE_UP", UP, scene, 2.0)
    return own.item(
        own.measure("PROBE_UP lasts", "seconds", lambda f, at: next_of(f, at)[0], 0.5,
                    "ours: the burst, its round trip, and a queue; without loss it lasts seconds"),
        own.measure("PROBE_DOWN follows", "ratio", goes_to(DOWN, CRUISE), 1.0, "the draft", at_least=True),
        own.measure("inflight_longterm is not raised", "ratio", not_raised, 1.0, "the draft: scaled down, if at all",
                    at_least=True),
        series=("inflight_longterm_bytes",),
    )  # fmt: skip


def down_by_time() -> Item:
    """9. PROBE_RTT may come before the wait is over: it bypasses PROBE_CRUISE as well."""

    def scene(at: float) -> Scene:
        steps = [
            {"at": "0 s", "rate": f"{RATE:g} Mbps"},
            {"at": f"{at:.3f} s", "rate": f"{RATE * 0.9:g} Mbps"},
        ]
        return dumbbell(flow(jitter="0 s"), stop=12, depth=4, vary=[vary(steps=steps)])

    own = Moment(9, "Exiting PROBE_DOWN after max time", "PROBE_REFILL follows at once", DOWN, scene, 2.0)
    return own.item(
        own.measure("PROBE_DOWN lasts", "seconds", lambda f, at: next_of(f, at)[0], 3.1,
                    "the draft: BBR.bw_probe_wait, 2 to 3 s; samples of states"),
        own.measure("PROBE_CRUISE is bypassed", "ratio", goes_to(REFILL, PROBE_RTT), 1.0, "the draft", at_least=True),
    )  # fmt: skip


def refill_limited() -> Item:
    """22. The application, at 8 Mbps, pauses for 60 ms when PROBE_REFILL begins."""
    mbps, pause = 8.0, 0.06

    def scene(at: float) -> Scene:
        return dumbbell(flow(jitter="0 s", **limited(mbps), on=f"{at:.3f} s", off=f"{pause * 1000:g} ms"),
                        flow(1, "burst", "0 s", scheme="udp", rate="30 Mbps", start="1 s", stop="1.2 s"),
                        pairs=2, stop=12)  # fmt: skip

    def kept(facts: Facts, at: float) -> float:
        # What is in flight when it pauses arrives half a round trip later.
        if facts.goodput(at + TRIP / 2000, at + TRIP / 2000 + pause) > mbps * 1e6 / 2:
            return math.nan
        return facts.least("flow:0 bw_bps", at, at + 0.3, 0.02) / facts.mean("flow:0 bw_bps", at - 0.2, at)

    title = "Handling application-limited sending during PROBE_REFILL"
    own = Moment(22, title, "no low estimate is taken", REFILL, scene, 3.0)
    return own.item(
        own.measure("least estimate in 0.3 s, over that before", "times", kept, 0.98, "as in 1: within 2 %",
                    at_least=True),
        own.measure("PROBE_UP follows", "ratio", goes_to(UP), 1.0, "the draft", at_least=True),
        series=("bw_bps",),
    )  # fmt: skip


def probing() -> list[Item]:
    """Cases of PROBE_BW and PROBE_RTT."""
    # Deep: nothing is lost. Shallow: probes lose.
    deep = dumbbell(flow(jitter="0 s"), stop=30, depth=4)
    shallow = dumbbell(flow(jitter="0 s"), stop=30, depth=0.5)
    app = dumbbell(flow(jitter="0 s", **limited(4)), stop=14)
    # Jitter of packets lowers the least round trip now and then, which puts PROBE_RTT off.
    longer = dumbbell(flow(jitter="0 s", **limited(4)), stop=50)
    idle = dumbbell(flow(jitter="0 s", **limited(4), on="2 s", off="6 s"), stop=34)
    return [
        stated(
            5,
            "Exiting PROBE_UP on bandwidth plateau",
            "without loss a plateau ends PROBE_UP",
            deep,
            lambda case: [
                plain(
                    "PROBE_UP is followed by PROBE_DOWN",
                    "ratio",
                    case,
                    followed([DOWN], UP, [PROBE_RTT]),
                    1.0,
                    "the draft",
                    at_least=True,
                ),
            ],
        ),
        up_by_loss(),
        stated(
            7,
            "Never exiting STARTUP when application-limited with no loss",
            "it stays in STARTUP",
            app,
            # ProbeRTT comes after 5 s.
            lambda case: [
                plain(
                    "share of the first 5 s in STARTUP",
                    "ratio",
                    case,
                    within(STARTUP, 0.5, 5.0),
                    0.99,
                    "the draft",
                    at_least=True,
                ),
            ],
        ),
        stated(
            8,
            "Exiting PROBE_DOWN on inflight",
            "PROBE_CRUISE follows when the queue is drained",
            deep,
            lambda case: [
                plain(
                    "PROBE_DOWN is followed by PROBE_CRUISE",
                    "ratio",
                    case,
                    followed([CRUISE], DOWN, [PROBE_RTT]),
                    0.9,
                    "the draft; ours: nine of ten",
                    at_least=True,
                ),
            ],
        ),
        down_by_time(),
        stated(
            10,
            "Entering and exiting PROBE_RTT",
            "every 5 s, for 200 ms and a round trip",
            deep,
            lambda case: [
                plain(
                    "time from one to the next",
                    "seconds",
                    case,
                    probe_gap,
                    6.0,
                    "the draft: 5 s; it begins when a round ends",
                ),
                plain(
                    "it lasts at least", "seconds", case, lasts(PROBE_RTT, min), 0.2, "the draft: 200 ms", at_least=True
                ),
                plain(
                    "it lasts at most",
                    "seconds",
                    case,
                    lasts(PROBE_RTT, max),
                    0.4,
                    "200 ms, and round trips with a queue",
                ),
                plain(
                    "PROBE_BW follows", "ratio", case, followed(PROBE_BW, PROBE_RTT), 1.0, "the draft", at_least=True
                ),
            ],
        ),
        stated(
            11,
            "Skipping PROBE_RTT due to idleness",
            "idle time is enough to drain the queue",
            idle,
            lambda case: [
                plain(
                    "share of time in PROBE_RTT", "ratio", case, within(PROBE_RTT, 2.0, 34.0), 0.0, "the draft: none"
                ),
            ],
        ),
        stated(
            20,
            "Entering and exiting PROBE_RTT during STARTUP",
            "STARTUP goes on after it",
            longer,
            lambda case: [
                plain(
                    "STARTUP follows", "ratio", case, followed([STARTUP], PROBE_RTT), 1.0, "the draft", at_least=True
                ),
            ],
        ),
        stated(
            21,
            "Handling loss during PROBE_UP after inflight_longterm is set",
            "loss ends PROBE_UP",
            shallow,
            lambda case: [
                plain(
                    "PROBE_UP is followed by PROBE_DOWN",
                    "ratio",
                    case,
                    followed([DOWN], UP, [PROBE_RTT]),
                    1.0,
                    "the draft",
                    at_least=True,
                ),
                plain("loss", "ratio", case, lambda facts: facts.lost, LOSS, "the draft: BBR.LossThresh"),
            ],
        ),
        refill_limited(),
    ]


def paths() -> list[Item]:
    """Cases that any scheme can be asked for."""
    up = dumbbell(flow(), stop=30, rate=10, vary=[vary(steps=[{"at": "10 s", "rate": "100 Mbps"}])])
    up["topology"]["access"]["rate"] = "1 Gbps"
    down = dumbbell(flow(), stop=40, rate=100, vary=[vary(steps=[{"at": "10 s", "rate": "10 Mbps"}])])
    policed = dumbbell(flow(), stop=40)
    policed["topology"]["bottleneck"] |= {"rate": "100 Mbps", "queue": "policed"}
    policed["queues"] = {"policed": {"kind": "policer", "rate": "10 Mbps", "burst": "50 kB"}}
    jitter = {"law": "uniform", "max": "8 ms", "reorder": True}
    one_way = TRIP / 2 * 0.8
    spike = [{"at": "10 s", "delay": f"{one_way + 1500:g} ms"}, {"at": "11 s", "delay": f"{one_way:g} ms"}]

    def case(title: str, scene: Scene, *series: str) -> Case:
        return Case(title, scene, watched=series, mine=True)

    # Delays fall by as much as time passes: all ACKs of 20 ms arrive together.
    held = [{"at": f"{i} ms", "delay": f"{one_way + 20 - i:g} ms"} for i in range(20)]
    back = {"link": ["r1", "r0"], "one_way": True, "steps": held, "repeat": "20 ms"}
    bursts = "ACKs in bursts, every 20 ms"
    aggregated = [case(bursts, dumbbell(flow(jitter="0 s"), stop=30, vary=[back]))]
    return [
        Item(
            "12",
            "Achieving expected STARTUP bandwidth on a link with aggregation",
            SHOULD,
            "find the full rate",
            aggregated,
            [
                plain(
                    "use, 1 to 3 s from the start", "ratio", [bursts], of_rate(1, 3, RATE), AFTER, "ours", at_least=True
                )
            ],
        ),
        Item(
            "13",
            "Achieving expected CRUISE bandwidth on a link with aggregation",
            SHOULD,
            "no stalls between ACKs",
            aggregated,
            [plain("use", "ratio", [bursts], of_rate(10, 30, RATE), USE, "ours", at_least=True)],
        ),
        Item(
            "14",
            "Correctly managing sub-packet BDPs",
            SHOULD,
            "four packets at least, and the low rate",
            [case("100 kbps, 20 ms", dumbbell(flow(), rate=0.1, trip=20, stop=60), "cwnd_bytes")],
            [
                plain("use", "ratio", ["100 kbps, 20 ms"], of_rate(20, 60, 0.1), USE, "ours", at_least=True),
                plain(
                    "least window, in packets",
                    "count",
                    ["100 kbps, 20 ms"],
                    least_window,
                    4.0,
                    "the draft: BBR.MinPipeCwnd",
                    at_least=True,
                    level=CONSIDER,
                ),
            ],
        ),
        Item(
            "15",
            "Increasing bandwidth 10x",
            SHOULD,
            "the full rate within a number of round trips that is logarithmic in the BDP",
            [case("10 to 100 Mbps", up)],
            [
                plain(
                    "use, 5 to 20 s later",
                    "ratio",
                    ["10 to 100 Mbps"],
                    of_rate(15, 30, 100),
                    AFTER,
                    "ours: 5 s",
                    at_least=True,
                ),
            ],
        ),
        Item(
            "16",
            "Decreasing bandwidth 10x",
            SHOULD,
            "the estimate adapts within two cycles",
            [case("100 to 10 Mbps", down)],
            [
                plain(
                    "use, 10 to 30 s later",
                    "ratio",
                    ["100 to 10 Mbps"],
                    of_rate(20, 40, 10),
                    AFTER,
                    "ours",
                    at_least=True,
                ),
                plain(
                    "packets of the run lost",
                    "ratio",
                    ["100 to 10 Mbps"],
                    lambda facts: facts.lost_of(SUBJECT),
                    LOSS,
                    "the draft: BBR.LossThresh",
                ),
            ],
        ),
        Item(
            "17",
            "Handling token bucket policers",
            SHOULD,
            "a stable rate without excessive loss",
            [case("a policer of 10 Mbps", policed)],
            [
                plain(
                    "use of the policer's rate",
                    "ratio",
                    ["a policer of 10 Mbps"],
                    of_rate(20, 40, 10),
                    AFTER,
                    "ours",
                    at_least=True,
                ),
                plain(
                    "loss",
                    "ratio",
                    ["a policer of 10 Mbps"],
                    lambda facts: facts.lost,
                    LOSS,
                    "the draft: BBR.LossThresh",
                ),
            ],
        ),
        Item(
            "18",
            "Handling spurious fast recovery",
            SHOULD,
            "reordering costs no rate",
            [
                case("reordered by 8 ms", dumbbell(flow(), vary=[vary(jitter=jitter)])),
                case("in order", dumbbell(flow())),
            ],
            [
                over_own(
                    "rate over its own in order", "reordered by 8 ms", "in order", lambda facts: facts.goodput(10, 40)
                )
            ],
        ),
        Item(
            "19",
            "Handling spurious RTO recovery",
            SHOULD,
            "after a timeout that was none it goes on as before",
            [
                case("1.5 s more for 1 s", dumbbell(flow(), vary=[vary(steps=spike)])),
                case("as before", dumbbell(flow())),
            ],
            [
                over_own(
                    "rate over its own without, 5 to 25 s later",
                    "1.5 s more for 1 s",
                    "as before",
                    lambda facts: facts.goodput(16, 36),
                )
            ],
        ),
    ]


ITEMS = sorted([*startup(), *probing(), *paths()], key=lambda item: int(item.name))
