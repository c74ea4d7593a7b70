"""The 22 example test cases of BBR's draft (draft-ietf-ccwg-bbr at commit 4ce5e87, August 2026), as items.

What the draft asks of states needs a scheme that shows BBR's states; what comes of it is asked of any scheme. Bounds
are the draft's numbers where it has them. Where the path or the application changes when a state begins, a first run
with the same seed says when that is; up to then the second one is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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


DRAFT = "the draft"


@dataclass(frozen=True)
class Ask:
    """What a case is asked: a number and its bound."""

    label: str
    value: Callable[..., float]
    """Of the run's facts, and of the time at which a `Moment` came."""
    bound: float
    source: str
    kind: str
    at_least: bool
    level: str = ""

    def measure(self, case: str) -> Measure:
        """In a case."""
        more: dict[str, Any] = {"at_least": self.at_least, "level": self.level}
        return plain(self.label, self.kind, [case], self.value, self.bound, self.source, **more)


def least(label: str, value: Callable[..., float], bound: float = 1.0, source: str = DRAFT, kind: str = "ratio") -> Ask:
    """A number that is at least so much; a share that is all."""
    return Ask(label, value, bound, source, kind, at_least=True)


def most(label: str, value: Callable[..., float], bound: float, source: str = DRAFT, kind: str = "ratio") -> Ask:
    """A number that is at most so much."""
    return Ask(label, value, bound, source, kind, at_least=False)


def stated(number: int, title: str, asks: str, scene: Scene, *measures: Ask, series: Sequence[str] = ()) -> Item:
    """An item about states."""
    case = title.lower()
    own = [one.measure(case) for one in measures]
    return Item(str(number), title, SHOULD, asks, [watch(case, scene, *series)], own, applies=stateful)


def anyone(
    number: int, title: str, asks: str, name: str, scene: Scene, *measures: Ask, watched: Sequence[str] = ()
) -> Item:
    """An item that any scheme can be asked for."""
    cases = [Case(name, scene, watched=watched, mine=True)]
    return Item(str(number), title, SHOULD, asks, cases, [one.measure(name) for one in measures])


def beside_own(
    number: int, title: str, asks: str, label: str, cases: Mapping[str, Scene], value: Callable[[Facts], float]
) -> Item:
    """An item about a figure over its own in a second case."""
    one, other = cases
    both = [Case(name, scene, mine=True) for name, scene in cases.items()]
    return Item(str(number), title, SHOULD, asks, both, [over_own(label, one, other, value)])


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

    def measure(self, ask: Ask) -> Measure:
        """Of the changed run, with the time of the change."""

        def at_change(runs: Runs, case: str) -> float:
            at = begins(runs.me(FIRST), self.state, self.after)
            return math.nan if at is None else ask.value(runs.me(case), at)

        cases = [self.title.lower()]
        return Measure(ask.label, ask.kind, cases, at_change, ask.bound, ask.source, at_least=ask.at_least)

    def item(self, *measures: Ask, series: Sequence[str] = ()) -> Item:
        """With both runs."""

        def then(facts: Facts) -> Scene | None:
            at = begins(facts, self.state, self.after)
            return None if at is None else self.scene(at) | {"measure": FINE}

        # Before the end of time nothing changes.
        first = watch(FIRST, self.scene(NEVER), *series)
        second = replace(watch(self.title.lower(), self.scene(NEVER), *series), after=FIRST, then=then)
        own = [self.measure(one) for one in measures]
        return Item(str(self.number), self.title, SHOULD, self.asks, [first, second], own, applies=stateful)


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
    settled = dumbbell(flow(jitter="0 s"), stop=12, depth=4)
    app, lossy = flow(jitter="0 s", **limited(5)), [vary(loss=loses(0.1))]
    return [
        stated(
            1, "Exiting STARTUP on bandwidth plateau", "the estimate within 2 % of the bandwidth, then DRAIN", settled,
            most("estimate off by", estimate_error, 0.02, "the draft: within 2 %"),
            least("STARTUP is followed by DRAIN", followed([DRAIN], STARTUP)),
            series=("bw_bps",),
        ),
        stated(
            2, "Exiting STARTUP on loss when application-limited", "loss above 2 % ends STARTUP",
            dumbbell(app, stop=12, vary=lossy),
            most("STARTUP lasts", lasts(STARTUP, max), 1.0, "ours: 25 round trips of 10 % loss", "seconds"),
        ),
        stated(
            3, "Exiting DRAIN based on inflight", "DRAIN ends when one bandwidth-delay product is in flight", settled,
            most("wait after DRAIN, in round trips", queue_after_drain, 0.25, "ours: no queue stays", "times"),
            least("DRAIN is followed by PROBE_BW", followed(PROBE_BW, DRAIN)),
        ),
        drain_by_time(),
    ]  # fmt: skip


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
        least("wait when DRAIN ends, in round trips", left, 0.25, "the target is not reached; as in 3", "times"),
        most("rounds that end in DRAIN", rounds, 4.0, "the draft: 3; one that has begun ends", "count"),
        least("PROBE_BW follows", goes_to(*PROBE_BW)),
    )


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
    why = "ours: the burst, its round trip, and a queue; without loss it lasts seconds"
    return own.item(
        most("PROBE_UP lasts", lambda f, at: next_of(f, at)[0], 0.5, why, "seconds"),
        least("PROBE_DOWN follows", goes_to(DOWN, CRUISE)),
        least("inflight_longterm is not raised", not_raised, 1.0, "the draft: scaled down, if at all"),
        series=("inflight_longterm_bytes",),
    )


def down_by_time() -> Item:
    """9. PROBE_RTT may come before the wait is over: it bypasses PROBE_CRUISE as well."""

    def scene(at: float) -> Scene:
        steps = [
            {"at": "0 s", "rate": f"{RATE:g} Mbps"},
            {"at": f"{at:.3f} s", "rate": f"{RATE * 0.9:g} Mbps"},
        ]
        return dumbbell(flow(jitter="0 s"), stop=12, depth=4, vary=[vary(steps=steps)])

    own = Moment(9, "Exiting PROBE_DOWN after max time", "PROBE_REFILL follows at once", DOWN, scene, 2.0)
    why = "the draft: BBR.bw_probe_wait, 2 to 3 s; samples of states"
    return own.item(
        most("PROBE_DOWN lasts", lambda f, at: next_of(f, at)[0], 3.1, why, "seconds"),
        least("PROBE_CRUISE is bypassed", goes_to(REFILL, PROBE_RTT)),
    )


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
        least("least estimate in 0.3 s, over that before", kept, 0.98, "as in 1: within 2 %", "times"),
        least("PROBE_UP follows", goes_to(UP)),
        series=("bw_bps",),
    )


def probing() -> list[Item]:
    """Cases of PROBE_BW and PROBE_RTT."""
    # Deep: nothing is lost. Shallow: probes lose.
    deep = dumbbell(flow(jitter="0 s"), stop=30, depth=4)
    shallow = dumbbell(flow(jitter="0 s"), stop=30, depth=0.5)
    app = dumbbell(flow(jitter="0 s", **limited(4)), stop=14)
    # Jitter of packets lowers the least round trip now and then, which puts PROBE_RTT off.
    longer = dumbbell(flow(jitter="0 s", **limited(4)), stop=50)
    idle = dumbbell(flow(jitter="0 s", **limited(4), on="2 s", off="6 s"), stop=34)
    to_down = least("PROBE_UP is followed by PROBE_DOWN", followed([DOWN], UP, [PROBE_RTT]))
    return [
        stated(5, "Exiting PROBE_UP on bandwidth plateau", "without loss a plateau ends PROBE_UP", deep, to_down),
        up_by_loss(),
        stated(
            7, "Never exiting STARTUP when application-limited with no loss", "it stays in STARTUP", app,
            # ProbeRTT comes after 5 s.
            least("share of the first 5 s in STARTUP", within(STARTUP, 0.5, 5.0), 0.99),
        ),
        stated(
            8, "Exiting PROBE_DOWN on inflight", "PROBE_CRUISE follows when the queue is drained", deep,
            least("PROBE_DOWN is followed by PROBE_CRUISE", followed([CRUISE], DOWN, [PROBE_RTT]), 0.9,
                  "the draft; ours: nine of ten"),
        ),
        down_by_time(),
        stated(
            10, "Entering and exiting PROBE_RTT", "every 5 s, for 200 ms and a round trip", deep,
            most("time from one to the next", probe_gap, 6.0, "the draft: 5 s; it begins when a round ends", "seconds"),
            least("it lasts at least", lasts(PROBE_RTT, min), 0.2, "the draft: 200 ms", "seconds"),
            most("it lasts at most", lasts(PROBE_RTT, max), 0.4, "200 ms, and round trips with a queue", "seconds"),
            least("PROBE_BW follows", followed(PROBE_BW, PROBE_RTT)),
        ),
        stated(
            11, "Skipping PROBE_RTT due to idleness", "idle time is enough to drain the queue", idle,
            most("share of time in PROBE_RTT", within(PROBE_RTT, 2.0, 34.0), 0.0, "the draft: none"),
        ),
        stated(
            20, "Entering and exiting PROBE_RTT during STARTUP", "STARTUP goes on after it", longer,
            least("STARTUP follows", followed([STARTUP], PROBE_RTT)),
        ),
        stated(
            21, "Handling loss during PROBE_UP after inflight_longterm is set", "loss ends PROBE_UP", shallow,
            to_down,
            most("loss", lambda facts: facts.lost, LOSS, "the draft: BBR.LossThresh"),
        ),
        refill_limited(),
    ]  # fmt: skip


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

    # Delays fall by as much as time passes: all ACKs of 20 ms arrive together.
    held = [{"at": f"{i} ms", "delay": f"{one_way + 20 - i:g} ms"} for i in range(20)]
    back = {"link": ["r1", "r0"], "one_way": True, "steps": held, "repeat": "20 ms"}
    bursts = "ACKs in bursts, every 20 ms"
    aggregated = dumbbell(flow(jitter="0 s"), stop=30, vary=[back])
    four = replace(least("least window, in packets", least_window, 4.0, "the draft: BBR.MinPipeCwnd", "count"),
                   level=CONSIDER)  # fmt: skip
    threshold = "the draft: BBR.LossThresh"
    return [
        anyone(
            12, "Achieving expected STARTUP bandwidth on a link with aggregation", "find the full rate",
            bursts, aggregated,
            least("use, 1 to 3 s from the start", of_rate(1, 3, RATE), AFTER, "ours"),
        ),
        anyone(
            13, "Achieving expected CRUISE bandwidth on a link with aggregation", "no stalls between ACKs",
            bursts, aggregated,
            least("use", of_rate(10, 30, RATE), USE, "ours"),
        ),
        anyone(
            14, "Correctly managing sub-packet BDPs", "four packets at least, and the low rate",
            "100 kbps, 20 ms", dumbbell(flow(), rate=0.1, trip=20, stop=60),
            least("use", of_rate(20, 60, 0.1), USE, "ours"),
            four,
            watched=("cwnd_bytes",),
        ),
        anyone(
            15, "Increasing bandwidth 10x",
            "the full rate within a number of round trips that is logarithmic in the BDP",
            "10 to 100 Mbps", up,
            least("use, 5 to 20 s later", of_rate(15, 30, 100), AFTER, "ours: 5 s"),
        ),
        anyone(
            16, "Decreasing bandwidth 10x", "the estimate adapts within two cycles",
            "100 to 10 Mbps", down,
            least("use, 10 to 30 s later", of_rate(20, 40, 10), AFTER, "ours"),
            most("packets of the run lost", lambda facts: facts.lost_of(SUBJECT), LOSS, threshold),
        ),
        anyone(
            17, "Handling token bucket policers", "a stable rate without excessive loss",
            "a policer of 10 Mbps", policed,
            least("use of the policer's rate", of_rate(20, 40, 10), AFTER, "ours"),
            most("loss", lambda facts: facts.lost, LOSS, threshold),
        ),
        beside_own(
            18, "Handling spurious fast recovery", "reordering costs no rate", "rate over its own in order",
            {"reordered by 8 ms": dumbbell(flow(), vary=[vary(jitter=jitter)]), "in order": dumbbell(flow())},
            lambda facts: facts.goodput(10, 40),
        ),
        beside_own(
            19, "Handling spurious RTO recovery", "after a timeout that was none it goes on as before",
            "rate over its own without, 5 to 25 s later",
            {"1.5 s more for 1 s": dumbbell(flow(), vary=[vary(steps=spike)]), "as before": dumbbell(flow())},
            lambda facts: facts.goodput(16, 36),
        ),
    ]  # fmt: skip


ITEMS = sorted([*startup(), *probing(), *paths()], key=lambda item: int(item.name))
