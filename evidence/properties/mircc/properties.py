"""What MIRCC is to keep, each property on numbers that nothing was tried on: writes PROPERTIES.md.

The bounds were fixed before the first run:

- **spread**, 90 scenarios of `spread.py`: with a queue of ten packets and one for each Interest whose round trip is
  not known, no Data is dropped, at rest at most 1.1 Interests are sent per Data, and goodput is at least 98 % of that
  with queues without a bound.
- **losses**, 100 scenarios of `losses.py`: at most 1.3 times the time without loss, over 1 − p.
- **secondary**, 40 random networks of layers, with the bounds of `secondary.py`.
- **joins**, 10 scenarios: one flow has 20 Mbps, and after a second 100 flows of 70 Data join, at once or within a round
  trip, with round trips of 2 to 200 ms. An audit had counted 24,352 Nacks for 7,000 Data. No bound was set. Beside
  it stands the time until the last has its Data, over that of 101 flows on a link that is always full.
"""

from __future__ import annotations

import random
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import scenes
from harness import Row, Suite, count, ended, misses
from mircc import losses, secondary, spread
from mircc.secondary import BIAS, NETWORKS_WITHIN, OURS, WITHIN, Network

from midpath import Result, markdown
from midpath.papers.mircc.common import ETA

# Without "ours": the secondary class by the paper's (12)-(16), which is the default.
COUNTS = {"joins": 10, "secondary": 40, "secondary, ours": 40, "losses": 100, "losses, ours": 100, "spread": 90}
PARTS = {"spread": spread.SUITE, "losses": losses.SUITE, "losses, ours": losses.SUITE}
JOINERS, SEGMENTS, MBPS, AT = 100, 70, 20.0, 1.0
PAYLOAD, DATA = 1428, 1500
STOP = 30.0


@dataclass(frozen=True)
class Joins:
    """Interests that were sent in vain, Data, packets dropped, and how long all took over what a full link takes."""

    nacks: float
    data: float
    dropped: float
    time: float


@dataclass(frozen=True)
class Scene:
    """A family, a number, and what another suite draws for it."""

    family: str
    number: int
    drawn: Any

    @property
    def packets(self) -> float:
        """`secondary_packets`."""
        return OURS if self.family.endswith("ours") else 0.0

    @property
    def params(self) -> str:
        """Of the scheme, in scenes of other suites."""
        return "" if self.family == "spread" else f"secondary_packets = {self.packets}"


def draw(family: str, number: int) -> Scene:
    """A scene."""
    if family in PARTS:
        return Scene(family, number, PARTS[family].draw("", number))
    layers = "layers" if family.endswith("ours") else "layers, text"
    return Scene(family, number, secondary.draw(layers, number) if family.startswith("secondary") else None)


def text(scene: Scene, _: str, __: str) -> str | None:
    """Its scenario."""
    if scene.family in PARTS:
        return PARTS[scene.family].text(scene.drawn, "", scene.params)
    if scene.family == "joins":
        return joins_text(scene.number)
    return secondary.text(scene.drawn)


def judge(scene: Scene, result: Result, _: str, __: str) -> Any:
    """What a run came to."""
    if scene.family in PARTS:
        return PARTS[scene.family].judge(scene.drawn, result, "", scene.params)
    return joins(result) if scene.family == "joins" else secondary.judge(scene.drawn, result)


def joins_text(number: int) -> str:
    """The text of a scenario of joins."""
    rng = random.Random(f"joins {number}")
    trips = [scenes.log_uniform(rng, 0.002, 0.2) for _ in range(JOINERS + 1)]
    over = 0.0 if rng.random() < 0.5 else max(trips)
    starts = [0.0, *(round(AT + over * rng.random(), 6) for _ in range(JOINERS))]
    links = [scenes.link("r0", "r1", f"{MBPS} Mbps", "0.1 ms")]
    for i, trip in enumerate(trips):
        links += [scenes.link(f"p{i}", "r0", "1 Gbps", f"{max(1e3 * trip / 2 - 0.2, 0.1):.4f} ms")]
        links += [scenes.link(f"c{i}", "r1", "1 Gbps", "0.1 ms")]
    hosts = [f"{end}{i}" for i in range(len(trips)) for end in "pc"]
    return "\n".join([
        f'title = "joins {number}"\nscheme = "mircc"\nseed = {number}\nstop = "{STOP} s"',
        f'[queue]\nlimit = "{10 + JOINERS} packets"',
        scenes.topology(links, hosts),
        *(
            scenes.flow(f"p{i}", f"c{i}", f"{start} s", size=f"{SEGMENTS * PAYLOAD} B" if i else None)
            for i, start in enumerate(starts)
        ),
    ])  # fmt: skip


def joins(result: Result) -> Joins:
    """What the joiners send in vain."""
    flows = result.flows.to_pandas()
    joiners = flows[flows.size_bytes == SEGMENTS * PAYLOAD]
    data = float(SEGMENTS * len(joiners))
    ends = (joiners.start_s + joiners.fct_s.fillna(STOP)).max() - AT
    # They and the flow that was there have a hundred and first of the link each.
    full = (JOINERS + 1) * SEGMENTS * DATA * 8 / (ETA * MBPS * 1e6)
    ports = result.ports.to_pandas()
    return Joins(
        nacks=float(joiners.sent_packets.sum()) - data,
        data=data,
        dropped=float((ports.drops_queue + ports.drops_policy).sum()),
        time=float(ends) / full,
    )


def said(holds: bool) -> str:
    """A verdict."""
    return "yes" if holds else "**no**"


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """PROPERTIES.md."""
    by = {what: [row for row in rows if row.family == what] for what in COUNTS}
    yield markdown.head(["property", "bound", "found", "holds"])
    bounds = {"drops": "no Data dropped", "asked": "at most 1.1 Interests per Data at rest", "goodput": "at least 98 %"}
    for what, bound in bounds.items():
        yield kept_row(f"spread: {what}", f"{bound}, in all", count(by["spread"], what), len(by["spread"]))
    for what in ("losses", "losses, ours"):
        missed = sum(bool(row.missed) for row in by[what])
        yield kept_row(f"{what}: time", "at most 1.3/(1 − p), in all", missed, len(by[what]))
    for what in ("secondary", "secondary, ours"):
        yield from secondary_rows(what, ended(by[what]))
    came: list[Joins] = ended(by["joins"])
    most = max(came, key=lambda one: one.nacks)
    yield markdown.line([
        "joins: Nacks per Data", "none; an audit had counted 3.48",
        f"{statistics.fmean(j.nacks / j.data for j in came):.2f} on average, {most.nacks / most.data:.2f} at most "
        f"({most.nacks:,.0f} for {most.data:,.0f} Data)", "–",
    ])  # fmt: skip
    yield markdown.line([
        "joins: time, over a full link's", "none",
        f"{statistics.fmean(j.time for j in came):.2f} on average, {max(j.time for j in came):.2f} at most", "–",
    ])  # fmt: skip
    gone = sum(j.dropped > 0 for j in came)
    yield markdown.line(["joins: dropped", "no Data", f"in {gone} of {len(came)}", said(gone == 0)])
    limits = "../../../docs/schemes/mircc.md#limits"
    yield f"\nWhy: Data that come later than they are due, or sooner, find the queue full ([limits]({limits})); an"
    yield "object's first Interest has no round trip to go by. By the text the secondary class falls at once and rises"
    yield "slowly, where it has one Interest in an interval, or none. *Ours*: `secondary_packets = 10`. Where that"
    yield "misses, Interests of a near flow are mostly refused where a far one has booked the way back, and the"
    yield "secondary class takes what they leave ([two families](SECONDARY.md))."
    yield "\nSecondary class, ours, the furthest flow where one is further than 5 %:\n"
    for row in by["secondary, ours"]:
        if abs(row.found.furthest) > WITHIN:
            yield f"- {row.number}: {100 * row.found.furthest:+.1f} %"
    yield "\nSpread, where a bound is missed:\n"
    yield from misses(by["spread"])
    yield "\nLosses, the same:\n"
    yield from misses(by["losses"], lambda row: losses.silence(replace(row, scene=row.scene.drawn), ""))


def kept_row(what: str, bound: str, missed: int, of: int) -> str:
    """Of a bound that all are to keep."""
    return markdown.line([what, bound, f"{of - missed} of {of}", said(not missed)])


def secondary_rows(what: str, found: list[Network]) -> Iterator[str]:
    """Of the table."""
    within, (bias, flows) = secondary.within(found), secondary.bias(found)
    need = round(NETWORKS_WITHIN * len(found))
    yield markdown.line([f"{what}: within 5 %", f"{need} of {len(found)} networks", f"{within}", said(within >= need)])
    yield markdown.line([f"{what}: bias", "below 1 %", f"{100 * bias:+.1f} % of {flows} flows", said(abs(bias) < BIAS)])


def missed(scene: Scene, found: Any, base: Any) -> dict[str, float]:
    """By the bounds of the suite that a scene is of."""
    return PARTS[scene.family].failures(scene.drawn, found, base) if scene.family in PARTS else {}


SUITE = Suite(
    "What MIRCC is to keep",
    draw,
    text,
    judge,
    {"joins": Joins, "secondary": Network, "secondary, ours": Network}
    | {"spread": spread.Found, "losses": losses.Found, "losses, ours": losses.Found},
    page,
    families=tuple(COUNTS),
    missed=missed,
    most=COUNTS,
)
