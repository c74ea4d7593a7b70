"""Figure 9: delivery times at each node of Abilene, MIRCC beside RCP's update (a), and with several paths (b)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.mircc.common import dropped, params, rcp
from midpath.result import Result
from midpath.result.series import ratio

# Mbps of links: the paper's topology has none in the text.
CHOSEN, RATES = 20, (10, 20, 40)
# What a path may cost at most, as a multiple of the shortest one's cost: figure 10 has its paths in a drawing.
STRETCH, STRETCHES = 2.0, (1.5, 2.0, 3.0)
# The hosts of nodes 14 and 15, which the paper excepts from what several paths are worth.
EXCEPTED = ["h3", "h4"]
# Seeds at the other rates, and for the other paths.
FEW = 3


def measure(lab: Lab) -> Iterator[Measured]:
    """Mean delivery times over all objects, and by the consumer's node."""
    runs = {rate: _single(lab, rate) for rate in RATES}
    paths = {rate: _several(lab, rate, STRETCH) for rate in RATES}
    others = {stretch: _several(lab, CHOSEN, stretch) for stretch in STRETCHES if stretch != STRETCH}
    ideal = lab.runs("abilene", scheme="ideal")
    for rate, (mircc, other) in runs.items():
        yield Measured(f"faster.{rate}", _faster(mircc, other))
    mircc, other = runs[CHOSEN]
    yield Measured("every", _by_node(mircc, other), most=True)
    for name, found in (("mircc", mircc), ("rcp", other), ("ideal", ideal)):
        yield Measured(f"time.{name}", found.summary("afct_s"))
    yield Measured("dropped", mircc.values(dropped), bound=0.0)
    for rate, several in paths.items():
        yield Measured(f"paths.{rate}", _faster(several, runs[rate][0]))
    for stretch, several in (others | {STRETCH: paths[CHOSEN]}).items():
        gain = _by_node(several, mircc)
        excepted = {node: gain.pop(node) for node in EXCEPTED}
        yield Measured(f"paths.{stretch}.others", gain, most=True)
        yield Measured(f"paths.{stretch}.excepted", excepted)
        yield Measured(f"paths.{stretch}.rcp", _by_node(several, other), most=True)
    yield Measured("paths.dropped", paths[CHOSEN].values(dropped), bound=0.0)


def _single(lab: Lab, rate: int) -> tuple[Runs, Runs]:
    """With one path: MIRCC and RCP's update."""
    seeds = None if rate == CHOSEN else lab.seeds[:FEW]
    changes = _changes(lab, rate)
    return (
        lab.runs("abilene", changes=changes, label=f"{rate}", seeds=seeds),
        lab.runs("abilene", changes=changes | rcp("0.4-0.4"), label=f"rcp-{rate}", seeds=seeds),
    )


def _several(lab: Lab, rate: int, stretch: float) -> Runs:
    """MIRCC with several paths."""
    seeds = None if rate == CHOSEN and stretch == STRETCH else lab.seeds[:FEW]
    paths = params(paths="all", sending="dual-class", stretch=stretch)
    return lab.runs("abilene", changes=_changes(lab, rate) | paths, label=f"paths-{rate}-{stretch}", seeds=seeds)


def _changes(lab: Lab, rate: int) -> dict[str, object]:
    return {"topology.rate": f"{rate} Mbps"} | ({"workload[0].flows": 10} if lab.quick else {})


def _faster(runs: Runs, reference: Runs) -> list[float | None]:
    """Mean delivery time over that of the reference, by seed."""
    return list(map(ratio, runs.summary("afct_s"), reference.summary("afct_s")))


def _by_node(runs: Runs, reference: Runs) -> dict[str, list[float | None]]:
    """Mean delivery time of each consumer's objects over that of the reference, seed by seed."""
    pairs = [(_times(ours), _times(theirs)) for ours, theirs in zip(runs, reference, strict=False)]
    nodes = sorted(set().union(*(ours.index for ours, _ in pairs)))
    return {node: [ratio(ours.get(node), theirs.get(node)) for ours, theirs in pairs] for node in nodes}


def _times(result: Result) -> pd.Series[float]:
    flows = result.flows.to_pandas()
    found: pd.Series[float] = flows.groupby(flows.dst.astype(str)).fct_s.mean()
    return found
