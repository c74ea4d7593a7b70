"""Seeds added until a claim is decided, or a budget of core time ends.

Undecided claims of a figure continue with the next seeds. Decided claims stay.
The interval is one of a confidence sequence (`midpath.stats.in_sequence`), which holds however often one looks: a
claim whose true value is just outside its bound is said to hold in at most 5 of 100 cases, the first look included.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from midpath.errors import UsageError
from midpath.papers import record
from midpath.papers.judging import judge
from midpath.papers.lab import Lab, Measured, MissingDataError, Values
from midpath.papers.registry import Figure, Says
from midpath.papers.runner import Measure, Verdict, load_measure
from midpath.papers.tolerance import Judgement
from midpath.run.drive import Threads

OPEN = (Judgement.UNDECIDED, Judgement.UNDECIDABLE)


@dataclass
class Budget:
    """Core time of this process, all its threads counted, in seconds."""

    seconds: float
    begin: float = field(default_factory=time.process_time)

    @property
    def spent(self) -> float:
        """How much has been used."""
        return time.process_time() - self.begin

    @property
    def is_left(self) -> bool:
        """Whether there is any."""
        return self.spent < self.seconds


class Going:
    """A figure with open claims, and what has been measured of them."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.verdicts = record.verdicts(figure)
        self.open = {verdict.claim.id for verdict in self.verdicts if _is_open(verdict)}
        self.first = 1 + max((verdict.ours.of for verdict in self.verdicts if verdict.ours), default=0)
        self.values: dict[str, Measured] = {
            verdict.claim.id: Measured(verdict.claim.id, verdict.values, verdict.bound, most=_is_most(verdict))
            for verdict in self.verdicts
            if verdict.values is not None and verdict.claim.id in self.open
        }
        self.seconds = 0.0
        self._before = float(record.stored(figure).get(record.ADDED, 0.0))
        self.why_not: str | None = None

    def go_on(self, measure: Measure, lab: Lab) -> None:
        """Takes in what the next seeds measure, and judges what is open."""
        try:
            found = {one.id: one for one in measure(lab)}
        except MissingDataError as error:
            self.why_not = str(error)
            return
        self.first += len(lab.seeds)
        for name in self.open:
            self.values[name] = _joined(self.figure.id, self.values[name], found.get(name))
        self.verdicts = [self._judged(verdict) for verdict in self.verdicts]
        self.open = {verdict.claim.id for verdict in self.verdicts if _is_open(verdict)}

    @property
    def added_core_s(self) -> float:
        """Core time of all seeds that were ever added to the kept results."""
        return self._before + self.seconds

    def _judged(self, verdict: Verdict) -> Verdict:
        name = verdict.claim.id
        if name not in self.open:
            return verdict
        one = self.values[name]
        ours = one.estimate(sequential=True)
        if ours is None or ours.ci95 is None or not math.isfinite(ours.ci95):
            return verdict
        judgement, why = judge(verdict.claim, ours, one.bound)
        return replace(verdict, ours=ours, judgement=judgement, why=why, values=one.values)


def run_until_decided(
    chosen: Iterable[Figure], minutes: float, *, jobs: int | None = None, rocketfuel: Path | None = None
) -> Iterator[Going]:
    """Goes on with the open claims of these figures, the one that has cost least first; yields after each batch.

    A batch is as many new seeds as the figure has. A batch that has begun ends, whatever it costs. Seeds of another
    version or other defaults are not added to.
    """
    going = [one for one in map(Going, chosen) if one.open]
    for one in going:
        record.require_as_now(one.figure)
    budget = Budget(60.0 * minutes)
    measures = {one.figure.id: load_measure(one.figure) for one in going}
    while budget.is_left and (left := [one for one in going if one.open and not one.why_not]):
        one = min(left, key=lambda one: one.seconds)
        before = budget.spent
        try:
            _batch(one, measures[one.figure.id], jobs, rocketfuel)
        except UsageError as error:
            if len(going) == 1:
                raise
            one.why_not = str(error)  # the others go on
        one.seconds += budget.spent - before
        yield one


def _batch(one: Going, measure: Measure, jobs: int | None, rocketfuel: Path | None) -> None:
    figure = one.figure
    seeds = range(one.first, one.first + figure.seeds)
    stray: list[str] = []  # runs that have been looked at before
    with Threads[str](jobs) as threads:
        lab = Lab(
            figure.directory,
            seeds,
            threads,
            perturb=figure.perturb,
            more=True,
            rocketfuel=rocketfuel,
            wanted=one.open,
            on_asked=lambda name: None if _seed(name) >= one.first else stray.append(name),
        )
        one.go_on(measure, lab)
    if stray:
        raise UsageError(f"{figure.id}: its measure.py runs seeds of its own ({stray[0]}): more seeds say nothing new")


def _seed(name: str) -> int:
    return int(name.rpartition("-")[2])


def _is_open(verdict: Verdict) -> bool:
    """Whether more seeds can decide it: a seed without a value stays without one."""
    ours = verdict.ours
    return (
        verdict.judgement in OPEN
        and verdict.claim.says not in (Says.THEORY, Says.INFORMATION)
        and ours is not None
        and ours.is_whole
        and verdict.values is not None
    )


def _is_most(verdict: Verdict) -> bool:
    """Whether the kept extreme is the largest of its groups."""
    if not isinstance(verdict.values, Mapping) or verdict.ours is None or verdict.ours.group is None:
        return False
    means = {name: sum(of) / len(of) for name, of in _whole(verdict.values).items()}
    return means.get(verdict.ours.group) == max(means.values())


def _whole(values: Mapping[str, Iterable[float | None]]) -> dict[str, list[float]]:
    found = {name: [value for value in of if value is not None] for name, of in values.items()}
    return {name: of for name, of in found.items() if of}


def _joined(figure: str, before: Measured, more: Measured | None) -> Measured:
    if more is None or more.skipped is not None:
        raise UsageError(f"{figure}: its measure.py no longer measures {before.id}")
    return replace(before, values=_added(figure, before, more.values))


def _added(figure: str, before: Measured, more: Values) -> Values:
    values = before.values
    if isinstance(values, Mapping) and isinstance(more, Mapping):
        if values.keys() != more.keys():
            raise UsageError(f"{figure}: {before.id} has other groups with other seeds")
        return {name: [*of, *more[name]] for name, of in values.items()}
    if isinstance(values, Mapping) or isinstance(more, Mapping):
        raise UsageError(f"{figure}: {before.id} is kept in groups and measured without, or the other way round")
    return [*values, *more]
