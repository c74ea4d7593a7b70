"""Links from positions: who sees whom, whom a terminal is handed over to, and the scenario that has it.

A link is up while it is used, and its delay is the distance over the speed of light. What is so at a time of the
positions holds until the next. Zeniths are geocentric: up to 0.2° from the ellipsoid's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from midpath.errors import UsageError, no_such
from midpath.leo.positions import Positions

EARTH_KM, LIGHT_KM_S = 6371.0, 299_792.458
# What is lower is on the ground.
GROUND_KM = 100.0
# A link between satellites stays this high above the ground, for the air bends and takes light.
AIR_KM = 80.0

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def scenario(
    positions: Positions,
    *,
    elevation: float = 25.0,
    gateways: Sequence[str] = (),
    isl: float = 0.0,
    decide: float = 15.0,
    gap: float = 0.0,
    rate: str = "100 Mbps",
    up_rate: str = "20 Mbps",
    core_rate: str = "10 Gbps",
    reconverge: str = "10 ms",
) -> str:
    """A scenario's text.

    Nodes on the ground, each with a host `NAME-host`, are terminals, with one satellite at a time, or `gateways`, with
    all that they see above `elevation` degrees. A terminal takes the highest that it sees when its own sets, and at
    multiples of `decide` seconds; its new link comes up `gap` seconds after the old one went down. Satellites within
    `isl` km are linked; without, a terminal takes one that a gateway sees as well. Packets reach terminals at `rate`
    and leave at `up_rate`.
    """
    # The last time ends what holds before.
    stop = positions.times[-1]
    positions = Positions(positions.times[:-1], positions.names, positions.places[:-1])
    sky = _Sky(positions, elevation, gateways, isl)
    up = sky.links(decide)
    if not up:
        raise UsageError("no link is ever up: lower the elevation, or take more satellites")
    names = positions.names
    lines = [
        '# Written by `midpath leo`.\ntitle = "Satellites"\nscheme = "cubic"\n',
        f'stop = "{stop:g} s"\n\n[routing]\nreconverge = "{reconverge}"\n\n[topology]\nlinks = [',
    ]
    for (a, b), held in up.items():
        first = sky.delay(a, b)[int(np.argmax(held))]
        terminal = b in sky.terminals
        rates = f'rate = "{rate}", rate_back = "{up_rate}"' if terminal else f'rate = "{core_rate}"'
        lines.append(f'    {{ a = "{names[a]}", b = "{names[b]}", {rates}, delay = "{_ns(first)}" }},')
    grounds = [names[node] for node in [*sky.gateways, *sky.terminals]]
    lines += [f'    {{ a = "{name}", b = "{name}-host", rate = "{core_rate}", delay = "1 us" }},' for name in grounds]
    lines.append("]")
    for pair, held in up.items():
        lines += _varying(positions, pair, held, sky)
    for pair, held in up.items():
        lines += _outages(positions, pair, held, gap if pair[1] in sky.terminals else 0.0)
    if len(grounds) > 1:
        lines.append(f'\n[[flow]]\nfrom = "{grounds[0]}-host"\nto = "{grounds[-1]}-host"\nstart = "1 s"')
    return "\n".join(lines) + "\n"


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _varying(positions: Positions, pair: tuple[int, int], held: Bools, sky: _Sky) -> Iterator[str]:
    """Delays while it is up."""
    delays = [_ns(delay) for delay in sky.delay(*pair)]
    steps, last = [], delays[int(np.argmax(held))]
    for i in np.flatnonzero(held):
        if delays[i] != last:
            steps.append(f'    {{ at = "{positions.times[i]:g} s", delay = "{delays[i]}" }},')
            last = delays[i]
    if steps:
        a, b = (positions.names[node] for node in pair)
        yield f'\n[[vary]]\nlink = ["{a}", "{b}"]\nsteps = ['
        yield from steps
        yield "]"


def _outages(positions: Positions, pair: tuple[int, int], held: Bools, gap: float) -> Iterator[str]:
    """When it is down; `gap` longer before it comes up, but at the beginning."""
    a, b = (positions.names[node] for node in pair)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], held, [True]]).astype(int)))
    for down, up in zip(edges[::2], edges[1::2], strict=True):
        at = positions.times[down]
        last = up >= len(held)
        until = "" if last else f'\nuntil = "{positions.times[up] + gap:g} s"'
        yield f'\n[[fault]]\nat = "{at:g} s"\nkind = "link-down"\nlink = ["{a}", "{b}"]{until}'


class _Sky:
    """Who sees whom."""

    def __init__(self, positions: Positions, elevation: float, gateways: Sequence[str], isl: float) -> None:
        self.positions, self.isl = positions, isl
        heights = np.linalg.norm(positions.places, axis=2).min(axis=0) - EARTH_KM
        ground = [int(node) for node in np.flatnonzero(heights < GROUND_KM)]
        if not ground:
            raise UsageError("there is no node on the ground, below 100 km: x, y and z are in km")
        for name in gateways:
            if name not in [positions.names[node] for node in ground]:
                raise UsageError(no_such("node on the ground", name, [positions.names[node] for node in ground]))
        self.gateways = [node for node in ground if positions.names[node] in gateways]
        self.terminals = [node for node in ground if node not in self.gateways]
        self.satellites = [int(node) for node in np.flatnonzero(heights >= GROUND_KM)]
        if not self.satellites:
            raise UsageError("nothing flies: no node is above 100 km; x, y and z are in km")
        self.heights = {node: self._elevations(node) for node in ground}
        self.seen = {node: own >= elevation for node, own in self.heights.items()}
        for node, seen in self.seen.items():
            if not seen.any():
                raise UsageError(
                    f"{positions.names[node]} sees no satellite above {elevation:g}°: lower it, or take more satellites"
                )

    def delay(self, a: int, b: int) -> Floats:
        """Of a link, at each time, in seconds."""
        places = self.positions.places
        found: Floats = np.linalg.norm(places[:, a] - places[:, b], axis=1) / LIGHT_KM_S
        return found

    def _elevations(self, node: int) -> Floats:
        """Of all satellites as seen from a node, in degrees, by time and satellite."""
        own = self.positions.places[:, node, None, :]
        to = self.positions.places[:, self.satellites, :] - own
        sine = (to * own).sum(axis=2) / np.linalg.norm(to, axis=2) / np.linalg.norm(own, axis=2)
        found: Floats = np.degrees(np.arcsin(np.clip(sine, -1, 1)))
        return found

    def links(self, decide: float) -> dict[tuple[int, int], Bools]:
        """Of each pair that is ever linked, when it is. The one on the ground comes second."""
        found: dict[tuple[int, int], Bools] = {}
        by_gateways = np.any([self.seen[node] for node in self.gateways], axis=0) if self.gateways else True
        used = np.zeros(len(self.satellites), dtype=bool)
        for node in self.terminals:
            own = self._served(node, self.seen[node] & (True if self.isl else by_gateways), decide)
            for s, satellite in enumerate(self.satellites):
                if (own == s).any():
                    found[satellite, node] = own == s
                    used[s] = True
        for node in self.gateways:
            for s, satellite in enumerate(self.satellites):
                # Without links between them, satellites that no terminal has lead nowhere.
                if self.seen[node][:, s].any() and (self.isl or used[s]):
                    found[satellite, node] = self.seen[node][:, s]
        if self.isl:
            for a, b in combinations(self.satellites, 2):
                near = self._near(a, b)
                if near.any():
                    found[a, b] = near
        return found

    def _served(self, node: int, usable: Bools, decide: float) -> NDArray[np.int64]:
        """By which satellite a terminal is served at each time; -1 by none."""
        heights = np.where(usable, self.heights[node], -np.inf)
        found, own, epoch = np.full(len(heights), -1), -1, -1
        for t, at in enumerate(self.positions.times):
            now = int(at // decide) if decide > 0 else t
            if own < 0 or not usable[t, own] or now != epoch:
                best = int(np.argmax(heights[t]))
                own = best if usable[t, best] else -1
            found[t], epoch = own, now
        return found

    def _near(self, a: int, b: int) -> Bools:
        """Whether two satellites are near, with a free line of sight."""
        places = self.positions.places
        start, along = places[:, a], places[:, b] - places[:, a]
        length = np.linalg.norm(along, axis=1)
        share = np.clip(-(start * along).sum(axis=1) / np.maximum(length, 1e-9) ** 2, 0, 1)
        lowest = np.linalg.norm(start + share[:, None] * along, axis=1)
        found: Bools = (length <= self.isl) & (lowest > EARTH_KM + AIR_KM)
        return found
