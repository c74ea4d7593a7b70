"""The fluid models of §IV: AIMD senders, one bottleneck, marks with a probability that grows with its queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from midpath.analysis import dde

Numbers = NDArray[np.float64]

# How the rate r follows from the window w.
# "paper": w = r·d with a constant round trip d (appendix, before (3)).
# "self-clocked": w = r·(τ + x/c), the same law of Little with the queue x that there is. The paper defines d = τ + τ_q,
# but keeps τ_q constant. This is the model of Misra, Gong and Towsley (SIGCOMM 2000); Hollot et al. (INFOCOM 2001)
# linearise it.
Model = Literal["paper", "self-clocked"]

# Steps of the integrator per round trip, unless a delay is shorter than one. Ours: over a hundred round trips near the
# limit of stability, twice as many change a queue by less than a thousandth of its swing.
STEPS = 20


def known(model: Model) -> Model:
    """The model, if there is one of this name."""
    if model not in get_args(Model):
        raise ValueError(f"there is no model {model!r}; there are: {', '.join(get_args(Model))}")
    return model


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
        """Refuses what is no path."""
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

    def settled(self, gain: float, target: float = 0.0) -> Path:
        """This path, whose round trip is propagation alone, with the delay of the queue that it settles at.

        `gain` is η per packet, `target` is x* in packets. With forward marking d_s grows as d does. With RPM it does
        not, for the model marks as a packet arrives; an AQM that marks as a packet leaves makes d_s longer by the same
        delay.
        """

        def with_delay(delay: float) -> Path:
            longer = self.round_trip_s + delay
            short = longer if self.short_s == self.round_trip_s else self.short_s
            return replace(self, round_trip_s=longer, short_s=short, forward_s=self.forward)

        def missing(delay: float) -> float:
            return (target + Equilibrium.of(with_delay(delay), gain).excess) / self.packets_per_s - delay

        longest = (target + 1 / gain) / self.packets_per_s
        return with_delay(float(brentq(missing, 0.0, longest, xtol=1e-300, rtol=1e-12)))


@dataclass(frozen=True)
class Equilibrium:
    """Where the models rest: per flow the rate (packets/s) and the window (packets); the share of packets that is
    marked; the queue above the target (packets)."""

    rate: float
    window: float
    marked: float
    excess: float

    @classmethod
    def of(cls, path: Path, gain: float) -> Equilibrium:
        """From r = c/N and (a/d²)·(1 − p) = b·r²·p, with p = η·(x − x*)."""
        if not gain > 0:
            raise ValueError(f"the gain is {gain!r}; it must be above 0")
        a, b = path.increase, path.decrease
        marked = a / (a + b * path.window**2)
        return cls(path.share, path.window, marked, marked / gain)


@dataclass(frozen=True)
class Start:
    """The constant past of a trajectory: per flow the rate (packets/s) and the window (packets), and the queue
    (packets). The paper's model starts from the rate, the self-clocked one from the window."""

    rate: float
    window: float
    queue: float

    @classmethod
    def at_rest(cls, path: Path, gain: float, target: float = 0.0) -> Start:
        """The equilibrium."""
        rest = Equilibrium.of(path, gain)
        return cls(rest.rate, rest.window, target + rest.excess)


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
    start: Start | None = None,
    step_s: float | None = None,
) -> Trajectory:
    """Solves a fluid model from a constant past; unless said, that is the equilibrium.

    `gain` is η per packet, `target` is x* in packets. A probability is at most 1 and a queue at least 0; the paper
    leaves both out. Delays are those of the equilibrium throughout, as in the paper.
    """
    rest = Start.at_rest(path, gain, target)
    begin = start or rest
    if not (begin.rate > 0 and begin.window > 0 and begin.queue >= 0):
        raise ValueError(f"{begin} is not a valid start: rate and window must be above 0, the queue at least 0")
    step = step_s or min(path.round_trip_s / STEPS, path.forward, path.short_s - path.forward)
    d, short, forward = path.round_trip_s, path.short_s, path.forward
    delays = (d, short, forward, d - forward, short - forward)
    if known(model) == "paper":
        found = dde.solve(paper_rhs(path, gain, target), delays, (begin.rate, begin.queue), duration_s, step)
        rates, queues = found.states.T
        return Trajectory(found.times, rates, rates * d, queues)
    propagation = _propagation(path, rest.queue)
    rhs = self_clocked_rhs(path, gain, target, propagation)
    found = dde.solve(rhs, delays, (begin.window, begin.queue), duration_s, step)
    windows, queues = found.states.T
    rates = windows / (propagation + np.maximum(queues, 0.0) / path.packets_per_s)
    return Trajectory(found.times, rates, windows, queues)


def _propagation(path: Path, resting: float) -> float:
    """What is left of the equilibrium's round trip without its queue."""
    found = path.round_trip_s - resting / path.packets_per_s
    if found <= 0:
        raise ValueError(
            f"at this gain {resting:.4g} packets wait, longer than the round trip of {path.round_trip_s:g} s lasts: "
            "such a path does not exist; Path.settled finds one"
        )
    return found


def _marking(gain: float, target: float) -> Callable[[float], float]:
    return lambda queue: min(1.0, gain * max(0.0, queue - target))


def _fed(queue: float, arriving: float, leaving: float) -> float:
    """dx/dt of a queue that cannot be less than empty."""
    return arriving - leaving if queue > 0 else max(0.0, arriving - leaving)


def paper_rhs(path: Path, gain: float, target: float) -> dde.RightHandSide:
    """Equation (3), and the queue x' = N·r(t − τ_f) − c, of the state (r, x) in packets/s and packets.

    Past states are taken at d, d_s, τ_f, d − τ_f and d_s − τ_f, in this order.
    """
    a, b, d = path.increase, path.decrease, path.round_trip_s
    marked = _marking(gain, target)

    def rhs(_: float, state: Numbers, past: Numbers) -> tuple[float, float]:
        rate, queue = state.tolist()
        (acked, _), (echoed, _), (arriving, _), (_, seen), (_, seen_short) = past.tolist()
        increase = a / (rate * d * d) * acked * (1 - marked(seen))
        decrease = b * rate * echoed * marked(seen_short)
        return increase - decrease, _fed(queue, path.flows * arriving, path.packets_per_s)

    return rhs


def self_clocked_rhs(path: Path, gain: float, target: float, propagation: float) -> dde.RightHandSide:
    """Equation (1) for the window, with packets arriving at the queue at w(t − τ_f) / (τ + x(t)/c) per flow.

    The state is (w, x) in packets, `propagation` is τ in seconds; past states as in `paper_rhs`.
    """
    a, b, capacity = path.increase, path.decrease, path.packets_per_s
    marked = _marking(gain, target)

    def rate(window: float, queue: float) -> float:
        return window / (propagation + max(queue, 0.0) / capacity)

    def rhs(_: float, state: Numbers, past: Numbers) -> tuple[float, float]:
        window, queue = state.tolist()
        (acked, _), (echoed, _), (sent, _), (_, seen), (_, seen_short) = past.tolist()
        increase = a / window * rate(acked, seen) * (1 - marked(seen))
        decrease = b * window * rate(echoed, seen_short) * marked(seen_short)
        return increase - decrease, _fed(queue, path.flows * rate(sent, queue), capacity)

    return rhs
