"""Explains a flow's state at a time, by walking backwards through the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from midpath.errors import UsageError
from midpath.scenario import parse
from midpath.trace.record import Event, Trace
from midpath.trace.words import at, span, value
from midpath.units import quantity

MOST = 10
"""Sentences."""

Rows = npt.NDArray[np.bool_]

STATES = ("window", "rate")
PHASES = ("fast recovery", "repair after a timeout")


def why(trace: Trace, flow: int, seconds: float) -> list[str]:
    """Ten sentences at most, the newest first."""
    start = _start(trace, flow) if (trace.columns["flow"] == flow).any() else None
    if start is not None and seconds < start:
        return [f"{at(seconds)}: flow {flow} had not started: it starts at {at(start)}"]
    return list(islice(_Walk(trace, flow, seconds).sentences(), MOST))


def _start(trace: Trace, flow: int) -> float | None:
    """When a flow starts, which the table of flows says."""
    flows = trace.result.flows
    rows = np.flatnonzero(flows["flow"].to_numpy() == flow)
    return float(flows["start_s"][int(rows[0])].as_py()) if len(rows) else None


class _Walk:
    """One flow, up to one time."""

    def __init__(self, trace: Trace, flow: int, seconds: float) -> None:
        self.trace = trace
        self.seconds = seconds
        self.flow = flow
        if not len(trace):
            raise UsageError("the trace is empty")
        mine = trace.columns["flow"] == flow
        if not mine.any():
            raise UsageError(f"--flow {flow}: the trace has no event of this flow")
        first, last = float(trace.time[0]), float(trace.time[-1])
        if not first <= seconds <= last:
            raise UsageError(f"--at {seconds:g} s: the trace is from {at(first)} to {at(last)}")
        self.until = mine & (trace.time <= seconds)

    def last(self, *what: str, before: int | None = None) -> Event | None:
        """The last of these events of the flow, before a row."""
        rows = np.flatnonzero(self.until[:before] & self.trace.is_of("event", *what)[:before])
        return self.trace.event(int(rows[-1])) if len(rows) else None

    def sentences(self) -> Iterator[str]:
        """From now backwards."""
        state = self.last(*STATES)
        phase = self.last("phase")
        if state is None:
            yield from self.of_packets()
            return
        doing = f", {phase.why}" if phase is not None and phase.why else ""
        yield f"{at(self.seconds)}: flow {self.flow}'s {state.what} at {state.node} is {value(state)}{doing}"
        yield from self.change(state)
        turn, fall = self.turn(state.row), self.fall(state)
        if turn is not None and (fall is None or self.is_within(turn, fall)):
            yield from self.of_turn(turn)
            yield from self.losses(turn.row)
        elif fall is not None:
            if fall.row != state.row:
                yield f"{at(fall.time)}: it last fell, to {value(fall)}, {self.because(fall)}"
            yield from self.told(fall)
            yield from self.losses(fall.row)
        else:
            yield from self.losses(state.row)

    def turn(self, row: int) -> Event | None:
        """The last time before a row that a repair began."""
        rows = np.flatnonzero(
            (self.until & self.trace.is_of("event", "phase") & self.trace.is_of("why", *PHASES))[:row]
        )
        return self.trace.event(int(rows[-1])) if len(rows) else None

    def is_within(self, turn: Event, fall: Event) -> bool:
        """Whether the repair was going on when the window fell."""
        phases = np.flatnonzero((self.until & self.trace.is_of("event", "phase"))[: fall.row])
        return turn.row < fall.row and bool(len(phases)) and int(phases[-1]) == turn.row

    def of_turn(self, turn: Event) -> Iterator[str]:
        """How a repair began."""
        before = self.last(*STATES, before=turn.row)
        was = f", at a {before.what} of {value(before)}" if before is not None else ""
        yield f"{at(turn.time)}: {turn.why} began{was}, {self.because(turn)}"
        yield from self.told(turn)

    def change(self, state: Event) -> Iterator[str]:
        """What the last change came from."""
        before = self.last(state.what, before=state.row)
        if before is not None:
            moved = "grew" if state.value > before.value else "fell"
            yield f"{at(state.time)}: it {moved} to that from {value(before)}, {self.because(state)}"
        else:
            yield f"{at(state.time)}: that is the first value in the trace, {self.because(state)}"

    def because(self, event: Event) -> str:
        """What made an end do something: the packet that came, or its timer."""
        for cause in islice(self.trace.back(event.cause), 8):
            if cause.what == "timeout":
                return "at a retransmission timeout"
            if cause.what == "delivered":
                return f"when {self.trace.said(cause)} came"
        return "for no packet in the trace"

    def fall(self, state: Event) -> Event | None:
        """The last time that the window or rate fell."""
        rows = np.flatnonzero(self.until & self.trace.is_of("event", state.what) & self.trace.is_of("node", state.node))
        values = self.trace.value[rows]
        falls = np.flatnonzero(np.diff(values) < 0)
        return self.trace.event(int(rows[falls[-1] + 1])) if len(falls) else None

    def told(self, event: Event) -> Iterator[str]:
        """The way of the packet that made an end do something."""
        packet = next((e for e in islice(self.trace.back(event.cause), 8) if e.what == "delivered"), None)
        if packet is not None:
            yield from self.way(packet)

    def way(self, told: Event) -> Iterator[str]:
        """How the packet came that told the sender."""
        events = self.trace.packet(told.packet)
        sent = events[0]
        waits = [event for event in events if event.what == "left"]
        longest = max(waits, key=lambda event: event.value, default=None)
        most = (
            f", {span(longest.value)} of them in the queue of {longest.place}" if longest and longest.value > 0 else ""
        )
        took = span(told.time - sent.time)
        yield f"{at(sent.time)}: {self.trace.said(told)} had left {sent.node}; it took {took}{most}"
        marks = [event for event in events if event.what == "marked"]
        for mark in marks[:1]:
            yield f"{at(mark.time)}: it was marked at {mark.place}"

    def losses(self, row: int) -> Iterator[str]:
        """What the flow had lost, or had marked, by then and since the fall before."""
        trace = self.trace
        lost = np.flatnonzero(self.until[:row] & trace.is_of("event", "dropped", "marked")[:row])
        if not len(lost):
            yield f"the trace has no loss or mark of flow {self.flow} before that"
            return
        before = self.turn(row)
        recent = lost[lost > before.row] if before is not None and (lost > before.row).any() else lost
        first = trace.event(int(recent[0]))
        reason = f": {first.why}" if first.why else ""
        fate = f"{first.what} at {first.place}{reason}{self.waiting(first)}"
        yield f"{at(first.time)}: {self.trace.said(first)} was {fate}"
        if len(recent) > 1:
            yield f"{len(recent) - 1} more of its packets were dropped or marked until then"
        yield from self.repeat(first)

    def waiting(self, drop: Event) -> str:
        """Whose packets waited where one was dropped."""
        trace = self.trace
        here = trace.is_of("node", drop.node) & trace.is_of("peer", drop.peer)
        queued = np.flatnonzero((here & trace.is_of("event", "queued"))[: drop.row])
        if not drop.peer or not len(queued):
            return ""
        # A queue's length is recorded with each packet that joins it.
        last = trace.event(int(queued[-1]))
        known = self.waiters(here, last.row + 1)
        rest = round(last.value) - sum(known.values())
        if rest > 0:
            shares = [*_shares(known), f"{quantity('bytes', rest)} {self.unrecorded}"]
            when = f", {span(drop.time - last.time)} before," if drop.time > last.time else ""
            return f"; there{when} waited {quantity('bytes', last.value)}: {', '.join(shares)}"
        known = self.waiters(here, drop.row)
        return f"; there waited {quantity('bytes', sum(known.values()))}: {', '.join(_shares(known))}" if known else ""

    def waiters(self, here: Rows, row: int) -> Counter[int]:
        """The bytes of recorded packets that wait at a port just before a row, by flow."""
        trace = self.trace
        queued = np.flatnonzero((here & trace.is_of("event", "queued"))[:row])
        gone = np.flatnonzero((here & trace.is_of("event", "left", "dropped"))[:row])
        packets, flows, sizes = (trace.columns[name] for name in ("packet", "flow", "size_bytes"))
        still = queued[np.isin(packets[queued], np.setdiff1d(packets[queued], packets[gone]))]
        found: Counter[int] = Counter()
        for r in still:
            found[int(flows[r])] += int(sizes[r])
        return found

    @property
    def unrecorded(self) -> str:
        """Whose the bytes are that the record has no packets of."""
        bounds = parse(str(self.trace.result.run.get("scenario", "")), None).get("trace", {})
        return "of flows not recorded" if {"flows", "slowest", "around"} & bounds.keys() else "not recorded"

    def repeat(self, lost: Event) -> Iterator[str]:
        """What became of what was lost."""
        again = np.flatnonzero(self.trace.of_same(lost) & self.trace.is_of("event", "repeated"))
        again = again[again > lost.row]
        if lost.what != "dropped" or not len(again):
            return
        first = self.trace.event(int(again[0]))
        end = self.trace.packet(first.packet)[-1]
        cause = f" ({first.why})" if first.why else ""
        fate = f"{end.what} at {end.place}, {at(end.time)}"
        yield f"{at(first.time)}: it was retransmitted as packet {first.packet}{cause}: {fate}"

    def of_packets(self) -> Iterator[str]:
        """Where the flow's sender was not recorded: its last packets."""
        yield f"{at(self.seconds)}: the trace has no window or rate of flow {self.flow}: its sender was not traced"
        for what in ("dropped", "marked", "queued", "left"):
            last = self.last(what)
            if last is not None:
                reason = f" ({last.why})" if last.why else ""
                yield f"{at(last.time)}: the last one {what}: {self.trace.said(last)} at {last.place}{reason}"


def _shares(bytes_of: Counter[int]) -> list[str]:
    """The largest, each with its flow; the others together."""
    largest = bytes_of.most_common(3)
    rest = sum(bytes_of.values()) - sum(size for _, size in largest)
    others = [f"{quantity('bytes', rest)} of {len(bytes_of) - len(largest)} others"] if rest else []
    return [*(f"{quantity('bytes', size)} of flow {flow}" for flow, size in largest), *others]
