"""The rows of the table: scenarios and goals.

evidence/peers/ns3 has ns-3's side of some of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from midpath.benchmark.goals import Goal
from midpath.benchmark.scenarios import chain, fat_tree, long_flows, many_hosts, provider, short_flows
from midpath.errors import UsageError


@dataclass(frozen=True)
class Bench:
    """A scenario, and the program of evidence/peers/ns3 that runs the same in ns-3.

    `together`: all flows are active at the same time, so memory can be divided by their number. `threads`: measured
    with one and with so many, beside so many endless loops as `busy` says. `set_up`: no packet moves. `large`: takes
    minutes or much memory.
    """

    id: str
    title: str
    scenario: dict[str, Any]
    goal: Goal | None = None
    ns3: list[str] = field(default_factory=list)
    together: bool = False
    threads: int = 1
    busy: int = 0
    set_up: bool = False
    large: bool = False


def suite(rocketfuel: Path | None = None) -> list[Bench]:
    """All rows. `rocketfuel` is the file with the map of Tiscali, if the user has it."""
    return [
        *_long_flows(),
        *_chains(),
        *_fat_trees(),
        Bench("short", "438 short flows/s, Pareto sizes", short_flows(), Goal(24), ["short_flows_e"]),
        Bench("fcp", "4 FCP flows, one bottleneck", long_flows(4, "fcp"), Goal(16)),
        *_maps(rocketfuel),
        *_threads(),
        *_scale(),
    ]


class Named(Protocol):
    """What is chosen by name."""

    @property
    def id(self) -> str:
        """The name."""


T = TypeVar("T", bound=Named)


def choose(rows: list[Bench], only: str | None = None, large: bool = False) -> list[Bench]:
    """Rows by name, or by how names begin, with commas between them; large ones by name, or if asked for."""
    if only is None:
        return [row for row in rows if large or not row.large]
    return pick(rows, only, "benchmark", lambda row: large or not row.large)


def pick(rows: list[T], only: str, kind: str, ready: Callable[[T], bool] = lambda _: True) -> list[T]:
    """What has these names, or names that begin so; of the latter what is `ready`."""
    found: list[T] = []
    for asked in (part.strip() for part in only.split(",")):
        found += [row for row in _named(rows, asked, kind, ready) if row not in found]
    return found


def _named(rows: list[T], asked: str, kind: str, ready: Callable[[T], bool]) -> list[T]:
    exact = [row for row in rows if row.id == asked]
    begin = [row for row in rows if asked and row.id.startswith(asked)]
    if found := exact or [row for row in begin if ready(row)]:
        return found
    names = [row.id for row in rows]
    if begin:
        raise UsageError(f"{', '.join(row.id for row in begin)}: large rows; give whole names, or add --all")
    near = difflib.get_close_matches(asked, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
    raise UsageError(f"no {kind} begins with {asked!r}; {hint}")


def _long_flows() -> Iterator[Bench]:
    for flows, mhops in ((4, 33), (64, 33), (1024, 24), (16384, 13)):
        yield Bench(
            f"long-{flows}",
            f"{flows:,} NewReno flows, one bottleneck",
            long_flows(flows),
            Goal(mhops),
            ["long_flows_b", f"--flows={flows}"] if flows <= 1024 else [],
            together=True,
        )


def _chains() -> Iterator[Bench]:
    for routers in (2, 8, 32):
        yield Bench(
            f"chain-{routers}",
            f"constant rate over {routers} routers",
            chain(routers),
            Goal(55) if routers == 8 else None,
            ["chain_c"] if routers == 8 else [],
            large=routers != 8,
        )


def _fat_trees() -> Iterator[Bench]:
    for k, mhops in ((4, 20), (8, 16), (16, 10)):
        ns3 = ["fattree_d"] if k == 4 else []
        yield Bench(
            f"fat-tree-{k}",
            f"DCTCP permutation of {k**3 // 4:,} hosts",
            fat_tree(k),
            Goal(mhops),
            ns3,
            together=True,
            large=k == 16,
        )


def _maps(rocketfuel: Path | None) -> Iterator[Bench]:
    where = "Rocketfuel's map of Tiscali" if rocketfuel else "GÉANT's map"
    for scheme, title in (("newreno", "NewReno"), ("inrpp", "INRPP"), ("rcp", "RCP"), ("mptcp", "MPTCP")):
        goal = None if scheme == "newreno" else Goal(8, beside=("map-newreno", 0.5))
        yield Bench(f"map-{scheme}", f"{title} on {where}", provider(scheme, rocketfuel), goal)


def _threads() -> Iterator[Bench]:
    # Four and eight threads have no goal: they show the curve between.
    rows = (
        (2, 4, 1.0),
        (2, 8, 1.9),
        (2, 16, 1.9),
        (2, 32, 1.9),
        (4, 16, None),
        (8, 16, None),
        (16, 16, 10),
        (16, 32, 10),
    )
    for threads, k, least in rows:
        name, title = f"threads-{k}", f"fat-tree-{k} with {threads} threads"
        scenario = fat_tree(k, "100 kB") if k == 32 else fat_tree(k)
        whole = name if threads == 2 else f"{name}-by-{threads}"
        goal = Goal(speedup=least) if least else None
        yield Bench(whole, title, scenario, goal, threads=threads, large=k >= 16)
    for scheme in ("newreno", "fcp", "inrpp"):
        scenario, title = fat_tree(16) | {"scheme": scheme}, f"fat-tree-16 under {scheme} with 16 threads"
        yield Bench(f"threads-16-by-16-{scheme}", title, scenario, Goal(speedup=10), threads=16, large=True)
    busy = "fat-tree-8 with 2 threads beside an endless loop"
    yield Bench("threads-8-busy", busy, fat_tree(8, "8 MB"), Goal(speedup=0.95), threads=2, busy=1)


def _scale() -> Iterator[Bench]:
    million = many_hosts(100_000, 1_000_000)
    title = "100,000 hosts, 1,000,000 flows of 15 kB"
    yield Bench("million", title, million, Goal(cpu_s=30, memory=600e6), large=True)
    short = many_hosts(160, 10_000_000, "1 kB", 20_000.0)
    yield Bench("ten-million", "10,000,000 flows of 1 kB, one after another", short, Goal(memory=2e9), large=True)
    for k, goal in ((64, Goal(cpu_s=1, memory=300e6)), (128, None)):
        title = f"fat-tree of {k**3 // 4:,} hosts, set-up"
        yield Bench(f"set-up-{k}", title, fat_tree(k), goal, set_up=True, large=True)
