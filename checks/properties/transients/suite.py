"""Transients: random scenarios with every scheme at equal memory, held to bounds fixed before the first run.

    python checks/properties/transients/suite.py > checks/properties/transients/RESULTS.md
    python checks/properties/transients/suite.py --of crowds --first 17 --scenarios 1 --schemes fcp --show

There are four classes. In `changes` (changes.py) flows join and leave, and links and routers fail. In `crowds`
(crowds.py) many flows come at once, or a fair share is less than a packet in a round trip, or both. In `racks`
(racks.py) round trips are a data centre's. In `lossy` (lossy.py) the core loses packets, and round trips are up to
1,000 times unlike. All run on a dumbbell with access links of 1 Gbps. A scenario follows from its class and number
alone. Each is run as it stands with each scheme, at its defaults. What a port may hold in all is the queue's limit for
every scheme; INRPP makes its buffer, its cache and the partition of other traffic of it. Prague and DCQCN have the
queues that mark which they have in the matrix.

No bound is laxer for a scheme that is made for data centres, or for networks that lose nothing: PowerTCP, TIMELY, Swift
and DCQCN are run in all classes. `racks` is where their own texts place them.

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
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

import midpath
from midpath import Result

sys.path.insert(0, str(Path(__file__).parents[1]))
import changes
import crowds
import lossy
import racks
import scenes
from scene import STEP, Scene

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
CLASSES = {"changes": changes.draw, "crowds": crowds.draw, "racks": racks.draw, "lossy": lossy.draw}

MORE_LOSS = 0.01
TIMES, FIRST = 3.0, 64e3
FILLED, CROWD_FILLED = 0.5, 0.9
LESS_FILLED, MORE_STARVED = 0.01, 0.01
LATE = 0.02


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
    error: str = ""


def measure(of: str, number: int, scheme: str) -> Found:
    """Runs a scenario with a scheme."""
    scene = CLASSES[of](number)
    try:
        result = midpath.run(scene.toml(scheme))
        # Counts of the settled time are the whole run's less those of a run that stops where it begins.
        until = midpath.run(scene.toml(scheme, scene.settled))
    except Exception as error:  # what cannot be run is a result, too: the page names it
        return Found(error=f"{type(error).__name__}: {error}")
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


def failures(of: str, scene: Scene, found: Found, base: Found) -> dict[str, float]:
    """The bounds that are not kept, with what was found."""
    if found.error:
        return {"error": 1.0}
    crowd = of == "crowds"
    scarce = crowd and scene.share < 1
    filled = base.filled - LESS_FILLED if scarce else CROWD_FILLED if crowd else FILLED
    if scene.corruption or any(scene.lost):
        filled = min(filled, base.filled - LESS_FILLED)
    missed = {
        "loss": found.loss > base.loss + MORE_LOSS,
        "offered": found.offered > 1,
        "idle": not found.filled >= filled,
        "late loss": found.late > (max(LATE, base.late + MORE_LOSS) if crowd else LATE),
        "starved": of != "changes" and found.starved > base.starved + MORE_STARVED,
    }
    values = (found.loss, found.offered, found.filled, found.late, found.starved)
    return {head: value for (head, over), value in zip(missed.items(), values, strict=True) if over}


HEADS = ("loss", "offered", "idle", "late loss", "starved", "error")
MOST = ("most loss", "most offered, over the bound", "least filled", "most late loss")


@dataclass
class Tally:
    """What a scheme came to in all scenarios of a class."""

    runs: list[Found] = field(default_factory=list)
    missed: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def add(self, number: int, found: Found, missed: dict[str, float]) -> None:
        """Counts one scenario."""
        self.runs.append(found)
        if missed:
            self.missed.append((number, missed))

    def cells(self) -> Iterator[str]:
        """Of the table."""
        yield f"{len(self.runs) - len(self.missed)} of {len(self.runs)}"
        for head in HEADS:
            yield str(sum(head in missed for _, missed in self.missed))
        yield f"{100 * max(found.loss for found in self.runs):.1f} %"
        yield f"{max(found.offered for found in self.runs):.2f}"
        yield f"{100 * min(found.filled for found in self.runs):.0f} %"
        yield f"{100 * max(found.late for found in self.runs):.1f} %"

    def worst(self, head: str, most: int = 6) -> str:
        """The scenarios that miss a bound by most."""
        hits = sorted(((m[head], n) for n, m in self.missed if head in m), reverse=head != "idle")
        return ", ".join(f"{number} ({value:.3g})" for value, number in hits[:most])


def page(classes: list[str], numbers: range, schemes: list[str], jobs: int, kept: Path | None) -> Iterator[str]:
    """RESULTS.md."""
    more = f" --of {','.join(classes)}" if classes != list(CLASSES) else ""
    more += f" --schemes {','.join(schemes)}" if schemes != list(SCHEMES) else ""
    yield "# Transients: random scenarios with every scheme at equal memory\n"
    yield f"{scenes.written(numbers, 'transients/suite.py', ' of each class', more)} What a scenario is and"
    yield "what the bounds are stands at the heads of `suite.py`, `changes.py`, `crowds.py`, `racks.py` and"
    yield "`lossy.py`. Bounds were fixed before the first run."
    for of in classes:
        yield from table(of, numbers, schemes, jobs, kept)


def table(of: str, numbers: range, schemes: list[str], jobs: int, kept: Path | None) -> Iterator[str]:
    """A class's part of the page."""
    tallies = {scheme: Tally() for scheme in schemes}
    keys = [(of, number, scheme) for number in numbers for scheme in schemes]
    runs = scenes.runs(keys, measure, Found, jobs, len(schemes), kept)
    for number in numbers:
        scene, found = CLASSES[of](number), {scheme: next(runs) for scheme in schemes}
        for scheme, tally in tallies.items():
            tally.add(number, found[scheme], failures(of, scene, found[scheme], found[BASE]))
    yield f"\n## {of.capitalize()}\n"
    yield scenes.head(["scheme", "all bounds kept", *HEADS, *MOST])
    for scheme, tally in tallies.items():
        yield scenes.row([scheme, *tally.cells()])
    yield "\nColumns *loss* to *error*: in how many scenarios that bound is not kept. Where by most, for"
    yield f"`--of {of} --first N --scenarios 1 --schemes NAME --show`; in brackets what was found:\n"
    for scheme, tally in tallies.items():
        yield from (f"- {scheme}, {head}: {worst}" for head in HEADS if (worst := tally.worst(head)))
        yield from (f"- {scheme}: `{error}`" for error in sorted({run.error for run in tally.runs if run.error}))


def main() -> None:
    """Prints the page, or one scenario."""
    parser = scenes.options(__doc__, 500)
    parser.add_argument("--of", default=",".join(CLASSES), help="classes of scenarios")
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--keep", type=Path, help="a file to go on from, and to add to")
    options = parser.parse_args()
    numbers, classes = scenes.numbers_of(options), options.of.split(",")
    schemes = list(dict.fromkeys([BASE, *options.schemes.split(",")]))
    if options.show:
        show(classes, numbers, schemes)
        return
    for line in page(classes, numbers, schemes, options.jobs, options.keep):
        print(line, flush=True)


def show(classes: list[str], numbers: range, schemes: list[str]) -> None:
    """Prints scenarios' texts and figures, and which bounds are not kept."""
    for of, number in ((of, number) for of in classes for number in numbers):
        scene = CLASSES[of](number)
        print(scene.toml(schemes[-1]))
        found = {scheme: measure(of, number, scheme) for scheme in schemes}
        for scheme, run in found.items():
            print(f"# {scheme}: {run} {failures(of, scene, run, found[BASE])}")


if __name__ == "__main__":
    main()
