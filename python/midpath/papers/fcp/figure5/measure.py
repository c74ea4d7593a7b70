"""Figures 5 and 6: short flows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd

from midpath.papers.fcp.common import utilisation
from midpath.papers.lab import Lab, Measured, Runs
from midpath.result import Result

SCHEMES = {"xcp": "xcp", "tcp": "newreno", "rcp": "rcp", "fcp": "fcp", "ours": "fcp"}
# FCP as the paper's words have it is in the scenario; this is what it does here unless told otherwise.
OURS = {"schemes.fcp.preload_for": "next-round", "schemes.fcp.header_rtt": "price-age"}
# Classes of sizes, bytes: two a decade, as fine as the tail lets the means be.
EDGES = np.array([5e3, 1e4, 3e4, 1e5, 3e5, 5e5, 1e6, 3e6, np.inf])
SMALL = 5e5


def measure(lab: Lab) -> Iterator[Measured]:
    """Figure 5's table, scheme by scheme, then figure 6's shapes."""
    until = 10.0 if lab.quick else 60.0
    changes = {"workload[0].until": f"{until} s"}
    runs = {
        name: lab.runs("short", scheme=scheme, label=name, changes=changes | OURS if name == "ours" else changes)
        for name, scheme in SCHEMES.items()
    }
    ideal = lab.runs("short", scheme="ideal", changes=changes)
    afct = _mean(ideal.summary("afct_s"))
    for name, found in runs.items():
        yield Measured(f"afct.{name}", found.summary("afct_s"), bound=afct)
        yield Measured(f"loss.{name}", found.values(_loss), bound=0.0)
        yield Measured(f"delay.{name}", found.values(lambda result: _bottleneck(result)["delay_mean_s"]), bound=0.0)
        used = found.values(lambda result: utilisation(result, "r0>r1", until / 6, until))
        yield Measured(f"utilisation.{name}", used, bound=0.7)
    yield from _shapes(runs)


def _shapes(runs: dict[str, Runs]) -> Iterator[Measured]:
    sizes = {name: [by_size(result) for result in found] for name, found in runs.items()}
    small = EDGES[:-1] < SMALL
    larger = {name: [_mean_large(result) for result in found] for name, found in runs.items()}
    for name, suffix in (("fcp", ""), ("ours", ".ours")):
        seeds = list(zip(*(sizes[key] for key in ("xcp", "tcp", "rcp", name)), strict=True))
        beside = np.array([fcp[small] / np.minimum(xcp, tcp)[small] for xcp, tcp, _, fcp in seeds])
        yield Measured(f"small{suffix}", _by_class(beside), most=True)
        faster = np.array([rcp[small] / fcp[small] for _, _, rcp, fcp in seeds])
        yield Measured(f"rcp{suffix}", _by_class(faster), most=True)
        three = zip(larger["xcp"], larger["tcp"], larger[name], strict=True)
        yield Measured(f"large{suffix}", [_between(*means) for means in three])
        two = zip(larger["rcp"], larger[name], strict=True)
        yield Measured(f"large.rcp{suffix}", [rcp / fcp for rcp, fcp in two])


def by_size(result: Result) -> np.ndarray:
    """Mean completion time in each class of sizes; NaN where there is no flow."""
    flows = result.flows.to_pandas().dropna(subset="fct_s")
    found = flows.groupby(pd.cut(flows.size_bytes, EDGES.tolist()), observed=False).fct_s.mean()
    return np.asarray(found, dtype=float)


def _mean_large(result: Result) -> float:
    flows = result.flows.to_pandas().dropna(subset="fct_s")
    # A flow's time over its size, so that the few largest do not decide alone.
    large = flows[flows.size_bytes > SMALL]
    return float((large.fct_s / large.size_bytes).mean())


def _between(xcp: float, tcp: float, fcp: float) -> float:
    return (fcp - min(xcp, tcp)) / abs(xcp - tcp)


def _by_class(ratios: np.ndarray) -> dict[str, list[float]]:
    """Ratios by seed for each class of sizes: the claim is about every class."""
    names = [f"{low / 1e3:g} to {high / 1e3:g} kB" for low, high in pairwise(EDGES[: ratios.shape[1] + 1])]
    return dict(zip(names, ratios.T.tolist(), strict=True))


def _bottleneck(result: Result) -> dict[str, float]:
    ports = result.ports.to_pandas()
    return {str(k): v for k, v in ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0].to_dict().items()}


def _loss(result: Result) -> float:
    port = _bottleneck(result)
    return port["drops_queue"] / (port["packets"] + port["drops_queue"])


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
