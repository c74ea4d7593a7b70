"""What an item is: scenarios, measures with bounds, and to whom it applies.

Bounds follow from an RFC, or from what NewReno and CUBIC do in the same scenario with the same seed: each is run as the
scheme that is evaluated would be. *Harm* is that of Ware et al. ("Beyond Jain's fairness index", HotNets 2019): the
share by which somebody is worse off than alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from midpath.entries import ENDS, Entry
from midpath.evaluate.facts import Facts
from midpath.evaluate.platform import Platform
from midpath.evaluate.scenes import Scene
from midpath.schemes import described

MUST, SHOULD, CONSIDER = "MUST", "SHOULD", "consider"
LEVELS = (MUST, SHOULD, CONSIDER)
# What standards-track TCPs do in a scenario bounds what a new one may do (RFC 9743, §5.2).
REFERENCES = ("newreno", "cubic")
# Who a run is of: the scheme that is evaluated, or one of these.
ME = "me"

# All bounds that are ours stand here, with their reasons. They were fixed before the first run.
HARM = 0.05
"""More harm than NewReno or CUBIC do is no luck from here on; half of what a fair share takes is 25 %."""
LOSS = 0.02
"""More loss than theirs: BBR's draft takes 2 % for too much (draft-ietf-ccwg-bbr, BBR.LossThresh)."""
USE = 0.9
"""Of the throughput of the slower of both, in a steady state."""
AFTER = 0.8
"""The same after a change: some seconds differ by a saw-tooth's phase."""
WAIT = 1.25
"""Times the wait of the one that waits longer: their means differ by about as much."""
HALF = 0.5
"""Of what it has elsewhere, or of a fair share, where RFC 9743 asks for no more than that it works."""
STARVED = 0.1
"""Of a fair share: below it a flow is starved."""
BREAKER = 10.0
"""Times TCP's rate: RFC 8083, §4.3, ends a flow there. RFC 8085, §3.1, has the same order of magnitude."""


@dataclass(frozen=True)
class Case:
    """A scenario of an item. `by` is the one scheme that runs it, or all run it: the evaluated one and `REFERENCES`."""

    name: str
    scene: Scene
    by: str = ""
    mine: bool = False
    """Whether the evaluated scheme alone runs it: no measure is relative to `REFERENCES`."""
    queue: str = ""
    """The queue that all run over (`codel`, `fq_codel`, …): as after @."""
    tail: bool = False
    """Whether the bottleneck drops at its tail whatever the scheme is made for."""
    tcp: Mapping[str, Any] = field(default_factory=dict)
    """Parameters for controllers of others, where the scene has them for Midpath's schemes."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the evaluated scheme; one that has not got them cannot run the case."""
    look: float = 15.0
    """When `midpath why` is asked about the scheme's first flow, in seconds."""
    watched: Sequence[str] = ()
    """Series of the first flow that measures need."""
    after: str = ""
    """The case whose run with the same seed says when something happens, for `then`."""
    then: Callable[[Facts], Scene | None] | None = None
    """The scene, from what came of the case before; none if what it waits for never came."""
    dead: bool = False
    """Whether nothing may arrive: of a flow that delivers nothing in another case the item is failed."""

    def made(self, before: Facts) -> Case | None:
        """With the scene that follows from the case before."""
        scene = self.then(before) if self.then else self.scene
        return None if scene is None else replace(self, scene=scene, then=None)


@dataclass(frozen=True)
class Runs:
    """All runs of an item with one seed."""

    facts: Mapping[tuple[str, str], Facts]

    def me(self, case: str) -> Facts:
        """Of the scheme that is evaluated."""
        return self.facts[case, ME]

    def references(self, case: str) -> list[Facts]:
        """Of NewReno and CUBIC in its place."""
        return [self.facts[case, one] for one in REFERENCES]

    def alone(self, case: str) -> Facts:
        """Of a case that one scheme runs."""
        return next(found for (name, _), found in self.facts.items() if name == case)


Value = Callable[[Facts], float]


@dataclass(frozen=True)
class Measure:
    """A number of each seed, held to a bound in every case; the worst case counts."""

    label: str
    kind: str
    cases: Sequence[str]
    of: Callable[[Runs, str], float | None]
    bound: float
    source: str
    at_least: bool = False
    level: str = ""
    """Where it is not its item's."""
    figure: Value | None = None
    """What is compared, before it is."""


@dataclass(frozen=True)
class Subject:
    """A scheme that is evaluated, with what the command changes in its parameters, and where it runs."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    platform: Platform | None = None

    @property
    def title(self) -> str:
        """As people write it: `CUBIC (beta = 50 %)`."""
        changed = ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in self.changes.items())
        place = f" on {self.platform.title}" if self.platform else ""
        return f"{self.entry.title}{place}" + (f" ({changed})" if changed else "")

    @property
    def entry(self) -> Entry:
        """As a column of the matrix: over the queue that it is made for."""
        return Entry(self.name.rpartition(":")[2] if self.platform else self.name)

    def other(self, name: str) -> Subject:
        """NewReno or CUBIC in its place: where it runs, if they are there."""
        if self.platform and self.platform.has_references:
            return Subject(f"{self.name.partition(':')[0]}:{name}", platform=self.platform)
        return Subject(name)

    @property
    def signals(self) -> bool:
        """Whether it relies on signals of routers."""
        return self.entry.kind != ENDS

    @property
    def multipath(self) -> bool:
        """Whether one flow has several paths."""
        return "subflows" in described(self.entry.column.transport).parameters


def anyone(_: Subject) -> str:
    """It applies to all."""
    return ""


@dataclass(frozen=True)
class Item:
    """A criterion. `missing` is what of it the simulator cannot show; without cases it is not built."""

    name: str
    title: str
    level: str
    asks: str
    cases: Sequence[Case] = ()
    measures: Sequence[Measure] = ()
    applies: Callable[[Subject], str] = anyone
    """Why it does not, where it does not."""
    missing: str = ""
    text: str = ""
    """An item that asks for an explanation and no measurement."""


def plain(label: str, kind: str, cases: Sequence[str], value: Value, bound: float, source: str, **more: Any) -> Measure:
    """A number by itself."""
    return Measure(label, kind, cases, lambda runs, case: value(runs.me(case)), bound, source, figure=value, **more)


def at_least(label: str, cases: Sequence[str], value: Value, share: float, source: str = "", **more: Any) -> Measure:
    """A number over the smaller of NewReno's and CUBIC's."""

    def of(runs: Runs, case: str) -> float:
        return _over(value(runs.me(case)), min(map(value, runs.references(case))))

    why = source or f"{share:.0%} of the slower of NewReno and CUBIC"
    return Measure(label, "times", cases, of, share, why, at_least=True, figure=value, **more)


def at_most(label: str, cases: Sequence[str], value: Value, factor: float, source: str = "", **more: Any) -> Measure:
    """A number over the larger of NewReno's and CUBIC's."""

    def of(runs: Runs, case: str) -> float:
        return _over(value(runs.me(case)), max(map(value, runs.references(case))))

    why = source or f"{factor:g} times the more of NewReno and CUBIC"
    return Measure(label, "times", cases, of, factor, why, figure=value, **more)


def added(label: str, cases: Sequence[str], value: Value, bound: float, source: str = "", **more: Any) -> Measure:
    """How much a share is above the larger of NewReno's and CUBIC's."""

    def of(runs: Runs, case: str) -> float:
        return value(runs.me(case)) - max(map(value, runs.references(case)))

    why = source or f"{bound:.0%} more than the more of NewReno and CUBIC"
    return Measure(label, "ratio", cases, of, bound, why, figure=value, **more)


def over_own(
    label: str, case: str, other: str, value: Value, share: float = USE, source: str = "ours", **more: Any
) -> Measure:
    """A number over the scheme's own in another case."""
    return Measure(
        label,
        "times",
        [case],
        lambda runs, name: value(runs.me(name)) / (value(runs.me(other)) or math.nan),
        share,
        source,
        at_least=True,
        figure=value,
        **more,
    )


def added_to_own(
    label: str, case: str, other: str, value: Value, bound: float, source: str = "ours", **more: Any
) -> Measure:
    """How much a share is above the scheme's own in another case."""

    def of(runs: Runs, name: str) -> float:
        return value(runs.me(name)) - value(runs.me(other))

    return Measure(label, "ratio", [case], of, bound, source, figure=value, **more)


def harm(label: str, alone: Mapping[str, str], value: Value, *, less_is_better: bool = False, **more: Any) -> Measure:
    """How much more harm it does than NewReno or CUBIC in its place. `alone` has the case without it, by case."""

    def of(runs: Runs, case: str) -> float:
        before = value(runs.alone(alone[case]))

        def harmed(one: Facts) -> float:
            after = value(one)
            return _over(after - before, after) if less_is_better else _over(before - after, before)

        return harmed(runs.me(case)) - max(map(harmed, runs.references(case)))

    why = f"harm of the more harmful of NewReno and CUBIC, and {HARM:.0%}"
    return Measure(label, "ratio", list(alone), of, HARM, why, figure=value, **more)


def _over(value: float, other: float) -> float:
    """A ratio. Where there is nothing to compare with, as much as the reference has is one."""
    if other:
        return value / other
    return 1.0 if not value else math.copysign(math.inf, value)
