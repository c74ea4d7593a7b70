"""Transients: random scenarios with every scheme at equal memory, held to bounds fixed before the first run.

There are four classes. In `changes` (changes.py) flows join and leave, and links and routers fail. In `crowds`
(crowds.py) many flows come at once, or a fair share is less than a packet in a round trip, or both. In `racks`
(racks.py) round trips are a data centre's. In `lossy` (lossy.py) the core loses packets, and round trips are up to
1,000 times unlike. All run on a dumbbell with access links of 1 Gbps. A scenario follows from its class and number
alone. Each is run as it stands with each scheme, at its defaults. What a port may hold in all is the queue's limit for
every scheme; INRPP makes its buffer, its cache and the partition of other traffic of it. Prague and DCQCN have the
queues that mark which they have in the matrix, UEC those that trim, a tenth of which is for packets without payload.

No bound is laxer for a scheme that is made for data centres, or for networks that lose nothing: PowerTCP, TIMELY,
Swift, DCQCN and Falcon are run in all classes. `racks` is where their own texts place them. UEC and BFC are run there
alone, since the other classes' cores are up to 500 times slower than hosts, of which they have no notion (EXPLAINED.md
has what the first scenes came to).

The bounds of all:

- **loss**: packets that queues dropped, over packets sent, is at most NewReno's on the same scenario and one percent.
- **offered load**: in no tenth of a second do senders put more onto their links than three times what the core sends at
  its highest rate in that time and the longest round trip, and the queue, and 64 kB for each flow that has started.
  Sixty-four kB is the largest unscaled window; ten packets, TCP's first, are a quarter of that.
- **settled**: from ten seconds, or fifty of the longest round trips, after the last change, flows without end fill half
  of the core at least, on average until the run ends (else: *idle*), and the queue at the core drops at most 2 % of
  what is sent (else: *late loss*). What never comes back, or oscillates between flood and silence, is found by that; a
  TCP's saw-tooth is not.

With crowds it is settled after five seconds or fifty round trips, and the run goes on for another five seconds or
hundred round trips. The bounds then are:

- *idle*: flows fill 90 % of the core where a fair share is more than a packet a second; else at least what NewReno
  fills, less one percent.
- *late loss*: at most 2 %, or NewReno's and one percent.
- *starved*: of the flows without end, at most one percent more than with NewReno deliver nothing from then on.
"""

from __future__ import annotations

import bisect
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from harness import Bound, Row, Suite, crashes, groups, kept, kept_before, row_of, table, worst
from scipy.stats import binomtest
from transients import changes, crowds, lossy, racks
from transients.scene import STEP, Scene

import midpath
from midpath import Result

SCHEMES = (
    "newreno",
    "cubic",
    "dctcp",
    "mptcp",
    "cubic+rpm",
    "rcp",
    "xcp",
    "hpcc",
    "powertcp",
    "timely",
    "swift",
    "dcqcn",
    "bolt",
    "bbr",
    "prague",
    "fcp",
    "inrpp",
    "mircc",
    "ndn",
)  # fmt: skip
BASE = "newreno"
# FABRICS.md has these: `--schemes newreno,falcon,uec,bfc,ndp,eqds`.
FABRICS = ("falcon", "uec", "bfc", "ndp", "eqds")
# No other class: BFC's windows are of the hosts' rate, UEC's never below a packet, NDP's and EQDS's queues trim.
RACKS_ONLY = FABRICS[1:]
CLASSES = {"changes": changes.draw, "crowds": crowds.draw, "racks": racks.draw, "lossy": lossy.draw}

MORE_LOSS = 0.01
TIMES, FIRST = 3.0, 64e3
FILLED, CROWD_FILLED = 0.5, 0.9
LESS_FILLED, MORE_STARVED = 0.01, 0.01
LATE = 0.02
FELL = 0.05


@dataclass(frozen=True)
class Found:
    """What one run came to."""

    loss: float = 0.0
    """Dropped by queues, over sent."""
    offered: float = 0.0
    """The most that was offered in a step, over the bound."""
    filled: float = 0.0
    """The core's utilisation when settled."""
    late: float = 0.0
    """Dropped at the core when settled, over what was sent over it."""
    starved: float = 0.0
    """Of the flows without end, which delivered nothing when settled."""


def text(scene: Scene, scheme: str, params: str, stop: float | None = None) -> str | None:
    """The scenario's text, up to `stop` where that is said; the base is as it stands."""
    if scheme in RACKS_ONLY and scene.name != "rack":
        return None
    section = f"\n[schemes.{scheme}]\n{params}" if params and scheme != BASE else ""
    return scene.toml(scheme, stop) + section


def judge(scene: Scene, result: Result, scheme: str, params: str) -> Found:
    """Counts of the settled time are the whole run's less those of a run that stops where it begins."""
    before = text(scene, scheme, params, scene.settled)
    assert before is not None
    until = midpath.run(before)
    series = result.series.to_pandas()
    throughput = series[series.metric == "throughput_bps"]
    core = throughput[(throughput.entity == "port:r0>r1") & (throughput.time_s > scene.settled)]
    ports = result.ports.to_pandas()
    dropped = float((ports.drops_queue + ports.drops_aqm + ports.drops_policy).sum())
    return Found(
        loss=dropped / max(float(result.summary["sent_packets"]), 1.0),
        offered=offered(scene, throughput),
        filled=float(core.value.mean()) / (scene.rates[-1] * 1e6),
        late=late(until, result),
        starved=starved(scene, until, result),
    )


def offered(scene: Scene, throughput: pd.DataFrame) -> float:
    """The most that senders put onto their links in a step, over the bound."""
    senders = throughput[throughput.entity.str.fullmatch(r"port:s\d+>r0")]
    loads = senders.groupby("time_s").value.sum() * STEP / 8
    started = sorted(flow.start for flow in scene.flows)
    wire = max(scene.rates) * 1e6 / 8
    over = 0.0
    for time, load in loads.items():
        flows = bisect.bisect_right(started, float(time))
        bound = TIMES * wire * (STEP + scene.longest) + scene.queue / 1e3 * wire + FIRST * flows
        over = max(over, float(load) / bound)
    return over


def late(until: Result, result: Result) -> float:
    """Of what went over the core after all has settled, the part that its queue dropped."""
    (drops, packets), (all_drops, all_packets) = (at_core(run) for run in (until, result))
    return (all_drops - drops) / max(1.0, all_packets - packets)


def at_core(run: Result) -> tuple[float, float]:
    """What the core's queue dropped, and what it sent."""
    ports = run.ports.to_pandas()
    core = ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0]
    return float(core.drops_queue + core.drops_aqm + core.drops_policy), float(core.packets)


def starved(scene: Scene, until: Result, result: Result) -> float:
    """The share of the flows without end that delivered nothing after all has settled."""
    before, after = (run.flows["delivered_bytes"].to_numpy()[scene.lasting_rows] for run in (until, result))
    return float((after <= before).mean())


def least_filled(scene: Scene, base: Found) -> float:
    """What flows have to fill of the core."""
    crowd = scene.name == "crowd"
    filled = base.filled - LESS_FILLED if crowd and scene.share < 1 else CROWD_FILLED if crowd else FILLED
    return min(filled, base.filled - LESS_FILLED) if scene.corruption or any(scene.lost) else filled


BOUNDS = (
    Bound("loss", lambda _, base: base.loss + MORE_LOSS),
    Bound("offered", 1.0),
    Bound("idle", least_filled, of="filled", at_least=True),
    Bound("late loss", lambda scene, base: max(LATE, base.late + MORE_LOSS) if scene.name == "crowd" else LATE, "late"),
    Bound("starved", lambda scene, base: None if scene.name == "transient" else base.starved + MORE_STARVED),
)
HEADS = (*(bound.name for bound in BOUNDS), "error")
MOST = {
    "most loss": lambda found: f"{100 * max(one.loss for one in found):.1f} %",
    "most offered, over the bound": lambda found: f"{max(one.offered for one in found):.2f}",
    "least filled": lambda found: f"{100 * min(one.filled for one in found):.0f} %",
    "most late loss": lambda found: f"{100 * max(one.late for one in found):.1f} %",
}


def past(row: Row, then: dict[tuple[str, int, str], Found]) -> Row:
    """The same scene as the earlier build ran it, held to the same bounds."""
    found, base = (then[row.family, row.number, scheme] for scheme in (row.scheme, BASE))
    return row_of(SUITE, row.family, row.number, row.scheme, found, base, row.scene)


def moved(rows: list[Row], then: dict[tuple[str, int, str], Found]) -> str:
    """How many kept all bounds then, do only now, and did only then: bold where more than by chance."""
    before = [past(row, then) for row in rows]
    gained, lost = (
        sum(bool(a.missed) and not b.missed for a, b in pairs)
        for pairs in ([*zip(before, rows, strict=True)], [*zip(rows, before, strict=True)])
    )
    worse = lost > 0 and binomtest(lost, gained + lost, alternative="greater").pvalue < FELL
    said = f"{kept(before)}; {gained}, {lost}"
    return f"**{said}**" if worse else said


def page(rows: list[Row], asked: Namespace) -> Iterator[str]:
    """RESULTS.md."""
    then = kept_before(asked)
    for of, own in groups(rows, lambda row: row.family).items():
        schemes = groups(own, lambda row: row.scheme)
        yield f"\n## {of.capitalize()}\n"
        by = {"scheme": lambda row: row.scheme}
        if then:
            moves = {scheme: moved(one, then) for scheme, one in schemes.items()}
            by["kept before; gained, lost"] = lambda row, moves=moves: moves[row.scheme]
        yield from table(own, by, dict(zip(HEADS, HEADS, strict=True)), MOST)
        yield "\nColumns *loss* to *error*: in how many scenarios that bound is not kept. Where by most, for"
        yield f"`--of {of} --first N --scenarios 1 --schemes NAME --show`; in brackets what was found:\n"
        for scheme, one in schemes.items():
            lists = ((head, worst(one, head, 6, head == "idle")) for head in HEADS)
            yield from (f"- {scheme}, {head}: {most}" for head, most in lists if most)
            yield from crashes(one)


SUITE = Suite(
    "Transients: random scenarios with every scheme at equal memory",
    lambda of, number: CLASSES[of](number),
    text,
    judge,
    Found,
    page,
    BOUNDS,
    families=tuple(CLASSES),
    schemes=SCHEMES,
    base=BASE,
    scenarios=500,
    params=True,
    before=True,
)
