"""The page of run.py: what buys more, bounds, a table for each workload, stragglers, and the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from fabric_cases import BOUNDS, COLUMNS, LINKS, PLACEMENTS, SIZE, SLOW_GBPS, STOP_US, WORKLOADS, Fabric, cases

from midpath import markdown

TITLES = {
    "all-reduce": "All-reduce (halving, doubling)",
    "all-to-all": "All-to-all",
    "moe": "MoE’s all-to-all-v (skew .5)",
    "two jobs": "All-reduce beside all-to-all",
}

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
    rows = []
    others = [column for column in COLUMNS if not column.startswith("dctcp")]
    for workload in WORKLOADS:
        for link in LINKS:
            of = [(what, columns) for columns in (tuple(COLUMNS), others) for what in ("scheme", "placement")]
            factors = [bought(found, workload, link, what, columns) for what, columns in of]
            rows.append([workload, link, *("–" if factor is None else f"{factor:.2f}×" for factor in factors)])
    heads = ["workload", "links", "scheme", "placement", "scheme, no DCTCP", "placement, no DCTCP"]
    return (
        "How much sooner jobs end with the best than with the worst, geometric mean over the others; without DCTCP, "
        f"which loses packets and waits for timeouts:\n\n{markdown.table(heads, rows)}"
    )


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
        heads = [head for placement in PLACEMENTS for head in (placement, "slow")]
        yield markdown.head(["scheme", *heads, "last, slow, random"])
        bounds = [pick(found, workload, placement, "whole", "uec").get("bound_us", 0.0) for placement in PLACEMENTS]
        yield markdown.line(["bound", *(cell for bound in bounds for cell in (f"{bound:.1f}", "")), ""])
        for column in COLUMNS:
            cells = []
            for placement in PLACEMENTS:
                for link in LINKS:
                    row = pick(found, workload, placement, link, column)
                    end = row.get("jct_us")
                    cells.append(f"{end:.1f} ({end / row['bound_us']:.2f})" if end else "–")
            last = pick(found, workload, "random", "slow", column).get("straggler", "")
            yield markdown.line([column, *cells, last])
    blocks = fabric.servers // fabric.per_leaf
    yield "\n## Stragglers\n"
    yield (
        "Runs with the slow link whose last flow crosses spines and begins or ends below its leaf, l0.0; one of "
        f"{blocks * fabric.rails} leaves. (A result names the link that a flow's hash leads to, which is not that of "
        "sprayed packets.)\n"
    )
    yield markdown.head(["scheme", "runs"])
    for column in COLUMNS:
        of = [row for name, row in found.items() if name.endswith(f" / slow / {column}")]
        there = sum(below_slow(row["straggler"], fabric) for row in of)
        yield markdown.line([column, f"{there} of {len(of)}"])


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
    return markdown.filled(old, "fabric", lambda _: f"\n{what_buys_more(found)}\n\n")
