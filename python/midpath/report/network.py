"""The network map: each direction of a link is drawn as the half that leaves its node, as in network weather maps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from midpath.palette import name
from midpath.report.figure import Figure, Layout, Trace, compact, hover, variant
from midpath.report.model import Model
from midpath.topology.layout import Place, graph_of, is_map, places, stretch
from midpath.units import quantity

STEPS = 10
LABELLED_NODES = 60
# Room at the sides of the map for names, as a share of its width and height.
MARGIN = 0.1


def drawn(model: Model) -> Figure:
    """Utilisation on the drawn topology, one scheme at a time."""
    where = places(model.topology)
    variants = {scheme: _variant(model, where, ports) for scheme, ports in model.ports.items()}
    note = "Each half of a link is the direction that leaves the nearer node; warmer and wider is busier."
    labels = {scheme: name(scheme) for scheme in model.schemes}
    return Figure("network", "Where the load is", note, variants, "Scheme", labels, height=560)


def _variant(model: Model, where: dict[str, Place], ports: pd.DataFrame) -> dict[str, Any]:
    degrees = Counter(ports["node"].astype(str))
    data = [*_halves(where, ports), nodes_of(model.topology, where, degrees), hover_points(*_hovers(where, ports))]
    return variant(data, layout_of(model.topology, where))


def _halves(where: dict[str, Place], ports: pd.DataFrame) -> list[Trace]:
    """One trace per step of utilisation, whatever the number of links: thousands of traces would be slow to draw."""
    steps: dict[int, tuple[list[float], list[float]]] = {step: ([], []) for step in range(STEPS)}
    for node, peer, utilisation in zip(ports["node"], ports["peer"], ports["utilisation"], strict=True):
        (x, y), (to_x, to_y) = where[node], where[peer]
        xs, ys = steps[ramp_step(utilisation)]
        xs += [x, (x + to_x) / 2, float("nan")]
        ys += [y, (y + to_y) / 2, float("nan")]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": compact(xs),
            "y": compact(ys),
            "hoverinfo": "skip",
            "line": {"width": (1.5 + 6.5 * step / (STEPS - 1)) * shrink(len(where))},
            "meta": {"ramp": step / (STEPS - 1)},
        }
        for step, (xs, ys) in steps.items()
        if xs
    ]


def ramp_step(utilisation: float) -> int:
    """0 for an idle link to `STEPS` - 1 for a full one."""
    return min(max(int(utilisation * STEPS), 0), STEPS - 1) if math.isfinite(utilisation) else 0


def shrink(nodes: int) -> float:
    """How much finer than usual a large network is drawn."""
    return float(np.clip((LABELLED_NODES / max(nodes, 1)) ** 0.5, 0.3, 1.0))


def nodes_of(topology: dict[str, Any], where: dict[str, Place], degrees: Mapping[str, int]) -> Trace:
    """The nodes, with names where there is room; `degrees` are their numbers of ports."""
    nodes, graph = topology["nodes"], graph_of(topology)
    routers = [node for node in nodes if node.get("kind") != "host"]
    # On a map, hosts are where their city is; in a small drawing, their names are what flows are told by.
    small = len(nodes) <= LABELLED_NODES // 2 and not is_map(topology)
    shown = {node["name"] for node in (nodes if small else routers)}
    shown = shown if len(shown) <= LABELLED_NODES else set()
    names = [node["name"] for node in nodes]
    size = 13 * shrink(len(nodes))
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": compact(where[node][0] for node in names),
        "y": compact(where[node][1] for node in names),
        "text": [node if node in shown else "" for node in names],
        "textposition": [_label_side(node, where, graph) for node in names],
        "hovertext": [
            f"<b>{n['name']}</b><br>{n.get('kind') or 'node'}, {degrees.get(n['name'], 0)} ports" for n in nodes
        ],
        "hoverinfo": "text",
        "marker": {"size": [size * (0.5 if node.get("kind") == "host" else 1.0) for node in nodes]},
        "cliponaxis": False,
        "meta": {"nodes": True},
    }


def _label_side(node: str, where: dict[str, Place], graph: nx.Graph) -> str:
    """Away from the neighbours, so that the fewest links cross the name."""
    x, y = where[node]
    links = [math.atan2(where[peer][1] - y, where[peer][0] - x) for peer in graph[node]]
    sides = {"middle right": 0.0, "top center": math.pi / 2, "middle left": math.pi, "bottom center": -math.pi / 2}
    return max(sides, key=lambda side: min((_between(sides[side], link) for link in links), default=0.0))


def _between(angle: float, other: float) -> float:
    return abs((angle - other + math.pi) % (2 * math.pi) - math.pi)


def _hovers(where: dict[str, Place], ports: pd.DataFrame) -> tuple[list[float], list[float], list[str]]:
    """What halves say, each at a point on it."""
    xs, ys, texts = [], [], []
    for port in ports.itertuples():
        (x, y), (to_x, to_y) = where[str(port.node)], where[str(port.peer)]
        xs.append(x + 0.3 * (to_x - x))
        ys.append(y + 0.3 * (to_y - y))
        texts.append(_port_text(port))
    return xs, ys, texts


def hover_points(xs: Sequence[float], ys: Sequence[float], texts: Sequence[str]) -> Trace:
    """Invisible points on links: a line itself can only be hovered over at its ends."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": compact(xs),
        "y": compact(ys),
        "hovertext": list(texts),
        "hoverinfo": "text",
        "marker": {"size": 16, "opacity": 0},
        "meta": {"hover": True},
    }


def _port_text(port: Any) -> str:
    return (
        hover(
            str(port.label),
            ("utilisation", "ratio", port.utilisation),
            ("rate", "bps", port.rate_bps),
            ("mean queue", "bytes", port.queue_mean_bytes),
            ("delay p99", "seconds", port.delay_p99_s),
        )
        + f"<br>drops {quantity('count', port.drops_queue + port.drops_aqm)}"
    )


def layout_of(topology: dict[str, Any], where: dict[str, Place], margin: float = MARGIN) -> Layout:
    """Axes that nobody sees, with room at the sides, a share of the drawing.

    A map keeps its proportions; any other drawing may fill the space there is.
    """
    xs, ys = zip(*where.values(), strict=True)
    anchor = {"scaleanchor": "x", "scaleratio": stretch(topology)} if is_map(topology) else {}
    return {
        "xaxis": {"visible": False, "range": _room(xs, margin)},
        "yaxis": {"visible": False, "range": _room(ys, margin)} | anchor,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hovermode": "closest",
    }


def _room(values: tuple[float, ...], share: float) -> list[float]:
    low, high = min(values), max(values)
    margin = max(share * (high - low), 1e-3)
    return [low - margin, high + margin]
