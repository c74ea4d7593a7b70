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
    over_own,
    plain,
)
from midpath.evaluate.rfc9743 import of, rate, wait
from midpath.evaluate.scenes import RATE, TRIP, around, arrivals, dumbbell, flow, flows, queue_bytes, vary
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


VOICE = {"scheme": "udp", "write": "160 B", "interval": "20 ms"}


def late(facts: Facts) -> float:
    """The 95th percentile of the voice's delay."""
    return float(facts.told["datagrams"]["voice"]["delay_p95_s"])


def bursts() -> Item:
    """7."""
    burst = arrivals(range(1, 6), "bursts", "20 %", "15 kB", 35)
    voice = flow(6, "voice", **VOICE)
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
                late,
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


def profiles() -> Item:
    """9: §9.2's mix: pages are requests on ten connections, the video fetches four seconds of 2.5 Mbps at a time."""
    case = "a bulk flow, pages, a video, a voice"
    fixed = {"kind": "fixed", "size": "400 B"}
    pages = {
        "from": ["d1"], "to": ["s1"], "group": "pages", "concurrency": 10, "requests": 100000,
        "request_sizes": fixed, "reply_sizes": {"kind": "exponential", "mean": "50 kB"},
        "think_time": {"kind": "exponential", "mean": "2 s"},
    }  # fmt: skip
    video = {
        "from": ["d2"], "to": ["s2"], "group": "video", "concurrency": 1, "requests": 100000,
        "request_sizes": fixed, "reply_sizes": {"kind": "fixed", "size": "1250 kB"},
        "think_time": {"kind": "fixed", "time": "1 s"},
    }  # fmt: skip
    scene = dumbbell(flow(), flow(3, "voice", **VOICE), pairs=4, depth=DEEP, stop=60, client=[pages, video])
    return item(
        "9",
        "Traffic profiles",
        SHOULD,
        "bulk, web, video and voice at once",
        [Case(case, scene)],
        [
            at_most("pages' completion over that without AQM", [case], of("pages", "fct_mean_s"), 1.0, "no worse"),
            at_most("the voice's delay (p95) over that without AQM", [case], late, HALF, "half of it"),
            at_least("the bulk flow's rate over that without AQM", [case], rate(10, 60), HALF),
        ],
    )


def in_a_row() -> Item:
    """10."""
    links = [
        *({"a": f"s{i}", "b": f"r{i // 2}", "rate": "100 Mbps", "delay": "2 ms"} for i in range(4)),
        {"a": "r0", "b": "r1", "rate": f"{RATE:g} Mbps", "delay": "8 ms"},
        {"a": "r1", "b": "r2", "rate": f"{RATE:g} Mbps", "delay": "8 ms", "queue": "second"},
        *({"a": f"r{1 if i == 1 else 2}", "b": f"d{i}", "rate": "100 Mbps", "delay": "2 ms"} for i in range(4)),
    ]
    cases = []
    for name, second in (("then PIE", {"kind": "pie"}), ("then a plain queue", {"kind": "drop-tail"})):
        crossing = [flow(1, "first"), *(flow(i, "second", jitter="500 ms") for i in (2, 3))]
        scene = {
            "stop": "60 s",
            "topology": {"links": links},
            "queues": {"second": second | {"limit": f"{queue_bytes(RATE, TRIP, DEEP)} B"}},
            **around(RATE, TRIP, DEEP, 60.0),
            "flow": [flow(), *crossing],
        }
        cases.append(Case(name, scene))
    names = [case.name for case in cases]
    return item(
        "10",
        "Several AQMs in a row",
        SHOULD,
        "two bottlenecks, with cross traffic at each",
        cases,
        [
            at_most("mean wait at the first over that without AQM", names, wait(10, 60), HALF, "half of it"),
            at_least("rate through both over that without AQM", names, rate(10, 60), HALF),
            at_least("rate at the first over that without AQM", names, rate(10, 60, "first"), AFTER),
        ],
    )


# Kinds that can have a scheduler.
SCHEDULED = ("codel", "pie", "red")


def scheduling() -> Item:
    """13."""
    voice = flow(4, "voice", **VOICE)
    plain_, fair = "without", "with fair queueing"
    scene = dumbbell(*flows(4), voice, depth=DEEP)
    own = {kind: {"kind": kind, "scheduler": "fq"} for kind in SCHEDULED}
    return Item(
        "13",
        "Interaction with scheduling",
        SHOULD,
        "the same AQM with a scheduler",
        [Case(plain_, scene, mine=True), Case(fair, scene | {"queues": own}, mine=True)],
        [
            over_own("rate over that without", fair, plain_, rate()),
            Measure(
                "the voice's delay (p95) over that without",
                "times",
                [fair],
                lambda runs, name: late(runs.me(name)) / late(runs.me(plain_)),
                1.0,
                "no worse",
                figure=late,
            ),
        ],
        lambda subject: (
            queued(subject)
            or ("" if subject.entry.column.queue in SCHEDULED else "it has a scheduler, or can have none")
        ),
    )


ITEMS = [
    senders(),
    unlike(),
    bursts(),
    stability(),
    profiles(),
    in_a_row(),
    ecn(),
    scheduling(),
]
