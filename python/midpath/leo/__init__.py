"""Satellites in low orbits: positions over time, the links that follow from them, and a scenario of these."""

from midpath.leo.orbits import shell, tle
from midpath.leo.positions import Positions, read, write
from midpath.leo.scenario import scenario

__all__ = ["Positions", "read", "scenario", "shell", "tle", "write"]
