"""Goals of the table's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from midpath.benchmark.measure import Measurement


@dataclass(frozen=True)
class Reached:
    """One goal: what it is about, what was asked for, what was measured, and the share that was reached.

    A share of 1 is the goal; of times and memory it is the goal over what was needed.
    """

    of: str
    goal: float
    measured: float
    share: float


@dataclass(frozen=True)
class Goal:
    """What a row should reach on a core of 3.6 GHz.

    `mhops`: million packet-hops per second of CPU time. `cpu_s`, `memory`: of all that is measured of the row.
    `speedup`: of two threads over one. `beside`: another row, and the least share of its speed.
    """

    mhops: float | None = None
    cpu_s: float | None = None
    memory: float | None = None
    speedup: float | None = None
    beside: tuple[str, float] | None = None

    def __str__(self) -> str:
        """`33 Mhop/s`, `30 s, 1000 MB`."""
        parts = [
            f"{self.mhops:g} Mhop/s" if self.mhops else "",
            f"{self.cpu_s:g} s" if self.cpu_s else "",
            f"{self.memory / 1e6:g} MB" if self.memory else "",
            f"≥ {self.speedup:g}×" if self.speedup else "",
            f"{self.beside[1]:g} of {self.beside[0]}" if self.beside else "",
        ]
        return ", ".join(part for part in parts if part)

    def reached(self, found: Measurement, others: Mapping[str, Measurement]) -> Iterator[Reached]:
        """Each part of the goal; one about another row only where that was measured, too."""
        if self.mhops and found.hops_per_cpu_s:
            yield _at_least("hops_per_cpu_s", self.mhops * 1e6, found.hops_per_cpu_s)
        if self.cpu_s:
            yield _at_most("total_cpu_s", self.cpu_s, found.total_cpu_s)
        if self.memory and found.peak_bytes:
            yield _at_most("peak_bytes", self.memory, found.peak_bytes)
        if self.speedup and found.speedup:
            yield _at_least("speedup", self.speedup, found.speedup)
        if self.beside and (other := others.get(self.beside[0])) and other.hops_per_cpu_s and found.hops_per_cpu_s:
            least = self.beside[1] * other.hops_per_cpu_s
            yield _at_least(f"hops_per_cpu_s of {self.beside[0]}", least, found.hops_per_cpu_s)


def _at_least(of: str, goal: float, measured: float) -> Reached:
    return Reached(of, goal, measured, measured / goal)


def _at_most(of: str, goal: float, measured: float) -> Reached:
    return Reached(of, goal, measured, goal / measured if measured else float("inf"))


def with_goals(found: Iterable[Measurement], goals: Mapping[str, Goal | None]) -> list[Measurement]:
    """Measurements with what they reached of their goals, by name."""
    every = list(found)
    others = {one.id: one for one in every}
    return [
        replace(one, reached=tuple(goal.reached(one, others))) if (goal := goals.get(one.id)) else one for one in every
    ]
