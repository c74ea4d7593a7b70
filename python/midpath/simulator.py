"""Which compiled simulator runs: Midpath's own, or that of an installed package that adds schemes to it.

Such a package names its simulator by an entry point of the group `midpath.simulator` (`midpath new scheme` writes one).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

GROUP = "midpath.simulator"
NAME = "midpath._midpath"


def choose() -> None:
    """Puts the simulator where all of Midpath imports it from. To be called before anything does."""
    found = entry_points(group=GROUP)
    if found:
        sys.modules[NAME] = _load(found)


def _load(found: Iterable[EntryPoint]) -> ModuleType:
    # A package that is found in two folders of the path is listed twice.
    points = list({point.value: point for point in found}.values())
    if len(points) > 1:
        names = " and ".join(sorted(point.name for point in points))
        raise ImportError(f"{names} each bring a simulator of their own: install only one of them")
    module: ModuleType = points[0].load()
    # A module inside another has no file of its own; sweeps tell builds apart by it.
    module.__file__ = importlib.import_module(points[0].module).__file__
    return module
