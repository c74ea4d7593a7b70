"""External FCP endpoint policies: the split of a group's budget over its flows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """What a policy may know of a flow."""

    number: int
    weight: float
    target: float
    """What it was given last, $/s."""
    spending: float
    """What it spends now, $/s."""
    price: float
    """Its path's price, $/byte; 0 while it is unknown."""
    rtt_s: float
    """Its smoothed round-trip time; 0 while it is unknown."""
    rate: float
    """What it sends, bytes per second."""


@dataclass(frozen=True)
class Group:
    """What is to be split, and over which flows."""

    now_s: float
    budget: float
    """$/s."""
    rtt_s: float
    """The average round-trip time of the flows that know theirs."""
    changed: bool
    """Whether flows of the group came or went; else it is the regular look, every two round trips."""
    flows: tuple[Flow, ...]


_Row = tuple[int, float, float, float, float, float, float]

Split = Callable[[Group], Sequence[float]]
"""A policy: the flows' budgets, $/s, in their order. A sum above the group's budget is scaled down to it."""

Policies = Mapping[str, Split | Callable[[], Split]]
"""Policies by the names in scenarios. Of a class, each group on each host gets an instance, which may keep state."""


def makers(policies: Policies) -> dict[str, Callable[[], Callable[..., list[float]]]]:
    """What the simulator calls to make a policy."""
    return {name: _maker(policy) for name, policy in policies.items()}


def _maker(policy: Split | Callable[[], Split]) -> Callable[[], Callable[..., list[float]]]:
    def make() -> Callable[..., list[float]]:
        split: Split = policy() if inspect.isclass(policy) else policy  # type: ignore[assignment]

        def call(now: float, budget: float, rtt: float, changed: bool, flows: Sequence[_Row]) -> list[float]:
            group = Group(now, budget, rtt, changed, tuple(Flow(*flow) for flow in flows))
            return [float(target) for target in split(group)]

        return call

    return make
