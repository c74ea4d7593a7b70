"""Estimates of many flows on fat-trees beside all of them by packets, and what both cost.

    python evidence/properties/estimate/large.py > evidence/properties/estimate/LARGE.md   # twenty minutes of one core

The first row's estimate has all flows of the run, the second's the first of them alone, as where a run has more than
`midpath estimate` takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from midpath import Scenario, __version__, markdown
from midpath.estimate import estimate
from midpath.run import run
from midpath.units import quantity

sys.path.append(str(Path(__file__).parents[1]))

SCHEME = "dctcp"


@dataclass(frozen=True)
class Row:
    """Pods, the run's flows, and those that the estimate is of."""

    k: int
    flows: int
    cut: int


ROWS = (Row(16, 500_000, 500_000), Row(8, 1_000_000, 100_000))


def scenario(row: Row) -> Scenario:
    """Hadoop's sizes at 40 % of the hosts' links, between hosts at random."""
    return Scenario.from_dict(
        {
            "seed": 1,
            "topology": {"generate": "fat-tree", "k": row.k, "link": {"rate": "10 Gbps", "delay": "1 us"}},
            "queue": {"kind": "step", "limit": "1500000 B", "threshold": "65 packets"},
            "workload": [
                {
                    "matrix": {"kind": "random"},
                    "sizes": {"kind": "cdf", "name": "hadoop"},
                    "arrivals": {"kind": "poisson", "load": "40 %", "load_of": "hosts"},
                    "flows": row.flows,
                }
            ],
        }
    )


def lines(row: Row) -> Iterator[str]:
    """The row's figures, each with its band and what packets say."""
    asked, began = scenario(row), time.process_time()
    (found,) = estimate(asked, SCHEME, flows=row.cut)
    told = time.process_time()
    seen, ended = run(asked, scheme=SCHEME, threads=1).summary, time.process_time()
    for one in found.figures:
        packets = float(seen[one.figure])
        said = ["refused", "", "", ""]
        if one.value is not None and one.low is not None and one.high is not None:
            low, value, high = (quantity("seconds", each) for each in (one.low, one.value, one.high))
            inside = "yes" if one.low <= packets <= one.high else "no"
            said = [value, f"{low} to {high}", f"{one.value / packets - 1:+.1%}", inside]
        of = [f"{row.k**3 // 4:,} hosts", f"{row.flows:,}", f"{found.flows:,}", f"{found.pilot:,}", one.figure]
        cost = [f"{told - began:.0f} s", f"{ended - told:.0f} s"]
        yield markdown.line([*of, quantity("seconds", packets), *said, *cost])


def main() -> None:
    """The command."""
    print("# Estimates of many flows beside packets\n")
    print(f"Midpath {__version__}, by `python evidence/properties/estimate/large.py`: {SCHEME} on fat-trees,")
    print("Hadoop's sizes, load 40 %; CPU of this process, on a machine that did other things, too.\n")
    of = ["network", "flows", "estimate of the first", "by packets", "figure", "packets"]
    print(markdown.head([*of, "estimate", "band", "off", "inside", "CPU, estimate", "CPU, packets"]))
    for row in ROWS:
        for line in lines(row):
            print(line, flush=True)


if __name__ == "__main__":
    main()
