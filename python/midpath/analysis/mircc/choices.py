"""Parameters that the paper leaves open, tried in the model: T in packets, floor, η, R(0) and the cap."""

from __future__ import annotations

import numpy as np

from midpath.analysis.mircc.model import Model, Trace
from midpath.analysis.mircc.network import Flow, Link, Network
from midpath.analysis.mircc.params import Params

C = 10e6
RTT = 0.1
PACKET_BITS = 12e3
JOIN_S = 5.0


def joins(params: Params, before: int, after: int, until: float, dt: float = RTT / 20) -> Trace:
    """`before` flows on a link of 10 Mbps beside the producer, RTT 100 ms; from 5 s on there are `after`."""
    flows = {f"{i}": Flow((("link",),), start=0.0 if i < before else JOIN_S, access=RTT / 2) for i in range(after)}
    return Model(Network({"link": Link(C)}, flows), params, dt).run(until)


def settled_after(trace: Trace, fair: float) -> float:
    """RTTs from the joining until R is within 10 % of a rate for good."""
    late = trace.after(JOIN_S)
    off = np.abs(late.stamp[:, 0, 0] / fair - 1) > 0.1
    return float((late.time[off].max(initial=JOIN_S) - JOIN_S) / RTT)


def interval_in_packets() -> str:
    """How much R deviates when y counts whole Interests."""
    rows = [
        "| T in Data of the link | 1 flow: σ(R)/R | 4 flows | 20 flows | 20 flows: longest queue, Data |",
        "|---|---|---|---|---|",
    ]
    # The RTT is 20 Data; the loop is half of it.
    delay = 10 * PACKET_BITS / C / 2
    for packets in (2, 5, 10, 20, 40):
        cells, longest = [], 0.0
        for n in (1, 4, 20):
            flows = {f"{i}": Flow((("link",),), access=delay) for i in range(n)}
            network = Network({"link": Link(C, delay)}, flows)
            params = Params(interval=packets * PACKET_BITS / C, packet=PACKET_BITS, strategy="best")
            late = Model(network, params, PACKET_BITS / C / 2, seed=3).run(6).after(2)
            stamps = late.stamp[:, 0, 0]
            cells.append(f"{stamps.std() / stamps.mean():.3f}")
            longest = float(late.queue.max() / PACKET_BITS)
        rows.append(f"| {packets} | " + " | ".join(cells) + f" | {longest:.1f} |")
    return "\n".join(rows)


def floors() -> str:
    """Many flows join one: how far R falls, and how long it takes to come back."""
    rows = [
        "| floor / C | 100 flows: lowest R/fair | settled, RTTs | 1,000 flows: lowest R/fair | settled, RTTs |",
        "|---|---|---|---|---|",
    ]
    for floor in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        cells = []
        for n in (100, 1000):
            params = Params(floor=floor, strategy="best")
            fair = params.eta * C / n
            trace = joins(params, 1, n, until=25)
            settled = settled_after(trace, fair)
            never = settled > 0.95 * (25 - JOIN_S) / RTT
            cells += [f"{trace.after(JOIN_S).stamp[:, 0, 0].min() / fair:.3f}", "never" if never else f"{settled:.1f}"]
        rows.append(f"| {floor:g} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def targets() -> str:
    """η: how long the queue of an arrival lasts, and how much is used."""
    rows = [
        "| η | link used at rest | 10 flows join 10: queue gone after, RTTs | Data Nacked, RTTs of the link |",
        "|---|---|---|---|",
    ]
    for eta in (0.85, 0.9, 0.95, 0.98, 1.0):
        trace = joins(Params(eta=eta, strategy="best"), 10, 20, until=25)
        late = trace.after(JOIN_S)
        waiting = late.queue[:, 0] > PACKET_BITS
        gone = (late.time[waiting].max(initial=JOIN_S) - JOIN_S) / RTT
        never = gone > 0.95 * (25 - JOIN_S) / RTT
        used = trace.after(20).arrived.sum(axis=(1, 2)).mean() / C
        nacked = (late.refused[-1, 0] - late.refused[0, 0]) / (C * RTT)
        rows.append(f"| {eta:g} | {used:.3f} | {'never' if never else f'{gone:.1f}'} | {nacked:.2f} |")
    return "\n".join(rows)


def starts() -> str:
    """R(0): what the first flows of a fresh link see."""
    rows = [
        "| R(0) / ηC | 1 flow: 90 % of ηC after, RTTs | 20 flows at once: Nacked, RTTs of the link |",
        "|---|---|---|",
    ]
    for initial in (0.01, 0.05, 0.25, 1.0):
        cells = []
        for n in (1, 20):
            flows = {f"{i}": Flow((("link",),), access=RTT / 2) for i in range(n)}
            trace = Model(Network({"link": Link(C)}, flows), Params(initial=initial, strategy="best"), RTT / 20).run(10)
            if n == 1:
                reached = trace.time[trace.sent[:, 0, 0] >= 0.9 * 0.95 * C].min()
                cells.append(f"{reached / RTT:.1f}")
            else:
                cells.append(f"{trace.refused[-1, 0] / (C * RTT):.2f}")
        rows.append(f"| {initial:g} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def caps() -> str:
    """The cap of R: one flow has had the link's half for long when nine join that take all they are offered."""
    rows = [
        "| cap / ηC | 9 flows join one of C/2: most offered / C | Nacked, RTTs of the link | settled, RTTs |",
        "|---|---|---|---|",
    ]
    for cap in (1.0, 1.0 / 0.95, 2.0, None):
        flows = {"held": Flow((("link",),), access=RTT / 2, demand=C / 2)}
        flows |= {f"{i}": Flow((("link",),), start=JOIN_S, access=RTT / 2) for i in range(9)}
        params = Params(largest=cap, strategy="best")
        trace = Model(Network({"link": Link(C)}, flows), params, RTT / 20).run(25)
        late = trace.after(JOIN_S)
        nacked = (late.refused[-1, 0] - late.refused[0, 0]) / (C * RTT)
        offered = late.offered.sum(axis=(1, 2)).max() / C
        name = "none" if cap is None else f"{cap:.3g}"
        settled = settled_after(trace, params.eta * C / 10)
        never = settled > 0.95 * (25 - JOIN_S) / RTT
        rows.append(f"| {name} | {offered:.3g} | {nacked:.3g} | {'never' if never else f'{settled:.1f}'} |")
    return "\n".join(rows)
