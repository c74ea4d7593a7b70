"""Scheme or placement? Collectives on a rail-optimised fabric of 1,024 GPUs, with and without a slow link.

    python evidence/bench/fabric/run.py                # all runs that results.json lacks, and the page
    python evidence/bench/fabric/run.py --quick        # the same with 32 GPUs, printed
    python evidence/bench/fabric/run.py --page         # the page alone

Each run is written to results.json as it ends, so that a command that was stopped goes on.

Bounds, fixed before the first run (BOUNDS): every run ends, and none before its bound; UEC's packets that spray end
all-to-alls within 1.5 of the placement's bound, and lose at most a fifth to a link at a tenth of its rate. Expected,
no bound: columns that hash lose more than half to that link.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import midpath
from midpath.markdown import filled

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE / "RESULTS.md"
PICTURE, DOCS = (HERE.parents[2] / "docs" / name for name in ("images/fabric.svg", "fabrics.md"))
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
TITLES = {
    "all-reduce": "All-reduce (halving, doubling)",
    "all-to-all": "All-to-all",
    "moe": "MoE’s all-to-all-v (skew .5)",
    "two jobs": "All-reduce beside all-to-all",
}


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


Found = dict[str, dict[str, Any]]


def pick(found: Found, workload: str, placement: str, link: str, column: str) -> dict[str, Any]:
    """What came of a run; empty if it has not been done."""
    return found.get(" / ".join((workload, placement, link, column)), {})


def bought(found: Found, workload: str, link: str, of: str, columns: Sequence[str] = tuple(COLUMNS)) -> float | None:
    """How much sooner jobs end with the best scheme, or placement, than with the worst; a geometric mean."""
    factors = []
    outer, inner = (PLACEMENTS, columns) if of == "scheme" else (columns, PLACEMENTS)
    for fixed in outer:
        keys = [(fixed, free) if of == "scheme" else (free, fixed) for free in inner]
        ends = [pick(found, workload, placement, link, column).get("jct_us") for placement, column in keys]
        known = [end for end in ends if end]
        if len(known) < len(ends):
            return None
        factors.append(max(known) / min(known))
    return math.prod(factors) ** (1 / len(factors))


def misses(found: Found) -> list[str]:
    """Bounds that are not kept."""
    missed = []
    for name, row in found.items():
        workload, placement, link, column = name.split(" / ")
        end, bound = row["jct_us"], row["bound_us"]
        if end is None:
            missed.append(f"{name}: not ended after {STOP_US / 1000:g} ms")
            continue
        if end < bound:
            missed.append(f"{name}: {end} us, before its bound of {bound} us")
        most = BOUNDS["all-to-all of uec"]
        if column == "uec" and workload == "all-to-all" and end > most * bound:
            missed.append(f"{name}: {end / bound:.2f} of its bound; {most} was allowed")
        whole = pick(found, workload, placement, "whole", column).get("jct_us")
        most = BOUNDS["slow link under uec"]
        if column == "uec" and link == "slow" and whole and end > most * whole:
            missed.append(f"{name}: {end / whole:.2f} of the run without a slow link; {most} was allowed")
    return missed


def what_buys_more(found: Found) -> str:
    """The table that answers it."""
    rows = [
        "How much sooner jobs end with the best than with the worst, geometric mean over the others; without DCTCP, "
        "which loses packets and waits for timeouts:\n",
        "| workload | links | scheme | placement | scheme, no DCTCP | placement, no DCTCP |\n|---|---|---|---|---|---|",
    ]
    others = [column for column in COLUMNS if not column.startswith("dctcp")]
    for workload in WORKLOADS:
        for link in LINKS:
            of = [(what, columns) for columns in (tuple(COLUMNS), others) for what in ("scheme", "placement")]
            factors = [bought(found, workload, link, what, columns) for what, columns in of]
            cells = " | ".join("–" if factor is None else f"{factor:.2f}×" for factor in factors)
            rows.append(f"| {workload} | {link} | {cells} |")
    return "\n".join(rows)


def below_slow(straggler: str, fabric: Fabric) -> bool:
    """Whether a flow may have crossed the slow link."""
    leaves = [fabric.leaf(int(gpu[1:])) for gpu in straggler.split(" to ")]
    return leaves[0] != leaves[1] and (0, 0) in leaves


def tables(found: Found, fabric: Fabric) -> Iterator[str]:
    """The page."""
    versions = sorted({row["version"] for row in found.values()})
    cpu = sum(row["cpu_s"] for row in found.values())
    yield "# Scheme or placement?\n"
    yield (
        f"`python evidence/bench/fabric/run.py` wrote this page. Midpath {', '.join(versions)}, seed 1, "
        f"{len(found)} of {len(cases(fabric))} runs, {cpu / 60:.0f} CPU minutes.\n"
    )
    yield (
        f"{fabric.gpus} GPUs with NICs of {fabric.gbps} Gbps: {fabric.servers} servers of {fabric.rails} (NVLink of "
        f"{fabric.nvlink_gbps} Gbps), in blocks of {fabric.per_leaf}; a leaf for each block and rail, linked to "
        f"{fabric.spines} spines. {SIZE // 1000} kB per rank; all-to-alls among {fabric.group} ranks, as many at once "
        f"as there are GPUs for. Slow: l0.0–s0 at {SLOW_GBPS} Gbps. Placements: `packed`, server by server; `rail`, "
        "rail by rail; `random`.\n"
    )
    yield "## What buys more\n"
    yield what_buys_more(found)
    yield "\n## Bounds\n"
    missed = misses(found)
    yield f"{len(missed)} missed of those fixed before the first run" + (":\n" if missed else ".\n")
    yield from (f"- {miss}" for miss in missed)
    for workload in WORKLOADS:
        yield f"\n## {workload[0].upper()}{workload[1:]}\n"
        yield "Job completion in us, with the factor over the placement's bound; then the same with the slow link.\n"
        yield "| scheme | " + " | ".join(f"{placement} | slow" for placement in PLACEMENTS) + " | last, slow, random |"
        yield "|---|" + "---|" * (2 * len(PLACEMENTS) + 1)
        bounds = [pick(found, workload, placement, "whole", "uec").get("bound_us", 0.0) for placement in PLACEMENTS]
        yield "| bound | " + " | ".join(f"{bound:.1f} | " for bound in bounds) + " | |"
        for column in COLUMNS:
            cells = []
            for placement in PLACEMENTS:
                for link in LINKS:
                    row = pick(found, workload, placement, link, column)
                    end = row.get("jct_us")
                    cells.append(f"{end:.1f} ({end / row['bound_us']:.2f})" if end else "–")
            last = pick(found, workload, "random", "slow", column).get("straggler", "")
            yield f"| {column} | " + " | ".join(cells) + f" | {last} |"
    blocks = fabric.servers // fabric.per_leaf
    yield "\n## Stragglers\n"
    yield (
        "Runs with the slow link whose last flow crosses spines and begins or ends below its leaf, l0.0; one of "
        f"{blocks * fabric.rails} leaves. (A result names the link that a flow's hash leads to, which is not that of "
        "sprayed packets.)\n"
    )
    yield "| scheme | runs |\n|---|---|"
    for column in COLUMNS:
        of = [row for name, row in found.items() if name.endswith(f" / slow / {column}")]
        there = sum(below_slow(row["straggler"], fabric) for row in of)
        yield f"| {column} | {there} of {len(of)} |"


WIDTH, PANEL, TOP, LEFT = 940, 250, 70, 60
HUES = {"packed": "#0072B2", "rail": "#D55E00", "random": "#009E73"}
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #16202B }
.title { font-size: 15px; font-weight: bold } .axis { font-size: 11px; fill: #4A5560 }
.grid { stroke: #D5DBE1 } .bound { stroke-width: 2; stroke-dasharray: 5 4 }
"""


def svg(found: Found, fabric: Fabric) -> str:
    """One picture: a panel per workload, schemes across, placements by colour, hollow with the slow link."""
    height = TOP + 2 * (PANEL + 60)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="Job completion time over the best bound, by scheme and placement">',
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="22" class="title">Job completion over the best placement’s bound, {fabric.gpus:,} GPUs</text>',
    ]
    for number, (placement, hue) in enumerate(HUES.items()):
        x = 16 + 130 * number
        out.append(f'<circle cx="{x}" cy="44" r="5" fill="{hue}"/><text x="{x + 11}" y="48">{placement}</text>')
    out.append('<circle cx="416" cy="44" r="5" fill="none" stroke="#16202B" stroke-width="1.5"/>')
    out.append('<text x="427" y="48">with a slow link; dashed: each placement’s bound</text>')
    for number, workload in enumerate(WORKLOADS):
        out += _panel(found, workload, (LEFT + number % 2 * (WIDTH / 2), TOP + number // 2 * (PANEL + 60)))
    return "\n".join([*out, "</svg>\n"])


def _panel(found: Found, workload: str, at: tuple[float, float]) -> Iterator[str]:
    x0, y0 = at
    wide = WIDTH / 2 - LEFT - 12
    rows = [(p, pick(found, workload, p, link, c)) for p in PLACEMENTS for link in LINKS for c in COLUMNS]
    best = min((row["bound_us"] for _, row in rows if row), default=1.0)
    most = max((row["jct_us"] / best for _, row in rows if row and row["jct_us"]), default=10.0)
    decades = max(1.0, math.log10(most) * 1.05)

    def y(factor: float) -> float:
        return y0 + PANEL - 40 - (PANEL - 65) * math.log10(factor) / decades

    yield f'<text x="{x0}" y="{y0 + 14}" class="title">{TITLES[workload]}</text>'
    for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if tick <= 10**decades:
            yield f'<path d="M{x0} {y(tick):.1f} h{wide:.0f}" class="grid"/>'
            yield f'<text x="{x0 - 6}" y="{y(tick) + 4:.1f}" class="axis" text-anchor="end">{tick}×</text>'
    for placement, hue in HUES.items():
        bound = next((row["bound_us"] for p, row in rows if p == placement and row), None)
        if bound:
            yield f'<path d="M{x0} {y(bound / best):.1f} h{wide:.0f}" stroke="{hue}" class="bound"/>'
    for number, column in enumerate(COLUMNS):
        middle = x0 + wide * (number + 0.5) / len(COLUMNS)
        for line, word in enumerate(column.split(", ")):
            y1 = y0 + PANEL - 18 + 13 * line
            yield f'<text x="{middle:.1f}" y="{y1}" class="axis" text-anchor="middle">{word}</text>'
        for aside, (placement, hue) in zip((-12, 0, 12), HUES.items(), strict=True):
            for link in LINKS:
                row = pick(found, workload, placement, link, column)
                if not row or not row["jct_us"]:
                    continue
                words = f"{column}, {placement}, {link}: {row['jct_us']:.1f} us, last {row['straggler']}"
                fill = hue if link == "whole" else "none"
                at_y = y(row["jct_us"] / best)
                yield (
                    f'<circle cx="{middle + aside:.1f}" cy="{at_y:.1f}" r="4" fill="{fill}" stroke="{hue}" '
                    f'stroke-width="1.5"><title>{words}</title></circle>'
                )


def docs(old: str, found: Found) -> str:
    """docs/fabrics.md with the answer in its place."""
    return filled(old, "fabric", lambda _: f"\n{what_buys_more(found)}\n\n")


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="32 GPUs; print the page, write nothing")
    parser.add_argument("--page", action="store_true", help="run nothing")
    parser.add_argument("--only", default="", help="runs with this in their names")
    asked = parser.parse_args()
    fabric = QUICK if asked.quick else WHOLE
    kept = not asked.quick and RESULTS.exists()
    found: Found = json.loads(RESULTS.read_text(encoding="utf-8")) if kept else {}
    for case in cases(fabric):
        if asked.page or asked.only not in case.name or case.name in found:
            continue
        found[case.name] = case.run()
        print(case.name, found[case.name], file=sys.stderr, flush=True)
        if not asked.quick:
            RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = "\n".join(tables(found, fabric)) + "\n"
    if asked.quick:
        print(page)
        return
    PAGE.write_text(page, encoding="utf-8")
    PICTURE.write_text(svg(found, fabric), encoding="utf-8")
    DOCS.write_text(docs(DOCS.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
