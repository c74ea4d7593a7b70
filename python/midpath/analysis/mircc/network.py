"""Links, paths and flows, as the model and the solvers see them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Link:
    """A link in the direction of its Data: bits/s, and seconds one way."""

    capacity: float
    delay: float = 0.0


@dataclass(frozen=True)
class Flow:
    """A consumer's flow: its paths, each a sequence of links from the consumer to the producer.

    `access` is the delay (one way) before the first link. A flow that is not elastic has a `demand`.
    """

    paths: tuple[tuple[str, ...], ...]
    start: float = 0.0
    stop: float = math.inf
    access: float = 0.0
    demand: float = math.inf


@dataclass(frozen=True)
class Network:
    """A network and its flows, with the incidence arrays that the model and the solvers work on.

    Paths are numbered flow by flow; a hop is one link of one path. Hops are numbered path by path.
    """

    links: Mapping[str, Link]
    flows: Mapping[str, Flow]

    @staticmethod
    def of(capacities: Mapping[str, float], flows: Mapping[str, Sequence[Sequence[str]]]) -> Network:
        """A network without delays: what a solver needs."""
        links = {name: Link(capacity) for name, capacity in capacities.items()}
        return Network(links, {name: Flow(tuple(tuple(path) for path in paths)) for name, paths in flows.items()})

    @cached_property
    def link_names(self) -> list[str]:
        """The links in their order in arrays."""
        return list(self.links)

    @cached_property
    def capacity(self) -> Floats:
        """Of each link."""
        return np.array([link.capacity for link in self.links.values()])

    @cached_property
    def paths(self) -> list[tuple[str, ...]]:
        """All paths of all flows."""
        return [path for flow in self.flows.values() for path in flow.paths]

    @cached_property
    def path_flow(self) -> Ints:
        """The flow of each path."""
        return np.array([i for i, flow in enumerate(self.flows.values()) for _ in flow.paths])

    @cached_property
    def flow_start(self) -> Ints:
        """The first path of each flow."""
        return np.searchsorted(self.path_flow, np.arange(len(self.flows)))

    @cached_property
    def hop_link(self) -> Ints:
        """The link of each hop."""
        index = {name: i for i, name in enumerate(self.links)}
        return np.array([index[name] for path in self.paths for name in path])

    @cached_property
    def hop_path(self) -> Ints:
        """The path of each hop."""
        return np.array([i for i, path in enumerate(self.paths) for _ in path])

    @cached_property
    def path_start(self) -> Ints:
        """The first hop of each path."""
        return np.searchsorted(self.hop_path, np.arange(len(self.paths)))

    def path_minimum(self, rates: Floats) -> Floats:
        """What Data brings of the links' `rates`: the smallest on each path (§3.1)."""
        return np.asarray(np.minimum.reduceat(rates[self.hop_link], self.path_start))

    def link_load(self, path_rates: Floats) -> Floats:
        """The sum of the paths' rates on each link."""
        load = np.bincount(self.hop_link, path_rates[self.hop_path], minlength=len(self.links))
        return np.asarray(load, dtype=float)

    def flow_sum(self, path_rates: Floats) -> Floats:
        """Each flow's rate over all its paths."""
        return np.asarray(np.add.reduceat(path_rates, self.flow_start))

    def best_subflow(self, stamps: Floats) -> Floats:
        """Primary rates of the paths: the best path's stamp, split in proportion to the stamps (§4.2, §4.3)."""
        best = np.maximum.reduceat(stamps, self.flow_start)
        total = np.add.reduceat(stamps, self.flow_start)
        share = np.divide(best, total, out=np.zeros_like(best), where=total > 0)
        return np.asarray(stamps * share[self.path_flow])
