"""What an addition to a scheme is worth: scenes in which it acts, with it and without it.

An addition *acted* where a flow's completion time is another without it. Of these scenes the page has the log ratio of
the mean completion time without it over that with it, and the same of the 99th percentile: means and 95 % intervals. A
flow that has not ended counts with the time that it had. *a → b*: in how many of them a bound is missed with it and
without it.

The rule: an addition goes if both intervals lie within ± 2 %, no bound is missed more often without it, and it acted in
100 scenes at least.
"""

from __future__ import annotations

import hashlib
import math
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scenes
from harness import Crash, Page, Row, count, crashes

from midpath import markdown
from midpath.stats import within

SAME, ENOUGH = 0.02, 100


@dataclass(frozen=True)
class Found:
    """What one run came to; times in seconds. Suites add what their bounds are about."""

    mean: float
    late: float
    """99th percentile."""
    told: str
    """Digest of the flows' times."""


def times(flows: Any, stop: float) -> Mapping[str, Any]:
    """What `Found` has of a table of flows whose run ends at `stop`."""
    took = flows.fct_s.fillna(stop - flows.start_s).clip(lower=1e-9)
    told = hashlib.sha256(repr(took.tolist()).encode()).hexdigest()[:12]
    return {"mean": float(took.mean()), "late": float(np.quantile(took, 0.99)), "told": told}


def worth(own: Sequence[tuple[Row, Row]], bounds: Sequence[str]) -> list[str]:
    """The cells of scenes in which an addition acted, each with it and without it, and the verdict."""
    logs = ([math.log(getattr(off.found, of) / getattr(on.found, of)) for on, off in own] for of in ("mean", "late"))
    intervals = [scenes.interval(of) for of in logs]
    missed = [[count((pair[which] for pair in own), bound) for which in (0, 1)] for bound in bounds]
    small = all(within((low, high), (-SAME, SAME)) for _, low, high in intervals)
    goes = small and all(after <= before for before, after in missed)
    return [
        str(len(own)),
        *(f"{100 * mean:+.1f} ± {100 * (high - mean):.1f} %" for mean, _, high in intervals),
        *(f"{before} → {after}" for before, after in missed),
        "acted too rarely" if len(own) < ENOUGH else "goes" if goes else "stays",
    ]


def page(ours: str, beside: Sequence[str], bounds: Sequence[str], kind: Callable[[Row], str]) -> Page:
    """The page of a suite whose scheme `ours` has all additions; those `beside` are no additions."""

    def lines(rows: list[Row], _: Namespace) -> Iterator[str]:
        yield "*Mean* and *p99*: by how much longer flows take without it (`ablation.py` has the rule).\n"
        yield markdown.head(["without", "class", "acted", "mean", "p99", *bounds, "so it"])
        ran = [row for row in rows if not {type(row.found), type(row.base)} & {Crash}]
        whole = {(row.family, row.number): row for row in ran if row.scheme == ours}
        for variant in dict.fromkeys(row.scheme for row in rows if row.scheme not in (ours, *beside)):
            pairs = [(whole.get((row.family, row.number)), row) for row in ran if row.scheme == variant]
            acted = [(on, off) for on, off in pairs if on and on.found.told != off.found.told]
            if not acted:
                yield markdown.line([f"`{variant}`", "all", "0", "–", "–", *("–" for _ in bounds), "never acted"])
                continue
            *cells, verdict = worth(acted, bounds)
            yield markdown.line([f"`{variant}`", "all", *cells, verdict])
            for name in dict.fromkeys(kind(on) for on, _ in acted):
                *cells, _ = worth([pair for pair in acted if kind(pair[0]) == name], bounds)
                yield markdown.line(["", name, *cells, ""])
        yield from crashes(rows)

    return lines
