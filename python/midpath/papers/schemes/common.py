"""Measurements shared by schemes' figures: paired comparisons of two schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Numbers = Sequence[float | None]


def saved(ours: Numbers, theirs: Numbers) -> list[float | None]:
    """By what share ours are less than theirs."""
    return _beside(ours, theirs, lambda a, b: 1 - a / b)


def gain(ours: Numbers, theirs: Numbers) -> list[float | None]:
    """How many times ours theirs are."""
    return _beside(ours, theirs, lambda a, b: b / a)


def _beside(ours: Numbers, theirs: Numbers, figure: Callable[[float, float], float]) -> list[float | None]:
    pairs = zip(ours, theirs, strict=True)
    return [figure(a, b) if a is not None and b is not None else None for a, b in pairs]
