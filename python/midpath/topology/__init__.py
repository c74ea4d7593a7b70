"""The network of a scenario: positions of hosts, and disconnections without a link."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from midpath.controller import told
from midpath.errors import ScenarioError
from midpath.extension import _midpath
from midpath.scenario import Scenario

Link = tuple[str, str]
# Parts of a network, by host.
Homes = dict[str, set[int]]


@dataclass(frozen=True)
class HostPlace:
    """A host, the routers that it is linked to, and what the map says of the first."""

    name: str
    routers: list[str]
    label: str | None
    place: tuple[float, float] | None
    rate_bps: int

    def to_json(self) -> dict[str, Any]:
        """As `midpath topo --hosts --json` prints it."""
        longitude, latitude = self.place or (None, None)
        return {
            "host": self.name,
            "routers": self.routers,
            "label": self.label,
            "x": longitude,
            "y": latitude,
            "rate_bps": self.rate_bps,
        }


class Network:
    """Nodes and links of a scenario's network, as a run builds it."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.nodes: dict[str, dict[str, Any]] = {node["name"]: node for node in found["nodes"]}

    def is_host(self, name: str) -> bool:
        """Whether a node is a host."""
        return bool(self.nodes[name]["kind"] == "host")

    def links(self) -> list[Link]:
        """The pairs of routers that are linked, each once: parallel links are one pair."""
        distinct: dict[frozenset[str], Link] = {}
        for link in self.found["links"]:
            pair = link["a"], link["b"]
            if not any(map(self.is_host, pair)):
                distinct.setdefault(frozenset(pair), pair)
        return list(distinct.values())

    def hosts(self) -> Iterator[HostPlace]:
        """The hosts in order, each with its place."""
        routers: dict[str, list[str]] = {name: [] for name in self.nodes if self.is_host(name)}
        rates: dict[str, int] = dict.fromkeys(routers, 0)
        for link in self.found["links"]:
            for host, peer in ((link["a"], link["b"]), (link["b"], link["a"])):
                if host in routers:
                    rates[host] += link["rate_bps"]
                    if not self.is_host(peer):
                        routers[host].append(peer)
        for host, homes in routers.items():
            at = self.nodes[homes[0]] if homes else self.nodes[host]
            place = (at["x"], at["y"]) if at["x"] is not None else None
            yield HostPlace(host, homes, at["label"], place, rates[host])

    def homes_without(self, link: Link) -> Homes:
        """Without a link: of each host, the parts of the network that it is linked to. Hosts forward nothing."""
        import networkx as nx  # noqa: PLC0415 - half a second, and of the extra `analysis`

        graph = nx.Graph()
        graph.add_nodes_from(name for name in self.nodes if not self.is_host(name))
        graph.add_edges_from(pair for pair in self.links() if pair != link)
        part = {node: index for index, nodes in enumerate(nx.connected_components(graph)) for node in nodes}
        return {host.name: {part[router] for router in host.routers} for host in self.hosts()}

    def bridges(self) -> set[Link]:
        """The links without which the routers fall apart."""
        import networkx as nx  # noqa: PLC0415

        graph = nx.Graph(self.links())
        cuts = {frozenset(pair) for pair in nx.bridges(graph)}
        return {link for link in self.links() if frozenset(link) in cuts}


def stranded(homes: Homes, pairs: Iterable[dict[str, Any]]) -> int:
    """How many flows have no way, between hosts that are in no part of the network together."""
    return sum(pair["flows"] for pair in pairs if not homes[pair["from"]] & homes[pair["to"]])


def network_of(scenario: Scenario) -> Network:
    """The network of a scenario."""
    try:
        return Network(json.loads(_midpath.network(scenario.effective_text(), scenario.base_dir)))
    except ScenarioError as error:
        raise scenario.locate(error) from None


def pairs_of(scenario: Scenario, seed: int) -> list[dict[str, Any]]:
    """The flows of a scenario by pair of hosts: `from`, `to`, `flows`, `bytes`."""
    try:
        found: list[dict[str, Any]] = json.loads(
            _midpath.pairs(
                scenario.effective_text(), scenario.base_dir, seed=seed, controllers=told(scenario.controllers)
            )
        )
    except ScenarioError as error:
        raise scenario.locate(error) from None
    return found
