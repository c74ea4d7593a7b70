"""§4.3.4: many flows, one flow, few flows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath import stats
from midpath.analysis.mircc.network import Network
from midpath.analysis.mircc.solvers import stamps_fixed_point
from midpath.papers.lab import Lab, Measured
from midpath.papers.mircc.common import ETA, asked, data, dropped
from midpath.result import Result
from midpath.result.series import mean, ratio

BEGIN, END, MANY = 30.0, 50.0, 20
# l_g, which limits all.
SHARED = 15e6


def measure(lab: Lab) -> Iterator[Measured]:
    """Rates by class in each case."""
    many, one = lab.runs("many"), lab.runs("diamond")
    few = lab.runs("diamond", changes=_with_another(lab), label="few")
    yield Measured("many.secondary", many.values(lambda r: ratio(_sum(r, "secondary"), _sum(r, "primary"))))
    yield Measured("many.jain", many.values(jain), bound=1.0)
    yield Measured("many.full", many.values(lambda r: sum(_data(r))), bound=ETA * SHARED)
    yield Measured("one.primary", one.values(lambda r: _asked(r, 0, "primary") / ETA))
    yield Measured("one.secondary", one.values(lambda r: _asked(r, 0, "secondary") / ETA))
    yield Measured("one.full", one.values(lambda r: _used(r, "P>g") / ETA))
    yield Measured("one.even", one.values(lambda r: ratio(_packets(r, "c"), _packets(r, "c") + _packets(r, "d"))))
    first, second = fixed_point()
    yield Measured("few.primary.two", few.values(lambda r: _asked(r, _flow(r, "P"), "primary")), bound=first)
    yield Measured("few.primary.one", few.values(lambda r: _asked(r, _flow(r, "behind-c"), "primary")), bound=second)
    yield Measured("few.secondary", few.values(_secondary_ratio))
    yield Measured("dropped", [sum(map(dropped, seed)) for seed in zip(many, one, few, strict=True)], bound=0.0)


def _with_another(lab: Lab) -> dict[str, Any]:
    """A second flow, which has only the way over l_c."""
    flows = lab.scenario("diamond").to_dict()["flow"]
    return {"flow": [*flows, {"from": "behind-c", "to": "A", "group": "one path", "jitter": "100 ms"}]}


def fixed_point() -> tuple[float, float]:
    """Primary rates of both flows of the third case, by the solver."""
    links = {"a": 1e9, "c": 10e6, "d": 10e6, "g": SHARED}
    network = Network.of(links, {"two": [["a", "c", "g"], ["a", "d", "g"]], "one": [["a", "c"]]})
    two, one = network.flow_sum(stamps_fixed_point(network, ETA).path)
    return float(two), float(one)


def _flow(result: Result, source: str) -> int:
    """The number of the flow from a host: flows are numbered by their start."""
    flows = result.flows.to_pandas()
    return int(flows[flows.src == source].flow.iloc[0])


def _secondary_ratio(result: Result) -> float | None:
    two, one = (_asked(result, _flow(result, source), "secondary") for source in ("P", "behind-c"))
    return ratio(one, two)


def _asked(result: Result, flow: int, traffic_class: str) -> float:
    return asked(result, flow, traffic_class, BEGIN, END)


def _sum(result: Result, traffic_class: str) -> float:
    return sum(_asked(result, flow, traffic_class) for flow in range(MANY))


def _data(result: Result) -> list[float]:
    return [data(result, flow, BEGIN, END) for flow in range(MANY)]


def jain(result: Result) -> float:
    """Jain's index of what the flows get."""
    return stats.jain(_data(result))


def _used(result: Result, port: str) -> float:
    return mean(result, f"port:{port}", "utilisation", BEGIN, END) or 0.0


def _packets(result: Result, node: str) -> float:
    """Data that came over a node to `a`."""
    ports = result.ports.to_pandas()
    return float(ports[(ports.node == node) & (ports.peer == "a")].packets.iloc[0])
