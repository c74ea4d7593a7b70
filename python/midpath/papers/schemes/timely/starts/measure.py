"""How unlike the rates of two flows stay that start apart."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.lab import Lab, Measured
from midpath.papers.schemes.starts import ratios


def measure(lab: Lab) -> Iterator[Measured]:
    """The least fair of three distances between starts."""
    yield Measured("unlike", ratios(lab), most=True)
