"""The verdict of a claim, and its reason."""

from __future__ import annotations

import math

from midpath.papers.registry import Claim, Says
from midpath.papers.tolerance import Judgement
from midpath.stats import Estimate, seeds_for, within
from midpath.units import quantity

# Kinds whose values are compared with one, where a one-sided claim compares them with no effect; others with zero.
ONE = ("times",)
# More seeds than this are no advice.
MANY_SEEDS = 10_000


def judge(claim: Claim, ours: Estimate, bound: float | None) -> tuple[Judgement, str]:
    """The verdict on what was measured, with its reason."""
    if claim.says is Says.INFORMATION:
        return Judgement.INFORMATION, claim.why
    found = _judgement(claim, ours, bound)
    return found, _why(claim, ours, bound, found)


def _judgement(claim: Claim, ours: Estimate, bound: float | None) -> Judgement:
    limits = claim.tolerance.limits(claim.number, bound)
    if limits is None or not math.isfinite(ours.mean):
        return Judgement.FAILS
    if _has_no_interval(claim, ours) and not ours.is_whole:
        # One value of many: luck chose it.
        return Judgement.UNDECIDED
    is_within = within(ours.interval, limits)
    if is_within is False or _is_more_than_none(claim, ours, limits):
        return Judgement.FAILS
    if is_within:
        return Judgement.HOLDS if ours.is_whole and not _has_no_interval(claim, ours) else Judgement.UNDECIDED
    if ours.sequential:
        return Judgement.UNDECIDABLE
    half, room = ours.ci95, effect(claim, bound)
    too_wide = half is not None and room is not None and 2 * half > room
    return Judgement.UNDECIDABLE if too_wide else Judgement.UNDECIDED


def effect(claim: Claim, bound: float | None) -> float | None:
    """How much the claim is about: an interval that is wider could hardly have decided it, whatever came out.

    What `claim.toml` says it is; of a bound on both sides what is between them; of one on one side its distance from
    the paper's number or, without one within it, from no effect. None if that is nothing.
    """
    if claim.effect is not None:
        return claim.effect
    limits = claim.tolerance.limits(claim.number, bound)
    if limits is None:
        return None
    low, high = limits
    if math.isfinite(low) and math.isfinite(high):
        return high - low or None
    limit = low if math.isfinite(low) else high
    is_within = claim.number is not None and claim.number != limit and low <= claim.number <= high
    reference = claim.number if is_within and claim.number is not None else (1.0 if claim.kind in ONE else 0.0)
    return abs(reference - limit) or None


def _has_no_interval(claim: Claim, ours: Estimate) -> bool:
    """Whether chance can have decided: one run. What no run decides, a calculation, has one value."""
    return ours.ci95 is None and claim.says is not Says.THEORY


def _is_more_than_none(claim: Claim, ours: Estimate, limits: tuple[float, float]) -> bool:
    """Where the claim is that there are none, one is enough: no count is below zero to make up for it."""
    return claim.kind == "count" and limits[1] == 0 and ours.mean > 0


def _why(claim: Claim, ours: Estimate, bound: float | None, found: Judgement) -> str:
    text = claim.tolerance.text(claim.kind)
    parts = {
        Judgement.HOLDS: f"{text}: {claim.why}",
        Judgement.FAILS: claim.differs or f"not {text}: {claim.why}",
    }
    said = parts.get(found) or claim.differs or f"undecided whether {text}: {claim.why}"
    doubt = "" if found in parts else _doubt(claim, ours, bound, found)
    reasons = [f"{reason}." for reason in (_missing(ours), _extreme(ours), doubt) if reason]
    return " ".join([*reasons, said[0].upper() + said[1:]]) if reasons else said


def _missing(ours: Estimate) -> str:
    if ours.is_whole:
        return ""
    return f"Only {ours.n} of {ours.of} seeds gave a value"


def _extreme(ours: Estimate) -> str:
    if ours.group is None:
        return ""
    return f"Of {ours.groups} groups this is {ours.group}, with an interval that is corrected for their number"


def _doubt(claim: Claim, ours: Estimate, bound: float | None, found: Judgement) -> str:
    if not ours.is_whole:
        return ""
    if ours.ci95 is None:
        return "One value has no interval: it can contradict, not confirm"
    if ours.sequential:
        return f"{_after(claim, ours)}{_seeds(ours, _margin(claim, ours, bound), 'would decide if the mean stays')}"
    if found is Judgement.UNDECIDABLE:
        room = effect(claim, bound) or 0.0
        width, about = (quantity(claim.kind, value) for value in (2 * ours.ci95, room))
        wide = f"The interval is {width} wide, the claim is about {about}"
        return f"{wide}{_seeds(ours, room / 2, 'would do')}"
    margin = _margin(claim, ours, bound)
    return f"The interval reaches over the bound{_seeds(ours, margin, 'would decide if the mean stays')}"


def _after(claim: Claim, ours: Estimate) -> str:
    width = quantity(claim.kind, 2 * (ours.ci95 or 0.0))
    return f"After {ours.n} seeds, looked at as they came, the interval is {width} wide and reaches over the bound"


def _margin(claim: Claim, ours: Estimate, bound: float | None) -> float:
    """How far the mean is from the nearer end of what counts as the same."""
    limits = claim.tolerance.limits(claim.number, bound) or (-math.inf, math.inf)
    return min(abs(ours.mean - limit) for limit in limits)


def _seeds(ours: Estimate, half: float, would: str) -> str:
    wanted = seeds_for(ours, half, MANY_SEEDS)
    if wanted is None:
        return f"; not even {MANY_SEEDS:,} seeds {would}" if half > 0 else ""
    return f"; about {_rounded(wanted)} seeds {would}"


def _rounded(seeds: int) -> str:
    """Two digits: the spread is not known better."""
    return f"{round(seeds, 1 - int(math.log10(seeds))):,}" if seeds >= 100 else str(seeds)
