"""Figure 17 and table VII: completion times and utilisation in the map of Tiscali."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.inrpp.common import WITHOUT, by_quarter, custody_lost, ratio, refused
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import Numbers
from midpath.topology.tiscali import FLOWS, HOSTS, MAP, offered, on_map

SCHEMES = {"inrpp": "inrpp", "rcp": "rcp", "tcp": "newreno", "mptcp": "mptcp"}
# A look: a tenth of the hosts and of the flows, at the same load.
QUICK_HOSTS, QUICK_FLOWS = 1335, 667
# Arrivals last for 0.4 s; utilisation counts up to here.
ARRIVING, QUICK_ARRIVING = "350 ms", "35 ms"
# A highly utilised link (figure 17 (b)); in a quick look's 35 ms none gets that far.
HIGH, QUICK_HIGH = 0.8, 0.1


def measure(lab: Lab) -> Iterator[Measured]:
    """Completion times of all flows, and what links carried while flows arrived."""
    networks = {name: network(lab, homes=2 if name == "mptcp" else 1) for name in SCHEMES}
    stop = {"stop": QUICK_ARRIVING if lab.quick else ARRIVING}
    runs, during = {}, {}
    ideal = lab.runs("isp", scheme="ideal", changes=networks["inrpp"])
    carried = lab.runs("isp", scheme="ideal", changes=networks["inrpp"] | stop, label="arriving")
    for name, scheme in SCHEMES.items():
        during[name] = lab.runs("isp", scheme=scheme, changes=networks[name] | stop, label="arriving")
        runs[name] = lab.runs("isp", scheme=scheme, changes=networks[name])
    used = {name: found.values(utilisation) for name, found in during.items()}
    least = QUICK_HIGH if lab.quick else HIGH
    high = {name: found.values(lambda result: share(result, least, 1.01)) for name, found in during.items()}
    afct = {name: found.summary("afct_s") for name, found in runs.items()}
    for name in SCHEMES:
        yield Measured(f"utilisation.{name}", used[name], bound=float(np.mean([utilisation(one) for one in carried])))
        yield Measured(f"afct.{name}", afct[name], bound=float(np.mean([completion(one) for one in ideal])))
    for other in ("tcp", "rcp", "mptcp"):
        yield Measured(f"busier.{other}", list(map(ratio, used["inrpp"], used[other])))
        busier = list(map(ratio, high["inrpp"], high[other]))
        undefined = lab.quick and not any(value is not None for value in busier)
        why = f"not measured in a quick look: no link is used above {least:.0%} with {other}" if undefined else None
        yield Measured(f"high.{other}", busier, skipped=why)
        yield Measured(f"faster.{other}", list(map(ratio, afct["inrpp"], afct[other])))
        yield Measured(f"best.{other}", by_quarter(runs["inrpp"], runs[other]))
    for name, less in WITHOUT.items():
        found = lab.runs("isp", changes=networks["inrpp"] | less, label=name)
        yield Measured(f"slower.{name}", list(map(ratio, found.summary("afct_s"), afct["inrpp"])))
    yield Measured("idle", during["inrpp"].values(lambda result: share(result, 0.0, 0.2)))
    yield Measured("custody", runs["inrpp"].values(custody_lost), bound=0.0)
    yield Measured("refused", runs["inrpp"].values(refused), bound=0.0)


def network(lab: Lab, homes: int) -> dict[str, Any]:
    """The scenario on the user's map instead of the one that ships, at the paper's size."""
    table = lab.scenario("isp").to_dict()["topology"]
    hosts, flows = (QUICK_HOSTS, QUICK_FLOWS) if lab.quick else (HOSTS, FLOWS)
    traffic = {f"workload[0].{key}": value for key, value in offered(flows).items()}
    return {"topology": on_map(table, lab.rocketfuel(MAP), hosts, homes)} | traffic


def completion(result: Result) -> float:
    """The mean completion time."""
    return float(result.summary["afct_s"])


def links(result: Result) -> Numbers:
    """Utilisation of each direction of each link between routers."""
    ports = result.ports.to_pandas()
    hosts = ports.node.astype(str).str.startswith("h") | ports.peer.astype(str).str.startswith("h")
    found: Numbers = ports[~hosts].utilisation.to_numpy()
    return found


def utilisation(result: Result) -> float:
    """The mean over links."""
    return float(np.mean(links(result)))


def share(result: Result, low: float, high: float) -> float:
    """The share of links whose utilisation is in a range."""
    values = links(result)
    return float(np.mean((low <= values) & (values < high)))
