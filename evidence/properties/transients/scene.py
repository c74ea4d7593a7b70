"""What a random scenario of the suite is: a dumbbell, its flows, what fails, and when it should have settled."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import scenes

from midpath.entries import MADE_FOR

WAYS = (("r0", "r1"), ("r1", "r0"))
"""Of the core: towards receivers, and back."""
STEP = 0.1
"""Of the series, seconds."""
HEADERS = 0.1
"""Of a port that trims: the part for packets without payload."""


@dataclass(frozen=True)
class Flow:
    """Times in seconds, sizes in bytes, the delay of its sender's access link in ms."""

    delay: float
    start: float
    size: int | None = None
    stop: float | None = None

    def toml(self, pair: int) -> str:
        """Its text, between the hosts of a pair."""
        size, stop = f"{self.size} B" if self.size else None, f"{self.stop} s" if self.stop else None
        return scenes.flow(f"s{pair}", f"d{pair}", f"{self.start} s", size=size, stop=stop)


@dataclass(frozen=True)
class Scene:
    """What is drawn for one number."""

    name: str
    number: int
    rate: float
    """Of the core, Mbps."""
    delay: float
    """Of the core, ms."""
    queue: float
    """What every port may hold in all, ms of its own rate."""
    flows: list[Flow]
    faults: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    """The core's rates, Mbps, in the order of time."""
    changes: list[float] = field(default_factory=list)
    """When something changes."""
    calm: tuple[float, float] = (10.0, 50.0)
    """How long after the last change all should have settled: seconds, or round trips if that is longer."""
    after: tuple[float, float] = (5.0, 0.0)
    """How long the run goes on then, likewise."""
    hosts: int = 0
    """Pairs of hosts that share the flows, one after the other; none: a pair for each flow."""
    far: float = 0.1
    """Of receivers' links, ms."""
    corruption: float = 0.0
    """Of the core's packets, each way."""
    lost: tuple[float, float] = (0.0, 0.0)
    """The same towards receivers, and back."""

    @property
    def longest(self) -> float:
        """The longest round trip without queues, seconds."""
        return 2 * (self.delay + max(flow.delay for flow in self.flows) + self.far) / 1e3

    @property
    def settled(self) -> float:
        """When all should have settled."""
        return max(self.changes) + max(self.calm[0], self.calm[1] * self.longest)

    @property
    def stop(self) -> float:
        """The run's end."""
        return round(self.settled + max(self.after[0], self.after[1] * self.longest), 1)

    @property
    def lasting(self) -> list[int]:
        """The numbers of the flows that are there from the last change to the end."""
        return [i for i, flow in enumerate(self.flows) if flow.size is None and flow.stop is None]

    @property
    def lasting_rows(self) -> list[int]:
        """These flows' rows in a result, which has flows in the order of their starts."""
        order = sorted(range(len(self.flows)), key=lambda i: self.flows[i].start)
        lasting = set(self.lasting)
        return [row for row, i in enumerate(order) if i in lasting]

    @property
    def share(self) -> float:
        """What each of these has of the core at the end, packets of 1500 bytes in a second."""
        return self.rates[-1] * 1e6 / 12e3 / len(self.lasting)

    def room(self, scheme: str) -> str:
        """What a port may hold; one that trims has a part for packets without payload."""
        if scheme not in scenes.TRIMS:
            return f'limit = "{self.queue} ms"'
        headers = round(self.queue * HEADERS, 6)
        return f'kind = "trim"\nlimit = "{round(self.queue - headers, 6)} ms"\nheader_limit = "{headers} ms"'

    def toml(self, scheme: str, stop: float | None = None) -> str:
        """The scenario's text, up to `stop` where that is said."""
        pairs = self.hosts or len(self.flows)
        ports = 2 * pairs + 1
        points = 2 * round(self.stop / STEP)
        end = f"{stop:.3f}" if stop else self.stop
        delays = [flow.delay for flow in self.flows[:pairs]]
        lossy = f', corruption = "{100 * self.corruption:.3g} %"' if self.corruption else ""
        return "\n".join([
            f'title = "{self.name} {self.number}"\nscheme = "{scheme}"\nseed = {self.number}\nstop = "{end} s"',
            f"[queue]\n{self.room(scheme)}",
            *made_for(scheme),
            scenes.dumbbell(f"{self.rate} Mbps", self.delay, "1 Gbps", delays, self.far, lossy),
            f'[measure]\nseries = {"false" if stop else "true"}\ninterval = "{STEP} s"\npoints = {points}\n'
            f"ports = {ports}\nflows = 0",
            *(flow.toml(i % pairs) for i, flow in enumerate(self.flows)),
            *self.faults,
            *(scenes.loses(*ends, share) for ends, share in zip(WAYS, self.lost, strict=True) if share),
        ])  # fmt: skip


def made_for(scheme: str) -> list[str]:
    """Keys of [queue] for the kind that a scheme is made for, as in the matrix; it holds no more than the others'."""
    keys = MADE_FOR.get(scheme, {})
    return [
        f"{key} = {str(value).lower() if isinstance(value, bool) else json.dumps(value)}" for key, value in keys.items()
    ]
