"""Where schemes run that the simulator has not: a kernel, a program with stacks of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from midpath.result import Result
from midpath.scenario import Scenario


@dataclass(frozen=True)
class Platform:
    """One of them. Its schemes are `PLATFORM:SCHEME`."""

    title: str
    """As people write it: `Linux 6.1`."""
    version: str
    """With another one, runs are repeated."""
    schemes: Sequence[str]
    runner: Callable[[Scenario], Result]
    """A function of a module, for it runs in workers."""
    cannot: Callable[[Scenario], str]
    """Why a scenario cannot be run there; nothing where it can."""
    packets: str
    """A command that shows packets of `{file}` with `{seed}`."""
    has_references: bool
    """Whether NewReno and CUBIC are its own there, or the simulator's."""
    limit_s: float
    """A run that takes longer does not end."""
