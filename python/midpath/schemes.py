"""Descriptions of schemes: titles, requirements on hosts and routers, costs, gauges and their states. Each scheme's
folder has its description (`crates/schemes/src/*/describe.rs`), and a run stores those of its schemes. So external
schemes are named and drawn like ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from midpath.extension import _midpath


@dataclass(frozen=True)
class State:
    """One of the states that a gauge tells apart. Its tone is how much is wrong: calm, busy, alarm, relief."""

    name: str
    tone: str


@dataclass(frozen=True)
class Gauge:
    """A number that ports or flows of a scheme show over time."""

    name: str
    unit: str
    meaning: str
    symbol: str = ""
    states: tuple[State, ...] = ()
    along: str = ""


@dataclass(frozen=True)
class Description:
    """What a scheme says of itself."""

    title: str
    summary: str = ""
    source: str = ""
    bibtex: str = ""
    hosts: str = ""
    routers: str = ""
    needs_marks: bool = False
    ecn: str = ""
    store: str = ""
    costs: tuple[str, ...] = ()
    ports: Mapping[str, Gauge] = field(default_factory=dict)
    flows: Mapping[str, Gauge] = field(default_factory=dict)
    hue: str = ""
    dash: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """The parts of a run's name: `dctcp+rpm@pie`. What they ask for is known to the simulator alone
    (crates/sim/src/scenario/column.rs).
    """

    transport: str
    network: str = ""
    queue: str = ""

    @property
    def schemes(self) -> list[str]:
        """The transport, and the network that it runs over."""
        return [self.transport, *([self.network] if self.network else [])]


def column(name: str) -> Column:
    """The parts of a run's name."""
    scheme, _, queue = name.partition("@")
    transport, _, network = scheme.partition("+")
    return Column(transport, network, queue)


# Of schemes that are not ours: what results said that have been read.
_remembered: dict[str, Description] = {}


@cache
def shipped() -> dict[str, Description]:
    """The schemes of this version, by name."""
    return {name: _read(name, entry) for name, entry in json.loads(_midpath.schemes()).items()}


def remember(run: Mapping[str, Any]) -> None:
    """Remembers what a run says of schemes that do not ship with this version."""
    _remembered.update({name: found for name, found in _carried(run).items() if name not in shipped()})


def described(scheme: str) -> Description:
    """What a scheme says of itself; of one that no result has described, its name."""
    return shipped().get(scheme) or _remembered.get(scheme) or Description(title=scheme)


def gauges_of(run: Mapping[str, Any], entity: str) -> dict[str, Gauge]:
    """The gauges of a run's ports (`port`) or flows (`flow`) by name, as the run says, or as we know."""
    carried = _carried(run)
    deployed = (str(row["scheme"]) for row in run.get("deployment") or [])
    names = dict.fromkeys([*column(str(run.get("scheme", ""))).schemes, *deployed, *carried])
    found = (carried.get(name) or described(name) for name in names)
    return _merged(about.ports if entity == "port" else about.flows for about in found)


def _merged(gauges: Iterable[Mapping[str, Gauge]]) -> dict[str, Gauge]:
    """Where two schemes have a name in common, the first counts."""
    merged: dict[str, Gauge] = {}
    for own in gauges:
        merged = {**own, **merged}
    return merged


def _carried(run: Mapping[str, Any]) -> dict[str, Description]:
    return {name: _read(name, entry) for name, entry in (run.get("schemes") or {}).items()}


def _read(name: str, entry: Mapping[str, Any]) -> Description:
    """Whatever it lacks is empty; what we do not know of it is left alone."""
    texts = {
        key: str(entry.get(key) or "") for key in ("summary", "source", "bibtex", "hosts", "routers", "ecn", "store")
    }
    look = entry.get("look") or {}
    return Description(
        title=str(entry.get("title") or name),
        **texts,
        needs_marks=bool(entry.get("needs_marks")),
        costs=tuple(entry.get("costs") or ()),
        ports=_gauges(entry.get("ports") or ()),
        flows=_gauges(entry.get("flows") or ()),
        hue=str(look.get("hue") or ""),
        dash=str(look.get("dash") or ""),
        parameters=dict(entry.get("parameters") or {}),
    )


def _gauges(rows: Iterable[Mapping[str, Any]]) -> dict[str, Gauge]:
    return {
        str(row["name"]): Gauge(
            name=str(row["name"]),
            unit=str(row.get("unit") or "count"),
            meaning=str(row.get("meaning") or ""),
            symbol=str(row.get("symbol") or ""),
            states=tuple(State(str(s["name"]), str(s.get("tone") or "calm")) for s in row.get("states") or ()),
            along=str(row.get("along") or ""),
        )
        for row in rows
    }
