"""Hardware counters of one run, read by the extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Of a counter: what it counted, and for how many nanoseconds it was wanted and was running; or why there is none.
Reading = Sequence[int] | str

# Counted by the processor; page faults are the kernel's, and always there.
HARDWARE = ("cycles", "instructions", "cache_misses", "branch_misses")


def counted(readings: Mapping[str, Reading]) -> dict[str, float]:
    """What was counted, by counter, without those that are not there.

    A processor with fewer places than counters runs each for a share of the time, so counts are scaled up.
    """
    found = {}
    for name, reading in readings.items():
        if isinstance(reading, str):
            continue
        count, wanted, running = reading
        if running > 0:
            found[name] = count * wanted / running
    return found


def missing(readings: Mapping[str, Reading]) -> str | None:
    """Why there are no hardware counters; `None` if there is any."""
    if counted({name: readings[name] for name in HARDWARE if name in readings}):
        return None
    reasons = [reading for name in HARDWARE if isinstance(reading := readings.get(name), str)]
    return reasons[0] if reasons else "the hardware counters were never free"
