"""Positions of nodes."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx

Place = tuple[float, float]
# Above this many nodes the better layout (cubic time) takes longer than the report may.
KAMADA_KAWAI_LIMIT = 150


def places(topology: dict[str, Any]) -> dict[str, Place]:
    """A place for every node: its own, near its neighbours' or one that a layout finds."""
    own = {n["name"]: (float(n["x"]), float(n["y"])) for n in topology["nodes"] if n.get("x") is not None}
    graph = graph_of(topology)
    if len(own) < 2:
        return _computed(graph)
    return own | _around(graph, own)


def graph_of(topology: dict[str, Any]) -> nx.Graph:
    """The topology as an undirected graph."""
    graph = nx.Graph()
    graph.add_nodes_from(node["name"] for node in topology["nodes"])
    graph.add_edges_from((link["a"], link["b"]) for link in topology["links"])
    return graph


def is_map(topology: dict[str, Any]) -> bool:
    """Whether places look like longitudes and latitudes."""
    own = [(float(n["x"]), float(n["y"])) for n in topology["nodes"] if n.get("x") is not None]
    spread = max((abs(x - own[0][0]) for x, _ in own), default=0.0)
    return len(own) > 1 and spread > 2 and all(abs(x) <= 180 and abs(y) <= 90 for x, y in own)


def stretch(topology: dict[str, Any]) -> float:
    """How much longer a degree of latitude is than one of longitude, in the middle of the map."""
    latitudes = [float(n["y"]) for n in topology["nodes"] if n.get("y") is not None]
    return 1 / math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))


def _computed(graph: nx.Graph) -> dict[str, Place]:
    if graph.number_of_nodes() <= KAMADA_KAWAI_LIMIT and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph)
    else:
        # A fixed seed: the same run must give the same picture.
        found = nx.spring_layout(graph, seed=1, iterations=100)
    return {node: (float(x), float(y)) for node, (x, y) in found.items()}


def _around(graph: nx.Graph, own: dict[str, Place]) -> dict[str, Place]:
    """Nodes without a place (hosts, mostly) in a fan around their neighbour, away from the centre."""
    xs, ys = zip(*own.values(), strict=True)
    centre = (sum(xs) / len(xs), sum(ys) / len(ys))
    radius = 0.06 * max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    guests: dict[str, list[str]] = {}
    for node in graph:
        if node not in own:
            host = next((neighbour for neighbour in graph[node] if neighbour in own), next(iter(own)))
            guests.setdefault(host, []).append(node)
    found: dict[str, Place] = {}
    for host, nodes in guests.items():
        x, y = own[host]
        outward = math.atan2(y - centre[1], x - centre[0])
        opening = min(math.pi, 0.5 * len(nodes))
        for index, node in enumerate(nodes):
            angle = outward + opening * ((index + 0.5) / len(nodes) - 0.5)
            found[node] = (x + radius * math.cos(angle), y + radius * math.sin(angle))
    return found
