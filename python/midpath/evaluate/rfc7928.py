"""RFC 7928's scenarios for AQMs, as items: the evaluated "scheme" is a TCP over a queue (`cubic@fq_codel`).

NewReno and CUBIC over a queue that drops at its tail are the reference. RFC 7567 asks of an AQM that queues are short
without loss of throughput; what follows from these words are numbers of ours, fixed before the first run.
"""

from __future__ import annotations

from midpath.evaluate.facts import Facts
from midpath.evaluate.items import (
    AFTER,
    HALF,
    LOSS,
    MUST,
    SHOULD,
    USE,
    Case,
    Item,
    Measure,
    Subject,
    added,
    at_least,
    at_most,
    plain,
)
from midpath.evaluate.rfc9743 import of, rate, wait
from midpath.evaluate.scenes import RATE, arrivals, dumbbell, flow, flows, vary
from midpath.stats import jain

# Buffers are deep, so that there is something to control.
DEEP = 4.0


def queued(subject: Subject) -> str:
    """Whether it is a queue that is evaluated."""
    return "" if subject.entry.column.queue else "it names no queue: NAME@QUEUE"


def item(
    name: str, title: str, level: str, asks: str, cases: list[Case], measures: list[Measure], missing: str = ""
) -> Item:
    """An item of queues."""
    return Item(name, title, level, asks, cases, measures, queued, missing)


def bursts() -> Item:
    """7."""
    burst = arrivals(range(1, 6), "bursts", "20 %", "15 kB", 35)
    voice = flow(6, "voice", scheme="udp", write="160 B", interval="20 ms")
    case = "bursts beside a long flow"
    return item(
        "7",
        "Burst absorption",
        MUST,
        "do not drop short bursts, keep delay-sensitive flows alive",
        [Case(case, dumbbell(flow(), voice, pairs=7, depth=DEEP, workload=[burst]))],
        [
            at_most(
                "bursts' completion over that without AQM",
                [case],
                of("bursts", "fct_mean_s"),
                1.0,
                "no worse than without",
            ),
            at_least("the long flow's rate over that without AQM", [case], rate(), AFTER),
            at_most(
                "the voice's delay (p95) over that without AQM",
                [case],
                lambda facts: float(facts.told["datagrams"]["voice"]["delay_p95_s"]),
                HALF,
                "half of it",
            ),
        ],
    )


def shares(facts: Facts) -> float:
    """Jain's index of four flows with unlike round trips."""
    return jain([facts.goodput(20, 60, f"subject{i or ''}") for i in range(4)])


def unlike() -> Item:
    """6."""
    scene = dumbbell(*(flow(i, f"subject{i or ''}") for i in range(4)), trip=20, depth=8, stop=60)
    scene["topology"]["access_delays"] = ["1 ms", "11 ms", "41 ms", "81 ms"]
    return item(
        "6",
        "Round-trip time fairness",
        SHOULD,
        "flows of unlike round trips",
        [Case("20 to 180 ms", scene)],
        [at_least("Jain's index over that without AQM", ["20 to 180 ms"], shares, USE)],
    )


def senders() -> Item:
    """5."""
    flood = flow(1, "flood", scheme="udp", rate="5 Mbps")
    aggressive = flow(1, "bbr", scheme="bbr")
    cases = [
        Case("one TCP", dumbbell(flow(), depth=DEEP)),
        Case("four TCPs", dumbbell(*flows(4), depth=DEEP)),
        Case("beside BBR", dumbbell(flow(), aggressive, depth=DEEP)),
        Case("beside 5 Mbps that do not answer", dumbbell(flow(), flood, depth=DEEP)),
    ]
    names = [case.name for case in cases]
    return item(
        "5",
        "Transport protocols",
        MUST,
        "TCP, aggressive and unresponsive senders",
        cases,
        [
            at_most("mean wait over that without AQM", names, wait(), HALF, "half of it: RFC 7567, §2"),
            at_least("TCP's rate over that without AQM", ["one TCP", "four TCPs"], rate(), USE),
            added("loss above that without AQM", names, lambda facts: facts.lost, LOSS),
        ],
        missing="LEDBAT",
    )


def stability() -> Item:
    """8."""
    steps = [{"at": "20 s", "rate": "2.5 Mbps"}, {"at": "40 s", "rate": "10 Mbps"}]
    cases = [
        Case("mild congestion", dumbbell(*flows(4), depth=DEEP)),
        Case("heavy congestion", dumbbell(*flows(40), depth=DEEP)),
        Case("a rate that falls to a quarter", dumbbell(*flows(4), depth=DEEP, stop=60, vary=[vary(steps=steps)])),
    ]
    names = [case.name for case in cases]
    return item(
        "8",
        "Stability",
        MUST,
        "mild and heavy congestion, a varying rate",
        cases,
        [
            at_most("mean wait over that without AQM", names, wait(), HALF, "half of it"),
            at_least("rate over that without AQM", names, rate(), USE),
        ],
    )


def ecn() -> Item:
    """12."""
    own = {"newreno": {"ecn": True}, "cubic": {"ecn": True}}
    case = "four TCPs with ECN"
    return item(
        "12",
        "Interaction with ECN",
        MUST,
        "marks in place of drops",
        [Case(case, dumbbell(*flows(4), depth=DEEP, schemes=own), mine=True)],
        [
            plain(
                "packets of these flows lost",
                "ratio",
                [case],
                lambda facts: facts.lost_of("subject"),
                0.001,
                "marks take the place of drops; ours",
            ),
            plain("packets marked", "ratio", [case], marked, 0.001, "it marks; ours", at_least=True),
            plain(
                "use", "ratio", [case], lambda facts: facts.goodput(10, 40) / (RATE * 1e6), USE, "ours", at_least=True
            ),
        ],
    )


def marked(facts: Facts) -> float:
    """The share of packets that carry CE."""
    own = facts.group("subject")
    return float(own["marked_packets"] / max(1, own["sent_packets"]))


ITEMS = [
    senders(),
    unlike(),
    bursts(),
    stability(),
    item(
        "9",
        "Traffic profiles",
        SHOULD,
        "web pages, video, calls",
        [],
        [],
        "as an item; `[[client]]` loads pages and videos over any queue",
    ),
    item("10", "Several AQMs in a row", SHOULD, "two bottlenecks", [], [], "two queues of different kinds in a row"),
    ecn(),
    item(
        "13",
        "Interaction with scheduling",
        SHOULD,
        "with and without",
        [],
        [],
        "as an item; compare @codel with @fq_codel",
    ),
]
