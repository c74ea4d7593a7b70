"""RFC 9743, §5 to §7, as scenarios, measures and bounds: an entry for each criterion.

Section numbers are the RFC's. *MUST* and *SHOULD* are its words, also where it writes "should"; "ought", "can" and
"could" are *consider*.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from importlib.resources import files

from midpath.evaluate.facts import BACK, SUBJECT, Facts
from midpath.evaluate.items import (
    AFTER,
    BREAKER,
    CONSIDER,
    HALF,
    LOSS,
    MUST,
    REFERENCES,
    SHOULD,
    STARVED,
    USE,
    WAIT,
    Case,
    Item,
    Value,
    added,
    added_to_own,
    at_least,
    at_most,
    harm,
    over_own,
    plain,
)
from midpath.evaluate.scenes import (
    MTU,
    RATE,
    STOP,
    TRIP,
    Scene,
    around,
    arrivals,
    down,
    dumbbell,
    fades,
    flow,
    flows,
    loses,
    plain_bottleneck,
    vary,
)
from midpath.stats import jain

# From here on a flow is taken to be in its steady state.
WARM = 10.0
VICTIM = "victim"
ECN = {"newreno": {"ecn": True}, "cubic": {"ecn": True}}


def rate(start: float = WARM, end: float = STOP, group: str = SUBJECT) -> Value:
    """Goodput in a time."""
    return lambda facts: facts.goodput(start, end, group)


def wait(start: float = WARM, end: float = STOP) -> Value:
    """Mean wait at the bottleneck in a time."""
    return lambda facts: facts.wait(start, end)


def lost(facts: Facts) -> float:
    """Share that the bottleneck dropped."""
    return facts.lost


def steady(facts: Facts) -> float:
    """Goodput in the last three quarters."""
    stop = float(facts.told["simulated_s"])
    return facts.goodput(stop / 4, stop)


def of(group: str, key: str) -> Value:
    """A figure of a group."""
    return lambda facts: facts.figure(group, key)


def collapse() -> Item:
    """5.1.1."""
    # Of a time of 38 s without any feedback, after the first 5 s.
    start, end = 10.0, 48.0
    return Item(
        "5.1.1",
        "Protection against congestion collapse",
        SHOULD,
        "under persistent loss, back off fully or stop",
        [
            Case("outage", dumbbell(flow(), stop=50, fault=[down(5, 49)]), look=12.0),
            Case("30 % lost", dumbbell(flow(), stop=60, vary=[vary(loss=loses(0.3))]), dead=True),
        ],
        [
            plain(
                "sent while nothing comes back, from 5 s on",
                "bytes",
                ["outage"],
                lambda facts: facts.mean("port:s0>r0 throughput_bps", start, end) * (end - start) / 8,
                10 * MTU,
                "RFC 8961, §4 (4), RFC 6298, (5.5): timeouts double; from 200 ms on three fall into 38 s, and a packet "
                "each is a third of this",
                level=MUST,
            ),
            at_most(
                "packets sent over TCP's",
                ["30 % lost"],
                of(SUBJECT, "sent_packets"),
                BREAKER,
                f"RFC 8083, §4.3: {BREAKER:g} times TCP's rate is where a circuit breaker ends a flow",
            ),
        ],
    )


def bufferbloat() -> Item:
    """5.1.2."""
    stop, warm = 100.0, 20.0
    return Item(
        "5.1.2",
        "Protection against bufferbloat",
        SHOULD,
        "avoid excessive queues",
        [Case("a deep queue", dumbbell(flow(), depth=5, stop=stop), look=50.0)],
        [
            at_most("mean wait over TCP's", ["a deep queue"], wait(warm, stop), 1.1),
            plain(
                "least wait of any 5 s",
                "seconds",
                ["a deep queue"],
                lambda facts: facts.least("port:r0>r1 queue_bytes", warm, stop, 5.0) * 8 / facts.core["rate_bps"],
                TRIP / 1000,
                "RFC 8289, §3: a good queue is gone within a round trip; what stays is a standing queue",
                level=CONSIDER,
            ),
        ],
    )


def high_loss() -> Item:
    """5.1.3."""
    cases = [Case(f"{depth:g} BDP", dumbbell(*flows(8), rate=40, depth=depth)) for depth in (0.25, 1.0)]
    return Item(
        "5.1.3",
        "Protection against high packet loss",
        SHOULD,
        "cause no high rates of loss, whatever the queue's depth",
        cases,
        [added("loss above TCP's", [case.name for case in cases], lost, LOSS)],
    )


def own_fairness() -> Item:
    """5.1.4."""
    stop, warm = 100.0, 40.0
    four = [flow(i, f"{SUBJECT}{i or ''}", start=f"{3 * i} s") for i in range(4)]
    late = [flow(), flow(1, "late", start="40 s")]
    unlike = dumbbell(flow(), flow(1, "far"), trip=20, stop=stop)
    unlike["topology"]["access_delays"] = ["1 ms", "41 ms"]

    def shares(facts: Facts) -> float:
        return jain([facts.goodput(warm, stop, f"{SUBJECT}{i or ''}") for i in range(4)])

    return Item(
        "5.1.4",
        "Fairness within the proposed algorithm",
        CONSIDER,
        "explore how flows of the algorithm share",
        [
            Case("four flows", dumbbell(*four, stop=stop)),
            Case("one comes late", dumbbell(*late, stop=stop)),
            Case("round trips of 20 and 100 ms", unlike),
        ],
        [
            at_least("Jain's index over TCP's", ["four flows"], shares, USE),
            at_least(
                "the late flow's rate over TCP's, 20 to 60 s later", ["one comes late"], rate(60, 100, "late"), HALF
            ),
            at_least(
                "the far flow's rate over TCP's",
                ["round trips of 20 and 100 ms"],
                rate(warm, stop, "far"),
                HALF,
            ),
        ],
    )


def short_flows() -> Item:
    """5.1.5."""
    short = arrivals(range(1, 4), "short", "30 %", "50 kB", STOP - 5)
    return Item(
        "5.1.5",
        "Short flows",
        MUST,
        "how short flows affect long ones, and long ones short ones",
        [Case("short beside long", dumbbell(flow(), rate=20, pairs=4, workload=[short]))],
        [
            at_most("short flows' completion over TCP's", ["short beside long"], of("short", "fct_mean_s"), WAIT),
            at_least("the long flow's rate over TCP's", ["short beside long"], rate(), AFTER),
        ],
    )


def existing() -> Item:
    """5.2.1."""
    cases, alone = [], {}
    for other in REFERENCES:
        for depth in (0.5, 4.0):
            beside = f"{other}, {depth:g} BDP"
            victim = flow(1, VICTIM, scheme=other)
            cases += [
                Case(beside, dumbbell(flow(), victim, depth=depth, stop=120)),
                Case(f"{beside}, alone", dumbbell(victim, depth=depth, stop=120), by=other),
            ]
            alone[beside] = f"{beside}, alone"
        many = f"{other}, five and five"
        victims = flows(5, 5, VICTIM, scheme=other)
        cases += [
            Case(many, dumbbell(*flows(5), *victims, rate=40, stop=120)),
            Case(f"{many}, alone", dumbbell(*victims, rate=40, stop=120), by=other),
        ]
        alone[many] = f"{many}, alone"

    def least_share(facts: Facts) -> float:
        # Half of the bottleneck is fair.
        return facts.least("group:victim goodput_bps", 20, 120, 20.0) / (float(facts.core["rate_bps"]) / 2)

    return Item(
        "5.2.1",
        "Beside existing general-purpose congestion control",
        MUST,
        "harm to NewReno and CUBIC: rate, delay, loss; starvation",
        cases,
        [
            harm("harm to their rate above TCP's", alone, rate(20, 120, VICTIM)),
            harm("harm to their round trip above TCP's", alone, of(VICTIM, "rtt_mean_s"), less_is_better=True),
            added("their loss above that beside TCP", list(alone), lambda facts: facts.lost_of(VICTIM), LOSS),
            plain(
                "their rate in the worst 20 s, of a fair share",
                "ratio",
                list(alone),
                least_share,
                STARVED,
                "§5.2: no starvation",
                at_least=True,
            ),
        ],
    )


def real_time() -> Item:
    """5.2.2."""
    call = {"scream": {"min_rate": "150 kbps", "start_rate": "300 kbps", "max_rate": "1500 kbps"}}
    calls = flow(1, "call", scheme="scream")
    voice = flow(2, "voice", scheme="udp", write="160 B", interval="20 ms")
    net: Scene = {"rate": 4.0, "trip": 50.0, "depth": 2.0, "stop": 60.0, "schemes": call, "pairs": 3}
    alone = {"a call and a voice": "alone"}

    def delay(group: str) -> Value:
        return lambda facts: float(facts.told["datagrams"][group]["delay_p95_s"])

    return Item(
        "5.2.2",
        "Beside real-time congestion control",
        SHOULD,
        "coexist with calls, which need a rate and little delay",
        [
            Case("a call and a voice", dumbbell(flow(start="5 s"), calls, voice, **net)),
            Case("alone", dumbbell(calls, voice, **net), by="newreno"),
        ],
        [
            harm("harm to the call's rate above TCP's", alone, rate(20, 60, "call")),
            harm("harm to the call's delay (p95) above TCP's", alone, delay("call"), less_is_better=True),
            harm("harm to the voice's delay (p95) above TCP's", alone, delay("voice"), less_is_better=True),
            added(
                "the voice's loss above that beside TCP",
                list(alone),
                lambda facts: float(facts.told["datagrams"]["voice"]["lost"]),
                LOSS,
            ),
        ],
        missing="calls that run GCC; calls here are SCReAM's and constant frames of 64 kbps",
    )


def others_short_and_long() -> Item:
    """5.2.3."""
    cases, shorts, longs = [], {}, {}
    for other in REFERENCES:
        theirs = arrivals(range(1, 4), VICTIM, "30 %", "50 kB", STOP - 5, scheme=other)
        ours = arrivals(range(1, 4), SUBJECT, "30 %", "50 kB", STOP - 5)
        long = flow(0, VICTIM, scheme=other)
        short, far = f"short {other} beside long", f"long {other} beside short"
        cases += [
            Case(short, dumbbell(flow(), rate=20, pairs=4, workload=[theirs])),
            Case(f"{short}, alone", dumbbell(rate=20, pairs=4, workload=[theirs]), by=other),
            Case(far, dumbbell(long, rate=20, pairs=4, workload=[ours])),
            Case(f"{far}, alone", dumbbell(long, rate=20, pairs=4), by=other),
        ]
        shorts[short], longs[far] = f"{short}, alone", f"{far}, alone"
    return Item(
        "5.2.3",
        "Short and long flows of others",
        MUST,
        "the effect on short and long flows of common algorithms",
        cases,
        [
            harm("harm to short flows' completion above TCP's", shorts, of(VICTIM, "fct_mean_s"), less_is_better=True),
            harm("harm to the long flow's rate above TCP's", longs, rate(WARM, STOP, VICTIM)),
        ],
    )


def incremental() -> Item:
    """5.3.2."""
    one_of_ten = dumbbell(flow(), *flows(9, 1, "cubic", scheme="cubic"), rate=50, stop=60)
    bottleneck = plain_bottleneck(dumbbell(flow()))
    return Item(
        "5.3.2",
        "Incremental deployment",
        MUST,
        "what the first hosts, and hosts before old routers, have of it",
        [Case("a tenth of the hosts", one_of_ten), Case("a bottleneck that does not run it", bottleneck)],
        [
            at_least("its rate among nine of CUBIC over TCP's", ["a tenth of the hosts"], rate(20, 60), HALF),
            at_least("its rate over TCP's", ["a bottleneck that does not run it"], rate(), HALF),
            added("its loss above TCP's", ["a bottleneck that does not run it"], lost, LOSS),
        ],
    )


def tail_drop() -> Item:
    """6.1."""
    cases = []
    # Rates in Mbps and round trips in ms: bandwidth-delay products of 125 B to 1.25 MB.
    for mbps, trip, stop in (
        (0.1, 10.0, 120.0),
        (1.0, 40.0, 60.0),
        (10.0, 20.0, 40.0),
        (10.0, 160.0, 80.0),
        (100.0, 100.0, 40.0),
    ):
        for depth in (0.5, 1.0, 4.0):
            scene = dumbbell(*flows(2), rate=mbps, trip=trip, depth=depth, stop=stop)
            cases.append(Case(f"{mbps:g} Mbps, {trip:g} ms, {depth:g} BDP", scene, tail=True))
    names = [case.name for case in cases]

    return Item(
        "6.1",
        "Paths with tail-drop queues",
        MUST,
        "over a range of rates, delays and queue depths",
        cases,
        [
            at_least("rate over TCP's, worst of 15 paths", names, steady, USE),
            added("loss above TCP's, worst of 15 paths", names, lost, LOSS),
        ],
    )


def tunnels() -> Item:
    """6.2."""
    bleached = dumbbell(flow(), vary=[vary(ecn={"bleach": "100 %"})], schemes=ECN)
    # RFC 6040, §4.1: in compatibility mode the outer header has no ECN, and routers inside drop. In normal mode marks
    # are as without a tunnel.
    ingress = {"link": ["s0", "r0"], "one_way": True, "ecn": {"bleach": "100 %"}}
    cases = [
        Case("routers inside do not know it", plain_bottleneck(dumbbell(flow()))),
        Case("the tunnel's end clears marks", bleached),
        Case("compatibility mode: routers inside drop", dumbbell(flow(), vary=[ingress], schemes=ECN), queue="codel"),
    ]
    names = [case.name for case in cases]
    return Item(
        "6.2",
        "Tunnel behaviour",
        MUST,
        "with explicit signals: routers inside a tunnel may not know the flow",
        cases,
        [
            at_least("rate over TCP's", names, rate(), HALF),
            added("loss above TCP's", names, lost, LOSS),
            at_most("mean wait over TCP's", names, wait(), WAIT),
        ],
        applies=lambda subject: "" if subject.signals else "it takes no explicit signals",
        missing="the outer header's bytes, and congestion control of the tunnel's own",
    )


def wired() -> Item:
    """6.3."""
    cases = [Case("ten flows", dumbbell(*flows(10), rate=100, trip=20))]
    return Item(
        "6.3",
        "Wired paths",
        CONSIDER,
        "the baseline: losses by queues alone, a steady rate",
        cases,
        [
            at_least("rate over TCP's", ["ten flows"], rate(), USE),
            at_most("mean wait over TCP's", ["ten flows"], wait(), WAIT),
        ],
    )


def wireless() -> Item:
    """6.4."""
    # Mbps second by second, as a phone that moves has them.
    rates = (10, 6, 3, 1, 0.5, 2, 8, 10, 4, 7)
    steps = [{"at": f"{i} s", "rate": f"{mbps} Mbps"} for i, mbps in enumerate(rates)]
    jitter = {"law": "exponential", "mean": "4 ms", "max": "40 ms"}
    # Delays fall by as much as time passes: what is sent within 10 ms arrives together.
    one_way = TRIP / 2 * 0.8
    held = [{"at": f"{i} ms", "delay": f"{one_way + 10 - i:g} ms"} for i in range(10)]
    cases = [
        Case("1 % lost", dumbbell(flow(), stop=400, vary=[vary(loss=loses(0.01))])),
        Case("1 % lost in fades", dumbbell(flow(), stop=400, vary=[vary(loss=fades(0.01))])),
        Case("a varying rate", dumbbell(flow(), stop=60, depth=3, vary=[vary(steps=steps, repeat="10 s")])),
        Case("delays of the medium", dumbbell(flow(), stop=60, vary=[vary(jitter=jitter)])),
        Case("aggregated frames", dumbbell(flow(), stop=60, vary=[vary(steps=held, repeat="10 ms")])),
    ]
    return Item(
        "6.4",
        "Wireless paths",
        SHOULD,
        "losses by radio, a varying rate, jitter of medium access and of repetitions on the link",
        cases,
        [
            at_least("rate over TCP's", [case.name for case in cases], steady, USE),
            at_most("mean wait over TCP's", ["a varying rate"], wait(WARM, 60), WAIT),
        ],
        missing="ARQ that waits for its own repetitions",
    )


def aqm() -> Item:
    """7.1."""
    queues = ("codel", "fq_codel", "pie", "dualpi2")
    cases = [Case(queue, dumbbell(*flows(2), depth=4, schemes=ECN), queue=queue) for queue in queues]
    return Item(
        "7.1",
        "Active queue management",
        SHOULD,
        "under FQ-CoDel, PIE, L4S; answer marks as its codepoint asks",
        cases,
        [
            at_least("rate over TCP's with ECN", queues, rate(), USE),
            at_most("mean wait over TCP's with ECN", queues, wait(), WAIT),
        ],
        missing="CAKE; RFC 9331's requirements are a suite of their own",
    )


def breakers() -> Item:
    """7.2."""
    scene = dumbbell(flow(), stop=60)
    scene["topology"]["bottleneck"] |= {"rate": "100 Mbps"}
    scene["queues"] = {"policed": {"kind": "policer", "rate": "10 Mbps", "burst": "50 kB"}}
    # Equipment that runs nothing else.
    scene["deploy"] = [{}, {"scheme": "none", "queue": "policed", "ports": ["r0>r1", "r1>r0"]}]

    def over_equation(facts: Facts) -> float:
        """What is sent over Mathis et al.'s TCP with this loss and round trip."""
        own = facts.group(SUBJECT)
        share = own["lost_packets"] / max(1, own["sent_packets"])
        sent = own["sent_packets"] * MTU * 8 / facts.told["simulated_s"]
        return float(sent * (own["rtt_mean_s"] or TRIP / 1000) * math.sqrt(share) / (math.sqrt(1.5) * MTU * 8))

    return Item(
        "7.2",
        "Circuit breakers and policers",
        CONSIDER,
        "stay within what network equipment allows a flow",
        [Case("a policer of 10 Mbps", scene)],
        [
            plain(
                "sent over TCP's equation",
                "times",
                ["a policer of 10 Mbps"],
                over_equation,
                BREAKER,
                f"RFC 8083, §4.3: {BREAKER:g} times TCP's rate ends a flow",
            ),
            added("loss above TCP's", ["a policer of 10 Mbps"], lost, LOSS),
            at_least("rate over TCP's", ["a policer of 10 Mbps"], rate(WARM, 60), HALF),
        ],
        missing="a breaker that ends the flow (RFC 8084)",
    )


def varying_delay() -> Item:
    """7.3."""
    one_way = TRIP / 2 * 0.8
    steps = [{"at": "15 s", "delay": f"{one_way + 30} ms"}, {"at": "30 s", "delay": f"{one_way} ms"}]
    saw = [{"at": f"{20 * i} ms", "delay": f"{one_way + 5 * i} ms"} for i in range(5)]
    cases = [
        Case("60 ms more, and less again", dumbbell(flow(), stop=45, vary=[{"link": ["r0", "r1"], "steps": steps}])),
        Case("20 ms more in each 100 ms", dumbbell(flow(), stop=45, vary=[vary(steps=saw, repeat="100 ms")])),
    ]
    names = [case.name for case in cases]
    return Item(
        "7.3",
        "Paths with varying delay",
        SHOULD,
        "robust when the least delay changes",
        cases,
        [
            at_least("rate over TCP's, 5 to 15 s after the rise", names, rate(20, 30), AFTER),
            at_least("rate over TCP's, 5 to 15 s after the fall", names, rate(35, 45), AFTER),
        ],
    )


def constrained() -> Item:
    """7.4."""
    cases = [Case("100 kbps, 200 ms", dumbbell(*flows(2), rate=0.1, trip=200, stop=200), look=60.0)]
    names = [case.name for case in cases]

    def control(facts: Facts) -> float:
        return float(facts.told["ports"][BACK]["bytes"] / max(1, facts.group(SUBJECT)["delivered_bytes"]))

    return Item(
        "7.4",
        "Internet of Things and constrained nodes",
        CONSIDER,
        "rates of a few packets per round trip; the volume of control packets",
        cases,
        [
            at_least("rate over TCP's", names, rate(50, 200), USE),
            added("loss above TCP's", names, lost, 0.05, "5 % more than TCP: a queue of four packets"),
            at_most("bytes back per byte over TCP's", names, control, 2.0, "twice TCP's acknowledgements"),
        ],
        missing="energy, and a CPU's limits",
    )


def high_delay() -> Item:
    """7.5."""
    cases = [Case("600 ms", dumbbell(flow(), trip=600, stop=120), look=60.0)]
    return Item(
        "7.5",
        "Paths with high delay",
        CONSIDER,
        "satellites: 600 ms",
        cases,
        [
            at_least("rate over TCP's", ["600 ms"], rate(30, 120), USE),
            added("loss above TCP's", ["600 ms"], lost, LOSS),
        ],
    )


def misbehaving() -> Item:
    """7.6."""
    cleared = dumbbell(*flows(2), vary=[vary(ecn={"bleach": "100 %"})], schemes=ECN)
    flood = flow(1, "flood", scheme="udp", rate="5 Mbps")
    return Item(
        "7.6",
        "Misbehaving nodes",
        SHOULD,
        "senders, receivers and routers that do not comply",
        [
            Case("a router clears marks", cleared, queue="codel"),
            Case("half of the rate is a flood", dumbbell(flow(), flood)),
            Case("a receiver divides ACKs", dumbbell(flow()), own={"receiver": "divides-acks"}, mine=True),
            Case("a receiver is optimistic", dumbbell(flow()), own={"receiver": "optimistic-acks"}, mine=True),
            Case("a receiver complies", dumbbell(flow()), mine=True),
        ],
        [
            at_most("mean wait over TCP's with ECN", ["a router clears marks"], wait(), WAIT),
            at_least("rate over TCP's", ["half of the rate is a flood"], rate(), AFTER),
            added("loss above TCP's", ["half of the rate is a flood"], lost, LOSS),
            added_to_own(
                "loss above its own with a receiver that complies",
                "a receiver divides ACKs",
                "a receiver complies",
                lost,
                LOSS,
                "RFC 3465, §2.1: who counts bytes gives nothing for more ACKs",
            ),
            added_to_own(
                "loss above its own, ACKs of what has not come",
                "a receiver is optimistic",
                "a receiver complies",
                lost,
                LOSS,
                "Savage et al., 1999: TCP has no defence",
                level=CONSIDER,
            ),
        ],
        missing="receivers that withhold acknowledgements; attacks from outside but INRPP's",
    )


def reordering() -> Item:
    """7.7."""
    jitter = {"law": "uniform", "max": "20 ms", "reorder": True}
    cases = [Case("reordered", dumbbell(flow(), vary=[vary(jitter=jitter)])), Case("in order", dumbbell(flow()))]

    return Item(
        "7.7",
        "Extreme packet reordering",
        CONSIDER,
        "do not presume that packets come in order (RFC 4653)",
        cases,
        [over_own("rate over its own in order", "reordered", "in order", rate(), HALF, "half of its own: it works")],
    )


def transients() -> Item:
    """7.8."""
    crowd = [one | {"size": "100 kB"} for one in flows(20, 1, "crowd", start="15 s")]
    flaps = [down(at, at + 1) for at in range(12, 38, 5)]
    cases = [
        Case("20 short flows at once", dumbbell(flow(), *crowd, stop=45), look=16.0),
        Case("2 s without a link", dumbbell(flow(), stop=45, fault=[down(15, 17)]), look=18.0),
        Case("1 s of 5 without a link", dumbbell(flow(), stop=45, fault=flaps), look=13.5),
    ]
    return Item(
        "7.8",
        "Transient events",
        SHOULD,
        "sudden congestion, links that come and go",
        cases,
        [
            at_least("rate over TCP's, 5 to 25 s later", [case.name for case in cases[:2]], rate(20, 40), AFTER),
            at_least("rate over TCP's meanwhile", [cases[2].name], rate(15, 40), AFTER),
            at_most("the crowd's completion (p99) over TCP's", [cases[0].name], of("crowd", "fct_p99_s"), WAIT),
        ],
    )


def path_change() -> Item:
    """7.9."""
    links = [
        {"a": "s0", "b": "r0", "rate": "100 Mbps", "delay": "2 ms"},
        {"a": "r0", "b": "r1", "rate": "10 Mbps", "delay": "16 ms"},
        {"a": "r0", "b": "r2", "rate": "4 Mbps", "delay": "40 ms"},
        {"a": "r2", "b": "r1", "rate": "4 Mbps", "delay": "20 ms"},
        {"a": "r1", "b": "d0", "rate": "100 Mbps", "delay": "2 ms"},
    ]
    scene = {
        "stop": "55 s",
        "topology": {"links": links},
        **around(RATE, TRIP, 1.0, 55.0),
        "routing": {"reconverge": "200 ms"},
        "fault": [down(15, 35)],
        "flow": [flow()],
    }
    case = "15 to 35 s by a path of 4 Mbps and 128 ms"
    return Item(
        "7.9",
        "Sudden changes in the path",
        MUST,
        "robust to other paths, at the pace of rerouting",
        [Case(case, scene, look=16.0)],
        [
            at_least("rate over TCP's on the other path", [case], rate(25, 35), AFTER),
            at_least("rate over TCP's back again", [case], rate(45, 55), AFTER),
            added("its packets lost above TCP's", [case], lambda facts: facts.lost_of(SUBJECT), LOSS),
        ],
    )


def multipath() -> Item:
    """7.10."""

    def host(name: str, routers: Sequence[str], mbps: float = 100) -> list[Scene]:
        return [{"a": name, "b": router, "rate": f"{mbps:g} Mbps", "delay": "2 ms"} for router in routers]

    def links(*core: Scene) -> Scene:
        nodes = [{"name": name, "kind": "host"} for name in ("s0", "d0", "s1", "d1")]
        return {"links": [*core], "nodes": nodes}

    def join(a: str, b: str, mbps: float, delay: float) -> Scene:
        return {"a": a, "b": b, "rate": f"{mbps:g} Mbps", "delay": f"{delay:g} ms"}

    # As many links for all, so that none is nearer.
    ends = [*host("s1", ["a2"]), join("a2", "r0", 100, 1), *host("d1", ["r1"]), *host("d0", ["r1"])]
    shared = links(
        *host("s0", ["a0", "a1"]), join("a0", "r0", 100, 1), join("a1", "r0", 100, 1), join("r0", "r1", RATE, 16), *ends
    )
    apart = links(*host("s0", ["r0", "a1"]), join("r0", "r1", RATE, 16), join("a1", "r1", RATE, 16), *ends)
    around_ = {"stop": "60 s", **around(RATE, TRIP, 1.0, 60.0)}
    victim = flow(1, VICTIM, scheme="newreno")
    alone = {"one bottleneck": "one bottleneck, alone"}

    def survives(facts: Facts) -> float:
        return facts.goodput(25, 60) / (RATE * 1e6)

    return Item(
        "7.10",
        "Multipath transport",
        MUST,
        "harm at a shared bottleneck; a path that fails",
        [
            Case("one bottleneck", {**around_, "topology": shared, "flow": [flow(), victim]}),
            Case("one bottleneck, alone", {**around_, "topology": shared, "flow": [victim]}, by="newreno"),
            Case(
                "one of two paths fails",
                {**around_, "topology": apart, "flow": [flow()], "fault": [down(20, 59)]},
                look=21.0,
            ),
        ],
        [
            harm("harm to NewReno's rate above TCP's", alone, rate(20, 60, VICTIM)),
            plain(
                "rate over the path that is left",
                "ratio",
                ["one of two paths fails"],
                survives,
                HALF,
                "no starvation, §7.10: half of that path",
                at_least=True,
            ),
        ],
        applies=lambda subject: "" if subject.multipath else "a flow has one path",
        missing="failover of many flows at once",
    )


def data_centres() -> Item:
    """7.11."""
    mbps, trip, stop = 1000.0, 0.1, 0.5
    # Timers as data centres set them.
    timers = tomllib.loads((files("midpath") / "matrix/rows/incast.toml").read_text(encoding="utf-8"))["schemes"]
    burst = {
        "group": SUBJECT,
        "sizes": {"kind": "fixed", "size": "64 kB"},
        "matrix": {"kind": "pairs", "pairs": [[f"s{i}", "d0"] for i in range(16)]},
        "arrivals": {"kind": "periodic", "interval": "50 ms", "jitter": "10 us"},
        "until": "250 ms",
    }
    net: Scene = {"rate": mbps, "trip": trip, "depth": 20.0, "stop": stop, "schemes": timers}
    tcp = {key: timers["newreno"][key] for key in ("initial_rto", "min_rto")}
    victim = flow(1, VICTIM, jitter="10 ms", scheme="cubic")
    alone = {"beside CUBIC": "beside CUBIC, alone"}
    return Item(
        "7.11",
        "Data centres",
        CONSIDER,
        "bursts of many hosts at microseconds; who may be beside it",
        [
            Case("16 answers at once", dumbbell(pairs=16, workload=[burst], **net), tcp=tcp, look=0.05),
            Case("beside CUBIC", dumbbell(flow(jitter="10 ms"), victim, **net), tcp=tcp, look=0.2),
            Case("beside CUBIC, alone", dumbbell(victim, **net), by="cubic"),
        ],
        [
            at_most("completion (p99) over TCP's", ["16 answers at once"], of(SUBJECT, "fct_p99_s"), WAIT),
            harm("harm to CUBIC's rate above TCP's", alone, rate(0.2, stop, VICTIM), level=SHOULD),
        ],
        missing="lossless fabrics, and many switches: `midpath matrix` has rows for these",
    )


def principles() -> Item:
    """5.3.1."""
    return Item(
        "5.3.1",
        "Differences with congestion control principles",
        MUST,
        "explain deviations from RFC 2914 and RFC 7141",
        text="an explanation, which its authors write",
    )


ITEMS = [
    collapse(),
    bufferbloat(),
    high_loss(),
    own_fairness(),
    short_flows(),
    existing(),
    real_time(),
    others_short_and_long(),
    principles(),
    incremental(),
    tail_drop(),
    tunnels(),
    wired(),
    wireless(),
    aqm(),
    breakers(),
    varying_delay(),
    constrained(),
    high_delay(),
    misbehaving(),
    reordering(),
    transients(),
    path_change(),
    multipath(),
    data_centres(),
]
