"""Senders that ignore feedback (§V-C) beside honest ones, and ports that bound what they take: random scenarios, held
to bounds that were fixed before the first run.

A scenario follows from its number alone, and its number says its class:

- *one core*: 1 to 16 honest flows and 1 to 8 that ignore feedback, over a core of 2 to 50 Mbps, with round trips of 5
  to 200 ms that are up to ten times unlike.
- *two links*: two narrow links in a row, one up to three times the other; flows go over both, or over one of them.

Flows have no end, come within two seconds, and have access links of 100 Mbps to 1 Gbps. Ports hold 50 to 500 ms in all
(in one half: and a cache of 1 to 5 s beside that). Each is run four times: with and without `enforcement`, and whether
or not those flows ignore what they are told. Rates are from the twentieth to the thirtieth
second: what came before ports knew who does not heed takes as long to drain as a cache is deep.

The bounds, with `enforcement`:

- **taken**: those that ignore feedback get together at most a quarter more than if they heeded it.
- **left**: the honest ones get together at least four fifths of what they get where all are honest.
- **unfelt**: where all are honest, ports refuse at most a thousandth of what is sent, and all get together at least
  98 % of what they get without.
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import scenes
from harness import Bound, Row, Suite, misses, table

import midpath
from midpath import Result
from midpath.result.series import mean

TAKEN, LEFT = 1.25, 0.8
REFUSED, LESS = 1e-3, 0.98
FROM, TO = 20.0, 30.0
CLASSES = ("one core", "two links")
HONEST, CHEATS = "honest", "cheats"


@dataclass(frozen=True)
class Flow:
    """From a host behind one router to one behind another; the start in seconds, its sender's delay in ms."""

    source: str
    target: str
    group: str
    start: float
    delay: float


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number."""

    number: int
    rates: tuple[float, ...]
    """Of the routers' links in a row, Mbps."""
    delay: float
    """Of each of them, ms."""
    access: float
    """Mbps."""
    queue: float
    """Of every port, ms of its rate."""
    cache: float | None
    """Beside that, s."""
    flows: tuple[Flow, ...]

    @property
    def kind(self) -> str:
        """Its class."""
        return CLASSES[self.number % len(CLASSES)]

    def toml(self, ignores: bool, enforcement: bool) -> str:
        """The scenario's text."""
        links = [
            scenes.link(f"r{i}", f"r{i + 1}", f"{rate:.3f} Mbps", f"{self.delay:.3f} ms")
            for i, rate in enumerate(self.rates)
        ]
        hosts, texts = [], []
        for i, flow in enumerate(self.flows):
            links.append(scenes.link(f"s{i}", flow.source, f"{self.access:.1f} Mbps", f"{flow.delay:.3f} ms"))
            links.append(scenes.link(f"d{i}", flow.target, f"{self.access:.1f} Mbps", "0.1 ms"))
            hosts += [f"s{i}", f"d{i}"]
            texts.append(scenes.flow(f"s{i}", f"d{i}", f"{flow.start:.4f} s", group=flow.group))
        own = [f"enforcement = {str(enforcement).lower()}"]
        own += [f'non_cooperative = ["{CHEATS}"]'] if ignores else []
        own += [f'cache = "{self.cache:.2f} s"'] if self.cache else []
        return "\n".join([
            f'scheme = "inrpp"\nseed = {self.number}\nstop = "{TO:g} s"\n[queue]\nlimit = "{self.queue:.0f} ms"',
            "[schemes.inrpp]\n" + "\n".join(own),
            scenes.topology(links, hosts),
            '[measure]\nseries = true\ninterval = "500 ms"\nports = 0\nflows = 0',
            *texts,
        ])  # fmt: skip

    def run(self, ignores: bool, enforcement: bool) -> tuple[float, float, float]:
        """What one of its runs came to."""
        return got(midpath.run(self.toml(ignores, enforcement)))


def got(result: Result) -> tuple[float, float, float]:
    """Mbps of the honest and of the others, and the share of what was sent that policers refused."""
    rates = [(mean(result, f"group:{group}", "goodput_bps", FROM, TO) or 0.0) / 1e6 for group in (HONEST, CHEATS)]
    refused = float(result.ports.to_pandas().drops_policy.sum())
    return rates[0], rates[1], refused / float(result.summary["sent_packets"])


@dataclass(frozen=True)
class Found:
    """What a scenario's four runs came to: shares of what is got where all heed."""

    taken_off: float
    left_off: float
    taken: float
    left: float
    refused: float
    less: float


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"non-cooperative {number}")
    rate = scenes.log_uniform(rng, 2, 50)
    two = CLASSES[number % len(CLASSES)] == "two links"
    rates = (rate, rate * scenes.log_uniform(rng, 1 / 3, 3)) if two else (rate,)
    trip, unlike = scenes.log_uniform(rng, 5, 200), scenes.log_uniform(rng, 1, 10)
    delay = trip / 2 / unlike / len(rates)
    last = f"r{len(rates)}"
    ways = [("r0", last)] if not two else [("r0", last), ("r0", "r1"), ("r1", last)]
    groups = [HONEST] * rng.randint(1, 16) + [CHEATS] * rng.randint(1, 8)
    flows = tuple(
        Flow(*rng.choice(ways), group, rng.uniform(0, 2), (trip / 2) * unlike ** -rng.random() + 0.1)
        for group in groups
    )
    queue = max(scenes.log_uniform(rng, 50, 500), 20 * 12 / min(rates))
    cache = rng.uniform(1, 5) if number // len(CLASSES) % 2 else None
    return Scene(number, rates, delay, scenes.log_uniform(rng, 100, 1000), queue, cache, flows)


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """Beside the run with enforcement and cheats: the other three."""
    (honest, others, _), (honest_on, others_on, refused) = (scene.run(False, on) for on in (False, True))
    off, on = scene.run(True, False), got(result)
    less = (honest_on + others_on) / (honest + others)
    return Found(off[1] / others, off[0] / honest, on[1] / others, on[0] / honest, refused, less)


def spread(of: str, at: int) -> Callable[[list[Found]], str]:
    """The median of a measure, and its end."""

    def cell(found: list[Found]) -> str:
        values = sorted(getattr(one, of) for one in found)
        return f"{values[len(values) // 2]:.2f}, {values[at]:.2f}"

    return cell


COLUMNS = {
    "taken, median and most": spread("taken", -1),
    "left, median and least": spread("left", 0),
    "without enforcement: taken": spread("taken_off", -1),
    "left": spread("left_off", 0),
}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """NON_COOPERATIVE.md."""
    yield "*Taken* and *left* are over what is got where all heed.\n"
    ordered = sorted(rows, key=lambda row: CLASSES.index(row.scene.kind))
    yield from table(ordered, {"class": lambda row: row.scene.kind}, {name: name for name in NAMES}, COLUMNS)
    yield "\nColumns *taken* to *unfelt*: in how many that bound is not kept.\n"
    yield from misses(rows)


NAMES = ("taken", "left", "unfelt")
BOUNDS = (
    Bound("taken", TAKEN),
    Bound("left", LEFT, at_least=True),
    Bound("unfelt", REFUSED, of="refused"),
    Bound("unfelt", LESS, of="less", at_least=True),
)
SUITE = Suite(
    "INRPP beside senders that ignore feedback",
    draw,
    lambda scene, _, __: scene.toml(True, True),
    judge,
    Found,
    page,
    BOUNDS,
)
