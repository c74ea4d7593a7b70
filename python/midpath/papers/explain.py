"""Explains failing claims: tries what the paper leaves open, choice by choice, with separate seeds.

A reading explains a claim if the claim holds under it, and all other claims of the figure that held still hold.
Among many readings one may do so by chance, so it is confirmed with new seeds, and only that counts. The verdict is
shown beside the plain one and never replaces it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from midpath.errors import UsageError
from midpath.papers import record
from midpath.papers.openings import Contradiction, Openings, Reading, openings
from midpath.papers.registry import OPEN, Claim, Figure
from midpath.papers.runner import Verdict, run_figure
from midpath.papers.tolerance import Judgement

# The first seeds of the search, and of the run that confirms what it has found.
SEARCH, CONFIRM = 10_001, 20_001
# How many of the readings that were found are run again: those that depart in the fewest things.
CANDIDATES = 3


class Explained(StrEnum):
    """What a search ends in."""

    READING = "holds under a reading"
    NONE = "no reading that was tried holds"
    CONTRADICTION = "the paper contradicts itself"
    NOT_SEARCHED = "nothing is written down as open"


@dataclass(frozen=True)
class Trial:
    """A figure run under a reading: its verdicts."""

    reading: Reading
    verdicts: Sequence[Verdict]

    def judgement(self, claim: str) -> Judgement:
        """What became of a claim."""
        return next(verdict.judgement for verdict in self.verdicts if verdict.claim.id == claim)

    def broken(self, standing: Iterable[str]) -> list[str]:
        """Which of these claims do not hold with it."""
        return [claim for claim in standing if self.judgement(claim) is Judgement.FAILS]

    def unsettled(self, standing: Iterable[str]) -> list[str]:
        """Which of them it leaves undecided."""
        return [claim for claim in standing if self.judgement(claim) not in (Judgement.FAILS, Judgement.HOLDS)]


@dataclass
class Explanation:
    """Why a claim does not hold, as far as the search tells."""

    claim: Claim
    verdict: Explained
    reading: Reading | None = None
    contradiction: Contradiction | None = None
    # Readings with which it holds, and which claims each of them breaks.
    rescues: list[tuple[Reading, list[str]]] = field(default_factory=list)

    def text(self, search: Search) -> str:
        """For people: one line."""
        if self.contradiction is not None:
            said = " Against that: ".join(f'"{sentence}"' for sentence in self.contradiction.sentences)
            return f"{self.verdict}. {said} {self.contradiction.because} Shown by `{self.contradiction.shown_by}`."
        if self.reading is not None:
            return f"{self.verdict}, with all other claims of the figure that hold: {said_of(self.reading)}."
        if self.verdict is Explained.NOT_SEARCHED:
            return f"{self.verdict}."
        tried = f"{self.verdict} ({len(search.trials)} of {search.of})"
        return f"{tried}{''.join(f'; {line}' for line in self._rescues())}."

    def _rescues(self) -> Iterator[str]:
        for reading, broken in self.rescues[:CANDIDATES]:
            then = f"breaks {', '.join(broken)}" if broken else "was not confirmed with other seeds"
            yield f"{said_of(reading)} {then}"


def said_of(reading: Reading) -> str:
    """Its choices that are not what stands."""
    return ", ".join(f"{name} = {label}" for name, label in reading.departs().items()) or "as it stands"


@dataclass
class Search:
    """What was tried for one figure, and what came of it."""

    figure: Figure
    found: Openings
    seeds: int
    trials: list[Trial] = field(default_factory=list)
    confirmed: list[Trial] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)

    @property
    def of(self) -> int:
        """How many readings there are to try."""
        return len(self.found.readings())


Run = Callable[[Figure, Reading, int], Sequence[Verdict]]


def explain(
    figure: Figure,
    *,
    seeds: int | None = None,
    minutes: float | None = None,
    jobs: int | None = None,
    rocketfuel: Path | None = None,
    on_trial: Callable[[Trial, int, int], None] | None = None,
) -> Search:
    """Searches for readings under which the claims of a figure hold that do not hold as it stands.

    Each reading runs the figure with `seeds` seeds, as many as the figure has unless said. After `minutes` of core
    time no further reading is begun: how many were tried is said.
    """
    if minutes is not None and not minutes > 0:
        raise UsageError("a search needs more than 0 minutes of core time")
    begin = time.process_time()

    def run(figure: Figure, reading: Reading, first_seed: int) -> Sequence[Verdict]:
        return run_figure(figure, seeds=seeds, first_seed=first_seed, jobs=jobs, rocketfuel=rocketfuel, reading=reading)

    def is_left() -> bool:
        return minutes is None or time.process_time() - begin < 60.0 * minutes

    return searched(figure, run, is_left, seeds or figure.seeds, on_trial)


def try_reading(
    figure: Figure,
    chosen: Sequence[str],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    rocketfuel: Path | None = None,
) -> Trial:
    """The figure under one reading, given as `NAME=CHOICE`."""
    reading = openings(figure).reading(chosen)
    found = run_figure(figure, seeds=seeds, first_seed=SEARCH, jobs=jobs, rocketfuel=rocketfuel, reading=reading)
    return Trial(reading, found)


def searched(
    figure: Figure,
    run: Run,
    is_left: Callable[[], bool],
    seeds: int,
    on_trial: Callable[[Trial, int, int], None] | None = None,
) -> Search:
    """The same with a way to run the figure, and to say whether there is time for more."""
    failing, standing = [verdict.claim for verdict in failing_claims(figure)], standing_claims(figure)
    if not failing:
        raise UsageError(f"{figure.id}: no claim of the paper's fails in the kept results: nothing is to be explained")
    search = Search(figure, openings(figure), seeds)
    _require_shown(figure, filter(None, (search.found.contradiction(claim.id) for claim in failing)))
    left = [claim for claim in failing if search.found.contradiction(claim.id) is None]
    for reading in search.found.readings() if left else []:
        if not is_left():
            break
        search.trials.append(Trial(reading, run(figure, reading, SEARCH)))
        if on_trial is not None:
            on_trial(search.trials[-1], len(search.trials), search.of)
    _confirm(search, left, standing, run)
    search.explanations = [_explained(search, claim, standing) for claim in failing]
    return search


def failing_claims(figure: Figure) -> list[Verdict]:
    """The paper's claims that do not hold in the kept results."""
    return [verdict for verdict in record.verdicts(figure) if verdict.fails and verdict.claim.counts]


def standing_claims(figure: Figure) -> list[str]:
    """The paper's claims that hold there."""
    found = record.verdicts(figure)
    return [one.claim.id for one in found if one.judgement is Judgement.HOLDS and one.claim.counts]


def _confirm(search: Search, claims: Iterable[Claim], standing: Sequence[str], run: Run) -> None:
    wanted: list[Reading] = []
    for claim in claims:
        good = [trial.reading for trial in search.trials if _rescues(trial, claim) and not trial.broken(standing)]
        wanted += [reading for reading in good[:CANDIDATES] if reading not in wanted]
    search.confirmed = [Trial(reading, run(search.figure, reading, CONFIRM)) for reading in wanted]


def _rescues(trial: Trial, claim: Claim) -> bool:
    return trial.judgement(claim.id) is Judgement.HOLDS


def _explained(search: Search, claim: Claim, standing: Sequence[str]) -> Explanation:
    against = search.found.contradiction(claim.id)
    if against is not None:
        return Explanation(claim, Explained.CONTRADICTION, contradiction=against)
    for trial in search.confirmed:
        if _rescues(trial, claim) and not trial.broken(standing) and not trial.unsettled(standing):
            return Explanation(claim, Explained.READING, reading=trial.reading)
    if not search.trials:
        return Explanation(claim, Explained.NOT_SEARCHED)
    rescues = [(trial.reading, trial.broken(standing)) for trial in search.trials if _rescues(trial, claim)]
    return Explanation(claim, Explained.NONE, rescues=sorted(rescues, key=lambda one: len(one[1])))


def _require_shown(figure: Figure, contradictions: Iterable[Contradiction]) -> None:
    held = [verdict.claim.id for verdict in record.verdicts(figure) if verdict.judgement is Judgement.HOLDS]
    for against in contradictions:
        if against.shown_by not in held:
            raise UsageError(
                f"{figure.id}: {OPEN} says that {against.shown_by} shows a contradiction; it does not hold"
            )
