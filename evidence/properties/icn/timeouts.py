"""Timeouts shorter than the round trip, for each consumer: random scenarios without loss.

A number draws one scenario of each family, which runs with `ndn` and with `mircc`. Queues are long enough for all.

- **alone**: one flow of 10 to 300 Data over two links of 1 Mbps to 1 Gbps, a round trip of 1 us to 10 s and `min_rto`
  of 10 ms to 1 s, all evenly over their logarithms.
- **changes**: two to four flows without end over a core of 10 to 100 Mbps, round trips of 2 to 200 ms, `min_rto` of 10
  to 200 ms. After two seconds the core's delay rises, so that each round trip is longer by 100 ms to 3 s.

The bounds, fixed before the first run:

- **sample**: three of the longest round trips after the start, or the change, each flow has a round trip that is sure
  (Karn's rule), after the change one of the new length.
- **timeouts** (alone): later than that there is at most one for 50 Interests, for the object's last Data.
- **time** (alone): no later than three round trips after the end with `min_rto` = 60 s.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import scenes
from harness import Bound, Suite, tallied

import midpath
from midpath import Result

SCHEMES, FAMILIES = ("ndn", "mircc"), ("alone", "changes")
TRIPS, LONG = 3, "60 s"
MOST_LATE = 0.02
PAYLOAD, DATA_BITS = 1428, 8 * 1500
CHANGE, AFTER = 2.0, 8


@dataclass(frozen=True)
class Scene:
    """What a number draws."""

    number: int
    links: list[str]
    hosts: list[str]
    data: int | None
    """Data of each flow; none: no end."""
    least: float
    """`min_rto`, in s."""
    trip: float
    """The longest round trip from `begins` on, in s, transmissions included."""
    begins: float
    more: float = 0.0
    """By how much each is longer from then on."""
    fault: str = ""

    @property
    def recovered(self) -> float:
        """When no timeout is to come any more."""
        return self.begins + TRIPS * self.trip

    def toml(self, scheme: str, least: str | None = None, stop: float | None = None) -> str:
        """Its text."""
        marks = 'kind = "codel"\n' if scheme == "ndn" and self.data is None else ""
        size = f"{self.data * PAYLOAD} B" if self.data else None
        end = stop or self.recovered + AFTER * self.trip + (60 if self.data else 0)
        flows = len(self.hosts) // 2
        return "\n".join([
            f'title = "timeouts {self.number}"\nscheme = "{scheme}"\nseed = {self.number}\nstop = "{end:.9f} s"',
            f'[schemes.{scheme}]\nmin_rto = "{least or f"{self.least:.6f} s"}"',
            f'[queue]\n{marks}limit = "100000 packets"',
            scenes.topology(self.links, self.hosts),
            *(scenes.flow(f"p{i}", f"c{i}", "0 s", size=size) for i in range(flows)),
            self.fault,
        ])  # fmt: skip


def draw(family: str, number: int) -> Scene:
    """The scenario of a family with this number."""
    rng = random.Random(f"timeouts {family} {number}")
    return alone(number, rng) if family == "alone" else changes(number, rng)


def alone(number: int, rng: random.Random) -> Scene:
    """One flow."""
    rates = [scenes.log_uniform(rng, 1, 1000) for _ in range(2)]
    trip = scenes.log_uniform(rng, 1e-6, 10)
    links = [
        scenes.link(a, b, f"{rate:.3f} Mbps", f"{1e9 * trip / 4:.3f} ns")
        for (a, b), rate in zip((("p0", "r0"), ("r0", "c0")), rates, strict=True)
    ]
    sent = sum(DATA_BITS / (1e6 * rate) for rate in rates)
    data = round(scenes.log_uniform(rng, 10, 300))
    return Scene(number, links, ["p0", "c0"], data, scenes.log_uniform(rng, 0.01, 1), trip + sent, 0.0)


def changes(number: int, rng: random.Random) -> Scene:
    """The core's delay rises."""
    rate = scenes.log_uniform(rng, 10, 100)
    trips = [scenes.log_uniform(rng, 0.002, 0.2) for _ in range(rng.randint(2, 4))]
    more = scenes.log_uniform(rng, 0.1, 3)
    links = [scenes.link("r0", "r1", f"{rate:.3f} Mbps", "0.1 ms")]
    for i, trip in enumerate(trips):
        links += [scenes.link(f"p{i}", "r0", "1 Gbps", f"{1e3 * trip / 2 - 0.2:.4f} ms")]
        links += [scenes.link(f"c{i}", "r1", "1 Gbps", "0.1 ms")]
    hosts = [f"{end}{i}" for i in range(len(trips)) for end in "pc"]
    delay = f"{1e3 * more / 2:.4f} ms"
    fault = f'[[fault]]\nkind = "delay"\nlink = ["r0", "r1"]\nat = "{CHANGE} s"\ndelay = "{delay}"'
    return Scene(number, links, hosts, None, scenes.log_uniform(rng, 0.01, 0.2), more + max(trips), CHANGE, more, fault)


@dataclass(frozen=True)
class Found:
    """What a scenario came to: flows without a round trip, timeouts up to three round trips and after them, the latter
    for each Interest, and round trips for which the end is later than without timeouts."""

    unsampled: int
    early: int
    late: int
    share: float
    later: float


def judge(scene: Scene, whole: Result, scheme: str, _: str) -> Found:
    """Beside the whole run: it up to the bound, and without timeouts."""
    early = midpath.run(scene.toml(scheme, stop=scene.recovered)).flows.to_pandas()
    flows = whole.flows.to_pandas()
    late = int(flows.timeouts.sum()) - int(early.timeouts.sum())
    later = 0.0
    if scene.data:
        later = (_end(whole) - _end(midpath.run(scene.toml(scheme, least=LONG)))) / scene.trip
    return Found(
        unsampled=int((~(early.rtt_max_s >= scene.more)).sum()),
        early=int(early.timeouts.sum()),
        late=late,
        share=late / max(int(flows.sent_packets.sum()) - int(early.sent_packets.sum()), 1),
        later=later,
    )


def _end(result: Result) -> float:
    time = float(result.flows["fct_s"].to_numpy()[0])
    return time if time > 0 else math.inf


SUITE = Suite(
    "Timeouts shorter than the round trip",
    draw,
    lambda scene, scheme, _: scene.toml(scheme),
    judge,
    Found,
    tallied(
        {"family": lambda row: row.family, "scheme": lambda row: row.scheme},
        {
            "with timeouts": lambda found: str(sum(one.early + one.late > 0 for one in found)),
            "most timeouts for an Interest later": lambda found: f"{max(one.share for one in found):.4f}",
            "latest end, RTTs": lambda found: f"{max(one.later for one in found):.2f}",
        },
    ),
    (
        Bound("sample", 0, of="unsampled"),
        Bound("timeouts", lambda scene, _: MOST_LATE if scene.data else None, of="share"),
        Bound("time", TRIPS, of="later"),
    ),
    families=FAMILIES,
    schemes=SCHEMES,
)
