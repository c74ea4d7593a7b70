"""The fluid models of §IV: AIMD senders, one bottleneck, marks with a probability that grows with its queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from midpath.analysis import dde

Numbers = NDArray[np.float64]

# How the rate r follows from the window w.
# "paper": w = r·d with a constant round trip d (appendix, before (3)).
# "self-clocked": w = r·(τ + x/c), the same law of Little with the queue x that there is. The paper defines d = τ + τ_q,
# but keeps τ_q constant. This is the model of Misra, Gong and Towsley (SIGCOMM 2000); Hollot et al. (INFOCOM 2001)
# linearise it.
Model = Literal["paper", "self-clocked"]

# Steps of the integrator per round trip, unless a delay is shorter than one.
STEPS = 50


@dataclass(frozen=True)
class Path:
    """A path with its senders. The paper has one sender; `flows` equal ones share the link here.

    `round_trip_s` is d, with the queueing delay of the equilibrium; `short_s` is d_s, from the sender to the bottleneck
    and back; `forward_s` is τ_f, from the sender to the bottleneck, half of d_s unless said. `packets_per_s` is c. The
    paper says bps, but (1) counts one ACK as 1/w of a window of packets, so c is in packets. `increase` is a,
    `decrease` is b.
    """

    round_trip_s: float
    short_s: float
    packets_per_s: float
    forward_s: float | None = None
    flows: float = 1.0
    increase: float = 1.0
    decrease: float = 0.5

    def __post_init__(self) -> None:
        for name in ("round_trip_s", "short_s", "packets_per_s", "flows", "increase", "decrease"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} is {value!r}; it must be a number above 0")
        if self.short_s > self.round_trip_s:
            raise ValueError(f"short_s is {self.short_s!r}, longer than round_trip_s, {self.round_trip_s!r}")
        if not 0 < self.forward < self.short_s:
            raise ValueError(f"forward_s is {self.forward_s!r}; it must be above 0 and less than short_s")

    @property
    def forward(self) -> float:
        """τ_f: seconds from the sender to the bottleneck."""
        return self.short_s / 2 if self.forward_s is None else self.forward_s

    @property
    def share(self) -> float:
        """Each flow's part of the bottleneck, packets/s."""
        return self.packets_per_s / self.flows

    @property
    def window(self) -> float:
        """c·d/N: packets in flight per flow at the equilibrium."""
        return self.share * self.round_trip_s

    def forward_marking(self) -> Path:
        """The same path without RPM: a mark travels on to the receiver and back with the ACK, so d_s = d."""
        return replace(self, short_s=self.round_trip_s, forward_s=self.forward)


@dataclass(frozen=True)
class Equilibrium:
    """Where the models rest: rate per flow (packets/s), share of packets marked, queue above the target (packets)."""

    rate: float
    marked: float
    excess: float

    @classmethod
    def of(cls, path: Path, gain: float) -> Equilibrium:
        """From r = c/N and (a/d²)·(1 − p) = b·r²·p, with p = η·(x − x*)."""
        a, b = path.increase, path.decrease
        marked = a / (a + b * path.window**2)
        return cls(path.share, marked, marked / gain)


@dataclass(frozen=True)
class Trajectory:
    """Times (n,) in seconds; per flow the rate (n,) in packets/s and the window (n,) in packets; the queue (n,) in
    packets, all of it, not only what exceeds the target. A column that was not measured is NaN."""

    time_s: Numbers
    rate: Numbers
    window: Numbers
    queue: Numbers


def trajectory(
    path: Path,
    gain: float,
    *,
    duration_s: float,
    target: float = 0.0,
    model: Model = "paper",
    start_rate: float | None = None,
    start_queue: float | None = None,
    step_s: float | None = None,
) -> Trajectory:
    """Solves a fluid model from a constant past; unless said, that is the equilibrium.

    `gain` is η per packet, `target` is x* in packets. A probability is at most 1 and a queue at least 0; the paper
    leaves both out. `start_rate` is per flow in packets/s, `start_queue` in packets.
    """
    if not gain > 0:
        raise ValueError(f"the gain is {gain!r}; it must be above 0")
    rest = Equilibrium.of(path, gain)
    rate = rest.rate if start_rate is None else start_rate
    queue = target + rest.excess if start_queue is None else start_queue
    step = step_s or min(path.round_trip_s / STEPS, path.forward, path.short_s - path.forward)
    marked = _marking(gain, target)
    if model == "paper":
        found = dde.solve(
            _paper(path, marked), _paper_delays(path), (rate, queue), duration=duration_s, step=step
        )
        rates, queues = found.states.T
        return Trajectory(found.times, rates, rates * path.round_trip_s, queues)
    clock = _Clock(path, target + rest.excess)
    start = (rate * clock.round_trip(queue), queue)
    found = dde.solve(
        _self_clocked(path, marked, clock), _clocked_delays(path), start, duration=duration_s, step=step
    )
    windows, queues = found.states.T
    return Trajectory(found.times, windows / clock.round_trip(queues), windows, queues)


def _marking(gain: float, target: float) -> Callable[[float], float]:
    return lambda queue: min(1.0, gain * max(0.0, queue - target))


def _fed(queue: float, arriving: float, leaving: float) -> float:
    """dx/dt of a queue that cannot be less than empty."""
    return arriving - leaving if queue > 0 else max(0.0, arriving - leaving)


def _paper_delays(path: Path) -> list[float]:
    d, short, forward = path.round_trip_s, path.short_s, path.forward
    return [d, short, forward, d - forward, short - forward]


def _paper(path: Path, marked: Callable[[float], float]) -> dde.RightHandSide:
    """Equation (3), and the queue x' = N·r(t − τ_f) − c."""
    a, b, d = path.increase, path.decrease, path.round_trip_s

    def rhs(_: float, state: Numbers, past: Numbers) -> tuple[float, float]:
        rate, queue = state.tolist()
        (acked, _), (echoed, _), (arriving, _), (_, seen), (_, seen_short) = past.tolist()
        increase = a / (rate * d * d) * acked * (1 - marked(seen))
        decrease = b * rate * echoed * marked(seen_short)
        return increase - decrease, _fed(queue, path.flows * arriving, path.packets_per_s)

    return rhs


class _Clock:
    """The round trip with the queue that there is: τ + x/c."""

    def __init__(self, path: Path, resting: float) -> None:
        self.capacity = path.packets_per_s
        # d is the round trip of the equilibrium, so what is left of it without its queue is propagation.
        self.propagation = path.round_trip_s - resting / self.capacity
        if self.propagation <= 0:
            raise ValueError(
                f"at this gain {resting:.4g} packets wait, longer than the round trip of {path.round_trip_s:g} s: "
                "the model has no equilibrium with such a d"
            )

    def round_trip(self, queue: Numbers | float) -> Numbers:
        return np.asarray(self.propagation + np.maximum(queue, 0.0) / self.capacity)


def _clocked_delays(path: Path) -> list[float]:
    d, short, forward = path.round_trip_s, path.short_s, path.forward
    return [d, short, forward, d - forward, short - forward]


def _self_clocked(path: Path, marked: Callable[[float], float], clock: _Clock) -> dde.RightHandSide:
    """Equation (1) for the window, with packets arriving at the queue at w(t − τ_f) / (τ + x(t)/c) per flow.

    Delays stay those of the equilibrium, as in Hollot et al.
    """
    a, b = path.increase, path.decrease
    propagation, capacity = clock.propagation, clock.capacity

    def rate(window: float, queue: float) -> float:
        return window / (propagation + max(queue, 0.0) / capacity)

    def rhs(_: float, state: Numbers, past: Numbers) -> tuple[float, float]:
        window, queue = state.tolist()
        (acked, _), (echoed, _), (sent, _), (_, seen), (_, seen_short) = past.tolist()
        increase = a / window * rate(acked, seen) * (1 - marked(seen))
        decrease = b * window * rate(echoed, seen_short) * marked(seen_short)
        arriving = path.flows * rate(sent, queue)
        return increase - decrease, _fed(queue, arriving, path.packets_per_s)

    return rhs
