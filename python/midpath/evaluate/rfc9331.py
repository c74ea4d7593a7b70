"""RFC 9331, §4: the Prague requirements for senders with ECT(1), as items. Bounds are ours."""

from __future__ import annotations

import math

from midpath.evaluate.facts import SUBJECT, Facts
from midpath.evaluate.items import MUST, SHOULD, USE, WAIT, Case, Item, Measure, Runs, Subject, at_most, harm, plain
from midpath.evaluate.rfc9743 import ECN, VICTIM, rate, wait
from midpath.evaluate.scenes import dumbbell, flow, flows, vary
from midpath.schemes import shipped

QUEUE = "dualpi2"


def scalable(subject: Subject) -> str:
    """Whether a scheme may send ECT(1): Prague does, and what is not Midpath's may."""
    transport = subject.entry.column.transport
    return "it does not send ECT(1)" if transport in shipped() and transport != "prague" else ""


def marks_per_trip(facts: Facts) -> float:
    """How many of its packets are marked in a round trip."""
    own = facts.group(SUBJECT)
    return float(own["marked_packets"] * own["rtt_mean_s"] / facts.told["simulated_s"])


def signals() -> Item:
    """4.2."""
    slow, fast = "10 Mbps", "40 Mbps"

    def ratio(runs: Runs, _: str) -> float:
        both = [marks_per_trip(runs.me(case)) for case in (slow, fast)]
        return max(both) / min(both) if min(both) else math.inf

    cases = [
        Case(slow, dumbbell(flow(), depth=4, stop=60), queue=QUEUE, mine=True),
        Case(fast, dumbbell(flow(), depth=4, rate=40, stop=60), queue=QUEUE, mine=True),
    ]
    source = "as many marks in a round trip at any rate; at four times the rate Reno's are a quarter"
    return Item(
        "4.2",
        "A scalable response to marks",
        MUST,
        "signals per round trip do not become fewer as rates grow",
        cases,
        [
            Measure("marks per round trip, of both rates", "times", [fast], ratio, 2.0, source),
            plain("mean wait", "seconds", [fast], wait(), 0.002, "queues of about a millisecond (RFC 9330)"),
        ],
        scalable,
    )


def beside(name: str, title: str, asks: str, queue: str) -> Item:
    """Coexistence with CUBIC over a queue that is no DualPI2."""
    victim = flow(1, VICTIM, scheme="cubic")
    cases = [
        Case("beside CUBIC", dumbbell(flow(), victim, stop=120, schemes=ECN), queue=queue, tail=not queue),
        Case("beside CUBIC, alone", dumbbell(victim, stop=120, schemes=ECN), by="cubic", queue=queue),
    ]
    alone = {"beside CUBIC": "beside CUBIC, alone"}
    return Item(name, title, MUST, asks, cases, [harm("harm above TCP's", alone, rate(20, 120, VICTIM))], scalable)


def rtts() -> Item:
    """4.3, requirement 4."""
    scene = dumbbell(flow(), flow(1, "far"), trip=10, depth=8, stop=60)
    scene["topology"]["access_delays"] = ["0.5 ms", "20.5 ms"]
    case = "round trips of 10 and 50 ms"

    def bias(facts: Facts) -> float:
        return facts.goodput(20, 60) / (facts.goodput(20, 60, "far") or math.nan)

    return Item(
        "4.3-rtt",
        "Less bias by round trips",
        MUST,
        "no more bias by round trips than Reno's",
        [Case(case, scene, queue=QUEUE)],
        [at_most("the near flow's rate over the far one's, over TCP's", [case], bias, 1.0, "no more than TCP's")],
        scalable,
    )


def small() -> Item:
    """4.3, requirement 5."""
    case = "ten flows at 2 Mbps, 10 ms"
    return Item(
        "4.3-small",
        "Windows below the least",
        SHOULD,
        "answer marks also where a fair share is below two packets",
        [Case(case, dumbbell(*flows(10), rate=2, trip=10, depth=20, stop=60), queue=QUEUE)],
        [at_most("mean wait over TCP's", [case], wait(), WAIT)],
        scalable,
    )


def reordering() -> Item:
    """4.3, requirement 6."""
    jitter = {"law": "uniform", "max": "5 ms", "reorder": True}
    reordered, ordered = "reordered by 5 ms", "in order"

    def kept(runs: Runs, case: str) -> float:
        return runs.me(case).goodput(10, 40) / (runs.me(ordered).goodput(10, 40) or math.nan)

    return Item(
        "4.3-order",
        "Reordering in time, not in packets",
        SHOULD,
        "detect losses in units of time",
        [
            Case(reordered, dumbbell(flow(), rate=40, vary=[vary(jitter=jitter)]), queue=QUEUE, mine=True),
            Case(ordered, dumbbell(flow(), rate=40), queue=QUEUE, mine=True),
        ],
        [Measure("rate over its own in order", "times", [reordered], kept, USE, "ours", at_least=True)],
        scalable,
    )


ITEMS = [
    signals(),
    beside("4.3-loss", "Falls back on loss", "answer losses as Reno does", ""),
    beside(
        "4.3-classic", "Falls back over classic ECN", "coexist where a single queue marks as RFC 3168 has it", "codel"
    ),
    rtts(),
    small(),
    reordering(),
    Item("4.3-bursts", "Bursts", SHOULD, "limit bursts", missing="the length of bursts in a packet trace"),
]
