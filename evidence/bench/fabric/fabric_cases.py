"""Collectives on a rail-optimised fabric: schemes, placements and links, the bound of each run, and what came of it."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import midpath

BOUNDS = {"all-to-all of uec": 1.5, "slow link under uec": 1.2}
STOP_US = 50_000.0
MTU = 4150


@dataclass(frozen=True)
class Fabric:
    """Servers of eight GPUs in blocks; leaves with half as many uplinks as GPUs."""

    servers: int
    per_leaf: int
    spines: int
    group: int
    """Ranks of an all-to-all."""
    rails: int = 8
    gbps: int = 400
    nvlink_gbps: int = 3600
    hop_us: float = 0.5
    inside_us: float = 0.2

    @property
    def gpus(self) -> int:
        """Hosts."""
        return self.servers * self.rails

    def leaf(self, gpu: int) -> tuple[int, int]:
        """Its block and rail."""
        return gpu // self.rails // self.per_leaf, gpu % self.rails

    def text(self) -> str:
        """The topology."""

        def link(gbps: int, us: float) -> str:
            return f'{{ rate = "{gbps} Gbps", delay = "{us} us", mtu = {MTU} }}'

        return f"""[topology]
generate = "rail"
n = {self.servers}
rails = {self.rails}
per_leaf = {self.per_leaf}
spines = {self.spines}
access = {link(self.gbps, self.hop_us)}
link = {link(self.gbps, self.hop_us)}
nvlink = {link(self.nvlink_gbps, self.inside_us)}
"""


WHOLE = Fabric(servers=128, per_leaf=32, spines=16, group=64)
QUICK = Fabric(servers=4, per_leaf=2, spines=2, group=16)
SIZE, SLOW_GBPS = 1_000_000, 40
# What a column adds to the scenario. PFC as DCQCN's and HPCC's papers have it; TCP's shortest timeout suits a fabric.
TCP = '[queue]\nlimit = "1 MB"\n[schemes.dctcp]\nmin_rto = "1 ms"\n'
LOSSLESS = '[queue]\nlimit = "1 MB"\n[pfc]\n'
TRIM = '[queue]\nkind = "trim"\nlimit = "400 kB"\n'
COLUMNS = {
    "dctcp": ("dctcp", TCP),
    "dctcp, LetFlow": ("dctcp", TCP + '[routing]\necmp = "letflow"\nflowlet_gap = "20 us"\n'),
    "dctcp, DRILL": ("dctcp", TCP + '[routing]\necmp = "drill"\n'),
    "dcqcn": ("dcqcn", LOSSLESS),
    "hpcc": ("hpcc", LOSSLESS),
    "uec, one path": ("uec", TRIM + '[schemes.uec]\nentropy = "ecmp"\n'),
    "uec": ("uec", TRIM),
}
WORKLOADS = ("all-reduce", "all-to-all", "moe", "two jobs")
PLACEMENTS = ("packed", "rail", "random")
LINKS = ("whole", "slow")


@dataclass(frozen=True)
class Case:
    """One run."""

    fabric: Fabric
    workload: str
    placement: str
    link: str
    column: str

    @property
    def name(self) -> str:
        """Its key in results.json."""
        return " / ".join((self.workload, self.placement, self.link, self.column))

    @cached_property
    def order(self) -> list[int]:
        """GPUs in the order of ranks: server by server, rail by rail, or drawn once for all."""
        gpus = range(self.fabric.gpus)
        if self.placement == "packed":
            return list(gpus)
        if self.placement == "rail":
            return sorted(gpus, key=lambda gpu: (gpu % self.fabric.rails, gpu))
        return random.Random(63).sample(gpus, len(gpus))

    def jobs(self) -> Iterator[tuple[str, list[int]]]:
        """Collectives and their ranks."""
        group, ranks = self.fabric.group, self.order
        if self.workload == "all-reduce":
            yield "all-reduce", ranks
            return
        if self.workload == "two jobs":
            half = len(ranks) // 2
            yield "all-reduce", ranks[:half]
            ranks = ranks[half:]
        for first in range(0, len(ranks), group):
            yield ("moe" if self.workload == "moe" else "all-to-all"), ranks[first : first + group]

    def text(self) -> str:
        """The scenario."""
        scheme, more = COLUMNS[self.column]
        parts = [f'scheme = "{scheme}"\nstop = "{STOP_US} us"\n', self.fabric.text(), more]
        for number, (what, ranks) in enumerate(self.jobs()):
            collective = "all-reduce-halving" if what == "all-reduce" else "all-to-all"
            hosts = ", ".join(f'"h{gpu}"' for gpu in ranks)
            skew = "skew = 0.5\n" if what == "moe" else ""
            parts.append(
                f'[[job]]\ngroup = "{what}-{number}"\ncollective = "{collective}"\nsize = "{SIZE} B"\n{skew}'
                f"hosts = [{hosts}]\n"
            )
        if self.link == "slow":
            parts.append(f'[[fault]]\nat = "0 s"\nkind = "rate"\nlink = ["l0.0", "s0"]\nrate = "{SLOW_GBPS} Gbps"\n')
        return "".join(parts)

    def bound_us(self, sent: Counter[tuple[int, int]]) -> float:
        """No run ends sooner: payload over the busiest NIC, NVLink and leaf's uplinks; and an all-reduce's steps,
        one after the other."""
        fabric, out, into, up, down, inside = self.fabric, *(Counter[Any]() for _ in range(5))
        for (a, b), size in sent.items():
            if a // fabric.rails == b // fabric.rails:
                inside[a] += size
                continue
            out[a] += size
            into[b] += size
            if fabric.leaf(a) != fabric.leaf(b):
                up[fabric.leaf(a)] += size
                down[fabric.leaf(b)] += size
        nic = max([*out.values(), *into.values()], default=0) * 8e-3 / fabric.gbps
        leaf = max([*up.values(), *down.values()], default=0) * 8e-3 / fabric.gbps / fabric.spines
        within = max(inside.values(), default=0) * 8e-3 / fabric.nvlink_gbps
        return max(nic, leaf, within, *(self._steps_us(ranks) for what, ranks in self.jobs() if what == "all-reduce"))

    def _steps_us(self, ranks: list[int]) -> float:
        """A step begins when the one before has brought its message; the fastest pair of each."""
        distances = [len(ranks) >> step for step in range(1, len(ranks).bit_length())]
        return sum(
            2 * min(self._message_us(a, ranks[rank ^ far], SIZE * far // len(ranks)) for rank, a in enumerate(ranks))
            for far in distances
        )

    def _message_us(self, a: int, b: int, size: int) -> float:
        fabric = self.fabric
        if a // fabric.rails == b // fabric.rails:
            return size * 8e-3 / fabric.nvlink_gbps + 2 * fabric.inside_us
        hops = 2 if fabric.leaf(a) == fabric.leaf(b) else 4
        return size * 8e-3 / fabric.gbps + hops * fabric.hop_us

    def run(self) -> dict[str, Any]:
        """Job completion time, bound, and who was last."""
        before = sum(os.times()[:2])
        result = midpath.run(midpath.Scenario.from_toml(self.text()))
        flows = result.flows
        sent: Counter[tuple[int, int]] = Counter()
        columns = (flows[name].to_pylist() for name in ("src", "dst", "size_bytes"))
        for source, to, size in zip(*columns, strict=True):
            sent[int(source[1:]), int(to[1:])] += size
        # All jobs begin at once, each with one iteration.
        rows = result.tables["iterations"].to_pylist()
        ends = {row["job"]: row["completion_s"] and round(1e6 * row["completion_s"], 2) for row in rows}
        last = max(rows, key=lambda row: ends[row["job"]] or STOP_US)
        straggler = {name: flows[name][int(last["straggler"])].as_py() for name in ("src", "dst")}
        return {
            "jct_us": None if None in ends.values() else max(ends.values()),
            "bound_us": round(self.bound_us(sent), 2),
            "straggler": f"{straggler['src']} to {straggler['dst']}",
            "all_reduce_us": next((end for job, end in ends.items() if job.startswith("all-reduce")), None),
            "lost": int(sum(flows["lost_packets"].to_pylist())),
            "again": int(sum(flows["retransmitted_packets"].to_pylist())),
            "cpu_s": round(sum(os.times()[:2]) - before, 2),
            "version": midpath.__version__,
        }


def cases(fabric: Fabric) -> list[Case]:
    """All of them."""
    return [
        Case(fabric, workload, placement, link, column)
        for workload in WORKLOADS
        for column in COLUMNS
        for placement in PLACEMENTS
        for link in LINKS
    ]
