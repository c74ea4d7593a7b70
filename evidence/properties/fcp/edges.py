"""FCP at the edges: random dumbbells with 2 to 1,000 flows, outages and cheats, held to properties fixed before.

A scenario follows from its class and number alone. Every bound below was fixed before the first mend.

- **starts**: no fault. A core of 1 Mbps to 10 Gbps, 2 to 1,000 endless flows, round trips that differ by up to 100
  times. They start all at once, in step (the same time apart), spread over one or ten of the longest round trips, or
  join two old ones. Over round trips 50 to 150 after the last start, and at least 5 s:
  - *used*: where a fair share exceeds a packet a second, 90 % of the core at least.
  - *poor*: where it doesn't, the core's use is no less, and the loss of the whole run no more, than NewReno's, by more
    than one percent.
  - *loss*: where a fair share is below a packet in the longest round trip, the loss of the whole run is at most
    NewReno's and one percent.
  - *stuck*: while packets come that fill less than half of the core, its price falls within 10 d. d is two of the
    longest round trips, or 32 packets.
- **scarcity**: shares below a packet a round trip and above one a second, and after some seconds the core is down for
  up to 4 s (timeouts), or its router restarts. *Used*, *loss* and *stuck* as above, after the last change.
- **outage**: two to five flows on 5 to 100 Mbps, 1 to 20 ms, .3 s apart; the core is down for .7 s at 4 s. After that
  no queue drops a packet (*drops*). (At first all drops of the run were counted. What senders have out when the core
  goes down is more than the queue holds where a round trip is above 25 ms: 19 of 60 before anything was mended.)
- **joins**: enforcement is on, and flows join as in *starts*, or two old ones. No honest packet is refused (*refused*).
- **cheats**: each attacker of docs/schemes/fcp.md's table beside an honest flow, on 10 to 50 Mbps and 10 to 80 ms. It
  is refused, it delivers less than half of what its honest neighbour does, and that has 1.2 times its share (*missed*).
"""

from __future__ import annotations

import math
import random
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd
import scenes
from harness import Crash, Row, Suite, groups, kept
from scenes import log_uniform

import midpath
from midpath import Result, markdown

PACKET = 1500 * 8
MOST_PACKETS = 4.5e6
USED, MORE = 0.90, 0.01
FROM, TO, LEAST = 50, 150, 5.0
FALLS, HALF = 10, 0.5
CHEATS = ("underpay", "overspend", "overdraw", "idle-again")
CLASSES = ("starts", "scarcity", "outage", "joins", "cheats")
STARTS = ("at once", "in step", "over one round trip", "over ten round trips", "joining two")


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number. Times in seconds, delays in ms, rates in Mbps."""

    kind: str
    number: int
    how: str
    rate: float
    delay: float
    queue: float
    delays: list[float]
    starts: list[float]
    changed: float = 0.0
    """When the last thing changes."""
    faults: list[str] = field(default_factory=list)
    extra: str = ""

    @property
    def longest(self) -> float:
        """The longest round trip without queues."""
        return 2 * (self.delay + max(self.delays) + 0.1) / 1e3

    @property
    def share(self) -> float:
        """Of each flow, packets a second."""
        return self.rate * 1e6 / PACKET / len(self.starts)

    @property
    def span(self) -> tuple[float, float]:
        """From when to when use is measured."""
        begin = self.changed + FROM * self.longest
        return begin, begin + max((TO - FROM) * self.longest, LEAST)

    @property
    def stop(self) -> float:
        """The run's end."""
        return {"outage": 10.0, "joins": self.changed + 3.0, "cheats": 20.0}.get(self.kind, self.span[1])

    @property
    def d(self) -> float:
        """The averaging window of the core's price at most."""
        return max(2 * self.longest, 32 * PACKET / self.rate / 1e6)

    def toml(self, scheme: str) -> str:
        """The scenario's text."""
        access = max(1000.0, 2 * self.rate)
        attacks = [self.kind == "cheats" and i == 1 for i in range(len(self.starts))]
        flows = [
            scenes.flow(f"s{i}", f"d{i}", f"{start:.6f} s", group="attack" if attacks[i] else None)
            for i, start in enumerate(self.starts)
        ]
        # Samples are a quarter of what a price has to fall in, so that it is seen to.
        step = max(self.d * FALLS / 4, 0.01)
        measure = (
            f'series = true\ninterval = "{step:.4f} s"\npoints = {int(self.stop / step) + 10}\nports = 1\nflows = 0'
        )
        return "\n".join([
            f'title = "{self.kind} {self.number}"\nscheme = "{scheme}"\nseed = {self.number}',
            f'stop = "{self.stop:.4f} s"',
            f'[queue]\nlimit = "{self.queue} ms"',
            scenes.dumbbell(f"{self.rate} Mbps", self.delay, f"{access} Mbps", self.delays),
            f"[measure]\n{measure}",
            *flows,
            *self.faults,
            self.extra,
        ])  # fmt: skip


def access(rng: random.Random, delay: float, count: int) -> list[float]:
    """Delays of senders' links: the longest makes a round trip up to 100 times the core's own."""
    ratio = log_uniform(rng, 1, 100)
    return [round(delay * (ratio ** rng.random() - 1) + 0.1, 3) for _ in range(count)]


def starts(rng: random.Random, how: str, count: int, longest: float) -> list[float]:
    """When flows start."""
    if how == "at once":
        return [0.0] * count
    if how == "in step":
        apart = log_uniform(rng, 0.01, 1) * longest / 2
        return [round(i * apart, 6) for i in range(count)]
    if how == "joining two":
        over = rng.choice([0.0, 1.0, 10.0]) * longest
        return [0.0, 0.3] + [round(3 + rng.random() * over, 6) for _ in range(count - 2)]
    over = (1 if "one" in how else 10) * longest
    return [round(rng.random() * over, 6) for _ in range(count)]


def draw(kind: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"fcp edges {kind} {number}")
    if kind == "outage":
        rate, count = round(log_uniform(rng, 5, 100), 2), rng.randint(2, 5)
        fault = scenes.down("r0", "r1", "4 s", "4.7 s")
        delay, times = round(log_uniform(rng, 1, 20), 2), [0.3 * i for i in range(count)]
        return Scene(kind, number, "", rate, delay, 100, [1.0] * count, times, 4.7, [fault])
    if kind == "cheats":
        cheat, rate = CHEATS[number % len(CHEATS)], round(log_uniform(rng, 10, 50), 1)
        delay = round(log_uniform(rng, 2.5, 20), 2)
        extra = f'[schemes.fcp.groups.attack]\nbehaviour = "{cheat}"\n[schemes.fcp.network]\nenforcement = true'
        return Scene(kind, number, cheat, rate, delay, 50, [delay, delay], [0.0, 2.0], 2.0, [], extra)
    rate, delay = round(log_uniform(rng, 1, 1e4), 2), round(log_uniform(rng, 0.1, 10), 2)
    count, how = round(log_uniform(rng, 2, 1000)), rng.choice(STARTS)
    if kind == "joins":
        rate, count = round(log_uniform(rng, 2, 1e3), 2), round(log_uniform(rng, 3, 200))
    delays = access(rng, delay, count)
    if kind == "scarcity":
        # Shares from one packet a second to one a round trip.
        rate, delays = round(log_uniform(rng, 1, 100), 2), access(rng, delay, 1000)
        share = log_uniform(rng, 1.2, max(1.3, 450 / (delay + max(delays) + 0.1)))
        delays = delays[: max(2, min(1000, round(rate * 1e6 / PACKET / share)))]
        count = len(delays)
    while rate * 1e6 / PACKET * TO * 2 * (delay + max(delays)) / 1e3 > MOST_PACKETS:
        delay, delays = delay / 2, [ms / 2 for ms in delays]
    delay, delays = round(max(delay, 0.01), 4), [round(max(ms, 0.01), 4) for ms in delays]
    times = starts(rng, how, count, 2 * (delay + max(delays) + 0.1) / 1e3)
    queue, changed, faults = round(rng.uniform(20, 200)), max(times), []
    if kind == "scarcity":
        at = changed + rng.uniform(3, 6)
        until = at + log_uniform(rng, 0.5, 4)
        if rng.random() < 0.5:
            faults = [scenes.down("r0", "r1", f"{at:.3f} s", f"{until:.3f} s")]
            changed = until
        else:
            faults, changed = [scenes.restart(f"{at:.3f} s")], at
    extra = "[schemes.fcp.network]\nenforcement = true" if kind == "joins" else ""
    return Scene(kind, number, how, rate, delay, queue, delays, times, changed, faults, extra)


@dataclass(frozen=True)
class Found:
    """What one run came to."""

    used: float
    """Of the core, over the span that counts."""
    loss: float
    """Dropped by queues, over sent, of the whole run."""
    drops: int
    refused: int
    stuck: float = 0.0
    """The longest time that a price stood while less than half came, in 10 d."""
    delivered: Sequence[float] = (0.0, 0.0)
    """By the first two flows, Mbps from 2 s on."""


def core(result: Result) -> pd.DataFrame:
    """The core's series: a row for each sample, a column for each metric."""
    series = result.series.to_pandas()
    table: pd.DataFrame = series[series.entity == "port:r0>r1"].pivot_table(
        index="time_s", columns="metric", values="value"
    )
    flat: pd.DataFrame = table.reset_index()
    return flat


def stands(samples: pd.DataFrame, scene: Scene) -> float:
    """How long the core's price has stood or risen at most while less than half of it was used, in 10 d."""
    if "price" not in samples:
        return 0.0
    step, longest, since, before = float(samples.time_s.diff().median()), 0.0, math.nan, math.inf
    for time, price, bps in zip(samples.time_s, samples.price, samples.throughput_bps, strict=True):
        few = 0 < bps < HALF * scene.rate * 1e6 and time > scene.starts[0] + FALLS * scene.d
        if not few or price < before:
            since, before = (time if few else math.nan), price
        elif not math.isnan(since):
            longest = max(longest, time - since)
    return max(0.0, longest - step) / (FALLS * scene.d)


def before(scene: Scene) -> int:
    """Packets that queues have dropped until the last change."""
    text = scene.toml("fcp").replace(f'stop = "{scene.stop:.4f} s"', f'stop = "{scene.changed} s"', 1)
    return int(midpath.run(text).ports.to_pandas().drops_queue.sum())


def text(scene: Scene, scheme: str, _: str) -> str | None:
    """With NewReno where that is what FCP is held to."""
    return scene.toml(scheme) if scheme == "fcp" or scene.kind in ("starts", "scarcity") else None


def judge(scene: Scene, result: Result, scheme: str, _: str) -> Found:
    """What a run came to."""
    kind = scene.kind
    ports = result.ports.to_pandas()
    dropped, refused = int((ports.drops_queue + ports.drops_aqm).sum()), int(ports.drops_policy.sum())
    loss = (dropped + refused) / max(1.0, float(result.summary["sent_packets"]))
    flows = result.flows.to_pandas()
    if kind == "cheats":
        first, second = (float(b) * 8e-6 / scene.stop for b in flows.delivered_bytes[:2])
        return Found(0.0, loss, dropped, refused, delivered=(first, second))
    if kind == "outage":
        dropped -= before(scene)
    if kind in ("joins", "outage"):
        return Found(0.0, loss, dropped, refused)
    samples = core(result)
    begin, end = scene.span
    inside = samples[(samples.time_s > begin + samples.time_s.diff().median()) & (samples.time_s <= end)]
    used = float(inside.throughput_bps.mean()) / (scene.rate * 1e6)
    return Found(used, loss, dropped, refused, stands(samples, scene) if scheme == "fcp" else 0.0)


def failures(scene: Scene, found: Found, base: Found | None) -> dict[str, float]:
    """The bounds that are not kept, with what was found instead."""
    if found is base:
        return {}  # NewReno is held to none
    out = {}
    if scene.kind == "cheats":
        # What an honest neighbour leaves: 2 s alone, then half of the rest, less headers and pacing.
        fair = scene.rate * (2 + (scene.stop - 2) / 2) / scene.stop * 1408 / 1500
        first, second = found.delivered
        if not found.refused or second >= first / 2 or first < 1.2 * fair:
            out["missed"] = second
        return out
    if scene.kind == "outage":
        return {"drops": float(found.drops)} if found.drops else {}
    if scene.kind == "joins":
        return {"refused": float(found.refused)} if found.refused else {}
    assert base is not None
    if scene.share > 1:
        if found.used < USED:
            out["used"] = found.used
    elif found.used < base.used - MORE or found.loss > base.loss + MORE:
        out["poor"] = found.used
    if scene.share * scene.longest < 1 and found.loss > base.loss + MORE:
        out["loss"] = found.loss
    if found.stuck > 1:
        out["stuck"] = found.stuck
    return out


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """EDGES.md."""
    yield markdown.head(["class", "all bounds kept", "not kept"])
    notes = list[str]()
    for kind, own in groups((row for row in rows if row.scheme == "fcp"), lambda row: row.family).items():
        bounds = sorted({bound for row in own for bound in row.missed})
        hits = {bound: [note(row, bound) for row in own if bound in row.missed] for bound in bounds}
        yield markdown.line([kind, kept(own), ", ".join(f"{bound} {len(hits[bound])}" for bound in bounds) or "–"])
        notes += [f"- {kind}, {bound}: {'; '.join(hits[bound])}" for bound in bounds]
    yield "\nEach with how its flows start, what was found, and NewReno's use and loss:\n"
    yield from notes or ["- none"]


def note(row: Row, bound: str) -> str:
    """A scenario that misses a bound."""
    base, scene = row.base, row.scene
    if isinstance(row.found, Crash) or isinstance(base, Crash):
        return f"{row.number} ({row.found if isinstance(row.found, Crash) else base})"
    beside = f", NewReno {base.used:.2f}, {100 * base.loss:.1f} %" if base else ""
    return f"{row.number} ({scene.how or 'outage'}, {row.missed[bound]:.3g}{beside})"


SUITE = Suite(
    "FCP at the edges",
    draw,
    text,
    judge,
    Found,
    page,
    missed=failures,
    families=CLASSES,
    schemes=("newreno", "fcp"),
    base="newreno",
    scenarios=200,
)
