"""Applies the pilot's ratio of packet to fluid times to all flows of a run.

A flow's packet-level time is its fluid time, times the ratio of similar pilot flows: similar in fluid slowdown and
in time alone. Similar flows share a leaf of a tree that splits the pilot's flows at medians, along the dimension
that differs most. A pilot flow has its own ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from midpath.estimate.pilots import Flows, Indices, Pilot
from midpath.matched import Floats

# The figures that are estimated, all of completion times.
FIGURES = ("afct_s", "fct_p50_s", "fct_p99_s")
# A leaf has so many of the pilot's flows or more, and there are so many leaves at most. So many of its ratios stand for
# a flow, fewer where all flows would have more than so many times. (Bands are of runs that neither bound reached.)
LEAF, LEAVES, EACH, MOST = 8, 1_000, 8, 1_000_000
# Parts of the pilot, one after the other; each is left out once.
PARTS = 10
# Flows that are as slow are so by the fluid's arithmetic to so many digits.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Carried:
    """What a pilot tells, by figure as logarithms."""

    logs: dict[str, float]
    # The standard error of these.
    errors: dict[str, float]
    # What the whole run is over the pilot, both by the fluid.
    growth: dict[str, float]
    # The share of flows that are slower by the fluid than any of the pilot's, both over what they take alone.
    beyond: float
    # What flows beyond those of the fluid's run may add.
    rest: dict[str, float]


def carried(whole: Flows, pilot: Pilot, flows: float | None = None) -> Carried:
    """Figures of a run of so many flows, of which `whole` are the first (all if not said).

    Where flows do not end, all figures or their own are infinite.
    """
    if not (np.isfinite(whole.fct).all() and np.isfinite(pilot.fluid).all()):
        endless = dict.fromkeys(FIGURES, math.inf)
        return Carried(endless, endless, endless, 1.0, endless)
    parts, features = np.array_split(np.arange(pilot.fluid.size), PARTS), _features(whole.fct, whole.alone)
    every = np.array([figures(*_times(whole, features, pilot, part)) for part in (np.arange(0), *parts)])
    unknown = 1 - pilot.fluid.size / whole.fct.size
    logs, errors = {}, {}
    for name, values in zip(FIGURES, every.T, strict=True):
        ends = np.isfinite(values).all()
        logs[name] = float(np.log(values[0])) if ends else math.inf
        # The jackknife's error, and that of flows which the pilot has is none.
        errors[name] = math.sqrt(_jackknife(values[1:]) * unknown) if ends else math.inf
    growth = np.log(figures(whole.fct) / figures(pilot.fluid))
    slowest = (pilot.fluid / whole.alone[pilot.which]).max()
    beyond = float(np.mean(whole.fct / whole.alone > slowest * (1 + ROUNDING)))
    rest = _rest(whole.fct, flows or whole.fct.size)
    return Carried(logs, errors, dict(zip(FIGURES, map(float, growth), strict=True)), beyond, rest)


def _jackknife(without: Floats) -> Any:
    """The square of figures' relative standard error, from what they are without each part."""
    return (PARTS - 1) * np.log(without).var(axis=0)


def _rest(fct: Floats, flows: float) -> dict[str, float]:
    """What the flows of a run after these may change: the standard error of these as a sample in order of time (a
    jackknife over its parts), and what the later half differs by from all."""
    if flows <= fct.size:
        return dict.fromkeys(FIGURES, 0.0)
    parts = np.array_split(np.arange(fct.size), PARTS)
    without = np.array([figures(np.delete(fct, part)) for part in parts])
    late = np.log(figures(fct[fct.size // 2 :]) / figures(fct))
    rest = np.sqrt((_jackknife(without) + late**2) * (1 - fct.size / flows))
    return dict(zip(FIGURES, map(float, rest), strict=True))


def _times(whole: Flows, features: Floats, pilot: Pilot, left_out: Indices) -> tuple[Floats, Floats]:
    """What flows take by packets, and each time's weight, from the pilot without some of its flows."""
    kept = np.delete(np.arange(pilot.which.size), left_out)
    known = pilot.which[kept]
    others = np.delete(np.arange(whole.fct.size), known)
    ratios = pilot.packets[kept] / pilot.fluid[kept]
    like = _features(pilot.fluid[kept], whole.alone[known])
    times, weights = [whole.fct[known] * ratios], [np.ones(known.size)]
    least = max(LEAF, known.size // LEAVES)
    for inside, leaf in _leaves(like, np.arange(known.size), features, others, least):
        each = min(EACH, max(1, MOST // others.size), leaf.size)
        # Flows of a leaf take its ratios in turns.
        of = leaf[np.arange(inside.size * each) % leaf.size]
        times.append(np.repeat(whole.fct[inside], each) * ratios[of])
        weights.append(np.full(of.size, 1 / each))
    return np.concatenate(times), np.concatenate(weights)


def _features(fct: Floats, alone: Floats) -> Floats:
    """How many times as long as alone a flow takes by the fluid, and how long alone, as logarithms."""
    return np.column_stack([np.log(fct / alone), np.log(alone)])


def _leaves(
    like: Floats, pilot: Indices, features: Floats, others: Indices, least: int
) -> Iterator[tuple[Indices, Indices]]:
    """The flows of each leaf: others, and the pilot's, of whom it has `least` or more."""
    if not others.size:
        return
    axis = int(like[pilot].std(axis=0).argmax())
    values = like[pilot, axis]
    middle = float(np.median(values))
    low, other_low = values <= middle, features[others, axis] <= middle
    if not least <= low.sum() <= pilot.size - least:
        yield others, pilot
        return
    yield from _leaves(like, pilot[low], features, others[other_low], least)
    yield from _leaves(like, pilot[~low], features, others[~other_low], least)


def figures(times: Floats, weights: Floats | None = None) -> Floats:
    """Mean, median and 99th percentile."""
    weights = np.ones_like(times) if weights is None else weights
    order = np.argsort(times)
    times, shares = times[order], np.cumsum(weights[order])
    below = np.searchsorted(shares, shares[-1] * np.array([0.5, 0.99]))
    mean = np.average(times, weights=weights[order])
    return np.array([mean, *times[np.minimum(below, times.size - 1)]])
