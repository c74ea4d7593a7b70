"""Measuring a row: its scenario runs in separate processes, which report the cost of each part."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from midpath.benchmark import counters
from midpath.benchmark.goals import Reached
from midpath.benchmark.suite import Bench
from midpath.run import cores
from midpath.scenario import Scenario

# The program that measures, with its simulator beside it.
CHILD = Path(__file__).with_name("child.py")


class NotMeasuredError(RuntimeError):
    """A row that cannot be measured here, and why."""


@dataclass(frozen=True)
class Spent:
    """What one repetition took: of the clock, and of processors in user and system mode, seconds."""

    set_up_cpu_s: float
    wall_s: float
    cpu_s: float
    total_cpu_s: float
    peak_bytes: int | None


@dataclass(frozen=True)
class Repetitions:
    """The repetitions of one scenario with a number of threads."""

    threads: int
    spent: Sequence[Spent]
    run: Mapping[str, Any]
    counters: Sequence[Mapping[str, counters.Reading]]

    @property
    def hops(self) -> int:
        """Packet-hops of one run; no packet moves in a set-up."""
        return int(self.run.get("packet_hops", 0))

    @property
    def best_wall_s(self) -> float:
        """The least, which other work on the machine disturbed least."""
        return min(one.wall_s for one in self.spent)

    @property
    def best_cpu_s(self) -> float:
        """The least CPU time."""
        return min(one.cpu_s for one in self.spent)

    def per_hop(self) -> dict[str, float]:
        """Counters per packet-hop, of the repetition with the least of each."""
        found: dict[str, float] = {}
        for readings in self.counters if self.hops else ():
            for name, count in counters.counted(readings).items():
                found[name] = min(found.get(name, float("inf")), count / self.hops)
        return found

    def counters_unavailable(self) -> str | None:
        """Why no hardware counter was read."""
        return counters.missing(self.counters[0]) if self.counters and self.counters[0] else None


@dataclass(frozen=True)
class Measurement:
    """What a row gave. Without a prefix, figures are medians over repetitions; `best_` is the best of them.

    `hops_per_cpu_s` is per second of CPU time, the best. Times are of the simulation alone: `set_up_cpu_s` was before
    it, `total_cpu_s` is all, to the last column. `peak_bytes` is of the process.
    """

    id: str
    title: str
    threads: int
    repetitions: int
    flows: int | None
    packet_hops: int
    wall_s: float | None
    best_wall_s: float | None
    hops_per_s: float | None
    best_hops_per_s: float | None
    cpu_s: float | None
    best_cpu_s: float | None
    hops_per_cpu_s: float | None
    cpu_ns_per_hop: float | None
    ns_per_event: float | None
    set_up_cpu_s: float
    total_cpu_s: float
    peak_bytes: int | None
    memory_bytes: int | None
    bytes_per_flow: float | None
    counters_per_hop: Mapping[str, float]
    counters_missing: str | None
    speedup: float | None
    goal: str | None
    reached: Sequence[Reached] = ()
    ns3_version: str | None = None
    ns3_hops_per_s: float | None = None
    ns3_hops_per_cpu_s: float | None = None

    @property
    def ratio_to_ns3(self) -> float | None:
        """How many times ns-3's speed, both per second of CPU time."""
        if self.hops_per_cpu_s is None or not self.ns3_hops_per_cpu_s:
            return None
        return self.hops_per_cpu_s / self.ns3_hops_per_cpu_s

    @property
    def share(self) -> float | None:
        """How much of its goal the row reached: the least share of the goal's parts."""
        return min((part.share for part in self.reached), default=None)

    def to_json(self) -> dict[str, Any]:
        """As `midpath bench --json` prints it."""
        return asdict(self) | {"share": self.share, "ratio_to_ns3": self.ratio_to_ns3}


def measure(bench: Bench, *, repeat: int = 3, threads: int = 1) -> Measurement:
    """Measures a row `repeat` times; one about threads with one thread and with its own number, in turns."""
    if bench.threads == 1:
        return summed_up(bench, repetitions(bench.scenario, repeat, threads, set_up=bench.set_up))
    if cores() < bench.threads:
        raise NotMeasuredError(f"needs {bench.threads} processors; there are {cores()}")
    one, several = [], []
    with busy_loops(bench.busy):
        for _ in range(repeat):
            one.append(repetitions(bench.scenario, 1))
            several.append(repetitions(bench.scenario, 1, bench.threads))
    return summed_up(bench, joined(several), joined(one))


@contextmanager
def busy_loops(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that never rest, of the same priority."""
    loops = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def repetitions(
    scenario: dict[str, Any], repeat: int, threads: int = 1, *, set_up: bool = False, child: Path = CHILD
) -> Repetitions:
    """Runs a scenario `repeat` times in a process of its own."""
    whole = Scenario.from_dict(scenario)
    threads = min(threads, cores())
    request = {"text": whole.text, "base": str(whole.base_dir), "threads": threads, "repeat": repeat, "set_up": set_up}
    _, answer = answered(request, child)
    runs = answer["runs"]
    return Repetitions(
        threads=threads,
        spent=[spent(one["marks"]) for one in runs],
        run=runs[0]["run"],
        counters=[one["counters"] for one in runs],
    )


def answered(request: dict[str, Any], child: Path = CHILD, under: Sequence[str] = ()) -> tuple[str, dict[str, Any]]:
    """What the process says to standard error, and what it answers. `under` is a program that runs it."""
    command = [*under, sys.executable, "-I", "-S", str(child)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"its process exited with {done.returncode}"]
        raise NotMeasuredError(last[0])
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise NotMeasuredError(answer["error"])
    return done.stderr, answer


def spent(marks: Mapping[str, Mapping[str, Any]]) -> Spent:
    """The times between marks. A run that ends after its set-up has no later ones."""
    begin, simulate = marks["begin"], marks["simulate"]
    collect, end = marks.get("collect", simulate), marks["end"]
    return Spent(
        set_up_cpu_s=simulate["cpu_s"] - begin["cpu_s"],
        wall_s=collect["wall_s"] - simulate["wall_s"],
        cpu_s=collect["cpu_s"] - simulate["cpu_s"],
        # What a set-up takes to be thrown away is not part of it.
        total_cpu_s=(end if collect is not simulate else simulate)["cpu_s"] - begin["cpu_s"],
        peak_bytes=end["peak_bytes"],
    )


def joined(parts: Sequence[Repetitions]) -> Repetitions:
    """Repetitions of the same from several processes."""
    every = [one for part in parts for one in part.spent]
    return Repetitions(parts[0].threads, every, parts[0].run, [one for part in parts for one in part.counters])


def summed_up(bench: Bench, found: Repetitions, one: Repetitions | None = None) -> Measurement:
    """A row's figures; `one` is the same with one thread."""
    hops, events, flows = found.hops, found.run.get("events"), found.run.get("flows")
    moved = hops > 0
    wall = statistics.median(each.wall_s for each in found.spent)
    cpu = statistics.median(each.cpu_s for each in found.spent)
    memory = found.run.get("memory_bytes")
    # The first repetition's: later ones begin with what it left.
    peak = found.spent[0].peak_bytes
    return Measurement(
        id=bench.id,
        title=bench.title,
        threads=found.threads,
        repetitions=len(found.spent),
        flows=flows,
        packet_hops=hops,
        wall_s=wall if moved else None,
        best_wall_s=found.best_wall_s if moved else None,
        hops_per_s=hops / wall if moved else None,
        best_hops_per_s=hops / found.best_wall_s if moved else None,
        cpu_s=cpu if moved else None,
        best_cpu_s=found.best_cpu_s if moved else None,
        hops_per_cpu_s=hops / found.best_cpu_s if moved else None,
        cpu_ns_per_hop=found.best_cpu_s / hops * 1e9 if moved else None,
        ns_per_event=wall / events * 1e9 if events else None,
        set_up_cpu_s=min(each.set_up_cpu_s for each in found.spent),
        total_cpu_s=min(each.total_cpu_s for each in found.spent),
        peak_bytes=peak,
        memory_bytes=memory,
        bytes_per_flow=memory / flows if memory and flows and bench.together else None,
        counters_per_hop=found.per_hop(),
        counters_missing=found.counters_unavailable(),
        speedup=one.best_wall_s / found.best_wall_s if one else None,
        goal=str(bench.goal) if bench.goal else None,
    )
