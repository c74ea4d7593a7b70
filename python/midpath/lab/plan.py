"""The laboratory's plan of a scenario: nodes, links, routes and flows, as drawn by the simulator."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from midpath.errors import ScenarioError, UsageError
from midpath.extension import _midpath
from midpath.scenario import Scenario

if TYPE_CHECKING:
    from midpath.lab.programs import Program


@dataclass(frozen=True)
class Plan:
    """A scenario with all that was drawn; `values` is what `midpath-lab plan` says."""

    scenario: Scenario
    values: dict[str, Any]
    # Midpath's nodes carry it, and not a kernel's TCP.
    by_nodes: bool = False
    # The user's programs at hosts.
    programs: tuple[Program, ...] = ()

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes: `name`, `kind`."""
        found: list[dict[str, Any]] = self.values["nodes"]
        return found

    @property
    def links(self) -> list[dict[str, Any]]:
        """The links: `a` and `b` as numbers of nodes, `rates_bps` both ways, `delay_s`, `mtu`."""
        found: list[dict[str, Any]] = self.values["links"]
        return found

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows, in the order of their start."""
        found: list[dict[str, Any]] = self.values["flows"]
        return found

    @cached_property
    def written(self) -> dict[str, Any]:
        """The scenario's keys as they are written, with what was changed."""
        return self.scenario.to_dict()

    @property
    def scheme_of_programs(self) -> str | None:
        """What programs' TCP uses, if the scenario says so."""
        return self.values["scheme"] if self.programs and "scheme" in self.written else None

    @cached_property
    def schemes(self) -> list[str]:
        """The schemes of flows and programs, each once."""
        own = self.scheme_of_programs
        return list(dict.fromkeys([*(flow["scheme"] for flow in self.flows), *([own] if own else [])]))

    @cached_property
    def hosts(self) -> list[int]:
        """Numbers of the hosts that flows have to do with; all where programs run."""
        if self.programs:
            return [number for number, node in enumerate(self.nodes) if node["kind"] == "host"]
        return sorted({end for flow in self.flows for end in (flow["from"], flow["to"])})

    def name(self, node: int) -> str:
        """A node's name."""
        return str(self.nodes[node]["name"])

    def number(self, name: str) -> int:
        """Of a node with this name."""
        return next(number for number, node in enumerate(self.nodes) if node["name"] == name)

    def link(self, number: int) -> str:
        """A link, for people."""
        link = self.links[number]
        return f"{self.name(link['a'])}–{self.name(link['b'])}"

    def parameters(self, scheme: str) -> dict[str, Any]:
        """What the scenario says of a scheme; nothing of its defaults."""
        table: dict[str, Any] = self.written.get("schemes", {}).get(scheme, {})
        return {key: value for key, value in table.items() if key != "queue"}


def asked(scenario: Scenario, *, for_programs: bool = False) -> dict[str, Any]:
    """A scenario as the laboratory's tools want it."""
    return {
        "text": scenario.effective_text(),
        "base": str(scenario.base_dir),
        "scheme": scenario.scheme,
        "seed": scenario.seed,
        "for_programs": for_programs,
    }


def plan(scenario: Scenario, midpath_lab: str, programs: Sequence[Program] = ()) -> Plan:
    """Draws it; raises `ScenarioError` if it is none that the simulator would run."""
    text, scheme, seed = scenario.effective_text(), scenario.scheme, scenario.seed
    try:
        _midpath.check(text, scenario.base_dir, scheme=scheme, seed=seed, flows_optional=bool(programs))
    except ScenarioError as error:
        raise scenario.locate(error) from None
    text = json.dumps(asked(scenario, for_programs=bool(programs)))
    done = subprocess.run([midpath_lab, "plan"], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(done.stderr.strip().removeprefix("midpath-lab: "))
    return Plan(scenario, json.loads(done.stdout), programs=tuple(programs))
