"""Loss of Interests, of Data and of both: how much longer a fetch takes.

    python checks/properties/mircc/losses.py [--first N] [--scenarios N] [--set 'repair = "timeout"']
    python checks/properties/mircc/losses.py --first 17 --scenarios 1 --show

A number draws one path or two (of 2 to 50 Mbps and a round trip of 2 to 200 ms each), one flow or two, a share of 0.1
to 5 % that the paths' links lose of Interests, of Data or of each, and sizes that take 10 to 100 of the longest round
trips at what the paths carry together.

The bound, fixed before the first run: the flows' mean completion time is at most 1.3 times that
without loss, over 1 − p, where p is the share of Interests that bring no Data. What would cheat it is to ask twice for
everything: a run sends at most 2p Interests per Data and 20 per flow more than without loss.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import midpath

sys.path.insert(0, str(Path(__file__).parents[1]))
import scenes

MOST_TIME = 1.3
MORE_ASKED, FEW = 2.0, 20.0
# Bytes of payload of a full Data.
PAYLOAD = 1428
# A run that takes longer than so many times its size at the paths' rate is cut off.
PATIENCE = 40.0


@dataclass(frozen=True)
class Scene:
    """What a number draws: rates in Mbps, round trips in seconds, sizes in bytes."""

    number: int
    paths: list[tuple[float, float]]
    sizes: list[int]
    kind: str
    share: float

    @property
    def lost(self) -> float:
        """The share of Interests that bring no Data."""
        return 1 - (1 - self.share) ** (2 if self.kind == "both" else 1)

    @property
    def stop(self) -> float:
        """When the run is cut off."""
        return round(PATIENCE * sum(self.sizes) * 8e-6 / sum(rate for rate, _ in self.paths) + 10, 1)

    def toml(self, parameters: str, lossy: bool) -> str:
        """Its text, with or without loss."""
        links, varied = [], []
        for i, (rate, trip) in enumerate(self.paths):
            links += [scenes.link("r0", f"m{i}", f"{rate} Mbps", f"{1e3 * trip / 2:.4f} ms")]
            links += [scenes.link(f"m{i}", "r1", "1 Gbps", "0.01 ms")]
            ways = {"interests": [("r0", f"m{i}")], "data": [(f"m{i}", "r0")], "none": []}
            ways["both"] = ways["interests"] + ways["data"]
            varied += [scenes.loses(a, b, self.share) for a, b in ways[self.kind if lossy else "none"]]
        ends = range(len(self.sizes))
        links += [scenes.link(f"c{i}", "r0", "1 Gbps", "0.01 ms") for i in ends]
        links += [scenes.link(f"p{i}", "r1", "1 Gbps", "0.01 ms") for i in ends]
        return "\n".join([
            f'title = "losses {self.number}"\nscheme = "mircc"\nseed = {self.number}\nstop = "{self.stop} s"',
            f'[schemes.mircc]\n{parameters}\n[queue]\nlimit = "100 packets"',
            scenes.topology(links, [f"{end}{i}" for i in ends for end in "cp"]),
            *(scenes.flow(f"p{i}", f"c{i}", "0 s", size=f"{size} B") for i, size in enumerate(self.sizes)),
            *varied,
        ])  # fmt: skip


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"losses {number}")

    while True:
        paths = [
            (float(f"{scenes.log_uniform(rng, 2, 50):.3g}"), float(f"{scenes.log_uniform(rng, 0.002, 0.2):.3g}"))
            for _ in range(rng.randint(1, 2))
        ]
        trips = max(trip for _, trip in paths)
        bits = sum(rate for rate, _ in paths) * 1e6 * trips
        sizes = [round(scenes.log_uniform(rng, 10, 100) * bits / 8) for _ in range(rng.randint(1, 2))]
        kind, share = rng.choice(("interests", "data", "both")), scenes.log_uniform(rng, 1e-3, 5e-2)
        # Runs of 100 packets and more, and of no more than 100,000.
        if min(sizes) >= 150e3 and sum(sizes) <= 150e6:
            return Scene(number, paths, sizes, kind, share)


@dataclass(frozen=True)
class Found:
    """What a scenario came to: the time over that without loss, times 1 − p, and Interests per Data."""

    time: float
    asked: float
    """More than without loss."""
    timeouts: int
    lost: float
    few: float
    """Twenty Interests of each flow, per Data."""


def measure(number: int, parameters: str) -> Found:
    """Runs a scenario with and without loss."""
    scene = draw(number)
    lossy, clean = (midpath.run(scene.toml(parameters, lossy)).flows for lossy in (True, False))
    times = [
        statistics.fmean(t if t > 0 else scene.stop for t in flows["fct_s"].to_numpy().tolist())
        for flows in (lossy, clean)
    ]
    data = sum(math.ceil(size / PAYLOAD) for size in scene.sizes)
    return Found(
        time=times[0] / times[1] * (1 - scene.lost),
        asked=(_sent(lossy) - _sent(clean)) / data,
        timeouts=int(lossy["timeouts"].to_numpy().sum()),
        lost=scene.lost,
        few=FEW * len(scene.sizes) / data,
    )


def _sent(flows: pa.Table) -> float:
    return float(flows["sent_packets"].to_numpy().sum())


def silence(number: int, parameters: str) -> str:
    """Where a flow's longest silence is: when no Data come, nothing tells of a loss but a timer."""
    scene = draw(number)
    step = min(trip for _, trip in scene.paths) / 2
    more = f'[measure]\nseries = true\ninterval = "{1e3 * step:.4f} ms"\npoints = 100000\nflows = 9'
    result = midpath.run(f"{scene.toml(parameters, True)}\n{more}")
    series = result.series.to_pandas()
    found = []
    for flow, took in enumerate(result.flows["fct_s"].to_numpy()):
        rows = series[(series.entity == f"flow:{flow}") & (series.metric == "goodput_bps") & (series.value > 0)]
        times = [0.0, *sorted(rows.time_s)]
        gap, at = max((after - time, time) for time, after in pairwise(times))
        found.append((gap, at / took))
    gap, at = max(found)
    trips = ", ".join(f"{1e3 * trip:.0f}" for _, trip in scene.paths)
    return f"longest silence {1e3 * gap:.0f} ms from {100 * at:.0f} % of its flow's time on; round trips of {trips} ms"


def failures(found: Found) -> list[str]:
    """The bounds that are not kept."""
    missed = {
        "time": found.time > MOST_TIME,
        "asked": found.asked > MORE_ASKED * found.lost + found.few,
    }
    return [name for name, is_missed in missed.items() if is_missed]


def page(options: Namespace) -> Iterator[str]:
    """LOSSES.md."""
    numbers = scenes.numbers_of(options)
    found = list(scenes.runs([(n, options.set) for n in numbers], measure, Found, options.jobs, 1, None))
    missed = [failures(one) for one in found]
    yield "# MIRCC where Interests and Data are lost\n"
    yield f"{scenes.written(numbers, 'mircc/losses.py')} What a scenario is and what the bounds are stands at its head."
    yield f"Parameters: `{options.set or 'the defaults'}`.\n"
    yield scenes.head(["all bounds kept", "time missed", "asked missed", "time, median", "time, most", "timeouts"])
    yield scenes.row([
        f"{sum(not one for one in missed)} of {len(found)}",
        *(str(sum(name in one for one in missed)) for name in ("time", "asked")),
        f"{statistics.median(one.time for one in found):.2f}",
        f"{max(one.time for one in found):.2f}",
        str(sum(one.timeouts for one in found)),
    ])  # fmt: skip
    yield ""
    yield from scenes.missed_by(numbers, missed, found, lambda number: silence(number, options.set))


def show(number: int, parameters: str) -> Iterator[str]:
    """A scenario's text, and what it comes to."""
    yield draw(number).toml(parameters, True)
    yield f"# {measure(number, parameters)}"


if __name__ == "__main__":
    scenes.print_page(__doc__, show, page)
