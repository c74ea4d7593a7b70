"""A trace in Perfetto's format: https://perfetto.dev/docs/reference/synthetic-track-event.

Processes are nodes. Below each, a track for each port with what it sends, a counter for its queue, and tracks for the
flows whose ends are there, with counters for their numbers. One packet's slices are joined by a flow of Perfetto's.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from midpath.storage import write_bytes
from midpath.trace.record import NOTHING, Trace
from midpath.trace.words import KINDS

# Field numbers and values of protos/perfetto/trace/trace_packet.proto, track_event/*.proto.
PACKET, TIMESTAMP, SEQUENCE, TRACK_EVENT, FLAGS, DESCRIPTOR = 1, 8, 10, 11, 13, 60
UUID, NAME, PROCESS, PARENT, COUNTER = 1, 2, 3, 5, 8
PID, PROCESS_NAME, UNIT, UNIT_NAME = 1, 6, 3, 6
TYPE, TRACK, EVENT_NAME, VALUE, FLOW, LAST_FLOW = 9, 11, 23, 44, 47, 48
BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4
SIZE_BYTES = 3
INSTANTS = ("phase", "timeout", "closed")
UNITS = {"bps": "bps", "seconds": "s"}


def write_perfetto(trace: Trace, path: str | Path) -> Path:
    """Writes the file, whole or not at all."""
    target = Path(path)
    write_bytes(target, b"".join(_message(PACKET, packet) for packet in packets(trace)))
    return target


def packets(trace: Trace) -> Iterator[bytes]:
    """The file's packets: tracks before their events, and these in order of time."""
    builder = _Builder(trace)
    events = sorted(builder.events(), key=lambda event: event[0])
    first = _number(SEQUENCE, 1) + _number(FLAGS, 1)
    for descriptor in builder.descriptors:
        yield first + _message(DESCRIPTOR, descriptor)
        first = _number(SEQUENCE, 1)
    for time, event in events:
        yield _number(TIMESTAMP, time) + _number(SEQUENCE, 1) + _message(TRACK_EVENT, event)


class _Builder:
    """Tracks by what they are of, and the events on them, with times in nanoseconds."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.descriptors: list[bytes] = []
        self.tracks: dict[tuple[str, ...], int] = {}
        self.levels: dict[tuple[str, str], float] = {}
        self.waiting: dict[int, tuple[str, str]] = {}
        links = trace.result.run["topology"]["links"]
        both = [(link["a"], link["b"], link["rate_bps"]) for link in links]
        self.rates = {(a, b): rate for a, b, rate in both} | {(b, a): rate for a, b, rate in both}
        for number, node in enumerate(trace.result.run["topology"]["nodes"], 1):
            process = _number(PID, number) + _text(PROCESS_NAME, node["name"])
            self.add((node["name"],), _message(PROCESS, process))

    def add(self, key: tuple[str, ...], more: bytes) -> int:
        """A track of this key, which is made on first use."""
        known = self.tracks.get(key)
        if known is not None:
            return known
        uuid = self.tracks[key] = len(self.tracks) + 1
        self.descriptors.append(_number(UUID, uuid) + more)
        return uuid

    def below(self, node: str, name: str, more: bytes = b"") -> int:
        """A track of a node."""
        return self.add((node, name), _text(NAME, name) + _number(PARENT, self.tracks[(node,)]) + more)

    def counter(self, node: str, name: str, kind: str | None) -> int:
        """A track with a number."""
        unit = _number(UNIT, SIZE_BYTES) if kind == "bytes" else _text(UNIT_NAME, UNITS.get(kind or "", ""))
        return self.below(node, name, _message(COUNTER, unit))

    def events(self) -> Iterator[tuple[int, bytes]]:
        """All events."""
        times = np.asarray(self.trace.table["time_ps"].to_numpy())
        for row in range(len(self.trace)):
            event, time = self.trace.event(row), int(times[row]) // 1000
            port, name = (event.node, event.peer), f"{event.kind} {event.packet}"
            if event.packet == NOTHING:
                if event.flow != NOTHING:
                    yield from self.of_end(time, event.node, event.flow, event.what, event.why, event.value)
                continue
            if event.what == "left":
                track = self.below(event.node, f"port to {event.peer}")
                rate = self.rates.get(port)
                sending = round(event.size * 8e9 / rate) if rate else 1
                yield time, _event(BEGIN, track) + _text(EVENT_NAME, name) + _fixed(FLOW, event.packet + 1)
                yield time + max(sending, 1), _event(END, track)
            elif event.what in ("dropped", "marked", "delivered", "sent", "repeated", "detoured"):
                track = self.below(event.node, f"port to {event.peer}" if event.peer else "hosts and routes")
                ends = LAST_FLOW if event.what in ("dropped", "delivered") else FLOW
                why = f": {event.why}" if event.why else ""
                yield (
                    time,
                    _event(INSTANT, track)
                    + _text(EVENT_NAME, f"{event.what} {name}{why}")
                    + _fixed(ends, event.packet + 1),
                )
            yield from self.of_queue(time, port, event.what, event.packet, event.size, event.value)

    def of_queue(
        self, time: int, port: tuple[str, str], what: str, packet: int, size: int, value: float
    ) -> Iterator[tuple[int, bytes]]:
        """What waits at a port, when that changes."""
        if what == "queued":
            self.waiting[packet], self.levels[port] = port, value
        elif what in ("left", "dropped") and self.waiting.get(packet) == port:
            del self.waiting[packet]
            self.levels[port] = max(0.0, self.levels.get(port, 0.0) - size)
        else:
            return
        yield time, _event(COUNT, self.counter(port[0], f"queue to {port[1]}", "bytes")) + _double(self.levels[port])

    def of_end(self, time: int, node: str, flow: int, what: str, why: str, value: float) -> Iterator[tuple[int, bytes]]:
        """What an end of a flow does."""
        if what in INSTANTS:
            track = self.below(node, f"flow {flow}")
            yield time, _event(INSTANT, track) + _text(EVENT_NAME, f"{what}: {why}" if why else what)
        elif not math.isnan(value):
            track = self.counter(node, f"{what} of flow {flow}", KINDS.get(what))
            yield time, _event(COUNT, track) + _double(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _double(value: float) -> bytes:
    return _varint(VALUE << 3 | 1) + struct.pack("<d", value)


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _event(kind: int, track: int) -> bytes:
    return _number(TYPE, kind) + _number(TRACK, track)
