"""Verdicts: a measure's interval over the seeds against its bound, and an item's from its measures'."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from midpath.evaluate.facts import SUBJECT
from midpath.evaluate.items import LEVELS, ME, MUST, Item, Measure, Runs, Subject
from midpath.evaluate.scenes import MTU
from midpath.evaluate.work import Done
from midpath.stats import Estimate, ends, estimate, jointly, within

HOLDS, NOT, UNDECIDED, FAILED = "holds", "does not hold", "undecided", "failed"
# An item that does not apply, asks for a text, or cannot be simulated.
OFF, TEXT, UNBUILT = "not applicable", "to be written", "not built"
VERDICTS = (HOLDS, NOT, UNDECIDED, FAILED, OFF, TEXT, UNBUILT)
# The worst of an item's measures is the item's; measures of a weaker level than its own have verdicts of their own.
WORST = (FAILED, NOT, UNDECIDED, HOLDS)
# Bytes of a run, of ten packets: an initial window after which nothing comes.
NOTHING = 10 * MTU
# JSON has no infinity, and nothing no logarithm: ratios are at most and at least so much.
MOST, LEAST = 1e9, 1e-3


@dataclass(frozen=True)
class Worst:
    """Of a measure's worst case: its mean over the seeds, and an interval that holds for all cases at once."""

    case: str
    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """As evaluation.json has it."""
        return {"case": self.case} | {key: shown(getattr(self, key)) for key in ("mean", "low", "high")}


@dataclass(frozen=True)
class Measured:
    """A measure with what was found: by case a value for each seed, and the worst case."""

    measure: Measure
    level: str
    values: dict[str, list[float | None]]
    worst: Worst | None
    verdict: str
    figures: dict[str, list[float | None]] = field(default_factory=dict)
    """What values are made of: the scheme's own."""

    def to_json(self) -> dict[str, Any]:
        """As evaluation.json has it."""
        return {
            "measure": self.measure.label,
            "level": self.level,
            "kind": self.measure.kind,
            "bound": self.measure.bound,
            "bound_is": "at least" if self.measure.at_least else "at most",
            "bound_from": self.measure.source,
            "verdict": self.verdict,
            "worst": self.worst.to_json() if self.worst else None,
            "values": _shown(self.values),
            "figures": _shown(self.figures),
        }


@dataclass(frozen=True)
class Row:
    """An item of a scheme: the verdict, why, and the measures behind it."""

    item: Item
    subject: Subject
    verdict: str
    why: str
    measures: Sequence[Measured] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Cases that do not apply, with the reason."""
    case: str = ""
    """The one that is drawn, and whose packets are shown."""
    runs: Runs | None = None
    """With the first seed."""

    @property
    def look(self) -> dict[str, Any] | None:
        """Which flow of the case `midpath why` is asked about, and when."""
        if self.runs is None:
            return None
        own = self.runs.me(self.case)
        flow = own.group(SUBJECT)["first"] if SUBJECT in own.groups else 0
        return {"case": self.case, "flow": flow, "at_s": next(c.look for c in self.item.cases if c.name == self.case)}

    def to_json(self) -> dict[str, Any]:
        """As evaluation.json has it."""
        return {
            "item": self.item.name,
            "title": self.item.title,
            "level": self.item.level,
            "scheme": self.subject.title,
            "verdict": self.verdict,
            "why": self.why,
            "not_built": self.item.missing,
            "not_applicable": dict(self.refused),
            "look": self.look,
            "measures": [one.to_json() for one in self.measures],
        }


def row(item: Item, subject: Subject, done: Done, seeds: Sequence[int]) -> Row:
    """What came of an item."""
    if item.text:
        return Row(item, subject, TEXT, item.text)
    if not item.cases:
        return Row(item, subject, UNBUILT, item.missing)
    if why := item.applies(subject):
        return Row(item, subject, OFF, why)
    refused = done.refused_cases(item, subject)
    asked = [one for one in (without(measure, refused) for measure in item.measures) if one]
    if not asked:
        return Row(item, subject, OFF, next(iter(refused.values())))
    if why := done.error(item, subject):
        return Row(item, subject, FAILED, why)
    all_runs = [done.runs(item, subject, seed) for seed in seeds]
    if why := silent(item, all_runs):
        return Row(item, subject, FAILED, why)
    measures = [measured(one, item, all_runs) for one in asked]
    counted = [one for one in measures if LEVELS.index(one.level) <= LEVELS.index(item.level)]
    verdict = next(one for one in WORST if any(found.verdict == one for found in counted))
    # What the verdict is from: the worst case of the first measure that has it.
    decisive = next(one for one in counted if one.verdict == verdict)
    case = decisive.worst.case if decisive.worst else decisive.measure.cases[0]
    return Row(item, subject, verdict, said(verdict, counted), measures, refused, case, all_runs[0])


def without(measure: Measure, refused: Mapping[str, str]) -> Measure | None:
    """A measure in the cases that a scheme can run; none if there is none."""
    cases = [case for case in measure.cases if case not in refused]
    return replace(measure, cases=cases) if cases else None


def silent(item: Item, all_runs: Sequence[Runs]) -> str:
    """Whether the scheme delivers nothing where it could."""
    for case in item.cases:
        own = [found for runs in all_runs if (found := runs.facts.get((case.name, ME)))]
        if case.by or case.dead or not own:
            continue
        if all(SUBJECT in one.groups and one.group(SUBJECT)["delivered_bytes"] < NOTHING for one in own):
            return f"{case.name}: it delivers nothing, or a few packets"
    return ""


def measured(measure: Measure, item: Item, all_runs: Sequence[Runs]) -> Measured:
    """A measure over the seeds."""
    values = {case: [_number(measure.of(runs, case)) for runs in all_runs] for case in measure.cases}
    figure, found = measure.figure, worst(measure, values)
    own = {case: [_number(figure(runs.me(case))) for runs in all_runs] for case in measure.cases if figure}
    return Measured(measure, measure.level or item.level, values, found, judged(measure, found), own)


def worst(measure: Measure, values: Mapping[str, Sequence[float | None]]) -> Worst | None:
    """The case with the largest mean, or the least where the bound is from below.

    Intervals hold `jointly`. Ratios are averaged as logarithms: twice and half are as far. One seed tells no luck.
    """
    level = jointly(len(values))
    is_ratio = measure.kind == "times"
    found: dict[str, Estimate] = {}
    for case, own in values.items():
        known = [math.log(max(v, LEAST)) if is_ratio else v for v in own if v is not None]
        one = estimate(known, level)
        if one is None or len(known) < len(own):
            return None
        found[case] = one
    case, low, high = ends(found, most=not measure.at_least)
    three = found[case].mean, low, high
    return Worst(case, *(math.exp(x) if is_ratio else x for x in three))


def judged(measure: Measure, found: Worst | None) -> str:
    """Whether the interval is within the bound, beyond it, or both."""
    if found is None:
        return UNDECIDED
    limits = (measure.bound, math.inf) if measure.at_least else (-math.inf, measure.bound)
    return {True: HOLDS, False: NOT, None: UNDECIDED}[within((found.low, found.high), limits)]


def said(verdict: str, measures: Sequence[Measured]) -> str:
    """Which measures an item's verdict is from."""
    decisive = [one for one in measures if one.verdict == verdict]
    if verdict == HOLDS:
        return ""
    musts = " (MUST)" if any(one.level == MUST for one in decisive) else ""
    return "; ".join(f"{one.measure.label}{'' if one.worst else ': no value'}" for one in decisive) + musts


def shown(value: float) -> float:
    """To six digits."""
    return float(f"{max(-MOST, min(MOST, value)):.6g}")


def _shown(values: Mapping[str, Sequence[float | None]]) -> dict[str, list[float | None]]:
    return {case: [None if v is None else shown(v) for v in own] for case, own in values.items()}


def _number(value: float | None) -> float | None:
    if value is None or math.isnan(value):
        return None
    return max(-MOST, min(MOST, value))
