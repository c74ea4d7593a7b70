"""INRPP at its edges: random scenarios, held to bounds that were fixed before the first run.

A scenario follows from its number alone, and its number says its class:

- *joins*: one or two flows without end over a core of 2 to 50 Mbps; 1 to 100 flows of 20 kB to 2 MB join them, at
  once, in step or spread.
- *two hops*: the same where a second narrow link follows, with a flow of its own on each.
- *outage*: four flows or fewer without end over a triangle of links: the main link fails for 0.3 to 4 s. Its detour
  works, is missing, fails as well in the middle of it, or its way back is narrow (a fifth to a fiftieth).
- *gone*: 4 to 30 flows without end, of which a part stops.
- *beside*: one INRPP flow beside 2 to 12 of CUBIC.
- *quiet*: flows of 10 kB to 1 MB that come one after another, a tenth to half of the core's load.

In half of the numbers all ports hold as many bytes as the queue's limit says, INRPP's buffer, cache and partition for
TCP together (*equal*). In the others INRPP has a cache of 1 to 20 s of the link's rate beside that (*roomy*).

The bounds:

- **loss** (all but beside): packets that queues dropped, over packets sent, at most NewReno's on the same scenario and
  one percent.
- **promised** (all, where ports say what they have promised): never more than the room that they have.
- **outage**: while the main link is down, as many bytes are delivered as NewReno delivers, but for two percent of what
  the core carries in that time (headers).
- **gone**: from three round trips, and what a tenth of the cache takes to drain, after flows have stopped until a
  second later, they have less than a tenth of the core. With *equal* memory the cache is all of the port's memory.
- **share**: the flow beside CUBIC has at most 1.25 times, and at least half of, its equal share of what is delivered.
- **time** (quiet; joins in which an earlier build drops nothing): the mean completion time is at most 3 % above that of
  the earlier build whose runs `--before` names.
- **idle**: of a core with flows without end and no fault, nine tenths are used from the tenth round trip after the last
  join on (half, where a flow has less than two packets in a round trip of its share).

`--schemes` also takes "inrpp, the paper's text", which is beside ours in the table, and "inrpp, divided", whose equal
memory is half cache.
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pandas as pd
import scenes
from harness import Row, Suite, count, ended, groups, kept, kept_before, worst

from midpath import Result, markdown

BASE, OURS, PAPER, DIVIDED = "newreno", "inrpp", "inrpp, the paper's text", "inrpp, divided"

MORE_LOSS = 0.01
LESS_DELIVERED = 0.02
GONE, TRIPS, TENTH = 0.1, 3, 0.1
SHARE = (0.5, 1.25)
SLOWER = 1.03
USED, LITTLE_USED = 0.9, 0.5

CLASSES = ("joins", "two hops", "outage", "gone", "beside", "quiet")
SPLIT = "".join(f'{key} = "{{{key}}} ms"\n' for key in ("buffer", "cache", "tcp_cache"))


@dataclass(frozen=True)
class Flow:
    """Between host `source` and host `target`; times in seconds, sizes in bytes."""

    source: str
    target: str
    start: float = 0.0
    size: int | None = None
    stop: float | None = None
    scheme: str | None = None

    def toml(self) -> str:
        """The flow's text."""
        size = f"{self.size} B" if self.size else None
        stop = f"{self.stop:.4f} s" if self.stop else None
        return scenes.flow(self.source, self.target, f"{self.start:.4f} s", size=size, stop=stop, scheme=self.scheme)


@dataclass
class Scene:
    """What is drawn for one number."""

    number: int
    rate: float
    """Of the core, Mbps."""
    delay: float
    """Of each link of the core, ms."""
    queue: float
    """Of every port, ms of its own rate."""
    cache: float | None
    """INRPP's, beside that, ms; none where all memory is equal."""
    links: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    stop: float = 10.0
    core: tuple[str, str] = ("r0", "r1")
    trip: float = 0.0
    """The longest round trip without queues, s."""
    look: tuple[float, float] | None = None
    """From when to when bytes are counted."""
    gone: int = 0
    """The first so many flows stop."""
    changed: float = 0.0

    @property
    def kind(self) -> str:
        """Its class."""
        return CLASSES[self.number % len(CLASSES)]

    @property
    def cached(self) -> float:
        """Seconds of the core's rate that INRPP stores."""
        return (self.queue if self.cache is None else self.cache) / 1e3

    def link(self, a: str, b: str, rate: float, delay: float, back: float | None = None) -> None:
        """Adds a link."""
        other = f', rate_back = "{back:.4g} Mbps"' if back else ""
        self.links.append(scenes.link(a, b, f"{rate:.4g} Mbps", f"{delay:.4g} ms", other))

    def host(self, name: str, router: str, delay: float, rate: float = 1000.0) -> str:
        """Adds a host."""
        self.hosts.append(name)
        self.link(name, router, rate, delay)
        return name

    def toml(self, scheme: str, more: str) -> str:
        """The scenario's text."""
        own = ""
        if scheme != BASE:
            if self.cache is not None:
                own = f'cache = "{self.cache:g} ms"\n'
            elif scheme in (PAPER, DIVIDED):
                own = SPLIT.format(buffer=self.queue / 4, cache=self.queue / 2, tcp_cache=self.queue / 4)
            own = "[schemes.inrpp]\n" + own + ('text = "paper"\n' if scheme == PAPER else "") + more
        shown = len(self.flows) if self.kind in ("outage", "gone") else 0
        step = 0.02 if self.kind in ("outage", "gone") else 0.1
        return "\n".join([
            f'title = "edge {self.number}, {self.kind}"\nscheme = "{scheme.partition(",")[0]}"\nseed = {self.number}',
            f'stop = "{self.stop:.2f} s"\n[queue]\nlimit = "{self.queue:g} ms"\n[routing]\necmp = "off"\n{own}',
            scenes.topology(self.links, self.hosts),
            f'[measure]\nseries = true\ninterval = "{step} s"\npoints = {2 * round(self.stop / step)}',
            f"ports = {2 * len(self.links)}\nflows = {shown}",
            *(flow.toml() for flow in self.flows),
            *self.faults,
        ])  # fmt: skip


def down(a: str, b: str, at: float, until: float) -> str:
    """A link fails."""
    return scenes.down(a, b, f"{at:.4f} s", f"{until:.4f} s")


def starts(rng: random.Random, count: int, trip: float) -> list[float]:
    """When so many join: at once, in step, or spread."""
    at, how = rng.uniform(1, 3), rng.randrange(3)
    spread = trip * 10 ** rng.uniform(0, 1.5)
    apart = rng.choice([1e-3, trip])
    return [round(at + (0, i * apart, rng.random() * spread)[how], 4) for i in range(count)]


def joined(rng: random.Random, scene: Scene, routers: list[str], own: list[tuple[str, str]]) -> None:
    """Flows without end from end to end and over each hop of `own`, and others that join the first."""
    ratio = 10 ** rng.uniform(0, 1.3)

    def pair(name: str, a: str, b: str) -> tuple[str, str]:
        return scene.host(f"s{name}", a, 0.1 * ratio ** rng.random()), scene.host(f"d{name}", b, 0.1)

    for i in range(rng.randint(1, 2)):
        scene.flows.append(Flow(*pair(f"l{i}", routers[0], routers[-1])))
    for i, (a, b) in enumerate(own):
        scene.flows.append(Flow(*pair(f"o{i}", a, b)))
    scene.trip = 2 * ((len(routers) - 1) * scene.delay + 0.1 * ratio + 0.1) / 1e3
    count = round(10 ** rng.uniform(0, 2))
    size = 10 ** rng.uniform(4.3, 6.3)
    for i, start in enumerate(starts(rng, count, scene.trip)):
        one = round(min(2e6, max(2e4, size * 10 ** rng.uniform(-0.3, 0.3))))
        scene.flows.append(Flow(*pair(f"j{i}", routers[0], routers[-1]), start=start, size=one))
    last = max(flow.start for flow in scene.flows)
    carried = sum(flow.size or 0 for flow in scene.flows) * 8 / scene.rate / 1e6
    # The flows without end have at least their own share besides.
    scene.stop = round(last + min(30.0, 4 * carried) + 20 * scene.trip + 3, 1)
    scene.look, scene.changed = (last + 10 * scene.trip, scene.stop), last


def triangle(rng: random.Random, scene: Scene) -> None:
    """A main link with a detour, or without, and an outage."""
    scene.core = ("r0", "r2")
    how = rng.choice(["works", "works", "missing", "fails", "narrow"])
    scene.link("r0", "r2", scene.rate, scene.delay)
    if how != "missing":
        back = scene.rate / 10 ** rng.uniform(0.7, 1.7) if how == "narrow" else None
        scene.link("r0", "r1", scene.rate, scene.delay, back)
        scene.link("r1", "r2", scene.rate, scene.delay, back)
    access = 10 ** rng.uniform(-1, 1)
    for i in range(rng.randint(1, 4)):
        source, target = scene.host(f"s{i}", "r0", access), scene.host(f"d{i}", "r2", 0.1)
        scene.flows.append(Flow(source, target, start=round(0.1 * i, 2)))
    scene.trip = 2 * (2 * scene.delay + access + 0.1) / 1e3
    at, lasts = rng.uniform(2, 4), 10 ** rng.uniform(-0.5, 0.6)
    scene.faults.append(down("r0", "r2", at, at + lasts))
    if how == "fails":
        scene.faults.append(down("r1", rng.choice(["r0", "r2"]), at + lasts * rng.uniform(0.2, 0.5), at + lasts))
    scene.look, scene.stop = (at, at + lasts), round(at + lasts + 4, 1)


def leaving(rng: random.Random, scene: Scene) -> None:
    """A part of the flows stops."""
    scene.link("r0", "r1", scene.rate, scene.delay)
    count = rng.randint(4, 30)
    scene.gone = rng.randint(count // 4, 3 * count // 4)
    access = 10 ** rng.uniform(-1, 1)
    scene.trip = 2 * (scene.delay + access + 0.1) / 1e3
    at = rng.uniform(3, 8)
    for i in range(count):
        source, target = scene.host(f"s{i}", "r0", access), scene.host(f"d{i}", "r1", 0.1)
        stop = round(at, 3) if i < scene.gone else None
        scene.flows.append(Flow(source, target, start=round(rng.random(), 3), stop=stop))
    free = at + TRIPS * scene.trip + TENTH * scene.cached
    scene.look, scene.stop = (free, free + 1), round(free + 1.5, 1)


def beside(rng: random.Random, scene: Scene) -> None:
    """One flow beside CUBIC's."""
    scene.link("r0", "r1", scene.rate, scene.delay)
    access = 10 ** rng.uniform(-1, 1)
    scene.trip = 2 * (scene.delay + access + 0.1) / 1e3
    for i in range(rng.randint(3, 13)):
        source, target = scene.host(f"s{i}", "r0", access), scene.host(f"d{i}", "r1", 0.1)
        scene.flows.append(Flow(source, target, start=round(rng.random(), 3), scheme="cubic" if i else None))
    scene.stop = 40.0


def quiet(rng: random.Random, scene: Scene) -> None:
    """Short flows, few at a time."""
    scene.link("r0", "r1", scene.rate, scene.delay)
    access = 10 ** rng.uniform(-1, 1)
    scene.trip = 2 * (scene.delay + access + 0.1) / 1e3
    load, at = rng.uniform(0.1, 0.5), 0.5
    for i in range(30):
        size = round(10 ** rng.uniform(4, 6))
        source, target = scene.host(f"s{i}", "r0", access), scene.host(f"d{i}", "r1", 0.1)
        scene.flows.append(Flow(source, target, start=round(at, 4), size=size))
        at += rng.expovariate(1.0) * size * 8 / (load * scene.rate * 1e6)
    scene.stop = round(at + 30, 1)


def draw(_: str, number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"inrpp's edges {number}")
    rate, delay = round(10 ** rng.uniform(0.3, 1.7), 2), round(10 ** rng.uniform(0, 1.3), 2)
    queue = round(10 ** rng.uniform(1.3, 2.3))
    roomy = number // len(CLASSES) % 2 == 1
    scene = Scene(number, rate, delay, queue, round(1e3 * 10 ** rng.uniform(0, 1.3)) if roomy else None)
    match scene.kind:
        case "joins":
            scene.link("r0", "r1", rate, delay)
            joined(rng, scene, ["r0", "r1"], [])
        case "two hops":
            second = round(rate * 2 ** rng.uniform(-1, 1), 2)
            scene.link("r0", "r1", rate, delay)
            scene.link("r1", "r2", second, delay)
            if second < rate:
                scene.core, scene.rate = ("r1", "r2"), second
            joined(rng, scene, ["r0", "r1", "r2"], [("r0", "r1"), ("r1", "r2")])
        case "outage":
            triangle(rng, scene)
        case "gone":
            leaving(rng, scene)
        case "beside":
            beside(rng, scene)
        case "quiet":
            quiet(rng, scene)
    return scene


@dataclass(frozen=True)
class Found:
    """What one run came to."""

    loss: float
    """Dropped by queues, over sent."""
    dropped: int
    delivered: float
    """Bytes delivered while looked at, over what the core carries in that time; of flows that have gone, where some
    have."""
    afct: float
    """Mean completion time, s."""
    ended: int
    used: float
    """The core's use while looked at."""
    promised: float
    """The most that a port has promised, over its room."""
    share: float
    """Of the first flow, over its equal share."""


def promised(series: pd.DataFrame) -> float:
    """The most that a port has promised, over its room."""
    made, room = (series[series.metric == name] for name in ("promised_bytes", "room_bytes"))
    if made.empty:
        return 0.0
    both = made.merge(room, on=["entity", "time_s"], suffixes=("", "_room"))
    both = both[both.value > 0]
    return float((both.value / both.value_room.clip(lower=1)).max()) if len(both) else 0.0


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """What came of a scenario with a scheme."""
    ports, flows, series = result.ports.to_pandas(), result.flows.to_pandas(), result.series.to_pandas()
    dropped = int((ports.drops_queue + ports.drops_aqm + ports.drops_policy).sum())
    sent = float(result.summary["sent_packets"])
    delivered = used = 0.0
    if scene.look:
        seen = series[(series.time_s > scene.look[0]) & (series.time_s <= scene.look[1])]
        core = seen[(seen.entity == f"port:{scene.core[0]}>{scene.core[1]}") & (seen.metric == "throughput_bps")]
        used = float(core.value.mean()) / scene.rate / 1e6
        goodput = seen[seen.entity.str.startswith("flow:") & (seen.metric == "goodput_bps")]
        if scene.gone:
            # Results number flows by when they start.
            left = flows[flows.src.isin([flow.source for flow in scene.flows[: scene.gone]])]
            goodput = goodput[goodput.entity.isin([f"flow:{i}" for i in left.flow])]
        delivered = float(goodput.groupby("time_s").value.sum().mean() or 0) / scene.rate / 1e6 if len(goodput) else 0.0
    bytes_of, beside = flows.delivered_bytes.astype(float), scene.kind == "beside"
    return Found(
        loss=dropped / max(sent, 1.0),
        dropped=dropped,
        delivered=delivered,
        afct=float(flows.fct_s.dropna().mean()) if flows.fct_s.notna().any() else 0.0,
        ended=int(flows.fct_s.notna().sum()),
        used=used,
        promised=promised(series),
        share=float(bytes_of[flows.src == scene.flows[0].source].sum() / bytes_of.mean()) if beside else 0.0,
    )


def little(scene: Scene) -> bool:
    """Whether a flow's share is below two packets in a round trip."""
    return scene.rate * 1e6 / 8 * scene.trip / len(scene.flows) < 2 * 1500


def failures(scene: Scene, found: Found, base: Found) -> dict[str, float]:
    """The bounds that are not kept, with what came out."""
    out = {}
    if scene.kind != "beside" and found.loss > base.loss + MORE_LOSS:
        out["loss"] = found.loss
    if found.promised > 1:
        out["promised"] = found.promised
    if scene.kind == "outage" and found.delivered < base.delivered - LESS_DELIVERED:
        out["outage"] = found.delivered - base.delivered
    if scene.kind == "gone" and found.delivered >= GONE:
        out["gone"] = found.delivered
    if scene.kind == "beside" and not SHARE[0] <= found.share <= SHARE[1]:
        out["share"] = found.share
    steady = scene.kind in ("joins", "two hops") and not scene.faults
    if steady and found.used < (LITTLE_USED if little(scene) else USED):
        out["idle"] = found.used
    return out


def slower(row: Row, before: dict[tuple[str, int, str], Found]) -> Row:
    """With the bound that the earlier build's run gives, where that dropped nothing."""
    found, then = row.found, before.get(("", row.number, OURS))
    if row.scene.kind not in ("quiet", "joins", "two hops") or not isinstance(found, Found) or not then:
        return row
    fair = then.dropped == 0 and then.ended == found.ended
    late = fair and found.afct > SLOWER * then.afct
    return replace(row, missed={**row.missed, "time": found.afct / then.afct}) if late else row


HEADS = ("loss", "promised", "outage", "gone", "share", "idle", "time", "error")


def of(row: Row) -> tuple[int, str]:
    """A line of the table: the class and the memory."""
    return CLASSES.index(row.scene.kind), "equal" if row.scene.cache is None else "roomy"


def seconds(found: list[Found]) -> str:
    """The mean completion time."""
    times = [one.afct for one in found]
    return f"{sum(times) / len(times):.3f} s" if any(times) else "–"


def page(rows: list[Row], asked: Namespace) -> Iterator[str]:
    """EDGES.md."""
    before = kept_before(asked)
    ours, paper = (
        [row for row in rows if row.scheme != BASE and (row.scheme == PAPER) == is_] for is_ in (False, True)
    )
    ours, text = [slower(row, before) for row in ours], groups(paper, of)
    heads = ["class", "memory", "all bounds kept", *HEADS, "most loss", "NewReno's", "mean AFCT", "before"]
    yield markdown.head([*heads, *(["the text keeps all", "its most loss"] if paper else [])])
    for (kind, memory), own in sorted(groups(ours, of).items()):
        then = {row.number: one for row in own if (one := before.get(("", row.number, OURS)))}
        now = ended(row for row in own if not before or row.number in then)
        cells = [CLASSES[kind], memory, kept(own), *(str(count(own, head)) for head in HEADS), most_loss(ended(own))]
        cells += [
            most_loss(ended(replace(row, found=row.base) for row in own)),
            seconds(now),
            seconds([*then.values()]),
        ]
        theirs = text.get((kind, memory), [])
        yield markdown.line([*cells, *([kept(theirs), most_loss(ended(theirs))] if theirs else [])])
    yield "\nWhere by most, for `--first N --scenarios 1 --show`; in brackets what came out:\n"
    for head in HEADS:
        if hits := worst(ours, head, 8, least=head in ("outage", "idle")):
            yield f"- {head}: {hits}"


def most_loss(found: list[Found]) -> str:
    """The largest share that queues dropped."""
    return f"{100 * max((one.loss for one in found), default=0.0):.1f} %"


SUITE = Suite(
    "INRPP at its edges",
    draw,
    lambda scene, scheme, more: scene.toml(scheme, more),
    judge,
    Found,
    page,
    missed=failures,
    schemes=(BASE, OURS),
    base=BASE,
    scenarios=300,
    params=True,
    before=True,
)
