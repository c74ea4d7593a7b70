"""What a path for each packet (`ecmp = "packet"`) does to senders that keep the order for a sign of loss.

A permutation of flows over a fat-tree of 16 hosts with full bisection: each flow could have its host's whole link.
Number 1 has links of 10 Gbps and 1 us, and 5 MB a flow; others draw rate, delay, size and seed. Each is run twice,
with a path for each flow and one for each packet, over drop-tail queues of 1.5 MB or the AQM that the scheme needs; UEC
over queues that trim. Loss detection is the default: RACK, whose window adapts to the reordering (RFC 8985, 6.2).

Bounds, fixed before the first drawn scene was run:

- `unended`: all flows end either way: 0.
- `slower`: the slowest completion by packet over that by flow: 1.1. None for HPCC and PowerTCP, which compare a port's
  readings from ACK to ACK: whose port it was is no longer known.
- `again`: the share of packets sent again by packet: .2.
"""

from __future__ import annotations

import math
import random
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Bound, Crash, Row, Suite, ended, groups, misses

import midpath
from midpath import Result, markdown

BY_PORT = ("hpcc", "powertcp")
SCHEMES = (
    *("newreno", "cubic", "mptcp", "bbr", "cubic+rpm", "dctcp", "prague", "dcqcn", "bolt", "swift", "timely"),
    *("rcp", "xcp", *BY_PORT, "uec", "falcon", "bfc", "ndp", "eqds"),
)
PACKET = 1500


@dataclass(frozen=True)
class Scene:
    """What a number draws."""

    number: int
    gbps: int = 10
    delay_us: float = 1.0
    size: int = 5_000_000

    def toml(self, scheme: str, ecmp: str) -> str:
        """Its text."""
        queue = 'kind = "trim"\nlimit = "25 kB"' if scheme in scenes.TRIMS else 'limit = "1500 kB"'
        return (
            f'scheme = "{scheme}"\nseed = {self.number}\nstop = "1 s"\n[topology]\ngenerate = "fat-tree"\nk = 4\n'
            f'link = {{ rate = "{self.gbps} Gbps", delay = "{self.delay_us:.3f} us", mtu = {PACKET} }}\n'
            f'[routing]\necmp = "{ecmp}"\n[queue]\n{queue}\n[[workload]]\n'
            f'sizes = {{ kind = "fixed", size = "{self.size} B" }}\nmatrix = {{ kind = "permutation" }}\n'
            'arrivals = { kind = "once" }\n'
        )


@dataclass(frozen=True)
class Found:
    """Of a scene's two runs: slowest completions in ms; of that by packet, shares of its packets."""

    by_flow: float
    by_packet: float
    again: float
    lost: float
    unended: int
    scheme: str

    @property
    def slower(self) -> float:
        """By packet over by flow."""
        return self.by_packet / self.by_flow

    def __str__(self) -> str:
        """What it came to."""
        shares = f"{self.again:.1%} again, {self.lost:.1%} lost"
        ends = f", {self.unended} without end" if self.unended else ""
        return f"{self.by_flow:.1f} ms by flow, {self.by_packet:.1f} by packet, {shares}{ends}"


def draw(_: str, number: int) -> Scene:
    """The scene with this number."""
    rng = random.Random(f"sprayed {number}")
    if number == 1:
        return Scene(number)
    gbps = rng.choice((10, 25, 100))
    return Scene(number, gbps, scenes.log_uniform(rng, 0.5, 5), PACKET * round(scenes.log_uniform(rng, 500, 5000)))


def slowest(result: Result) -> float:
    """The slowest completion, in ms."""
    return 1e3 * float(result.flows["fct_s"].to_pandas().max())


def total(result: Result, column: str) -> int:
    """Over all flows."""
    return int(result.flows[column].to_pandas().sum())


def judge(scene: Scene, result: Result, scheme: str, _: str) -> Found:
    """Beside the run: the same with a path for each flow."""
    by_flow = midpath.run(scene.toml(scheme, "flow"))
    sent = total(result, "sent_packets")
    return Found(
        slowest(by_flow),
        slowest(result),
        total(result, "retransmitted_packets") / sent,
        total(result, "lost_packets") / sent,
        sum(int(run.flows["fct_s"].to_pandas().isna().sum()) for run in (by_flow, result)),
        scheme,
    )


def missed(_: Scene, found: Found, __: object) -> dict[str, float]:
    """The bounds that are not kept."""
    own = [bound for bound in BOUNDS if bound.name != "slower" or found.scheme not in BY_PORT]
    return {name: value for bound in own for name, value in bound.missed(None, found, None).items()}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """Number 1 scheme by scheme, how much sooner flows end in all, and what misses a bound."""
    head = (
        "scheme",
        "by flow, ms",
        "by packet",
        "sent again",
        "lost",
        "by packet / by flow: median",
        "worst",
        "bounds",
    )
    yield markdown.head(head)
    for scheme, own in groups(rows, lambda row: row.scheme).items():
        found = ended(own)
        first = next((row.found for row in own if row.number == 1 and not isinstance(row.found, Crash)), None)
        shares = [one.slower for one in found] or [math.nan]
        told = ("–",) * 4
        if first is not None:
            told = (f"{first.by_flow:.1f}", f"{first.by_packet:.1f}", f"{first.again:.1%}", f"{first.lost:.1%}")
        kept = f"{sum(not row.missed for row in own)} of {len(own)}"
        yield markdown.line((scheme, *told, f"{statistics.median(shares):.2f}", f"{max(shares):.2f}", kept))
    for scheme, own in groups(rows, lambda row: row.scheme).items():
        if lines := list(misses(own)):
            yield from [f"\n{scheme}:\n", *lines]


BOUNDS = (Bound("unended", 0), Bound("slower", 1.1), Bound("again", 0.2))
SUITE = Suite(
    "A path for each packet",
    draw,
    lambda scene, scheme, _: scene.toml(scheme, "packet"),
    judge,
    Found,
    page,
    bounds=BOUNDS,
    missed=missed,
    schemes=SCHEMES,
    scenarios=20,
)
