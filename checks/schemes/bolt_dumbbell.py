"""Bolt's flows that join and leave over one bottleneck: three of its authors' scenarios, for `bolt.py`.

Networks and windows are the artefact's: hosts at 102 Gbps, a link of 100, 8 us there and back, packets of 1500 bytes,
first windows of 100,000 bytes and windows of 373,760 at most. Starts differ by up to a round trip from seed to seed.
Bolt is at the link of 100 Gbps alone, and its threshold is three packets, as in `bolt.py`. Two first runs differed.
With Bolt at all ports after a flow's end the link idled for 30 ± 10 us, and PRU had no effect, as the next port took
INC off again. With a threshold of two packets it was 22 ± 21: whether a last window is promised depends on how many
wait.

Its analysis draws these three and prints nothing. Fixed before the first run, intervals of 95 % over seeds, of which
there are four times as many as in `bolt.py` (five in the first runs):

- *fairness* (`bolt-fairness-experiment`: five flows join, then leave, one each 2 ms): Jain's index of goodputs in the
  second half of each 2 ms is .9 at least, use .95 at least.
- *a flow ends* (`bolt-pru-benchmarks`, its figure's four variants): in the 600 us after it the link is idle for 15 us
  at most; without SM and PRU for 35 to 140 us: their figure shades 280 us, and half of the link that grows to all of it
  in that time idles 70.
- *a flow joins* (`bolt-bts-benchmarks`): the queue is below half of its peak for good in half of Swift's time at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tails
from pandas import DataFrame

import midpath

ROUND = 8e-6
STEP = 2e-3
FLOWS = 5
BASE = 0.97 * 100e9 / 8  # bytes of payload a second
LONG, AFTER, JOINED = 4 * STEP, 600e-6, 1e-3
EVEN, USED, IDLE, IDLES, SOONER = 0.9, 0.95, 15e-6, (35e-6, 140e-6), 0.5
DEPLOYED = '[[deploy]]\nscheme = "bolt"\nports = ["x>y", "y>x"]'
# Schemes as pages name them: the scheme, and its keys.
OWN = 'first_window = "100000 B"\nmax_window = "373760 B"\nthreshold = "4500 B"\n'
BOLT = ("bolt", OWN)
SWIFT = ("swift", 'initial_window = 66\ntarget = "13 us"\nfs_range = "100 us"\nfs_max_cwnd = 256.0\n')
VARIANTS = {
    "bolt": BOLT,
    "bolt, no PRU": ("bolt", OWN + "pru = false\n"),
    "bolt, no SM": ("bolt", OWN + "sm = false\n"),
    "bolt, neither": ("bolt", OWN + "sm = false\npru = false\n"),
    "swift": SWIFT,
}


@dataclass(frozen=True)
class Seen:
    """One run: its series in columns, and when its flows began and ended."""

    series: DataFrame
    flows: DataFrame
    wait: float

    def mean(self, entity: str, metric: str, start: float, end: float) -> float:
        """Between two times."""
        found = self.of(entity, metric)
        inside = found[(found.time_s > start) & (found.time_s <= end)]
        return float(inside.value.mean()) if len(inside) else 0.0

    def of(self, entity: str, metric: str) -> DataFrame:
        """One series."""
        return self.series[(self.series.entity == entity) & (self.series.metric == metric)]


def run(scheme: str, keys: str, seed: int, flows: list[tuple[float, float]], stop: float, more: str = "") -> Seen:
    """Flows of so many bytes, each between hosts of its own, from such times on."""
    pairs = range(len(flows))
    nodes = ", ".join(f'{{ name = "{end}{i}", kind = "host" }}' for end in "sd" for i in pairs)
    host = 'rate = "102 Gbps", delay = "1272 ns", mtu = 1500'
    links = [f'{{ a = "s{i}", b = "x", {host} }}, {{ a = "d{i}", b = "y", {host} }}' for i in pairs]
    links.append('{ a = "x", b = "y", rate = "100 Gbps", delay = "1272 ns", mtu = 1500 }')
    text = "".join(
        f'[[flow]]\nfrom = "s{i}"\nto = "d{i}"\nstart = "{1e6 * start:.0f} us"\njitter = "8 us"\n'
        f'size = "{size:.0f} B"\n'
        for i, (start, size) in enumerate(flows)
    )
    result = midpath.run(
        midpath.Scenario.from_toml(f"""
scheme = "{scheme}"
seed = {seed}
stop = "{1e6 * stop:.0f} us"
[topology]
nodes = [{nodes}]
links = [{", ".join(links)}]
[queue]
limit = "1000 packets"
[schemes.{scheme}]
initial_rto = "100 ms"
min_rto = "100 ms"
{keys}
{DEPLOYED if scheme == "bolt" else ""}
{text}{more}
[measure]
series = true
interval = "{1e6 * ROUND:.0f} us"
points = 4000
""")
    )
    ports = result.ports.to_pandas()
    wait = ports[(ports.node == "x") & (ports.peer == "y")].delay_p99_s.max()
    series = result.series.to_pandas()
    return Seen(series.assign(entity=series.entity.astype(str)), result.flows.to_pandas(), 1e6 * float(wait))


def fairness(scheme: str, keys: str, seed: int) -> tuple[float, float, float]:
    """Least Jain's index of the second halves, least use of them, and the 99th percentile of waits in us."""
    flows = [(i * STEP, 2 * FLOWS * STEP * BASE) for i in range(FLOWS)]
    more = "".join(
        f'[[fault]]\nat = "{1e6 * (FLOWS + i) * STEP:.0f} us"\nkind = "link-down"\nlink = ["s{i}", "x"]\n'
        for i in range(FLOWS)
    )
    seen = run(scheme, keys, seed, flows, (2 * FLOWS - 1) * STEP, more)
    even, used = [], []
    for k in range(2 * FLOWS - 1):
        half = ((k + 0.5) * STEP, (k + 1) * STEP)
        there = range(max(0, k - FLOWS + 1), min(k + 1, FLOWS))
        rates = np.array([seen.mean(f"flow:{i}", "goodput_bps", *half) for i in there])
        even.append(float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())))
        used.append(seen.mean("port:x>y", "utilisation", *half))
    return min(even), min(used), seen.wait


def leaves(scheme: str, keys: str, seed: int) -> tuple[float, float]:
    """Idle time of the link after the first of two flows has ended, in us, and the most that waits then, in us."""
    seen = run(scheme, keys, seed, [(0, STEP * BASE), (0, 2 * STEP * BASE)], LONG)
    ended = float((seen.flows.start_s + seen.flows.fct_s).min())
    span = (ended, ended + AFTER)
    waiting = seen.of("port:x>y", "queue_bytes")
    most = waiting[(waiting.time_s > span[0]) & (waiting.time_s <= span[1])].value.max()
    return 1e6 * AFTER * (1 - seen.mean("port:x>y", "utilisation", *span)), 8e6 * float(most) / 100e9


def joins(scheme: str, keys: str, seed: int) -> tuple[float, float]:
    """How long after its start a second flow's queue is below half of its peak for good, and that peak, both in us."""
    seen = run(scheme, keys, seed, [(0, 2 * JOINED * BASE), (JOINED, JOINED * BASE)], LONG)
    began = float(seen.flows.start_s.max())
    waiting = seen.of("port:x>y", "queue_bytes")
    waiting = waiting[(waiting.time_s > began) & (waiting.time_s <= began + 0.8e-3)]
    most = float(waiting.value.max())
    above = waiting[waiting.value > most / 2].time_s.max()
    return 1e6 * (float(above) - began), 8e6 * most / 100e9


def lines(seeds: int) -> Iterator[str]:
    """The part of the page."""
    numbers = range(1, 1 + 4 * seeds)
    yield "\n## Five flows join, then leave\n"
    yield "| scheme | least Jain's index | least use | wait p99, us | verdict |\n|---|---|---|---|---|"
    for name, which in {"bolt": BOLT, "swift": SWIFT}.items():
        columns = list(zip(*(fairness(*which, seed) for seed in numbers), strict=True))
        judged = both(tails.verdict(columns[0], EVEN), tails.verdict(columns[1], USED)) if name == "bolt" else ""
        yield f"| {name} | {' | '.join(map(tails.cell, columns))} | {judged} |"
    yield "\n## One of two flows ends\n"
    yield "| scheme | idle in 600 us, us | most that waits, us | verdict |\n|---|---|---|---|"
    for name, which in VARIANTS.items():
        idle, most = zip(*(leaves(*which, seed) for seed in numbers), strict=True)
        judged = ""
        if name == "bolt":
            judged = at_most(idle, 1e6 * IDLE)
        elif name == "bolt, neither":
            judged = both(tails.verdict(idle, 1e6 * IDLES[0]), at_most(idle, 1e6 * IDLES[1]))
        yield f"| {name} | {tails.cell(idle)} | {tails.cell(most)} | {judged} |"
    yield "\n## A second flow joins\n"
    yield "| scheme | until half of the peak, us | peak, us | verdict |\n|---|---|---|---|"
    found = {
        name: list(zip(*(joins(*which, seed) for seed in numbers), strict=True))
        for name, which in {"bolt": BOLT, "swift": SWIFT}.items()
    }
    ratios = [a / b for a, b in zip(found["bolt"][0], found["swift"][0], strict=True)]
    for name, columns in found.items():
        judged = f"{tails.cell(ratios)} of Swift's: {at_most(ratios, SOONER)}" if name == "bolt" else ""
        yield f"| {name} | {' | '.join(map(tails.cell, columns))} | {judged} |"


def at_most(values: tuple[float, ...] | list[float], bound: float) -> str:
    """Whether the mean is below a bound."""
    return tails.verdict([-value for value in values], -bound)


def both(first: str, second: str) -> str:
    """Two claims as one."""
    return first if first == second else f"{first} and {second}"
