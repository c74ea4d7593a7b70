"""Figure 14 and table VI: flows of Pareto sizes, and senders with two links for MPTCP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from midpath.papers.inrpp.common import WITHOUT, by_quarter, custody_lost, ratio, refused
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers
from midpath.stats import jain

SIZES = {"30": "45 kB", "500": "750 kB"}
SCHEMES = {"inrpp": ("singlehomed", "inrpp"), "rcp": ("singlehomed", "rcp"), "tcp": ("singlehomed", "newreno")}
MULTIPATH = {"mptcp": ("multihomed", "mptcp")}
# A look: fewer flows.
QUICK = 100

# Of what Jain's index is, the paper does not say.
INDICES: dict[str | None, Callable[[Result], float | None]] = {
    None: lambda result: result.summary.get("jain_goodput"),
    "completion time": lambda result: _jain(result.flows["fct_s"].to_numpy()),
    "goodput over what is alone possible": lambda result: _jain(1.0 / result.flows["slowdown"].to_numpy()),
}


def _jain(values: Numbers) -> float | None:
    """Jain's index of those that are known."""
    known = values[np.isfinite(values)]
    return jain(known) if known.size else None


def measure(lab: Lab) -> Iterator[Measured]:
    """Completion times, fairness, and what caches refused."""
    index = INDICES[lab.choice("index")]
    for size, mean in SIZES.items():
        changes = {"workload[0].sizes.mean": mean} | ({"workload[0].flows": QUICK} if lab.quick else {})
        runs = {
            name: lab.runs(scenario, scheme=scheme, changes=changes, label=size)
            for name, (scenario, scheme) in (SCHEMES | MULTIPATH).items()
        }
        afct = {name: found.summary("afct_s") for name, found in runs.items()}
        for name, found in runs.items():
            yield Measured(f"afct.{name}.{size}", afct[name])
            yield Measured(f"jain.{name}.{size}", found.values(index), bound=1.0)
        for fast, slow in (("inrpp", "tcp"), ("inrpp", "rcp"), ("mptcp", "tcp"), ("inrpp", "mptcp"), ("tcp", "rcp")):
            yield Measured(f"faster.{fast}.{slow}.{size}", list(map(ratio, afct[fast], afct[slow])))
        for name, less in WITHOUT.items():
            found = lab.runs("singlehomed", scheme="inrpp", changes=changes | less, label=f"{size}-{name}")
            slower = list(map(ratio, found.summary("afct_s"), afct["inrpp"]))
            yield Measured(f"slower.{name}.{size}", slower)
        yield Measured(f"best.mptcp.{size}", by_quarter(runs["inrpp"], runs["mptcp"]))
        yield Measured(f"custody.{size}", runs["inrpp"].values(custody_lost), bound=0.0)
        yield Measured(f"refused.{size}", runs["inrpp"].values(refused), bound=0.0)
