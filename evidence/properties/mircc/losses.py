"""Loss of Interests, of Data and of both: how much longer a fetch takes.

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
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import scenes
from harness import Bound, Row, Suite, tallied

import midpath
from midpath import Result

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
    def data(self) -> int:
        """Data of all flows."""
        return sum(math.ceil(size / PAYLOAD) for size in self.sizes)

    @property
    def few(self) -> float:
        """Twenty Interests of each flow, per Data."""
        return FEW * len(self.sizes) / self.data

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


def draw(_: str, number: int) -> Scene:
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


def text(scene: Scene, _: str, params: str) -> str:
    """It with loss."""
    return scene.toml(params, True)


def judge(scene: Scene, result: Result, _: str, params: str) -> Found:
    """Beside it: a run without loss."""
    lossy, clean = result.flows, midpath.run(scene.toml(params, False)).flows
    times = [
        statistics.fmean(t if t > 0 else scene.stop for t in flows["fct_s"].to_numpy().tolist())
        for flows in (lossy, clean)
    ]
    return Found(
        time=times[0] / times[1] * (1 - scene.lost),
        asked=(_sent(lossy) - _sent(clean)) / scene.data,
        timeouts=int(lossy["timeouts"].to_numpy().sum()),
        lost=scene.lost,
        few=scene.few,
    )


def _sent(flows: pa.Table) -> float:
    return float(flows["sent_packets"].to_numpy().sum())


def silence(row: Row, params: str) -> str:
    """Where a flow's longest silence is: when no Data come, nothing tells of a loss but a timer."""
    scene = row.scene
    step = min(trip for _, trip in scene.paths) / 2
    more = f'[measure]\nseries = true\ninterval = "{1e3 * step:.4f} ms"\npoints = 100000\nflows = 9'
    result = midpath.run(f"{scene.toml(params, True)}\n{more}")
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


SUITE = Suite(
    "MIRCC where Interests and Data are lost",
    draw,
    text,
    judge,
    Found,
    tallied(
        {},
        {
            "time, median": lambda found: f"{statistics.median(one.time for one in found):.2f}",
            "time, most": lambda found: f"{max(one.time for one in found):.2f}",
            "timeouts": lambda found: str(sum(one.timeouts for one in found)),
        },
        silence,
    ),
    (Bound("time", 1.3), Bound("asked", lambda scene, _: MORE_ASKED * scene.lost + scene.few)),
    params=True,
)
