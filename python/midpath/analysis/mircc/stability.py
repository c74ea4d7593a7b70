"""How (2)–(5) settle or swing, over the loop's delay and T: `python -m midpath.analysis.mircc.stability`.

Linear: R = R* + δ obeys δ_k = δ_{k−1} − g Σ w δ_{k−1−D}, with g = α η below C, and a term for each group of flows with
the share w of the traffic and the loop D in units of T. A loop that is no multiple of T falls into two intervals. The
spectral radius of that recursion says what a small deviation is multiplied by in each T; (2)–(5) are stable below 1.
Model: the fluid model of `model`, all flows started at once; what is left of their swing in the last third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from midpath.analysis.mircc.cases import chain, side_by_side
from midpath.analysis.mircc.model import Model
from midpath.analysis.mircc.network import Flow, Link, Network
from midpath.analysis.mircc.params import Gain, Params

ETA, WEIGHT = 0.95, 0.5
LOOPS = (0.5, 1.0, 1.5, 2.0, 2.5, 2.75, 3.0, 3.5, 4.0, 5.0, 7.0, 10.0)
RATIOS = (1, 2, 3, 5, 10, 30, 100)
# Flows of the short and of the long RTT.
MIXES = ((1, 3), (2, 2), (3, 1))
# Swings below this are settled, or about to be.
SETTLED = 0.01


@dataclass(frozen=True)
class Group:
    """Flows with one loop: how many, and how many T it takes."""

    flows: int
    loop: float


def spectral_radius(groups: Sequence[Group], gain: float) -> float:
    """What a small deviation of R is multiplied by in each T."""
    total = sum(group.flows for group in groups)
    depth = 2 + max(int(group.loop) for group in groups)
    polynomial = np.zeros(depth + 1)
    polynomial[:2] = 1, -1
    for group in groups:
        whole, part = divmod(group.loop, 1.0)
        at, share = 1 + int(whole), gain * group.flows / total
        polynomial[at] += share * (1 - part)
        if part:
            polynomial[at + 1] += share * part
    return float(np.abs(np.roots(polynomial)).max())


def longest_stable_loop(gain: float) -> float:
    """The loop of all flows, in T, beyond which the gain is too much. A bisection: the radius grows with the loop."""
    low, high = 0.0, 100.0 / gain
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if spectral_radius([Group(1, middle)], gain) < 1 else (low, middle)
    return low


def one_link(groups: Sequence[Group], unit: float = 1.0) -> Network:
    """Flows over one link of 1 Mbps beside the producer: the whole RTT is loop. `unit` is T in seconds."""
    flows = {
        f"{i}.{k}": Flow((("link",),), access=group.loop * unit / 2)
        for i, group in enumerate(groups)
        for k in range(group.flows)
    }
    return Network({"link": Link(1e6)}, flows)


def swings(cases: Sequence[Network], params: Params, until: float, dt: float) -> list[tuple[float, float]]:
    """For each network of one link: swing of R (highest less lowest, over the mean), and share of the link used."""
    network = side_by_side(cases)
    late = Model(network, params, dt).run(until, sample=4 * dt).after(2 * until / 3)
    stamps = late.stamp[:, :, 0]
    swing = (stamps.max(axis=0) - stamps.min(axis=0)) / stamps.mean(axis=0)
    used = np.array([network.link_load(arrived.sum(axis=1)) for arrived in late.arrived]).mean(axis=0)
    return list(zip(swing.tolist(), (used / network.capacity).tolist(), strict=True))


def one_rtt() -> str:
    """Four flows with one RTT, which is all loop."""
    cases = [one_link([Group(4, loop)]) for loop in LOOPS]
    base = Params(eta=ETA, weight=WEIGHT, interval=1.0, strategy="best", queue=0.5)
    printed = swings(cases, base, until=400, dt=0.05)
    scaled = swings(cases, replace(base, gain="scaled"), until=400, dt=0.05)
    rows = [
        "| loop / T | radius | swing of R | link used | scaled: radius | swing of R | link used |",
        "|---|---|---|---|---|---|---|",
    ]
    for loop, (swing, used), (scaled_swing, scaled_used) in zip(LOOPS, printed, scaled, strict=True):
        radius = spectral_radius([Group(4, loop)], WEIGHT * ETA)
        scaled_radius = spectral_radius([Group(4, loop)], WEIGHT * ETA * min(1.0, 1 / loop))
        rows.append(
            f"| {loop:g} | {radius:.3f} | {swing:.3f} | {used:.3f} | {scaled_radius:.3f} "
            f"| {scaled_swing:.3f} | {scaled_used:.3f} |"
        )
    return "\n".join(rows)


@dataclass(frozen=True)
class Choice:
    """A way to choose T, and what it makes of the gain."""

    name: str
    interval: str
    scaled: bool = False

    def unit(self, short: int, long: int, ratio: float) -> float:
        """T, where the short RTT is 1."""
        mean = (short + long * ratio) / (short + long)
        return {"smallest": 1.0, "mean": mean, "largest": ratio}[self.interval]

    def gain(self, short: int, long: int, ratio: float) -> float:
        """α η, times T/d if it is scaled."""
        mean = (short + long * ratio) / (short + long)
        return WEIGHT * ETA * (self.unit(short, long, ratio) / mean if self.scaled else 1.0)

    def groups(self, short: int, long: int, ratio: float) -> list[Group]:
        """The flows of a mix, with their loops in T."""
        unit = self.unit(short, long, ratio)
        return [Group(short, 1 / unit), Group(long, ratio / unit)]


CHOICES = (
    Choice("T = smallest RTT", "smallest"),
    Choice("T = mean RTT, d(t)", "mean"),
    Choice("T = largest RTT", "largest"),
    Choice("T = smallest RTT, gain times T/d", "smallest", scaled=True),
)


def two_rtts() -> str:
    """Flows with two RTTs on one link, for each way to choose T: radius and swing."""
    header = ["| short : long flows | largest / smallest RTT |", *(f" {choice.name} |" for choice in CHOICES)]
    rows = ["".join(header), "|---|---|" + "---|" * len(CHOICES)]
    mixes = [(short, long, ratio) for short, long in MIXES for ratio in RATIOS]
    cells = []
    for choice in CHOICES:
        cases = [one_link(choice.groups(*mix)) for mix in mixes]
        gain: Gain = "scaled" if choice.scaled else "printed"
        params = Params(eta=ETA, weight=WEIGHT, interval=1.0, gain=gain, strategy="best", queue=0.5)
        # Long enough for the longest loop, coarse enough to be done in a minute.
        longest = max(group.loop for mix in mixes for group in choice.groups(*mix))
        found = swings(cases, params, until=max(200.0, 40 * longest), dt=0.1)
        radii = [spectral_radius(choice.groups(*mix), choice.gain(*mix)) for mix in mixes]
        cells.append([f"{radius:.3f}, {swing:.2f}" for radius, (swing, _) in zip(radii, found, strict=True)])
    for (short, long, ratio), *values in zip(mixes, *cells, strict=True):
        rows.append(f"| {short} : {long} | {ratio} | " + " | ".join(values) + " |")
    return "\n".join(rows)


RTT = 0.1
ARRIVAL_S, END_S = 10.0, 40.0
RCP_SETS = ((0.4, 0.4), (0.4, 0.226), (0.4, 1.0), (0.1, 1.0))


def arrival(params: Params, loop: float, after: int = 4) -> tuple[float, float, float, float]:
    """One flow on 10 Mbps for 10 s, then `after`; `loop` is the loop's share of the RTT of 100 ms.

    Returns the RTTs until all are within 10 % of ηC/N for good, the lowest R over ηC/N, the longest queue and what was
    refused, both in RTTs of the link's rate.
    """
    starts = [0.0] + [ARRIVAL_S] * (after - 1)
    flows = {f"{i}": Flow((("link",),), start=start, access=loop * RTT / 2) for i, start in enumerate(starts)}
    network = Network({"link": Link(10e6, (1 - loop) * RTT / 2)}, flows)
    late = Model(network, params, RTT / 40).run(END_S).after(ARRIVAL_S)
    fair = params.eta * 10e6 / after
    off = (np.abs(late.sent[:, :, 0] / fair - 1) > 0.1).any(axis=1)
    settled = (late.time[off].max(initial=ARRIVAL_S) - ARRIVAL_S) / RTT
    per_rtt = 10e6 * RTT
    lowest = late.stamp[:, 0, 0].min() / fair
    return settled, lowest, late.queue.max() / per_rtt, (late.refused[-1, 0] - late.refused[0, 0]) / per_rtt


def arrivals() -> str:
    """Three flows join one: MIRCC over T, and RCP with its published parameters."""
    base = Params(eta=ETA, strategy="best")
    variants = {
        "MIRCC, T = RTT/10": replace(base, interval=RTT / 10),
        "MIRCC, T = RTT/3": replace(base, interval=RTT / 3),
        "MIRCC, T = RTT/2": replace(base, interval=RTT / 2),
        "MIRCC, T = d(t)": base,
        "MIRCC, T = RTT/10, gain times T/d": replace(base, interval=RTT / 10, gain="scaled"),
    }
    for alpha, beta in RCP_SETS:
        rcp = replace(base, update="rcp", alpha=alpha, beta=beta, rtt="average")
        variants[f"RCP ({alpha:g}, {beta:g}), T = d"] = rcp
        variants[f"RCP ({alpha:g}, {beta:g}), T = RTT/10"] = replace(rcp, interval=RTT / 10)
    rows = [
        "| | loop 0: settled after | lowest R | queue | refused "
        "| loop = RTT: settled after | lowest R | queue | refused |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, params in variants.items():
        cells = []
        for loop in (0.0, 1.0):
            settled, lowest, queue, refused = arrival(params, loop)
            never = settled > 0.95 * (END_S - ARRIVAL_S) / RTT
            cells += ["never" if never else f"{settled:.1f}", f"{lowest:.2f}", f"{queue:.2f}", f"{refused:.2f}"]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


CHAIN_RTT = 0.06
CHAIN_JOIN_S, CHAIN_END_S = 5.0, 20.0


def on_the_chain(bottleneck: int, params: Params) -> tuple[float, float]:
    """Figure 2: three flows join one. RTTs until all are within 10 % of ηC/4 for good; its swing in the last 5 s."""
    trace = Model(chain([0.0] + [CHAIN_JOIN_S] * 3, bottleneck), params, 0.001).run(CHAIN_END_S, sample=0.01)
    sent = trace.after(CHAIN_JOIN_S).sent[:, :, 0]
    off = (np.abs(sent / (params.eta * 1e6 / 4) - 1) > 0.1).any(axis=1)
    settled = trace.after(CHAIN_JOIN_S).time[off].max(initial=CHAIN_JOIN_S) - CHAIN_JOIN_S
    late = trace.after(CHAIN_END_S - 5).sent[:, 0, 0]
    return float(settled) / CHAIN_RTT, float((late.max() - late.min()) / late.mean())


def chains() -> str:
    """Figure 2's chain as it is, and with its bottleneck beside the producer."""
    base = Params(eta=ETA, strategy="best")
    rcp = replace(base, update="rcp", beta=0.4, rtt="average")
    variants = {
        "MIRCC, T = RTT/10": replace(base, interval=CHAIN_RTT / 10),
        "MIRCC, T = RTT/3": replace(base, interval=CHAIN_RTT / 3),
        "MIRCC, T = d(t)": base,
        "RCP (0.4, 0.4), T = d": rcp,
        "RCP (0.4, 0.4), T = RTT/10": replace(rcp, interval=CHAIN_RTT / 10),
    }
    rows = [
        "| | three equal links: settled after, RTTs | swing | bottleneck beside the producer: settled after | swing |",
        "|---|---|---|---|---|",
    ]
    for name, params in variants.items():
        cells = []
        for bottleneck in (0, 2):
            settled, swing = on_the_chain(bottleneck, params)
            never = settled > 0.95 * (CHAIN_END_S - CHAIN_JOIN_S) / CHAIN_RTT
            cells += ["never" if never else f"{settled:.1f}", f"{swing:.2f}"]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


PAGE = """\
# MIRCC: when the rates settle

Written by `python -m midpath.analysis.mircc.stability > evidence/papers/mircc/STABILITY.md`; a few minutes. A fluid
model, no packets. η = {eta}, α = {weight}. The loop is the delay from a link down to the consumer and back
up to that link. For a link beside the producer it is the RTT, for a link beside the consumer nothing.

## One RTT

Four flows on one link of 1 Mbps, all loop; shaper queue of T/2. `radius`: what a small deviation is
multiplied by in each T (linear, stable below 1). `swing`: highest less lowest R over its mean, in the last
third of 400 T. `scaled`: α min(1, T/d) in place of α.

{one_rtt}

The printed gain is stable up to a loop of **{threshold:.2f} T** (η = 1: {threshold_one:.2f} T). So "T should be as
short as possible" (§3.1.2) does not hold for a link that is far from its consumers. The scaled gain is
stable for all T.

## Two RTTs

Four flows of two RTTs, all loop. Each cell: radius, swing.

{two_rtts}

d(t) is the mean over the traffic. With T = d(t), or with the gain scaled by T/d(t), every mix is stable on
one link. With a gain g per T the open loop is L = g Σ w z^−D / (z − 1). On the unit circle
Re L ≥ −g Σ w (D + ½) = −g (d/T + ½), as |sin((D + ½)ω)| ≤ (2D + 1) |sin(ω/2)|. So it cannot encircle −1 while
g (d/T + ½) < 1: with g = α η T/d, that is α η (1 + T/2d) < 1. Here it is at most 0.71.

## Flows join

One flow has 10 Mbps for 10 s, then three more join; RTT 100 ms, shaper queue of 100 ms, η = {eta}. Times in
RTTs; queue and refused (Nacked) Interests as the Data that they ask for, in RTTs of the link's rate.
Settled: within 10 % of ηC/4 from then on.

{arrivals}

RCP's T/d allows for the loop's delay. Where there is none, at a link beside the consumers, it only makes RCP slower.

## Figure 3

Figure 2's chain has three equal links, and all consumers sit on node 0. One flow, then three more; delays of 10 ms per
link, which the paper does not say. The first link has no loop. But once it lets go ηC, the others
see the same load and offer the same rate, with loops of 20 and 40 ms. With T = RTT/10 those exceed 2.83 T: they
swing, and as the smallest rate counts, so do the flows.

{chains}
"""


def page() -> str:
    """The whole of `evidence/papers/mircc/STABILITY.md`."""
    return PAGE.format(
        eta=ETA,
        weight=WEIGHT,
        one_rtt=one_rtt(),
        two_rtts=two_rtts(),
        arrivals=arrivals(),
        chains=chains(),
        threshold=longest_stable_loop(WEIGHT * ETA),
        threshold_one=longest_stable_loop(WEIGHT),
    )


if __name__ == "__main__":
    print(page(), end="")
