"""INRPP's first timeout, far shorter or far longer than the round trip: random paths and fabrics, held to bounds that
were fixed before the first run.

A scenario follows from its number alone, and its number says its class:

- *nothing*, *data*, *syn*: one flow of 1 to 30 packets over a path of three links, with a round trip of 10 µs to 10 s.
  `initial_rto` is 10,000 times shorter to 10,000 times longer. On the core nothing is lost, or the first packet with
  data, or the SYN: its link fails while it is on it, and is back at once.
- *fabric*: a fat-tree of 1 to 25 Gbps with sizes of web search; a link fails, and is routed around 0.2 to 5 ms later.
  `min_rto` is between that and 20 ms; nothing is said of `initial_rto`.

The bounds:

- *nothing*, *data*: the flow ends 3.1 round trips at most after one that loses nothing and whose first timeout is a
  minute: two until the first packet asks, one for it, and a tenth for packets' own time.
- *syn*: as soon as the first timeout that is not shorter than the round trip lets it, and a tenth of a round trip.
- *fabric*: each flow ends, at the latest, three times as long after its start as without the failure, and three times
  `min_rto` and the time until it is routed around.
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Crash, Row, Suite, ended, groups, kept

import midpath
from midpath import Result, markdown

CLASSES = ("nothing", "data", "syn", "fabric")
TRIPS, MORE = 3.1, 0.1
SLOWER, TIMES = 3.0, 3.0
# Bytes on the wire of a SYN and of a full packet.
SYN, FULL = 84, 1500
PAYLOAD = 1424


@dataclass(frozen=True)
class Found:
    """When a flow ended in seconds, and the latest that it may; of a fabric the flow that is latest by most."""

    ended: float
    latest: float
    timeouts: int


@dataclass(frozen=True)
class Path3:
    """One flow over three links; times in seconds, rates in bits per second."""

    number: int
    kind: str
    trip: float
    first: float
    core: float
    packets: int

    @property
    def access(self) -> float:
        """The rate of the outer links."""
        return 10 * self.core

    @property
    def delay(self) -> float:
        """Of each link."""
        return self.trip / 6

    def on_core(self, size: int, sent: float) -> float:
        """In the middle of the time that a packet of a host is on the core."""
        return sent + self.delay + 8 * size / self.access + 4 * size / self.core

    @property
    def fault(self) -> str:
        """What fails."""
        handshake = self.trip + 16 * SYN * (2 / self.access + 1 / self.core)
        at = {"data": self.on_core(FULL, handshake), "syn": self.on_core(SYN, 0.0)}.get(self.kind)
        if at is None:
            return ""
        return scenes.down("r0", "r1", f"{1e9 * at:.3f} ns", f"{1e9 * (at + self.lasts):.3f} ns")

    @property
    def lasts(self) -> float:
        """How long the core is down."""
        return 4 * SYN / self.core

    def toml(self, at_leisure: bool = False) -> str:
        """The scenario's text."""
        ends = ("s", "r0"), ("r0", "r1"), ("r1", "d")
        rates = (self.access, self.core, self.access)
        links = [
            scenes.link(a, b, f"{rate:.0f} bps", f"{1e9 * self.delay:.3f} ns")
            for (a, b), rate in zip(ends, rates, strict=True)
        ]
        first = 60.0 if at_leisure else self.first
        return "\n".join([
            f'scheme = "inrpp"\nseed = {self.number}\nstop = "{60 + 60 * self.trip:.0f} s"',
            scenes.topology(links, ["s", "d"]),
            scenes.flow("s", "d", "0 s", size=f"{self.packets * PAYLOAD} B"),
            f'[schemes.inrpp]\ninitial_rto = "{1e9 * first:.3f} ns"',
            "" if at_leisure else self.fault,
        ])  # fmt: skip

    def found(self, result: Result) -> Found:
        """Beside the run: the one at leisure."""
        runs = [one.flows.to_pandas().iloc[0] for one in (result, midpath.run(self.toml(True)))]
        ended, leisure = (float(run.fct_s) if run.fct_s == run.fct_s else float("inf") for run in runs)
        # The first timeout that is not shorter than the round trip: it doubles.
        first = self.first
        while first < self.trip:
            first *= 2
        latest = leisure + (first + MORE * self.trip if self.kind == "syn" else TRIPS * self.trip)
        return Found(ended, latest, int(runs[0].timeouts))


@dataclass(frozen=True)
class Fabric:
    """A fat-tree whose link fails; times in seconds, the rate in Gbps."""

    number: int
    kind: str
    rate: float
    delay: float
    link: tuple[str, str]
    at: float
    around: float
    least: float
    load: float

    def toml(self, fails: bool = True) -> str:
        """The scenario's text."""
        fault = scenes.down(*self.link, f"{1e6 * self.at:.0f} us", "3 s")
        us = {
            "probe_interval": 1e2,
            "decision_interval": 5e2,
            "linger": 1e3,
            "expiry": 1e4,
            "min_rto": 1e6 * self.least,
        }
        link = f'{{ rate = "{self.rate:.2f} Gbps", delay = "{1e9 * self.delay:.0f} ns" }}'
        return "\n".join([
            f'scheme = "inrpp"\nseed = {self.number}\nstop = "3 s"',
            f'[topology]\ngenerate = "fat-tree"\nk = 4\nlink = {link}',
            f'[queue]\nlimit = "300 kB"\n[routing]\nreconverge = "{1e6 * self.around:.0f} us"',
            "[schemes.inrpp]\n" + "\n".join(f'{key} = "{value:.0f} us"' for key, value in us.items()),
            '[[workload]]\nsizes = { kind = "cdf", name = "web-search" }\nmatrix = { kind = "random" }',
            f'arrivals = {{ kind = "poisson", load = "{self.load:.0f} %", load_of = "hosts" }}\nuntil = "10 ms"',
            fault if fails else "",
        ])  # fmt: skip

    def found(self, result: Result) -> Found:
        """Beside the run with the failure: one without."""
        faulty, sound = (one.flows.to_pandas() for one in (result, midpath.run(self.toml(False))))
        latest = SLOWER * sound.fct_s + TIMES * (self.least + self.around)
        over = (faulty.fct_s.fillna(float("inf")) / latest).idxmax()
        return Found(float(faulty.fct_s.fillna(float("inf"))[over]), float(latest[over]), int(faulty.timeouts.sum()))


def draw(_: str, number: int) -> Path3 | Fabric:
    """The scenario with this number."""
    rng, kind = random.Random(f"first timeout {number}"), CLASSES[number % len(CLASSES)]
    if kind == "fabric":
        around = scenes.log_uniform(rng, 2e-4, 5e-3)
        pod, side = rng.randrange(4), rng.randrange(2)
        link = rng.choice([(f"a{pod}.{side}", f"c{2 * side}"), (f"e{pod}.{rng.randrange(2)}", f"a{pod}.{side}")])
        rate, delay = scenes.log_uniform(rng, 1, 25), scenes.log_uniform(rng, 5e-7, 5e-5)
        least, at = scenes.log_uniform(rng, around, 2e-2), rng.uniform(2e-3, 8e-3)
        return Fabric(number, kind, rate, delay, link, at, around, least, rng.uniform(15, 40))
    trip = scenes.log_uniform(rng, 1e-5, 10)
    core = 8 * FULL / (trip * scenes.log_uniform(rng, 1e-4, 1e-2))
    first = min(60.0, max(1e-6, trip * scenes.log_uniform(rng, 1e-4, 1e4)))
    return Path3(number, kind, trip, first, min(core, 1e12), rng.randint(1, 30))


def latest(_: Path3 | Fabric, found: Found, __: object) -> dict[str, float]:
    """The bound, where it is not kept."""
    return {} if found.ended <= found.latest else {"late": found.ended}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """FIRST_TIMEOUT.md."""
    yield markdown.head(["class", "bound kept", "flows with timeouts", "latest, of the bound"])
    of = groups(rows, lambda row: row.scene.kind)
    for kind in filter(of.get, CLASSES):
        ours = ended(of[kind])
        worst = max((one.ended / one.latest for one in ours), default=0.0)
        yield markdown.line([kind, kept(of[kind]), str(sum(one.timeouts > 0 for one in ours)), f"{worst:.2f}"])
    yield ""
    for row in rows:
        if row.missed:
            one = row.found
            said = str(one) if isinstance(one, Crash) else f"{one.ended:.6g} s, at the latest {one.latest:.6g} s"
            yield f"- {row.number}: {row.scene}: {said}"


SUITE = Suite(
    "INRPP's first timeout",
    draw,
    lambda scene, _, __: scene.toml(),
    lambda scene, result, _, __: scene.found(result),
    Found,
    page,
    missed=latest,
    scenarios=200,
)
