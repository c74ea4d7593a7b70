"""What each of our additions to FCP is worth: draws in which it acts, with it and without.

A draw follows from its family and number alone. Flows have sizes, 30 s are the end. Families:

- **crowds**: 20 to 200 flows of 10 to 200 kB begin within a round trip.
- **scarcity**: 20 to 150 flows of 5 to 40 kB share what is less than a packet a round trip for each.
- **changes**: flows arrive at a load of .3 to .8, and the core is down for .2 to 3 s, or its router restarts, or its
  rate falls to a tenth to a half for a while.
- **corruption**: flows arrive at a load of .2 to .6, and the core loses .1 to 3 % of packets, in one direction.
- **steady**: flows arrive at a load of .4 to .9, with sizes over three decades.

Half of the draws have two bottlenecks, one behind the other, with flows over both; round trips differ by up to 20
times. A third has `enforcement`, a third a UDP flow beside, which pays nothing.

What an addition is worth, and when it goes: ../ablation.py. Bounds: every flow ends (*ends*), queues drop at most 1 %
of what was sent (*drops*), edges refuse nothing (*refused*). `--schemes` names additions; "a, b" is without both.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import ablation
import scenes
from harness import Bound, Suite
from scenes import log_uniform

from midpath import Result

# Our additions: names that the key `without` takes, and keys with the paper's values.
ADDITIONS = (
    "least_income", "summed_span", "trust_balance", "least_packets", "half_packet", "packet_of_queue", "restart",
    "opening_budget", "spread", "keep_pace", "noise", "leave_unpaid", "patience", "announcements", "longest_age",
    "unanswered_rounds", "catch_up",
)  # fmt: skip
KEYS = {"header_rtt": 'header_rtt = "round-trip"', "preload_for": 'preload_for = "flow-size"'}
FAMILIES = ("crowds", "scarcity", "changes", "corruption", "steady")
STOP = 30.0
PACKET = 1500 * 8
MOST_PACKETS = 12_000
BOUNDS = (Bound("ends", 0, "unfinished"), Bound("drops", 0.01), Bound("refused", 0))


@dataclass(frozen=True)
class Found(ablation.Found):
    """What one run came to."""

    unfinished: int
    drops: float
    """Of what was sent."""
    refused: int


def sizes(rng: random.Random, family: str, count: int) -> list[int]:
    """Of flows, bytes."""
    low, high = {"crowds": (1e4, 2e5), "scarcity": (5e3, 4e4)}.get(family, (3e3, 3e6))
    return [round(log_uniform(rng, low, high)) for _ in range(count)]


def times(rng: random.Random, family: str, of: list[int], rate: float, longest: float) -> list[float]:
    """When flows begin: at once, or at a load of the core."""
    if family in ("crowds", "scarcity"):
        over = longest * (1 if family == "crowds" else 10)
        return [rng.random() * over for _ in of]
    load = rng.uniform(*{"changes": (0.3, 0.8), "corruption": (0.2, 0.6), "steady": (0.4, 0.9)}[family])
    now, begins = 0.0, list[float]()
    for _ in of:
        now += rng.expovariate(1) * statistics.fmean(of) * 8 / (rate * 1e6 * load)
        begins.append(now)
    return begins


def faults(rng: random.Random, family: str, rate: float, begin: float, end: float) -> list[str]:
    """What happens to the core."""
    if family == "corruption":
        return [scenes.loses("r0", "r1", log_uniform(rng, 1e-3, 3e-2))]
    if family != "changes":
        return []
    at = rng.uniform(begin, end)
    until = at + log_uniform(rng, 0.2, 3)
    match rng.randrange(3):
        case 0:
            return [scenes.down("r0", "r1", f"{at:.4f} s", f"{until:.4f} s")]
        case 1:
            return [scenes.restart(f"{at:.4f} s")]
        case _:
            less = rate * rng.uniform(0.1, 0.5)
            return [
                scenes.rate_step("r0", "r1", f"{at:.4f} s", f"{less:.3f} Mbps"),
                scenes.rate_step("r0", "r1", f"{until:.4f} s", f"{rate} Mbps"),
            ]


def draw(family: str, number: int) -> str:
    """The scenario's text, but for what stands in [schemes.fcp]: `%` is its place."""
    rng = random.Random(f"fcp ablation {family} {number}")
    rate, delay = round(log_uniform(rng, 5, 200), 2), round(log_uniform(rng, 0.5, 30), 2)
    ratio = log_uniform(rng, 1, 20)
    delays = [round(delay * (ratio ** rng.random() - 1) + 0.1, 3) for _ in range(rng.randint(2, 12))]
    longest = 2 * (delay + max(delays) + 0.3) / 1e3
    count = round(log_uniform(rng, 20, 200))
    if family == "scarcity":
        count = round(log_uniform(rng, 20, 150))
        # Less than a packet a round trip, more than one in three seconds for each.
        rate = round(log_uniform(rng, max(0.4 * count, 1) * PACKET / 1e6, count / longest * PACKET / 1e6), 3)
    of = sizes(rng, family, count)
    while sum(of) > MOST_PACKETS * 1400:
        of = [max(3000, size // 2) for size in of]
    begins = times(rng, family, of, rate, longest)
    two, unpaid = rng.random() < 0.5, rng.random() < 1 / 3
    ends = [(f"s{i}", f"d{i}") for i in range(len(delays))]
    links = [scenes.link("r0", "r1", f"{rate} Mbps", f"{delay} ms")]
    links += [scenes.link(s, "r0", "1 Gbps", f"{ms} ms") for (s, _), ms in zip(ends, delays, strict=True)]
    if two:
        second = round(rate * rng.uniform(0.5, 1.5), 3)
        links += [scenes.link("r1", "r2", f"{second} Mbps", f"{delay} ms"), scenes.link("x", "r1", "1 Gbps", "1 ms")]
    links += [scenes.link("r2" if two and i % 2 else "r1", d, "1 Gbps", "0.1 ms") for i, (_, d) in enumerate(ends)]
    hosts = [name for pair in ends for name in pair] + (["x"] if two else [])
    flows = list[str]()
    for size, begin in zip(of, begins, strict=True):
        source, target = rng.choice(ends)
        if two and rng.random() < 0.2:
            source, target = "x", ends[1][1]
        flows.append(scenes.flow(source, target, f"{begin:.6f} s", size=f"{size} B"))
    if unpaid:
        share = round(rate * rng.uniform(0.05, 0.3), 3)
        more = {"scheme": "udp", "rate": f"{share} Mbps", "stop": f"{max(begins) + 1:.3f} s"}
        flows.append(scenes.flow("s0", "d0", "0 s", group="unpaid", **more))
    enforced = rng.random() < 1 / 3
    return "\n".join([
        f'title = "{family} {number}"\nscheme = "fcp"\nseed = {number}\nstop = "{STOP} s"',
        f'[queue]\nlimit = "{round(rng.uniform(20, 200))} ms"',
        scenes.topology(links, hosts),
        f"[schemes.fcp]\nnetwork.enforcement = {str(enforced).lower()}\n%",
        *faults(rng, family, rate, min(begins), max(begins) + longest),
        *flows,
    ])  # fmt: skip


def written(names: Sequence[str]) -> str:
    """What is written into [schemes.fcp] to be without these."""
    off = [name for name in names if name not in KEYS]
    return "\n".join([f"without = {off}", *(KEYS[name] for name in names if name in KEYS)])


def text(drawn: str, without: str, _: str) -> str:
    """The scenario without these additions, by name and with commas between."""
    return drawn.replace("%", written([name for name in without.split(", ") if name]), 1)


def judge(_: str, result: Result, __: str, ___: str) -> Found:
    """What came of it."""
    flows, ports = result.flows.to_pandas(), result.ports.to_pandas()
    flows = flows[flows.group != "unpaid"]
    sent = float(result.summary["sent_packets"])
    return Found(
        **ablation.times(flows, STOP),
        unfinished=int(flows.fct_s.isna().sum()),
        drops=float((ports.drops_queue + ports.drops_aqm).sum()) / max(1.0, sent),
        refused=int(ports.drops_policy.sum()),
    )


SUITE = Suite(
    "FCP: what each addition is worth",
    draw,
    text,
    judge,
    Found,
    ablation.page("", [], [bound.name for bound in BOUNDS], lambda row: row.family),
    BOUNDS,
    families=FAMILIES,
    schemes=("", *ADDITIONS, *KEYS),
    base="",
    scenarios=120,
    uses=[ablation],
)
