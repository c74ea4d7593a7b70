"""Table V: completion times and fairness of INRPP, RCP and TCP over a bottleneck with a detour."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.inrpp.common import MTU, PAYLOAD, WITHOUT, custody_lost, processor_sharing, ratio, refused
from midpath.papers.lab import Lab, Measured

STARTS, SIZE = (1.0, 2.0, 3.0), 80e6
# The bottleneck, and what its detour adds.
SINGLE, POOLED = 10e6, 20e6
SCHEMES = {"inrpp": "inrpp", "rcp": "rcp", "tcp": "newreno"}
# Access delays of the three senders for the last column.
UNLIKE = {f"topology.links[{i}].delay": delay for i, delay in enumerate(("50 ms", "100 ms", "200 ms"))}


def bound(rate: float, scheme: str) -> float:
    """Mean completion time if the flows share `rate` as a processor and fill packets."""
    wire = SIZE * MTU / PAYLOAD[scheme]
    return float(np.mean(processor_sharing(rate, STARTS, [wire] * len(STARTS))))


def measure(lab: Lab) -> Iterator[Measured]:
    """Both columns of fairness, AFCT, and what caches refused."""
    runs = {name: lab.runs("dumbbell", scheme=scheme) for name, scheme in SCHEMES.items()}
    unlike = {name: lab.runs("dumbbell", scheme=s, changes=UNLIKE, label="unlike") for name, s in SCHEMES.items()}
    single = lab.runs("dumbbell", scheme="inrpp", changes={"schemes.inrpp.detours": 0}, label="single")
    afct = {name: found.summary("afct_s") for name, found in runs.items()}
    for name, scheme in SCHEMES.items():
        best = bound(POOLED if name == "inrpp" else SINGLE, scheme)
        yield Measured(f"afct.{name}", afct[name], bound=best)
        yield Measured(f"jain.{name}", runs[name].summary("jain_goodput"), bound=1.0)
        yield Measured(f"jain_unlike.{name}", unlike[name].summary("jain_goodput"), bound=1.0)
    yield Measured("afct.single", single.summary("afct_s"), bound=bound(SINGLE, "inrpp"))
    literal = lab.runs("dumbbell", scheme="inrpp", changes=WITHOUT["literal"], label="literal")
    yield Measured("afct.literal", literal.summary("afct_s"), bound=bound(POOLED, "inrpp"))
    for name, found in (("literal", literal), ("single", single)):
        apart = lab.runs("dumbbell", scheme="inrpp", changes=WITHOUT[name] | UNLIKE, label=f"{name}-unlike")
        yield Measured(f"jain.{name}", found.summary("jain_goodput"), bound=1.0)
        yield Measured(f"jain_unlike.{name}", apart.summary("jain_goodput"), bound=1.0)
        yield Measured(f"refused.{name}", found.values(refused), bound=0.0)
    for other in ("tcp", "rcp"):
        yield Measured(f"faster.{other}", list(map(ratio, afct["inrpp"], afct[other])))
    for name, found in (("", runs["inrpp"]), ("_unlike", unlike["inrpp"])):
        yield Measured(f"custody{name}", found.values(custody_lost), bound=0.0)
        yield Measured(f"refused{name}", found.values(refused), bound=0.0)
