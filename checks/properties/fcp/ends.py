"""FCP: how soon the others have what a flow leaves, by how it ends (section 4.1: "preloads -1 when it is terminating").

    python checks/properties/fcp/ends.py --first 1001 --scenarios 100 > checks/properties/fcp/ENDS.md
    python checks/properties/fcp/ends.py --first 1001 --scenarios 1 --show   # one again, with its text

A scenario follows from its number alone. Flows share a core; one ends while the others go on: by `stop`, and in a
second run by a `size` that is what it had delivered then. Two families in turn:

- **alike**: a dumbbell, two to six hosts with a flow each, equal round trips.
- **unlike**: round trips differ by up to twenty times, a second bottleneck behind the core takes half of the flows,
  hosts have one to three flows, budgets from a half to two.

*Idle* is what of the core's capacity is not used from a round trip before the end to 20 after it, in seconds, less what
is not used then where the flow goes on. Bounds, fixed before the draws from number 1001 on, which are the measurement:

- *idle*: by `stop` it is idle no longer than by `size`, and a quarter of the flow's share of a round trip.
- *drops*: nothing is dropped after the end.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import midpath

sys.path.insert(0, str(Path(__file__).parents[1]))
import scenes
from scenes import log_uniform

FAMILIES = ("alike", "unlike")
QUARTER = 0.25
ROUNDS = 20


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number. Rates in Mbps, delays in ms, times in seconds."""

    number: int
    family: str
    rate: float
    delay: float
    delays: list[float]
    """Of senders' links; the first host's first flow ends."""
    flows: list[int]
    """Their hosts."""
    budgets: list[float]
    second: float
    """Of the second bottleneck; 0 for none."""
    end: float

    @property
    def rtt(self) -> float:
        """Of the flow that ends."""
        return 2 * (self.delay + self.delays[0] + 0.1) / 1e3

    @property
    def step(self) -> float:
        """Between samples."""
        return max(self.rtt / 8, 0.002)

    @property
    def until(self) -> float:
        """The run's end."""
        return self.end + (ROUNDS + 2) * self.rtt

    def toml(self, how: str) -> str:
        """The scenario's text; how the flow ends is a line of it, or none."""
        links = [scenes.link("r0", "r1", f"{self.rate} Mbps", f"{self.delay} ms")]
        links += [scenes.link(f"s{i}", "r0", "1 Gbps", f"{ms} ms") for i, ms in enumerate(self.delays)]
        behind = [bool(self.second) and i % 2 == 1 for i in range(len(self.delays))]
        if self.second:
            links.append(scenes.link("r1", "r2", f"{self.second} Mbps", "1 ms"))
        links += [scenes.link("r2" if far else "r1", f"d{i}", "1 Gbps", "0.1 ms") for i, far in enumerate(behind)]
        hosts = [f"{end}{i}" for i in range(len(self.delays)) for end in "sd"]
        flows = [scenes.flow(f"s{host}", f"d{host}", f"{0.03 * i:.2f} s") for i, host in enumerate(self.flows)]
        budgets = [f"[schemes.fcp.hosts.s{i}]\nbudget = {budget}" for i, budget in enumerate(self.budgets)]
        points = int(self.until / self.step) + 10
        return "\n".join([
            f'title = "ends {self.number}"\nscheme = "fcp"\nseed = {self.number}\nstop = "{self.until:.4f} s"',
            '[queue]\nlimit = "200 ms"',
            scenes.topology(links, hosts),
            f'[measure]\nseries = true\ninterval = "{self.step:.6f} s"\npoints = {points}\nports = 1\nflows = 0',
            *budgets,
            flows[0] + f"\n{how}",
            *flows[1:],
        ])  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What one run came to."""

    unused: float
    """Of the core around the end, s."""
    delivered: int
    share: float
    """Of the core, that the flow had."""
    drops: int


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"fcp ends {number}")
    family = FAMILIES[number % 2]
    rate, delay, hosts = round(log_uniform(rng, 5, 100), 2), round(log_uniform(rng, 2, 30), 2), rng.randint(2, 6)
    ratio = log_uniform(rng, 1, 20) if family == "unlike" else 1.0
    delays = [round(delay * (ratio ** rng.random() - 1) + 1, 3) for _ in range(hosts)]
    flows = [i for i in range(hosts) for _ in range(rng.randint(1, 3) if family == "unlike" else 1)]
    budgets = [round(log_uniform(rng, 0.5, 2), 2) if family == "unlike" else 1.0 for _ in range(hosts)]
    second = round(rate * rng.uniform(0.4, 0.8), 2) if family == "unlike" else 0.0
    settled = 60 * 2 * (delay + max(delays)) / 1e3
    return Scene(number, family, rate, delay, delays, flows, budgets, second, round(max(2.0, settled), 3))


def run(scene: Scene, how: str) -> Found:
    """A scenario in which the first flow ends like this."""
    result = midpath.run(scene.toml(how))
    series, flows, ports = (table.to_pandas() for table in (result.series, result.flows, result.ports))
    core = series[(series.entity == "port:r0>r1") & (series.metric == "throughput_bps")]
    around = core[(core.time_s > scene.end - scene.rtt) & (core.time_s <= scene.end + ROUNDS * scene.rtt)]
    unused = float((1 - around.value / (scene.rate * 1e6)).clip(lower=0).sum()) * scene.step
    first = int(flows.delivered_bytes[0])
    share = first * 8 / scene.end / (scene.rate * 1e6)
    return Found(unused, first, share, int(ports.drops_queue.sum()))


def both(number: int) -> tuple[Scene, dict[str, float]]:
    """A scenario, with what each end came to: idle seconds, and the bound."""
    scene = draw(number)
    on, stopped = run(scene, ""), run(scene, f'stop = "{scene.end} s"')
    sized = run(scene, f'size = "{stopped.delivered} B"')
    idle = {name: max(0.0, found.unused - on.unused) for name, found in (("stop", stopped), ("size", sized))}
    bound = idle["size"] + QUARTER * stopped.share * scene.rtt
    return scene, idle | {"bound": bound, "drops": float(stopped.drops - on.drops)}


def failures(found: dict[str, float]) -> list[str]:
    """The bounds that are not kept."""
    wrong = {"idle": found["stop"] > found["bound"], "drops": found["drops"] > 0}
    return [name for name, missed in wrong.items() if missed]


def page(numbers: range, jobs: int) -> Iterator[str]:
    """ENDS.md."""
    yield "# FCP: what flows leave when they end\n"
    yield f"{scenes.written(numbers, 'fcp/ends.py')} Families and bounds stand at the head of `ends.py`.\n"
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        found = list(pool.map(both, numbers))
    yield scenes.head(["family", "bounds kept", "idle after `stop`, in round trips", "after `size`"])
    for family in FAMILIES:
        of = [(scene, one) for scene, one in found if scene.family == family]
        kept = sum(not failures(one) for _, one in of)
        means = [sum(one[how] / scene.rtt for scene, one in of) / len(of) for how in ("stop", "size")]
        yield scenes.row([family, f"{kept} of {len(of)}", *(f"{mean:.3f}" for mean in means)])
    yield "\nNot kept:\n"
    lines = [
        f"- {scene.number} ({scene.family}): {', '.join(failures(one))} "
        f"(idle {one['stop']:.4f} s, bound {one['bound']:.4f} s, {one['drops']:.0f} dropped)"
        for scene, one in found
        if failures(one)
    ]
    yield from lines or ["- none"]


def main() -> None:
    """Prints the page, or scenarios."""
    asked = scenes.options(__doc__, 100).parse_args()
    if asked.show:
        for number in scenes.numbers_of(asked):
            scene, found = both(number)
            print(scene.toml(f'stop = "{scene.end} s"'), f"\n# {found}")
        return
    for line in page(scenes.numbers_of(asked), asked.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
