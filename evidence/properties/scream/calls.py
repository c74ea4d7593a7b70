"""SCReAM in RFC 8867's test cases 5.1 to 5.8, and 5.1 over an L4S queue (5.1 l4s), its case with ECN.

Number 1 of each case has the RFC's values as ns3-rmcat has them, the suite of its authors (commit d084f99, of
draft-ietf-rmcat-eval-test-05); its text was not at hand. `midpath.evaluate.rfc8867` has these values, and most bounds.
5.8 ends at 100 s, not 120: the call that pauses would again. 5.7 has its ten short flows all begin at once, of 30 to
50 kB (draft-ietf-rmcat-eval-criteria-06, 6.1; about uniform). Calls of 150 kbps to 1.5 Mbps, a bottleneck of 1 to 4
Mbps, 50 ms one way, a drop-tail queue of 300 ms (1 s in every other draw of 5.6). Others draw the one-way delay (10 to
100 ms), all rates with the calls' own (.5 to 4 times), frames per second, and the seed.

What is expected is words: that calls find the capacity, adapt to it without oscillation, share it, come back from a
pause, and beside TCP fall to their least rate at worst. The numbers are ours, fixed before the first run:

- `use`: calls deliver at least this share of the capacity, or of their highest rates if less, in the last 10 s before
  each change (5 s in 5.3): .7; in 5.3 and over L4S .6. Beside TCP the capacity is the calls' least rates: .9.
- `jain`: of calls side by side, over the same times: .8; with unlike round trips (5.5) .7.
- `queue_ms`: the mean wait at the bottleneck over the same times: 60 ms, the target of the queue delay; over L4S 10 ms.
  None beside TCP, which fills the queue.
- `lost`: the share of data units that do not arrive: 2 %; beside TCP 5 %.
- `sway`: the standard deviation of a call's goodput over the same times, over its mean, second by second: .3. None
  beside TCP.
- `back`: 5.8, from 20 s after the pause on: what the call that has paused delivers over the mean of the others: .5.
"""

from __future__ import annotations

import math
import random
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import scenes
from harness import Bound, Row, Suite, groups, table

from midpath import Result, markdown
from midpath.evaluate import rfc8867
from midpath.evaluate.rfc8867 import DELAYS, PAUSE, PAUSED, RESUMED
from midpath.stats import jain

CASES = ("5.1", "5.1 l4s", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8")
LEAST_MBPS, MOST_MBPS = rfc8867.LEAST, rfc8867.MOST
TCP = ("5.6", "5.7")
PHASES, BACK = rfc8867.PHASES | {"5.1 l4s": rfc8867.PHASES["5.1"]}, rfc8867.WAY_BACK


@dataclass(frozen=True)
class Scene:
    """What a case and a number draw."""

    case: str
    number: int
    delay: float = 50.0
    """One way, ms."""
    scale: float = 1.0
    """Of all rates."""
    frames: int = 30
    limit_ms: int = 300

    @property
    def starts(self) -> list[int]:
        """Of calls from s0, s1, …"""
        return rfc8867.STARTS[self.case.partition(" ")[0]]

    def toml(self) -> str:
        """Its text."""
        case, scale, core = self.case, self.scale, 1.0
        phases = PHASES[case]
        delays = DELAYS if case == "5.5" else [self.delay] * (len(self.starts) + (1 if case in (*TCP, "5.3") else 0))
        links = [
            f'{{ a = "r0", b = "r1", rate = "{phases[0][1] * scale:.4f} Mbps", '
            f'rate_back = "{(BACK[0][1] if case == "5.3" else 100) * scale:.4f} Mbps", delay = "{core} ms" }}'
        ]
        for i, ms in enumerate(delays):
            links += [scenes.link(f"s{i}", "r0", "1 Gbps", f"{ms - core - 0.1:.3f} ms")]
            links += [scenes.link(f"d{i}", "r1", "1 Gbps", "0.1 ms")]
        l4s = case == "5.1 l4s"
        queue = "dualpi2" if l4s else "drop-tail"
        lines = [
            f'title = "RFC 8867, {case}, {self.number}"\nscheme = "scream"\nseed = {self.number}',
            f'stop = "{phases[-1][0]} s"\n[measure]\nseries = true\ninterval = "200 ms"\npoints = 2000',
            f'[queue]\nkind = "{queue}"\nlimit = "{self.limit_ms} ms"',
            f'[schemes.scream]\nmin_rate = "{LEAST_MBPS * scale:.4f} Mbps"\nmax_rate = "{MOST_MBPS * scale:.4f} Mbps"',
            f'start_rate = "{LEAST_MBPS * scale:.4f} Mbps"\nframes = {self.frames}' + ('\necn = "l4s"' if l4s else ""),
            scenes.topology(links, [f"{end}{i}" for i in range(len(delays)) for end in "sd"]),
            *(self.call(i, start) for i, start in enumerate(self.starts)),
            *varies("r0", "r1", phases, scale),
        ]
        if case == "5.3":
            lines += [scenes.flow("d1", "s1", "0 s", group="back"), *varies("r1", "r0", BACK, scale)]
        if case == "5.6":
            lines += [scenes.flow("s1", "d1", "0 s", group="tcp", scheme="newreno")]
        if case == "5.7":
            lines += [
                f'[[client]]\nfrom = ["d2"]\nto = ["s2"]\ngroup = "tcp"\nscheme = "newreno"\nconcurrency = 10\n'
                f'requests = 100000\nrequest_sizes = {{ kind = "fixed", size = "100 B" }}\n'
                'reply_sizes = { kind = "bounded-pareto", shape = 0.001, '
                f'min = "{30 * scale:.0f} kB", max = "{50 * scale:.0f} kB" }}\n'
                'think_time = { kind = "exponential", mean = "10 s" }'
            ]
        return "\n".join(lines)

    def call(self, i: int, start: int) -> str:
        """One call; a picture is what the encoder makes of it, or none in the pause."""
        text = scenes.flow(f"s{i}", f"d{i}", f"{start} s", group="calls", late_after="250 ms")
        if self.case == "5.8" and i == PAUSED:
            text += f'\nwrite = "1 MB"\ninterval = "{1000 / self.frames:.4f} ms"\non = "{PAUSE} s"\noff = "20 s"'
        return text

    def windows(self) -> list[tuple[float, float, float]]:
        """From when to when is judged, and the capacity in Mbps."""
        if self.case in TCP:
            end = PHASES[self.case][-1][0]
            return [(end / 3, end, len(self.starts) * LEAST_MBPS * self.scale)]
        last = 5 if self.case == "5.3" else 10
        found = []
        for end, rate in PHASES[self.case]:
            calls = sum(start <= end - last for start in self.starts)
            calls -= self.case == "5.8" and PAUSE < end <= 60
            found.append((end - last, end, min(rate, calls * MOST_MBPS) * self.scale))
        return found


def varies(a: str, b: str, phases: rfc8867.Phases, scale: float) -> list[str]:
    """One direction of the bottleneck."""
    steps = [
        f'{{ at = "{end} s", rate = "{rate * scale:.4f} Mbps" }}'
        for (end, before), (_, rate) in pairwise(phases)
        if rate != before
    ]
    if not steps:
        return []
    return [f'[[vary]]\nlink = ["{a}", "{b}"]\none_way = true\nsteps = [{", ".join(steps)}]']


def draw(case: str, number: int) -> Scene:
    """The scene with this number."""
    if number == 1:
        return Scene(case, number)
    rng = random.Random(f"{case} {number}")
    limit = 1000 if case == "5.6" and number % 2 == 0 else 300
    delay = float(f"{scenes.log_uniform(rng, 10, 100):.3g}")
    scale = float(f"{scenes.log_uniform(rng, 0.5, 4):.3g}")
    return Scene(case, number, delay, scale, rng.choice((15, 24, 30, 60)), limit)


@dataclass(frozen=True)
class Found:
    """What came of a scene."""

    use: float
    jain: float
    queue_ms: float
    lost: float
    sway: float
    back: float
    delay_p95_ms: float
    """One way, from a frame's encoding, of the worst call."""
    late: float
    """Of all data units."""
    tcp_mbps: float
    uses: list[float] = field(default_factory=list)


def judge(scene: Scene, result: Result, _: str, __: str) -> Found:
    """By the series of its run."""
    series, flows = result.series.to_pandas(), result.flows.to_pandas()
    calls = {src: f"flow:{number}" for number, src, scheme in zip(flows.index, flows.src, flows.scheme, strict=True)
             if scheme == "scream"}  # fmt: skip
    goodput = {src: series[(series.entity == name) & (series.metric == "goodput_bps")] for src, name in calls.items()}
    queue = series[(series.entity == "port:r0>r1") & (series.metric == "queue_bytes")]

    def rates(src: str, begin: float, end: float) -> list[float]:
        rows = goodput[src]
        return (rows[(rows.time_s > begin) & (rows.time_s <= end)].value / 1e6).tolist()

    uses, fair, waits, sways = [], [], [], []
    for begin, end, capacity in scene.windows():
        own = [f"s{i}" for i, start in enumerate(scene.starts) if start <= begin]
        paused = scene.case == "5.8" and PAUSE < end <= 60
        own = [src for src in own if not (paused and src == f"s{PAUSED}")]
        each = [statistics.fmean(rates(src, begin, end)) for src in own]
        uses.append(sum(each) / capacity)
        fair.append(jain(each))
        held = queue[(queue.time_s > begin) & (queue.time_s <= end)].value
        link = next(rate for until, rate in PHASES[scene.case] if end <= until) * scene.scale
        waits.append(8e-3 * float(held.mean()) / link)
        for src in own:
            seconds = [statistics.fmean(rates(src, at, at + 1)) for at in range(int(begin), int(end))]
            sways.append(statistics.pstdev(seconds) / max(statistics.fmean(seconds), 1e-9))
    if scene.case == "5.3":
        uses += [
            statistics.fmean(rates("d1", end - 5, end)) / (min(rate, MOST_MBPS) * scene.scale) for end, rate in BACK
        ]
    back = math.nan
    if scene.case == "5.8":
        others = [statistics.fmean(rates(f"s{i}", RESUMED, 100)) for i in range(3) if i != PAUSED]
        back = statistics.fmean(rates(f"s{PAUSED}", RESUMED, 100)) / statistics.fmean(others)
    told = result.tables["datagrams"].to_pandas()
    told = told[told.group.isin(["calls", "back"])]
    sent, received = told.sent_packets.sum(), told.received_packets.sum()
    tcp = flows[flows.group == "tcp"].delivered_bytes.sum() * 8e-6 / PHASES[scene.case][-1][0]
    return Found(
        use=min(uses),
        jain=min(fair) if len(scene.starts) > 1 else math.nan,
        queue_ms=max(waits),
        lost=float(1 - received / sent),
        sway=max(sways),
        back=back,
        delay_p95_ms=1e3 * float(told.delay_p95_s.max()),
        late=float(told.late_packets.sum() / received),
        tcp_mbps=float(tcp),
        uses=uses,
    )


def of_cases(usual: float | None, **by: float | None) -> object:
    """A limit by case; names have no dots and spaces."""
    return lambda scene, _: by.get(f"c{scene.case.replace('.', '').replace(' ', '_')}", usual)


TCP_LOST = {"c56": rfc8867.LOST_BESIDE_TCP, "c57": rfc8867.LOST_BESIDE_TCP}
USES = {"c53": 0.6, "c51_l4s": 0.6, "c56": rfc8867.KEPT, "c57": rfc8867.KEPT}
FAIR: dict[str, float | None] = {"c51": None, "c51_l4s": None, "c53": None, "c55": rfc8867.FAIR_TRIPS, "c56": None}
BOUNDS = (
    Bound("use", of_cases(rfc8867.USE, **USES), at_least=True),  # type: ignore[arg-type]
    Bound("jain", of_cases(rfc8867.FAIR, **FAIR), at_least=True),  # type: ignore[arg-type]
    Bound("queue_ms", of_cases(1e3 * rfc8867.WAIT, c51_l4s=10.0, c56=None, c57=None)),  # type: ignore[arg-type]
    Bound("lost", of_cases(rfc8867.LOST, **TCP_LOST)),  # type: ignore[arg-type]
    Bound("sway", of_cases(0.3, c56=None, c57=None)),  # type: ignore[arg-type]
    Bound("back", of_cases(None, c58=rfc8867.RETURNS), at_least=True),  # type: ignore[arg-type]
)


# What the series of the worst scenes say.
SMALL = (
    "The link is slow: MIN_REF_WND, 3,000 B, is up to 70 ms of it per call, and a data unit 10 to 30 ms. The window "
    "stands a little above its least."
)
FLOOR = (
    "The window stands near MIN_REF_WND, as TCP keeps the queue's delay above the target; three such windows per round "
    "trip, with TCP's queue in it, are less than these calls' least rate. The sender discards the rest. The authors' "
    "implementation can raise the least window to what the least rate needs (`isAutoTuneMinCwnd`); the draft does not."
)
WHY = {
    "5.1": SMALL,
    "5.1 l4s": f"{SMALL} In 20, l4s_alpha is .8: most data units are marked, each window is cut, the goodput sways.",
    "5.2": SMALL,
    "5.3": "7 and 17: the way back steps down at 35 s. Reports wait in the other call's queue, s_rtt grows, and the "
    "target falls with it, also on the way there, which is judged until 40 s. 5 and 14: a slow link, as in 5.1.",
    "5.5": "Windows grow by an MSS per round trip, and fall by the same share for the same queue: calls with round "
    "trips of 200 and 300 ms stay near their least rate, those of 20 and 50 ms have most of the link.",
    "5.6": FLOOR,
}


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """The RFC's own values, then the draws."""
    names = [bound.name for bound in BOUNDS]
    yield "The RFC's own values; bold: beyond its bound.\n"
    yield markdown.head(["case", *names, "one-way delay, p95, ms", "late", "TCP, Mbps", "use by phase"])
    for row in (row for row in rows if row.number == 1):
        found = row.found
        cells = [mark(f"{getattr(found, name):.3g}", name in row.missed) for name in names]
        more = [f"{found.delay_p95_ms:.0f}", f"{100 * found.late:.1f} %", f"{found.tcp_mbps:.2f}"]
        yield markdown.line([row.family, *cells, *more, " ".join(f"{use:.2f}" for use in found.uses)])
    yield "\nAll numbers:\n"
    columns = {
        "use, least and median": lambda found: spread([one.use for one in found], least=True),
        "queue, most and median, ms": lambda found: spread([one.queue_ms for one in found]),
        "lost, most and median": lambda found: spread([one.lost for one in found]),
        "sway, most and median": lambda found: spread([one.sway for one in found]),
    }
    yield from table(rows, {"case": lambda row: row.family}, {name: f"{name} missed" for name in names}, columns)
    for case, own in groups(rows, lambda row: row.family).items():
        lines = [
            f"- {row.number} ({row.scene.delay:g} ms, rates times {row.scene.scale:g}, {row.scene.frames} frames/s): "
            + ", ".join(f"{name} {value:.3g}" for name, value in row.missed.items())
            for row in own
            if row.missed
        ]
        if lines:
            yield "\n".join([f"\n{case}:\n", *lines, "", WHY.get(case, "")])


def mark(text: str, wrong: bool) -> str:
    """Bold where it is beyond its bound."""
    return "–" if text == "nan" else f"**{text}**" if wrong else text


def spread(values: list[float], *, least: bool = False) -> str:
    """The worst and the median."""
    return f"{min(values) if least else max(values):.3g}, {statistics.median(values):.3g}"


SUITE = Suite(
    "SCReAM in RFC 8867's test cases",
    draw,
    lambda scene, _, __: scene.toml(),
    judge,
    Found,
    page,
    BOUNDS,
    families=CASES,
    scenarios=20,
    uses=[rfc8867],
)
