"""Cost over flows, nodes, hops, threads and schemes. Each point has its own process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from midpath.benchmark.measure import Repetitions, joined, repetitions
from midpath.benchmark.scenarios import chain, fat_tree, long_flows, many_hosts, provider
from midpath.benchmark.suite import pick

# A point that takes longer is not repeated: what disturbs it has evened out.
LONG_S = 5.0
ONE_BOTTLENECK, MANY_HOSTS = "long, one bottleneck", "15 kB each, 200,000 a second"
FAT_TREE, GEANT = "fat-tree, DCTCP", "GÉANT's 40 routers with hosts"
SCHEMES = (
    *("newreno", "cubic", "bbr", "dctcp", "rcp", "xcp", "hpcc"),
    *("fcp", "inrpp", "mircc", "ndn", "mptcp"),
)


@dataclass(frozen=True)
class Point:
    """A scenario, and where it stands: on which line of a curve, and at which place."""

    line: str
    x: float | str
    scenario: dict[str, Any]
    threads: int = 1


@dataclass(frozen=True)
class Curve:
    """One axis along which cost grows. `wall`: time is the clock's, for more threads take more CPU time, not less."""

    id: str
    label: str
    points: Sequence[Point] = field(repr=False)
    wall: bool = False


@dataclass(frozen=True)
class Found:
    """What a point took: the least of its repetitions, per packet-hop, and the process's peak memory."""

    curve: str
    line: str
    x: float | str
    flows: int
    packet_hops: int
    cpu_ns_per_hop: float
    wall_ns_per_hop: float
    set_up_cpu_s: float
    peak_bytes: int | None
    repetitions: int

    def to_json(self) -> dict[str, Any]:
        """As `curves.json` has it."""
        return asdict(self)


def curves(quick: bool = False) -> list[Curve]:
    """All curves; `quick` leaves out what takes more than seconds."""
    return [
        Curve("flows", "flows", list(_flows(quick))),
        Curve("nodes", "nodes", list(_nodes(quick))),
        Curve("hops", "links on the path", list(_hops(quick))),
        Curve("threads", "threads (wall time)", list(_threads(quick)), wall=True),
        Curve("schemes", "scheme", list(_schemes(quick))),
    ]


def choose(every: list[Curve], only: str | None = None) -> list[Curve]:
    """Curves by name."""
    return every if only is None else pick(every, only, "curve")


def measured(curve: Curve, point: Point, repeat: int) -> Found:
    """Runs a point's scenario, several times if that is quick."""
    found = repetitions(point.scenario, 1, point.threads)
    if found.spent[0].total_cpu_s < LONG_S:
        found = joined([found, *(repetitions(point.scenario, 1, point.threads) for _ in range(repeat - 1))])
    return _found(curve, point, found)


def _found(curve: Curve, point: Point, of: Repetitions) -> Found:
    return Found(
        curve=curve.id,
        line=point.line,
        x=point.x,
        flows=of.run["flows"],
        packet_hops=of.hops,
        cpu_ns_per_hop=of.best_cpu_s / of.hops * 1e9,
        wall_ns_per_hop=of.best_wall_s / of.hops * 1e9,
        set_up_cpu_s=min(one.set_up_cpu_s for one in of.spent),
        peak_bytes=min((one.peak_bytes for one in of.spent if one.peak_bytes), default=None),
        repetitions=len(of.spent),
    )


def _flows(quick: bool) -> Iterator[Point]:
    for flows in (4, 64, 1024) if quick else (4, 16, 64, 256, 1024, 4096, 16384):
        yield Point(ONE_BOTTLENECK, flows, long_flows(flows, stop="1 s" if quick else "10 s"))
    for flows in (100, 1000) if quick else (1000, 10_000, 100_000, 1_000_000):
        yield Point(MANY_HOSTS, flows, many_hosts(4000, flows))


def _nodes(quick: bool) -> Iterator[Point]:
    """Where there are more hosts each sends less, so that runs stay alike."""
    for k in (4, 8) if quick else (4, 8, 16, 32, 64):
        hosts = k**3 // 4
        size = max(100_000, (10_000_000 if quick else 320_000_000) // hosts)
        yield Point(FAT_TREE, hosts + 5 * k**2 // 4, fat_tree(k, f"{size} B"))
    for hosts in (40, 400) if quick else (40, 400, 4000, 40_000, 100_000):
        yield Point(GEANT, hosts + 40, many_hosts(hosts, 1000 if quick else 100_000))


def _hops(quick: bool) -> Iterator[Point]:
    for links in (2, 8, 64) if quick else (2, 4, 8, 16, 32, 64):
        yield Point("constant rate", links, chain(links - 1, "100 ms" if quick else "2 s"))


def _threads(quick: bool) -> Iterator[Point]:
    for k in (4,) if quick else (4, 8, 16):
        for threads in (1, 2):
            scenario = fat_tree(k, "200 kB" if quick else "20 MB" if k < 16 else "2 MB")
            yield Point(f"fat-tree-{k}", threads, scenario, threads)


def _schemes(quick: bool) -> Iterator[Point]:
    for scheme in SCHEMES[:2] if quick else SCHEMES:
        yield Point("4 flows, one bottleneck", scheme, long_flows(4, scheme, "200 ms" if quick else "10 s"))
    for scheme in () if quick else SCHEMES:
        yield Point("2,000 flows on GÉANT's map", scheme, provider(scheme))
