"""Writes the vectors of this directory: `python tests/vectors/rpm/generate.py`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from model import Params, Port, Queue

HERE = Path(__file__).parent
MS = 1_000_000
SECOND = 1000 * MS
# Any time will do, but 0, which a clock since boot does not show.
START = 10 * SECOND


# What an event and its answer are, but for what they say: a full data packet that leaves after 20 ms in a long queue.
USUAL = {
    "out": {
        "flow": "a",
        "sojourn": 20 * MS,
        "behind": 100_000,
        "bytes": 1500,
        "ecn": "ect0",
        "tcp": True,
        "flags": "ACK",
        "signal": False,
        "verdict": "pass",
        "register": 0,
    },
    "in": {"flow": "a", "flags": "ACK", "ece": False, "register": 0},
}


def out(t: int, flow: str = "a", **more: object) -> dict:
    """A packet that leaves."""
    return {"dir": "out", "t": t} | USUAL["out"] | {"flow": flow} | more


def back(t: int, flow: str = "a", flags: str = "ACK", **more: object) -> dict:
    """A packet that comes back."""
    return {"dir": "in", "t": t} | USUAL["in"] | {"flow": flow, "flags": flags} | more


def every(ms: float, count: int, start: int = START) -> Iterator[int]:
    """Times at a constant distance."""
    return (start + round(i * ms * MS) for i in range(count))


def answered(port: Port, events: list[dict]) -> Iterator[dict]:
    """Each event with its answer. From where a packet would meet the AQM's schedule on, all come some µs later."""
    late = 0
    for event in events:
        while event["dir"] == "out" and port.aqm.near(event["t"] + late):
            late += 5_000
        moved = event | {"t": event["t"] + late}
        yield moved | port.answer(moved)


FILES: dict[str, Callable[[], dict]] = {}


def vector(make: Callable[[], tuple[str, Params, dict[str, int], list[dict]]]) -> None:
    """Registers a file: its name is the function's."""

    def complete() -> dict:
        about, params, places, events = make()
        port = Port(params, places)
        return {
            "about": about,
            "params": {key: value for key, value in asdict(params).items() if key != "window_mib" or value},
            "usual": USUAL,
            "flows": {flow: {"place": place} for flow, place in places.items()},
            "events": list(answered(port, events)),
        }

    FILES[make.__name__.replace("_", "-")] = complete


A = {"a": 0}
# Where the AQM alone is tested, the register counts its marks, and no ACK is needed.
PLAIN = Params(registers="plain")
PLAIN_DATAPLANE = Params("codel-dataplane", registers="plain")


@vector
def step():
    """A threshold."""
    sojourns = [0, MS, 2 * MS - 1, 2 * MS, 2 * MS + 1, 10 * MS]
    events = [back(START)]
    events += [out(START + (i + 1) * MS, sojourn=s) for i, s in enumerate(sojourns)]
    events += [out(START + 10 * MS, ecn="not-ect"), out(START + 11 * MS, behind=0)]
    return "A step signals what waited longer than its threshold, and drops nothing.", Params("step", 2 * MS), A, events


@vector
def codel_marks():
    """The control law, with marks."""
    events = [out(t) for t in every(1, 800)]
    about = "20 ms of delay throughout: the first mark after one interval, gaps of interval/sqrt(n) after that."
    return about, PLAIN, A, events


@vector
def codel_drops():
    """The same with packets that cannot be marked."""
    events = [out(t, ecn="not-ect") for t in every(1, 800)]
    return "Packets that are not ECT are dropped, and each drop looks at the packet behind.", Params(), A, events


@vector
def codel_paper():
    """The paper's 1 ms and 20 ms."""
    events = [out(t, sojourn=3 * MS) for t in every(0.1, 1500)]
    return (
        "Target 1 ms, interval 20 ms, as in the paper's §V-B.",
        replace(PLAIN, target_ns=MS, interval_ns=20 * MS),
        A,
        events,
    )


@vector
def codel_content():
    """What resets CoDel."""
    # Below target once at 90 ms and at 400 ms; with no more than an MTU left at 600 ms.
    calm = {90: {"sojourn": 5 * MS - 1}, 400: {"sojourn": 0}, 600: {"behind": 1500}}
    events = [out(t, **calm.get(i, {"behind": 1501})) for i, t in enumerate(every(1, 900))]
    return "A packet below target, or with one MTU or less behind it, ends the dropping state.", PLAIN, A, events


@vector
def codel_again():
    """Memory of the last rate."""
    events, now = [], START
    # Out of the state for 100 ms, then for 3 s, which is longer than 16 intervals.
    for calm_ms in (100, 3000, 100):
        events += [out(t) for t in every(1, 450, now)]
        now += 450 * MS
        events.append(out(now, sojourn=0))
        now += calm_ms * MS
    return "Back in the dropping state within 16 intervals, the last rate is where it starts.", PLAIN, A, events


@vector
def codel_traffic():
    """A queue with bursts."""
    params = Params(target_ns=2 * MS, interval_ns=30 * MS)
    return "Bursts of several flows over 20 Mbps, with packets of both kinds.", params, _many(4), _traffic(11, 4, 1000)


@vector
def codel_traffic_shared():
    """The same with fewer registers than flows."""
    params = Params(target_ns=MS, interval_ns=20 * MS, register_max=3)
    return "The paper's 1 and 20 ms, twelve flows on six registers.", params, _many(12, 2), _traffic(12, 12, 1000)


@vector
def codel_dataplane_traffic():
    """The data plane under bursts."""
    params = Params("codel-dataplane", target_ns=MS, interval_ns=20 * MS)
    return "Bursts of several flows over 20 Mbps, data-plane variant.", params, _many(6), _traffic(13, 6, 1000)


@vector
def step_traffic():
    """A step under bursts."""
    params = _step(mode="both", registers="plain")
    return (
        "Bursts of several flows over 20 Mbps, a step, both ways, plain registers.",
        params,
        _many(6, 2),
        _traffic(14, 6, 800),
    )


@vector
def aggregate_traffic():
    """One register under bursts."""
    params = Params(target_ns=MS, interval_ns=20 * MS, aggregate=True)
    return "Bursts of several flows over 20 Mbps, one register for all.", params, _many(6), _traffic(15, 6, 800)


@vector
def codel_dataplane_marks():
    """The data plane's schedule."""
    events = [out(t) for t in every(1, 800)]
    about = "The first mark one interval after the first violation, the next interval/sqrt(2) after its schedule."
    return about, PLAIN_DATAPLANE, A, events


@vector
def codel_dataplane_late():
    """Marks that fall due while no packet leaves."""
    # Nothing leaves between 150 and 400 ms: what fell due is made up for, one mark a packet.
    events = [out(t) for i, t in enumerate(every(1, 700)) if not 150 <= i < 400]
    return "The schedule does not move with the packets: what is late is made up for.", PLAIN_DATAPLANE, A, events


@vector
def codel_dataplane_clears():
    """No memory."""
    calm = {350: {"sojourn": 5 * MS - 1}, 600: {"behind": 0}}
    events = [out(t, **calm.get(i, {})) for i, t in enumerate(every(1, 900))]
    about = "One packet below target clears the state; the length of the queue says nothing."
    return about, PLAIN_DATAPLANE, A, events


@vector
def codel_dataplane_wraps():
    """32 bits of time."""
    # 2^32 ns come round twice in here: at 12.885 s and at 17.180 s.
    start = 3 * 2**32 - 300 * MS
    events = [out(t) for t in every(4, 1200, start)]
    return "Time wraps after 4.29 s without a mark too many or too few.", PLAIN_DATAPLANE, A, events


def _step(**more: object) -> Params:
    return Params("step", 2 * MS, **more)


@vector
def algorithm1():
    """Lines 1 to 10."""
    places = {"a": 0, "b": 1, "c": 1}
    events, t = [], START
    for flow, signals in (("a", 3), ("b", 2), ("c", 1), ("a", 1)):
        for _ in range(signals):
            t += MS
            events.append(out(t, flow))
    for flow in "cbbbaaaaaab":
        t += MS
        events.append(back(t, flow, "ACK ECE" if flow == "a" else "ACK"))
    about = "One more for each signal, one less and ECE for each ACK, without limits of age; b and c share a register."
    return about, _step(registers="plain"), places, events


@vector
def saturation():
    """A full register."""
    events = [back(START)]
    events += [out(START + (i + 1) * MS) for i in range(6)]
    events += [back(START + (i + 10) * MS) for i in range(6)]
    return "A register holds register_max signals.", _step(register_max=4), A, events


def _queued(about, **params):
    """Signals of a queue that drains: twelve of 1.5 kB each, then ACKs beside packets that leave less and less."""
    events = [back(START)]
    events += [out(START + (i + 1) * MS, behind=20_000) for i in range(12)]
    events += [back(START + 13 * MS)]
    t = START + 13 * MS
    for behind in (20_000, 16_384, 16_383, 8_192, 6_000, 2_047, 0):
        t += MS
        events += [out(t, behind=behind, sojourn=MS, ecn="not-ect" if behind == 6_000 else "ect0"), back(t + 1000)]
    events += [back(t + 2000)]
    return about, _step(**params), A, events


@vector
def queued():
    """No more signals than packets wait."""
    return _queued(
        "An ACK finds no more signals than one, and one for each 2 KiB that the last packet has left behind."
    )


@vector
def queued_aggregate():
    """The same of one register for all."""
    return _queued("The same with one register for all flows.", aggregate=True)


@vector
def queued_plain():
    """Algorithm 1's counters keep their signals."""
    return _queued("Algorithm 1 keeps its signals when the queue has gone.", registers="plain")


@vector
def ways():
    """What a chosen packet gets."""
    events, t = [back(START)], START
    for ecn in ("not-ect", "ect1", "ect0", "ce"):
        for tcp, flags in ((True, "ACK"), (True, "RST"), (True, "FIN ACK"), (True, "AE ACK"), (False, "")):
            t += MS
            events.append(out(t, ecn=ecn, tcp=tcp, flags=flags))
            events.append(back(t + 1000))
        t += MS
        events += [out(t, "b", ecn=ecn, flags="SYN"), out(t + 1000, "b", ecn=ecn, flags="SYN ACK")]
    events += [out(t + MS), back(t + 2 * MS, flags="RST ACK"), back(t + 3 * MS, flags="FIN"), back(t + 4 * MS)]
    return "Each ECN field with each kind of packet.", _step(), {"a": 0, "b": 1}, events


@vector
def ways_codel():
    """The same under CoDel."""
    # A single packet after 150 ms of delay is chosen; after it, one below target ends the state.
    events, t = [back(START)], START
    kinds = [("not-ect", True, "ACK"), ("not-ect", False, ""), ("not-ect", True, "SYN ECE CWR"), ("ect0", True, "SYN")]
    for ecn, tcp, flags in kinds:
        events += [out(t), out(t + 150 * MS, ecn=ecn, tcp=tcp, flags=flags), back(t + 150 * MS + 1000)]
        events += [out(t + 151 * MS), out(t + 152 * MS, sojourn=0), back(t + 153 * MS)]
        t += 300 * MS
    return "CoDel drops what is not ECT, a SYN like any; an ECT SYN passes.", Params(), A, events


@vector
def modes_both():
    """Both ways."""
    events = [back(START), out(START + MS), out(START + 2 * MS), back(START + 3 * MS), back(START + 4 * MS)]
    events += [back(START + 5 * MS), out(START + 6 * MS, ecn="ce"), back(START + 7 * MS)]
    return "A signal goes into the register and forward.", _step(mode="both"), A, events


@vector
def modes_fwd():
    """Forward only."""
    events = [back(START), out(START + MS), back(START + 2 * MS), out(START + 3 * MS, flags="SYN")]
    return "CoDel-FWD: registers are not used.", _step(mode="fwd"), A, events


@vector
def modes_off():
    """The shaper alone."""
    events = [back(START), out(START + MS), out(START + 2 * MS, ecn="not-ect"), back(START + 3 * MS)]
    return "No signals.", Params(mode="off"), A, events


@vector
def no_acks():
    """ACKs by another way, and ways that change."""
    t = START
    events = [out(t), out(t + MS)]
    # They come back after all; then no more, with three signals waiting.
    events += [back(t + 10 * MS), out(t + 11 * MS), back(t + 12 * MS)]
    events += [out(t + 500 * MS), out(t + 501 * MS), out(t + 502 * MS)]
    events += [out(t + 1100 * MS), out(t + 1101 * MS), back(t + 1200 * MS), out(t + 1201 * MS), back(t + 1202 * MS)]
    # Signals that waited longer than the age are not worth an ACK any more.
    events += [out(t + 1300 * MS), back(t + 2500 * MS), back(t + 2501 * MS)]
    return "Nothing came back for a second: forward.", _step(), A, events


@vector
def collisions():
    """Two flows, one register."""
    t, places = START, {"a": 3, "b": 3}
    events = [back(t, "a"), back(t + MS, "b"), out(t + 2 * MS, "a"), out(t + 3 * MS, "b")]
    events += [back(t + 4 * MS, "b"), back(t + 5 * MS, "a"), out(t + 6 * MS, "a")]
    # a falls silent; b takes the register over, and what a's signals are worth is gone.
    events += [back(t + 1500 * MS, "b"), out(t + 1501 * MS, "b"), back(t + 1502 * MS, "a"), back(t + 1503 * MS, "b")]
    # b falls back, a asks for nothing in between.
    events += [out(t + 2700 * MS, "b"), out(t + 2701 * MS, "a"), back(t + 2702 * MS, "b"), out(t + 2703 * MS, "b")]
    return (
        "A register that is another's is left alone, until that one has been silent for a second.",
        _step(),
        places,
        events,
    )


@vector
def connections():
    """SYNs of flows that own a register."""
    t = START
    events = [back(t, flags="SYN ACK"), out(t + MS), back(t + 2 * MS), out(t + 3 * MS), out(t + 4 * MS)]
    # The ports are used again: two signals were for the old connection.
    events += [out(t + 5 * MS, ecn="not-ect", flags="SYN"), back(t + 6 * MS, flags="SYN ACK"), back(t + 7 * MS)]
    # A bare SYN owns nothing; a SYN-ACK that goes out does not show that anything comes back, the ACK after it does.
    events += [back(t + 8 * MS, "b", "SYN"), out(t + 9 * MS, "b"), back(t + 10 * MS, "c", "SYN")]
    events += [
        out(t + 11 * MS, "c", flags="SYN ACK"),
        back(t + 12 * MS, "c"),
        out(t + 13 * MS, "c"),
        back(t + 14 * MS, "c"),
    ]
    # A flow that fell back stays there over its own SYN.
    events += [out(t + 15 * MS, "b", flags="SYN"), out(t + 16 * MS, "b"), back(t + 17 * MS, "b", "SYN ACK")]
    events += [out(t + 18 * MS, "b"), back(t + 19 * MS, "b", "ACK"), back(t + 20 * MS, "b", "ACK")]
    return (
        "Registers begin with what comes back, and again with each connection.",
        _step(),
        {"a": 0, "b": 1, "c": 2},
        events,
    )


@vector
def accecn():
    """Negotiated in the handshake."""
    events, t = [], START
    answers = ["", "ECE", "CWR", "CWR ECE", "AE", "AE ECE", "AE CWR", "AE CWR ECE"]
    flows = {f"{side}{i}": 8 * n + i for n, side in enumerate(("client-", "server-")) for i in range(len(answers))}
    for i, ace in enumerate(answers):
        # A client whose data go out, and a client on the far side whose server's data go out.
        for flow, to in (
            (f"client-{i}", lambda t, f, g: out(t, f, flags=g, ecn="not-ect")),
            (f"server-{i}", back),
        ):
            other = back if to is not back else (lambda t, f, g: out(t, f, flags=g, ecn="not-ect"))
            t += MS
            events += [to(t, flow, "SYN AE CWR ECE"), other(t + 1000, flow, f"SYN ACK {ace}".strip())]
            events += [back(t + 2000, flow), out(t + 3000, flow), back(t + 4000, flow), back(t + 5000, flow)]
    return "Each answer to a SYN that asks for AccECN, seen from both sides.", _step(), flows, events


@vector
def accecn_learnt():
    """Without the handshake."""
    t, places = START, {"a": 0, "b": 0, "c": 1}
    # AE tells, and what waits is dropped; later ACKs without AE are left alone, too.
    events = [back(t), out(t + MS), back(t + 2 * MS, flags="ACK AE ECE"), out(t + 3 * MS), back(t + 4 * MS)]
    # b asks while a owns their register: nothing is known of b, but its SYN-ACK tells once a is silent.
    events += [out(t + 5 * MS, "b", ecn="not-ect", flags="SYN AE CWR ECE"), back(t + 1200 * MS, "b", "SYN ACK CWR")]
    events += [out(t + 1201 * MS, "b"), back(t + 1202 * MS, "b")]
    # A new connection without AccECN.
    events += [out(t + 1203 * MS, "b", ecn="not-ect", flags="SYN CWR ECE"), back(t + 1204 * MS, "b", "SYN ACK ECE")]
    events += [out(t + 1205 * MS, "b"), back(t + 1206 * MS, "b")]
    events += [back(t + 1207 * MS, "c", "ACK AE"), out(t + 1208 * MS, "c"), out(t + 1209 * MS, "c", flags="ACK AE")]
    return "AE outside the handshake is AccECN.", _step(), places, events


@vector
def accecn_plain():
    """All that plain registers know."""
    events = [out(START), out(START + MS, flags="ACK AE"), back(START + 2 * MS, flags="ACK AE"), back(START + 3 * MS)]
    return "With plain registers a packet's own AE is all that tells.", _step(registers="plain"), A, events


@vector
def data_both_ways():
    """Data packets are ACKs."""
    events, t = [back(START, "a"), back(START, "b")], START
    for i in range(40):
        t += MS
        events += [
            out(t, "a", sojourn=(3 if i % 3 else 1) * MS),
            back(t + 400_000, "a", "ACK ECE" if i % 5 == 0 else "ACK"),
        ]
        events += [out(t + 500_000, "b", bytes=52, sojourn=(3 if i % 4 else 1) * MS), back(t + 600_000, "b")]
    return "Two flows with data and ACKs in both directions.", _step(), {"a": 0, "b": 1}, events


@vector
def aggregate():
    """One register for all."""
    t, places = START, {"a": 0, "b": 1, "c": 2, "d": 3}
    events = [back(t, "a"), back(t, "b"), back(t, "c", "ACK AE"), back(t, "d")]
    # a's signals are told to b as well, once b has sent ECT packets; never to c (AccECN) or d (not ECT).
    events += [out(t + MS, "a"), out(t + 2 * MS, "a"), back(t + 3 * MS, "b"), out(t + 4 * MS, "b", sojourn=MS)]
    events += [out(t + 5 * MS, "c"), out(t + 6 * MS, "d", ecn="not-ect"), back(t + 7 * MS, "c"), back(t + 8 * MS, "d")]
    events += [back(t + 9 * MS, "b"), back(t + 10 * MS, "a"), back(t + 11 * MS, "a")]
    # What nobody came for is dropped when the next signal comes.
    events += [
        out(t + 12 * MS, "a"),
        out(t + 13 * MS, "a"),
        back(t + 1100 * MS, "d"),
        back(t + 1190 * MS, "a", "SYN ACK"),
    ]
    events += [out(t + 1200 * MS, "a", sojourn=MS), out(t + 1201 * MS, "a"), back(t + 1202 * MS, "a")]
    return "All flows of the port share one register (§III-C).", _step(aggregate=True), places, events


@vector
def aggregate_plain():
    """The same to the letter."""
    t, places = START, {"a": 0, "b": 1}
    events = [
        out(t, "a"),
        out(t + MS, "a"),
        back(t + 2 * MS, "b"),
        back(t + 3 * MS, "b", "ACK AE"),
        back(t + 4000 * MS, "a"),
    ]
    return "One register, nothing checked.", _step(aggregate=True, registers="plain"), places, events


WINDOW = 16
MIB = 2**20


def _strangers(start: int) -> list[dict]:
    """A flow whose numbers pass 2^32, and packets in its name by somebody who does not know them."""
    n = 2**32 - 300

    def at(distance: int) -> int:
        return (n + distance) % 2**32

    t = iter(range(start, start + 100 * MS, MS))
    # An ACK, and a SYN-ACK, by somebody who is quicker than the server.
    events = [back(next(t), ack=at(2**30)), back(next(t), flags="SYN ACK", ack=at(2**29)), out(next(t), seq=at(1))]
    events += [back(next(t), flags="SYN ACK", ack=at(1)), out(next(t), seq=at(1)), back(next(t), ack=at(2**30))]
    events += [*(back(next(t), ack=at(1)) for _ in range(3)), out(next(t), seq=at(1))]
    # What lies at the window's ends, and what lies outside.
    ends = [WINDOW * MIB, WINDOW * MIB + 2 * MIB, -WINDOW * MIB, -WINDOW * MIB - 2 * MIB, 2**31]
    # Upper bits are compared: n is in the last of 2^11 places of 2 MiB, and 300 bytes further the first begins.
    events += [out(next(t), seq=at(1 + end)) for end in ends]
    events += [out(next(t), seq=at(300 + end)) for end in ((WINDOW - 2) * MIB, WINDOW * MIB - 1, WINDOW * MIB)]
    events += [back(next(t), ack=at(1 + end)) for end in (ends[1], ends[3], ends[4])]
    events += [back(next(t), ack=at(501)), out(next(t), seq=at(501)), out(next(t), seq=at(2000))]
    # SYNs in the flow's name: of another connection, and such as ask for AccECN.
    events += [back(next(t), flags="SYN"), out(next(t), flags="SYN AE CWR ECE", ecn="not-ect")]
    events += [back(next(t), flags="SYN ACK CWR", ack=at(2**30)), out(next(t), seq=at(2000))]
    # One that lies in the window by chance takes a signal; the flow's own ACKs go on.
    events += [back(next(t), ack=at(501 + WINDOW * MIB)), back(next(t), ack=at(1001)), out(next(t), seq=at(2000))]
    # Even of several the flow is not led away further than a step each: its own ACKs still take.
    events += [out(next(t), seq=at(2000)), back(next(t), flags="", ack=at(1501))]
    events += [back(next(t), ack=at((WINDOW + i) * MIB)) for i in range(6)]
    events += [
        out(next(t), seq=at(2000)),
        out(next(t), seq=at(2000)),
        back(next(t), ack=at(1501)),
        back(next(t), ack=at(2001)),
    ]
    # A quarter of the age without an ACK: numbers far away tell where the flow is now.
    quiet = start + 500 * MS
    events += [back(quiet, ack=at(2**30)), out(quiet + MS, seq=at(2**30)), out(quiet + 2 * MS, seq=at(2000))]
    events += [back(quiet + 3 * MS, ack=at(2**30 + 1)), back(quiet + 4 * MS, ack=at(2000))]
    # Another connection between the same ports.
    again = start + 1000 * MS
    events += [out(again, seq=7, flags="SYN", ecn="not-ect"), back(again + MS, flags="SYN ACK", ack=8)]
    events += [out(again + 2 * MS, seq=8), back(again + 3 * MS, ack=8), back(again + 4 * MS, flags="", ack=9)]
    # A flow that fell back is as if nothing were known of it.
    fallen = start + 2500 * MS
    events += [out(fallen, seq=8), out(fallen + MS, seq=at(2**30)), back(fallen + 2 * MS, ack=at(2**30))]
    return [*events, out(fallen + 3 * MS, seq=at(2**30)), back(fallen + 4 * MS, ack=at(2**30 + 1000))]


@vector
def window():
    """Packets in a flow's name."""
    about = "Signals for packets outside the flow's window go forward, and ACKs outside it take none."
    return about, _step(window_mib=WINDOW), A, _strangers(START)


@vector
def window_aggregate():
    """The same with one register for all."""
    about = "One register for all: a stranger's packets neither count nor take."
    return about, _step(window_mib=WINDOW, aggregate=True), A, _strangers(START)


@vector
def window_traffic():
    """Bursts with forged packets among them."""
    rng = random.Random(16)
    sent: dict[str, int] = {}
    acked: dict[str, int] = {}
    events = []
    for given in _traffic(16, 6, 1000):
        event, flow = dict(given), given["flow"]
        if event["dir"] == "out":
            sent[flow] = sent.get(flow, 4_294_000_000) + 1448
            event["seq"] = sent[flow] % 2**32
        else:
            acked[flow] = max(acked.get(flow, 0), sent.get(flow, 4_294_000_000) - 1448 * rng.randint(0, 4))
            event["ack"] = acked[flow] % 2**32
        if rng.random() < 0.2:
            event["seq" if event["dir"] == "out" else "ack"] = rng.randrange(2**32)
        events.append(event)
    params = Params(target_ns=MS, interval_ns=20 * MS, window_mib=WINDOW)
    return (
        "Bursts of several flows over 20 Mbps, a fifth of the packets with numbers of chance.",
        params,
        _many(6, 2),
        events,
    )


def _many(flows: int, per_place: int = 1) -> dict[str, int]:
    return {f"f{i}": i // per_place for i in range(flows)}


def _traffic(seed: int, flows: int, packets: int) -> list[dict]:
    """Bursts through a queue, ACKs some milliseconds behind them."""
    rng = random.Random(seed)
    queue = Queue(20_000_000, 200_000)
    arrivals, t = [], START
    while len(arrivals) < packets:
        t += round(rng.expovariate(1 / (5 * MS)))
        arrivals += [(t + i * 20_000, rng.randrange(flows)) for i in range(rng.randint(1, 25))]
    arrivals = sorted(arrivals)[:packets]
    events: list[dict] = []
    acks: list[tuple[int, str, str]] = []
    now = arrivals[0][0]
    while arrivals or queue.waiting:
        while arrivals and (arrivals[0][0] <= now or not queue.waiting):
            at, flow = arrivals.pop(0)
            now = max(now, at)
            queue.offer(at, rng.choice([1500, 1500, 1500, 90]), _kind(rng, f"f{flow}"))
        for ack in sorted(ack for ack in acks if ack[0] <= now):
            events.append(back(*ack))
            acks.remove(ack)
        event = queue.take(now)
        events.append(event)
        now += event["bytes"] * 8 * SECOND // queue.rate_bps
        if rng.random() < 0.6:
            acks.append(
                (event["t"] + rng.randint(1 * MS, 12 * MS), event["flow"], rng.choice(["ACK"] * 9 + ["ACK ECE"]))
            )
    return events


def _kind(rng: random.Random, flow: str) -> dict:
    ecn = rng.choice(["ect0"] * 12 + ["ect1", "ce", "not-ect", "not-ect"])
    tcp = rng.random() < 0.95
    return {"dir": "out", "t": 0, "flow": flow, "ecn": ecn, "tcp": tcp, "flags": "ACK" if tcp else ""}


def main() -> None:
    """Writes all files, one event a line."""
    for name, make in FILES.items():
        (HERE / f"{name}.json").write_text(text(make()), encoding="utf-8")


def text(found: dict) -> str:
    """As it stands in a file."""
    events = ",\n".join(f"  {json.dumps(_unusual(event))}" for event in found["events"])
    head = "".join(f" {json.dumps(key)}: {json.dumps(found[key])},\n" for key in found if key != "events")
    return f'{{\n{head} "events": [\n{events}\n ]\n}}\n'


def _unusual(event: dict) -> dict:
    usual = USUAL[event["dir"]]
    return {key: value for key, value in event.items() if key not in usual or usual[key] != value}


if __name__ == "__main__":
    main()
