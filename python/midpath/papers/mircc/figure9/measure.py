"""Figure 9a: delivery times at each node of Abilene, MIRCC beside RCP's update."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import dropped, rcp
from midpath.papers.series import ratio

# Mbps of links: the paper's topology has none in the text.
CHOSEN, RATES = 20, (10, 20, 40)
# Seeds at the other rates.
FEW = 3


def measure(lab: Lab) -> Iterator[Measured]:
    """Mean delivery times over all objects, and by the consumer's node."""
    runs = {rate: _both(lab, rate) for rate in RATES}
    ideal = lab.runs("abilene", scheme="ideal")
    for rate, (mircc, other) in runs.items():
        yield Measured(f"faster.{rate}", list(map(ratio, mircc.summary("afct_s"), other.summary("afct_s"))))
    mircc, other = runs[CHOSEN]
    yield Measured("every", [float((by_node(mircc) / by_node(other)).max())])
    for name, found in (("mircc", mircc), ("rcp", other), ("ideal", ideal)):
        yield Measured(f"time.{name}", found.summary("afct_s"))
    yield Measured("dropped", mircc.values(dropped), bound=0.0)


def _both(lab: Lab, rate: int) -> tuple[Runs, Runs]:
    seeds = None if rate == CHOSEN else lab.seeds[:FEW]
    changes = {"topology.rate": f"{rate} Mbps"} | ({"workload[0].flows": 10} if lab.quick else {})
    return (
        lab.runs("abilene", changes=changes, label=f"{rate}", seeds=seeds),
        lab.runs("abilene", changes=changes | rcp("0.4-0.4"), label=f"rcp-{rate}", seeds=seeds),
    )


def by_node(runs: Runs) -> pd.Series[float]:
    """The mean delivery time of each consumer's objects, over all seeds."""
    flows = pd.concat([result.flows.to_pandas() for result in runs])
    found: pd.Series[float] = flows.groupby(flows.dst.astype(str)).fct_s.mean()
    return found
