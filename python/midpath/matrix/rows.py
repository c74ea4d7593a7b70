"""The rows of the matrix: built-in scenarios, adapted to each column."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from midpath.entries import Entry
from midpath.errors import UsageError, no_such
from midpath.metrics import IDEAL
from midpath.scenario import Scenario
from midpath.units import parse

PAIRS = 20
ROUTERS = 11
# Groups of flows in a row about hosts.
DEPLOYED, OTHERS = "deployed", "cubic"
# An application that has the network for itself.
ALONE = "cubic"


@dataclass(frozen=True)
class Row:
    """One row, as rows.toml has it."""

    name: str
    file: str
    about: str
    title: str
    quick: Mapping[str, Any]
    ideal: Mapping[str, Any]
    changes: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    deployed: int | None
    routers: Sequence[str] | None
    of: str
    """The application that it is about, or none: flows are."""
    alone: Mapping[str, Any]
    line: float
    """Bits per second of the hosts' links, of a row about jobs."""

    @property
    def reference(self) -> str:
        """What times are compared with."""
        return "at the line's rate" if self.line else "over alone" if self.of else "over the ideal's"

    def scenario(self, entry: Entry | None, *, small: bool = False) -> Scenario:
        """What is run for a column; for what times are compared with without one."""
        base = self._base().with_(changes=self._places() | (dict(self.quick) if small else {}))
        if entry is None and self.of:
            # The ideal has no flows that wait for others. After `quick`, which may change what is not there then.
            return base.with_(scheme=ALONE, changes=dict(self.alone))
        if entry is None:
            # Which router runs what means nothing to it.
            undeployed: dict[str, Any] = {"deploy": []} if self.routers is not None else {}
            return base.with_(scheme=IDEAL, changes=dict(self.ideal) | undeployed)
        changes = dict(self.changes) | entry.changes | self._queues(entry)
        if self.routers is None:
            return base.with_(scheme=entry.scheme, changes=changes)
        # Rows of [[deploy]] say where its network is.
        parts = entry.column
        scheme = f"{parts.transport}@{parts.queue}" if parts.queue else parts.transport
        return base.with_(scheme=scheme, changes=changes | self._deploy(parts.network))

    def _base(self) -> Scenario:
        return Scenario.from_toml(folder() / self.file)

    def _places(self) -> dict[str, Any]:
        """Which pairs of hosts run the scheme."""
        if self.deployed is None:
            return {}
        pairs = [[f"s{i}", f"d{i}"] for i in range(PAIRS)]
        mine, others = pairs[: self.deployed], pairs[self.deployed :]
        if others:
            return {"workload.0.matrix.pairs": mine, "workload.1.matrix.pairs": others}
        first = self._base().to_dict()["workload"][0]
        return {"workload": [first | {"matrix": first["matrix"] | {"pairs": mine}}]}

    def _queues(self, entry: Entry) -> dict[str, Any]:
        """This row's settings of queues, by kind, and of RPM's own."""
        of_kind = {f"queues.{kind}": {"kind": kind} | dict(own) for kind, own in self.settings.items() if kind != "rpm"}
        found = {key: entry.changes.get(key, {}) | own for key, own in of_kind.items()}
        if rpm := self.settings.get("rpm"):
            limit = self._base().to_dict()["queue"]["limit"]
            found["schemes.rpm.queue"] = {"kind": "codel", "limit": limit} | dict(rpm)
        return found

    def _deploy(self, network: str) -> dict[str, Any]:
        """Which routers run the scheme; the others have plain queues."""
        plain = [router for i in range(ROUTERS) if (router := f"r{i}") not in (self.routers or ())]
        first, second = self._base().to_dict()["deploy"]
        deployed = first | ({"scheme": network} if network else {})
        return {"deploy": [deployed, *([second | {"nodes": plain}] if plain else [])]}


def folder() -> Path:
    """Where the rows' scenarios are."""
    return Path(str(files("midpath.matrix") / "rows"))


@cache
def every() -> dict[str, Row]:
    """All rows by name."""
    text = (Path(str(files("midpath.matrix"))) / "rows.toml").read_text(encoding="utf-8")
    return {one["name"]: _row(one) for one in tomllib.loads(text)["row"]}


def simplest() -> Scenario:
    """The scenario of the first row, as it is."""
    return Scenario.from_toml(folder() / next(iter(every().values())).file)


def rows(names: Sequence[str] | None) -> list[Row]:
    """The rows that were asked for, each once; all where none are."""
    known = every()
    for one in names or ():
        if one not in known:
            raise UsageError(no_such("row", one, known))
    return [known[one] for one in dict.fromkeys(names or known)]


def _row(one: Mapping[str, Any]) -> Row:
    title = one.get("title") or tomllib.loads((folder() / one["file"]).read_text(encoding="utf-8"))["title"]
    settings = {kind: one[kind] for kind in ("codel", "dualpi2", "red", "rpm") if kind in one}
    return Row(
        name=one["name"],
        file=one["file"],
        about=one["about"],
        title=title,
        quick=one.get("quick", {}),
        ideal=one.get("ideal", {}),
        changes=one.get("changes", {}),
        settings=settings,
        deployed=one.get("deployed"),
        routers=one.get("routers"),
        of=one.get("of", ""),
        alone=one.get("alone", {}),
        line=parse("bps", one["line"]) if "line" in one else 0.0,
    )
