"""One packet's life, hop by hop, with its waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from midpath.errors import UsageError
from midpath.trace.record import SENT, Event, Trace
from midpath.trace.words import at, span, value

ENDS = ("delivered", "dropped", "consumed")


@dataclass(frozen=True)
class Life:
    """A packet's events, and sentences about it."""

    events: list[Event]
    about: list[str]

    def rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Time, time since the event before, place, event, what belongs to it."""
        before = self.events[0].time
        for event in self.events:
            yield (at(event.time), span(event.time - before), event.place, event.what, _detail(event))
            before = event.time


def packet_life(trace: Trace, number: int) -> Life:
    """The life of the packet with this number."""
    events = trace.packet(number)
    if not events:
        last = int(trace.columns["packet"].max(initial=-1))
        there = f"it has 0 to {last}" if last >= 0 else "it has none"
        raise UsageError(f"packet {number}: not in the trace; {there}")
    return Life(events, list(_about(trace, events)))


def _about(trace: Trace, events: list[Event]) -> Iterator[str]:
    first, last = events[0], events[-1]
    flow = f"of flow {first.flow}" if first.flow >= 0 else "between neighbours"
    yield f"packet {first.packet}: {first.kind} {flow}, {trace.counted(first)}, {first.size:,} B"
    waits = sum(event.value for event in events if event.what == "left")
    took = f"{span(last.time - first.time)}, {span(waits)} of them in queues"
    known = "" if first.what in SENT else "; its start was not recorded"
    how = (
        f"{last.what} at {last.place}{f' ({last.why})' if last.why else ''}" if last.what in ENDS else "still in flight"
    )
    yield f"{how} after {took}{known}"
    yield from _repeats(trace, events)


def _repeats(trace: Trace, events: list[Event]) -> Iterator[str]:
    """What it repeats, and what repeats it."""
    first = events[0]
    starts = trace.of_same(first) & trace.is_of("event", *SENT) & trace.is_of("node", first.node)
    for row in np.flatnonzero(starts):
        other = trace.event(int(row))
        if other.packet == first.packet:
            continue
        end = trace.packet(other.packet)[-1]
        fate = f"{end.what} at {end.place}" if end.what in ENDS else "still in flight at the end of the record"
        if other.time < first.time and first.what == "repeated":
            yield f"it retransmits packet {other.packet}, sent at {at(other.time)}, {fate}"
        if other.time > first.time and other.what == "repeated":
            yield f"it was retransmitted at {at(other.time)} as packet {other.packet} ({other.why or 'repair'}), {fate}"


def _detail(event: Event) -> str:
    number = value(event)
    said = {"queued": f"{number} wait there", "left": f"after {number} in the queue" if event.value > 0 else "at once"}
    return "; ".join(part for part in (event.why, said.get(event.what, number)) if part)
