"""Where the paper contradicts itself, tried in the model: `python -m midpath.analysis.mircc.errata`.

Every finding is a function that measures its numbers and checks the finding against them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from midpath.analysis.mircc import choices
from midpath.analysis.mircc import equations as eq
from midpath.analysis.mircc.cases import diamond, random_network, slingshot
from midpath.analysis.mircc.model import SECONDARY, Model
from midpath.analysis.mircc.network import Flow, Link, Network
from midpath.analysis.mircc.params import Gain, Params, Reading, Rtt
from midpath.analysis.mircc.solvers import (
    max_min_flows,
    most_throughput,
    secondary_max_min,
    stamps_fixed_point,
)
from midpath.analysis.mircc.stability import WEIGHT, Group, longest_stable_loop, one_link, swings

ETA = 0.95
MBPS = 1e6


@dataclass(frozen=True)
class Erratum:
    """One row of the table."""

    where: str
    text: str
    """What the paper says."""
    finding: str
    measured: str
    ours: str
    """What Midpath does by default."""
    confirmed: bool
    """Whether the measurement bears the finding out."""


def rcp_below_capacity() -> Erratum:
    """(2)–(4) for y ≤ C against (1) with T = d and α = 1, on random inputs."""
    rng = np.random.default_rng(1)
    n = 10_000
    c, eta = 10e6, ETA
    r, y, q, d = rng.uniform(1e3, c, n), rng.uniform(0, c, n), rng.uniform(0, 1e6, n), rng.uniform(1e-3, 1, n)
    flows = eq.full_rate_flows(c, y, r)
    ours = eq.base_rate(eta, c, 0.1, q, d, flows) + eq.excess_rate(r, y, flows)
    rcp = eq.rcp(r, eta=eta, c=c, y=y, q=q, d=d, t=d, alpha=1.0, beta=0.1)
    off = float(np.max(np.abs(ours - rcp) / (np.abs(ours) + r)))
    return Erratum(
        "(2)–(4) against (1)",
        "a new algorithm, with RCP's equilibrium",
        "for y ≤ C their sum is RCP's (1) with T/d = 1, α = 1; only for y > C it differs: R ηC/y at once",
        f"largest difference on {n:,} random inputs: {off:.0e} of R",
        "as printed",
        off < 1e-12,
    )


def one_average() -> Erratum:
    """Two EWMAs with one weight, against one of the sum."""
    rng = np.random.default_rng(2)
    base, excess, both, worst = 0.0, 0.0, 0.0, 0.0
    for b, e in rng.uniform(-1, 1, (10_000, 2)):
        base, excess = float(eq.ewma(base, b, WEIGHT)), float(eq.ewma(excess, e, WEIGHT))
        both = float(eq.ewma(both, b + e, WEIGHT))
        worst = max(worst, abs(base + excess - both))
    return Erratum(
        "(3), (5), footnote 3",
        '(3) is "non-recursive"; the EWMAs avoid "high-frequency oscillation"',
        "(3) contains R(t−T) through N̂. With R(t) the sum of both averages, "
        "R(t) = (1 − α) R(t−T) + α (base + excess): α is the gain per T",
        f"largest difference over 10,000 steps: {worst:.0e}",
        "as printed",
        worst < 1e-12,
    )


def short_intervals() -> Erratum:
    """Loops of 2.5 and 4 T."""
    loops = (2.5, 4.0)
    params = Params(eta=ETA, interval=1.0, strategy="best", queue=0.5)
    found = swings([one_link([Group(4, loop)]) for loop in loops], params, until=300, dt=0.05)
    limit = longest_stable_loop(WEIGHT * ETA)
    (calm, _), (wild, used) = found
    return Erratum(
        "§3.1.2, T",
        '"T should be as short as possible, and no greater than RTT"',
        "swings once the loop is longer than about 2.5 T",
        f"linear limit {limit:.2f} T; in the model R swings by {calm:.3f} of its mean at 2.5 T "
        f"and by {wild:.2f} at 4 T, where {used:.2f} of the link is used",
        "T = d(t), the longest that the paper allows; `interval` takes a time as well",
        calm < 0.01 and wild > 0.5 and 2.5 < limit < 3.0,
    )


def mixed_rtts() -> Erratum:
    """One short to three ten times longer RTTs, for three choices of T and the scaled gain."""
    ratio, short, long = 10.0, 1, 3
    mean = (short + long * ratio) / (short + long)

    def swing(unit: float, gain: Gain) -> float:
        groups = [Group(short, 1 / unit), Group(long, ratio / unit)]
        params = Params(eta=ETA, interval=1.0, gain=gain, strategy="best", queue=0.5)
        return swings([one_link(groups)], params, until=600, dt=0.1)[0][0]

    smallest, middle, largest = (swing(unit, "printed") for unit in (1.0, mean, ratio))
    scaled = swing(1.0, "scaled")
    return Erratum(
        "§3.1.2, T with unlike RTTs",
        "left open (§5: further study)",
        "T = the largest RTT keeps mixed RTTs stable; scaling the gain by T/RTT may be the repair",
        f"RTTs 1 : 10, swing of R with T = smallest {smallest:.2f}, mean {middle:.3f}, largest {largest:.3f}, "
        f"smallest and α T/d {scaled:.3f}. So T = mean RTT is enough",
        'T = d(t); `gain = "scaled"` is the repair for any T',
        smallest > 0.5 and max(middle, largest, scaled) < 0.01,
    )


def residual_capacity() -> Erratum:
    """§4.3.4's first case: a link that 50 primary flows fill."""

    def secondary(residual: Reading) -> tuple[float, float]:
        flows = {f"{i}": Flow((("link",),), access=0.01) for i in range(50)}
        network = Network({"link": Link(10 * MBPS, 0.01)}, flows)
        late = Model(network, Params(eta=ETA, residual=residual), 0.002).run(20, sample=0.1).after(15)
        load = late.offered[:, 0].mean(axis=0) / (10 * MBPS)
        return float(load[0]), float(load[1])

    printed, derated = secondary("printed"), secondary("corrected")
    return Erratum(
        "(11) against §4.3.4",
        'C_s = C − y_p; with many flows "the secondary rates … will tend to be 0"',
        "(11) leaves the secondary class η(1 − η)C of a link that the primary class fills",
        f"50 flows, η = {ETA}: primary + secondary load {printed[0]:.4f} + {printed[1]:.4f} of C (η(1 − η) = "
        f"{ETA * (1 - ETA):.4f}); with C_s = C − y_p/η {derated[0]:.4f} + {derated[1]:.5f}, 50 floors",
        'C_s = C − y_p/η; `residual = "printed"` is the text',
        abs(printed[1] - ETA * (1 - ETA)) < 1e-3 and derated[1] < 1e-3,
    )


def secondary_count() -> Erratum:
    """Ten flows with 20 subflows: thin links keep the primary class low, a shared link limits the secondary one."""

    def swing(count: Reading) -> tuple[float, float]:
        links = {"shared": Link(80 * MBPS, 0.005)} | {f"thin{i}": Link(5 * MBPS, 0.005) for i in range(20)}
        paths = [(("shared", f"thin{i}"), ("shared", f"thin{i + 1}")) for i in range(0, 20, 2)]
        flows = {f"{i}": Flow(path, access=0.005) for i, path in enumerate(paths)}
        params = Params(eta=ETA, secondary_count=count)
        late = Model(Network(links, flows), params, 0.001).run(6, sample=0.01).after(4)
        stamp = late.stamp[:, 0, SECONDARY]
        return float((stamp.max() - stamp.min()) / stamp.mean()), float(
            late.arrived.sum(axis=(1, 2)).mean() / (80 * MBPS)
        )

    printed, corrected = swing("printed"), swing("corrected")
    return Erratum(
        "(12)",
        "N̂_s divides by R(t−T)",
        "it prints R for R_s: with R_p the gain of (13)–(16) grows with the number of subflows",
        f"20 secondary subflows on a shared link: R_s swings by {printed[0]:.2f} of its mean with R_p and by "
        f"{corrected[0]:.4f} with R_s; link used {printed[1]:.3f} and {corrected[1]:.3f}",
        'R_s(t−T); `secondary_count = "printed"` is the text',
        printed[0] > 0.5 and corrected[0] < 0.01,
    )


def cap_on_primary() -> Erratum:
    """Figure 6's first part, with and without a cap of R."""

    def shares(largest: float | None) -> tuple[float, float]:
        late = Model(slingshot(None), Params(eta=ETA, largest=largest), 0.00125).run(10, sample=0.1).after(9)
        primary, secondary = late.sent.mean(axis=0).sum(axis=0) / MBPS
        return float(primary), float(secondary)

    with_cap, without = shares(1.0), shares(None)
    return Erratum(
        "(4) against figure 6",
        "12 + 3 Mbps; no upper bound of R",
        "below ηC R grows without bound, and the 12 + 3 needs a cap",
        f"consumer 1 alone, η = {ETA}: {with_cap[0]:.2f} + {with_cap[1]:.2f} Mbps with R ≤ ηC "
        f"(12η = {12 * ETA:.2f}, 3η = {3 * ETA:.2f}), {without[0]:.2f} + {without[1]:.2f} without",
        "R ≤ ηC; `cap = 0` is the text",
        abs(with_cap[0] - 12 * ETA) < 0.02 and abs(with_cap[1] - 3 * ETA) < 0.03 and without[1] < 0.05 * 3,
    )


def absorbing_zero() -> Erratum:
    """Equations (2)–(5) from R = 0."""
    with np.errstate(invalid="ignore"):
        n = eq.full_rate_flows(10 * MBPS, 1 * MBPS, np.zeros(1))
        after = eq.base_rate(ETA, 10 * MBPS, 0.1, 0.0, 0.1, n) + eq.excess_rate(0.0, 1 * MBPS, n)
    return Erratum(
        "(2)–(5)",
        "no lower bound of R",
        "zero is absorbing",
        f"from R = 0 with y = C/10 the next base + excess is {float(np.asarray(after)[0]):g}; "
        "a queue of more than ηC d/β takes base_rate below 0",
        "R ≥ 10⁻⁴ C (`floor`)",
        float(np.asarray(after)[0]) == 0.0,
    )


def fairness() -> Erratum:
    """The stamps' fixed point against max-min fairness between flows that may split at will."""
    two = Network.of({"A": 10.0, "B": 10.0}, {"1": [["A"], ["B"]], "2": [["B"]]})
    ours = two.flow_sum(stamps_fixed_point(two).path)
    ratios = []
    for seed in range(60):
        network = random_network(seed)
        # No flow can have more than its widest path alone: so much of "best subflow" is not a matter of fairness.
        widest = np.maximum.reduceat(network.path_minimum(network.capacity), network.flow_start)
        reached = network.flow_sum(stamps_fixed_point(network).path)
        ratios.append(float((reached / max_min_flows(network, most=widest)).min()))
    below = float(np.mean(np.array(ratios) < 0.95))
    return Erratum(
        "§4.2",
        '"primary class traffic is max-min fair between flows"',
        "the fixed point (x = the largest P, split in proportion, R capped) is not",
        f"flow 1 over A or B, flow 2 over B, 10 Mbps each: {ours[0]:.2f} and {ours[1]:.2f}, max-min 10 and 10; "
        f"of 60 random networks {100 * below:.0f} % have a flow with over 5 % less than max-min "
        f"(no flow above its widest path), and the worst-off flow of the "
        f"median network has {100 * np.median(ratios):.0f} % of it",
        "as printed; with one path per flow it is max-min",
        abs(float(ours[1]) - (np.sqrt(500) - 10) / 2) < 1e-6 and below > 0.1,
    )


def above_the_stamp() -> Erratum:
    """Three paths of a flow share a link, a fourth is faster."""
    links = {"shared": 5.0, "u": 50.0, "v": 50.0, "w": 50.0, "fast": 10.0}
    paths = [["shared", "u"], ["shared", "v"], ["shared", "w"], ["fast"]]
    network = Network.of(links, {"1": paths})
    stamps = np.array([5.0, 50.0, 50.0, 50.0, 10.0])
    load = network.link_load(network.best_subflow(network.path_minimum(stamps)))
    return Erratum(
        "§4.3",
        'split in proportion, so that "no path and no link carry more than their stamping rate"',
        "no path does, but a link that several paths share can",
        f"three paths over a link that stamps 5 and one that stamps 10: the link is asked for {load[0]:.2f}",
        "as printed; the link's R falls until it carries ηC",
        bool(load[0] > 5.0),
    )


def opposite_interests() -> Erratum:
    """Figure 9's sizes: Data of 1.8 kB, Interests of 300 B, as much traffic in the other direction."""
    share = 1 / 7

    def run(capacity: Literal["link", "left"]) -> tuple[float, float, float]:
        flows = {f"{i}": Flow((("link",),), access=0.02) for i in range(4)}
        network = Network({"link": Link(10 * MBPS, 0.02)}, flows)
        params = Params(eta=ETA, opposite=share, capacity=capacity)
        late = Model(network, params, 0.002).run(40, sample=0.1).after(30)
        nacked = (late.refused[-1, 0] - late.refused[0, 0]) / (late.time[-1] - late.time[0])
        wait = float(late.queue.mean() / (10 * MBPS) * 1e3)
        return wait, float(late.arrived.sum(axis=(1, 2)).mean() / (10 * MBPS)), float(nacked / (10 * MBPS))

    (queue, used, nacked), (left_queue, left_used, left_nacked) = run("link"), run("left")
    return Erratum(
        "Table 1, C",
        '"capacity of incoming link"',
        "C leaves opposite Interests out: with figure 9's sizes Data has .857 C",
        f"1/(1 + 300/1800) = {1 / (1 + 300 / 1800):.3f}. η = {ETA}, RTT 80 ms, shaper queue of 100 ms: "
        f"{queue:.0f} ms waiting for good, Data {used:.3f} C, Nacked {nacked:.3f} C; with C less opposite Interests "
        f"{left_queue:.0f} ms, {left_used:.3f} C, {left_nacked:.3f} C",
        'C less opposite Interests; `capacity = "link"` is the text',
        queue > 90 and nacked > 0 and left_queue < 1 and left_nacked == 0,
    )


def figure7_load() -> Erratum:
    """The offered load of figure 7 over the size of a message."""
    messages = 0.99 * 1_000 + 0.01 * 50_000
    rate = messages / 0.5
    fits = [ETA * cut * MBPS / (8 * rate) for cut in (15, 20)]
    return Erratum(
        "§4.4, figure 7",
        '"high and stable link utilization"; no size of a message',
        "messages above a size overload the cut",
        f"{rate:,.0f} messages/s on average: {fits[0]:.0f} B fill 0.95 of 15 Mbps, "
        f"{fits[1]:.0f} B of 20 Mbps, l_c + l_d",
        "sizes are the scenario's: state them",
        500 < fits[0] < fits[1] < 1000,
    )


def whose_rtt() -> Erratum:
    """Four flows join on a link beside the producer, d(t) told by consumers or measured upstream."""

    def run(rtt: Rtt) -> tuple[float, float]:
        flows = {f"{i}": Flow((("link",),), start=0 if i == 0 else 10, access=0.049) for i in range(5)}
        network = Network({"link": Link(10 * MBPS, 0.001)}, flows)
        params = Params(eta=ETA, rtt=rtt, interval=0.1, strategy="best")
        late = Model(network, params, 0.002).run(40).after(10)
        lowest = late.stamp[:, 0, 0].min() / (ETA * 10 * MBPS / 5)
        return float(lowest), float(late.arrived[:, :, 0].sum(axis=1)[:1000].mean() / (10 * MBPS))

    told, measured = run("least"), run("upstream")
    return Erratum(
        "§3.1.2, d(t)",
        '"the EWMA of the per-packet RTT"',
        "a forwarder measures upstream of itself, the loop runs downstream",
        f"link beside the producer, upstream RTT 2 of 100 ms, T = 100 ms, four flows join one: R falls to "
        f"{measured[0]:.3f} of its fair value with d(t) measured, to {told[0]:.2f} with d(t) told; "
        f"link used in the 2 s after {measured[1]:.2f} and {told[1]:.2f}",
        'consumers tell their least RTT; `rtt = "upstream"` for comparison',
        measured[0] < 0.1 and told[0] > 0.5,
    )


def figure6_ratio() -> Erratum:
    """Both consumers on the slingshot: solver and model."""
    network = slingshot("c")
    solved = network.flow_sum(stamps_fixed_point(network, ETA).path)
    late = Model(network, Params(eta=ETA), 0.00125).run(40, sample=0.1).after(35)
    sums = [network.flow_sum(sent.sum(axis=1)) for sent in late.sent]
    modelled = np.mean(sums, axis=0)
    shared = slingshot("b")
    even = shared.flow_sum(stamps_fixed_point(shared, ETA).path)
    ratio, found = solved[0] / solved[1], modelled[0] / modelled[1]
    return Erratum(
        "§4.4, figure 6",
        '"a ratio of just under 2:1"; 1:1 when the shared hop is l_b',
        'the equations\' fixed point is less than 2 : 1 by more than "just"',
        f"{ratio:.3f} : 1 by the solver, {found:.3f} : 1 in the model (with the secondary class); "
        f"{even[0] / even[1]:.3f} : 1 over l_b. R_c = 15 − √90 of 15, 12, 9",
        "as printed",
        abs(ratio - found) < 0.02 and 1.5 < ratio < 2 and abs(even[0] / even[1] - 1) < 1e-6,
    )


def three_cases() -> Erratum:
    """§4.1's 10, 15 and 20 Mbps and §4.3.4's second case on the diamond."""
    network = diamond(15.0)
    primary = stamps_fixed_point(network).path
    secondary = secondary_max_min(network, primary)
    best, most = float(primary.sum()) / MBPS, most_throughput(network) / MBPS
    total = float(network.path_minimum(stamps_fixed_point(network).link).sum()) / MBPS
    late = Model(network, Params(eta=ETA), 0.001).run(10, sample=0.1).after(8)
    parts = late.sent.mean(axis=0) / MBPS / ETA
    return Erratum(
        "§4.1, §4.3.4",
        "10, 15 and 20 Mbps; 5 + 5 primary, 2.5 + 2.5 secondary, l_g full",
        "as the paper says",
        f"best subflow {best:.1f}, omniscient {most:.1f}, total {total:.1f}; "
        f"solver {primary[0] / MBPS:.2f} + {primary[1] / MBPS:.2f} and "
        f"{secondary[0] / MBPS:.2f} + {secondary[1] / MBPS:.2f}; "
        f"model, over η: {parts[0, 0]:.2f} + {parts[1, 0]:.2f} and {parts[0, 1]:.2f} + {parts[1, 1]:.2f}",
        "as printed",
        _near([best, most, total, *primary / MBPS, *secondary / MBPS], [10, 15, 20, 5, 5, 2.5, 2.5])
        and _near(parts.ravel().tolist(), [5, 2.5, 5, 2.5], 0.02),
    )


def _near(values: list[float], expected: list[float], tolerance: float = 1e-6) -> bool:
    return bool(np.allclose(values, expected, rtol=tolerance))


FINDINGS: tuple[Callable[[], Erratum], ...] = (
    rcp_below_capacity,
    one_average,
    short_intervals,
    mixed_rtts,
    whose_rtt,
    residual_capacity,
    secondary_count,
    cap_on_primary,
    absorbing_zero,
    fairness,
    above_the_stamp,
    opposite_interests,
    figure7_load,
    three_cases,
    figure6_ratio,
)


PAGE = """\
# MIRCC: errata of the paper, and choices

Written by `python -m midpath.analysis.mircc.errata > evidence/papers/mircc/ERRATA.md`;
a few minutes. A fluid model of links and consumers with delays, and solvers; no packets yet.
Where the model and packets differ, packets decide.

`η` is {eta}, `α` {weight}, unless said. Settled means within 10 % of the fair rate for good.

## Where the paper contradicts itself

{findings}

## What the paper leaves open

The link has 10 Mbps, the RTT is 100 ms and all loop, the shaper's queue 100 ms, unless said.

**T is no shorter than 10 Data of the link.** y(t) counts whole Interests, so a short T measures lumps (§3.1.2).
RTT of 20 Data.

{interval}

**The floor of R_p is 10⁻⁴ C, that of R_s 10⁻⁶ C.** With T = d(t) R does not fall far below its fair value, so a
low floor costs nothing; a floor above C/N overloads the link for good. All subflows on a full link have the
secondary floor, so it is lower.

{floors}

**η = 0.95.** The last percents cost long queues; the shaper lets 0.98 C go.

{targets}

**R(0) = ηC.** An idle link's R is at its cap anyway. So the fresh link of a run is no special case: a burst of
first flows costs what it costs on any idle link.

{starts}

**The cap is ηC**, what one flow alone can have. With more, newcomers ask for more than the link has.

{caps}

**EWMA weights.** R: 0.5 (§3.1.1). d(t): 1/16 per packet, about the packets of the shortest T; ours. Sizes: 1/8
per packet, as in the public implementation of the Interest shaper by its first author.
"""


def table() -> str:
    """All findings, as Markdown."""
    rows = [
        "| where | the paper | finding | measured in the model | Midpath | finding is |",
        "|---|---|---|---|---|---|",
    ]
    for finding in FINDINGS:
        e = finding()
        verdict = "confirmed" if e.confirmed else "refuted"
        rows.append(f"| {e.where} | {e.text} | {e.finding} | {e.measured} | {e.ours} | {verdict} |")
    return "\n".join(rows)


def page() -> str:
    """The whole of `evidence/papers/mircc/ERRATA.md`."""
    return PAGE.format(
        eta=ETA,
        weight=WEIGHT,
        findings=table(),
        interval=choices.interval_in_packets(),
        floors=choices.floors(),
        targets=choices.targets(),
        starts=choices.starts(),
        caps=choices.caps(),
    )


if __name__ == "__main__":
    print(page(), end="")
