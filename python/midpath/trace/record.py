"""The table `trace` as searchable columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from midpath.errors import OutputError
from midpath.result import Result, load

COUNTED = {"data": "from byte", "ACK": "for byte", "FIN": "at byte"}
NOTHING = -1
"""No packet, flow, port or cause."""

SENT = ("sent", "repeated")
"""What a packet's life begins with, when its beginning was recorded."""


@dataclass(frozen=True)
class Event:
    """One row of the table."""

    row: int
    time: float
    what: str
    node: str
    peer: str
    flow: int
    packet: int
    kind: str
    size: int
    number: int
    value: float
    why: str
    cause: int

    @property
    def place(self) -> str:
        """Where: a node, or a port as `r0>r1`."""
        return f"{self.node}>{self.peer}" if self.peer else self.node


class Trace:
    """The events of a run, in order of time."""

    def __init__(self, result: Result) -> None:
        table = result.tables.get("trace")
        if table is None:
            raise OutputError("this result has no trace: run it with [trace] in the scenario, or with --trace")
        missing = {"time_ps", "event", "cause", "packet", "why"} - set(table.column_names)
        if missing:
            raise OutputError(f"trace.parquet is from another version: it has no {', '.join(sorted(missing))}")
        self.result = result
        self.table = table

    @classmethod
    def of(cls, directory: str | Path) -> Trace:
        """The record of a result that was saved."""
        result = load(directory)
        try:
            return cls(result)
        except OutputError as error:
            raise OutputError(f"{directory}: {error}") from None

    def __len__(self) -> int:
        """How many events."""
        return int(self.table.num_rows)

    def _numbers(self, name: str) -> npt.NDArray[np.int64]:
        column = pc.fill_null(self.table[name].cast(pa.int64()), NOTHING)
        return np.asarray(column.to_numpy())

    def _texts(self, name: str) -> tuple[list[str], npt.NDArray[np.int64]]:
        column = self.table[name].combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        chunk = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        return [str(text) for text in chunk.dictionary.to_pylist()], np.asarray(chunk.indices.to_numpy(False))

    @cached_property
    def time(self) -> npt.NDArray[np.float64]:
        """In seconds."""
        return np.asarray(self.table["time_ps"].cast(pa.float64()).to_numpy()) / 1e12

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[np.int64]]:
        """Whole numbers by name; what is not there is `NOTHING`."""
        return {name: self._numbers(name) for name in ("flow", "packet", "cause", "size_bytes", "number")}

    @cached_property
    def texts(self) -> dict[str, tuple[list[str], npt.NDArray[np.int64]]]:
        """Texts by name: those that there are, and which of them each row has."""
        return {name: self._texts(name) for name in ("event", "node", "peer", "kind", "why")}

    @cached_property
    def value(self) -> npt.NDArray[np.float64]:
        """The number that belongs to each event."""
        return np.asarray(pc.fill_null(self.table["value"], float("nan")).to_numpy())

    def text(self, name: str, row: int) -> str:
        """One text."""
        dictionary, index = self.texts[name]
        return dictionary[int(index[row])]

    def event(self, row: int) -> Event:
        """One row."""
        numbers = {name: int(column[row]) for name, column in self.columns.items()}
        return Event(
            row=row,
            time=float(self.time[row]),
            what=self.text("event", row),
            node=self.text("node", row),
            peer=self.text("peer", row),
            flow=numbers["flow"],
            packet=numbers["packet"],
            kind=self.text("kind", row),
            size=numbers["size_bytes"],
            number=numbers["number"],
            value=float(self.value[row]),
            why=self.text("why", row),
            cause=numbers["cause"],
        )

    @cached_property
    def _first_numbers(self) -> dict[int, int]:
        """Of flows whose SYN was recorded: its number."""
        rows = np.flatnonzero(self.is_of("kind", "SYN"))[::-1]
        return {int(self.columns["flow"][row]): int(self.columns["number"][row]) for row in rows}

    def counted(self, event: Event) -> str:
        """A packet's number in words: from the flow's first byte on where its SYN was recorded."""
        first = self._first_numbers.get(event.flow)
        if first is None or event.kind not in COUNTED:
            return f"number {event.number}"
        return f"{COUNTED[event.kind]} {(event.number - first - 1) % 2**32:,}"

    def said(self, event: Event) -> str:
        """`packet 17 (data from byte 1,448)`."""
        return f"packet {event.packet} ({event.kind} {self.counted(event)})"

    def is_of(self, name: str, *wanted: str) -> npt.NDArray[np.bool_]:
        """Which rows have one of these texts."""
        dictionary, index = self.texts[name]
        known = [i for i, text in enumerate(dictionary) if text in wanted]
        return np.asarray(np.isin(index, known), dtype=np.bool_)

    def packet(self, number: int) -> list[Event]:
        """All that was recorded of one packet."""
        rows = np.flatnonzero(self.columns["packet"] == number)
        return [self.event(int(row)) for row in rows]

    def back(self, row: int) -> Iterator[Event]:
        """An event, its cause, that one's cause, and so on."""
        while row != NOTHING:
            event = self.event(row)
            yield event
            row = event.cause

    def of_same(self, event: Event) -> npt.NDArray[np.bool_]:
        """The rows about what a packet carries, be it this packet or a repeat of it."""
        columns = self.columns
        same = (columns["flow"] == event.flow) & (columns["number"] == event.number)
        return np.asarray(same & self.is_of("kind", event.kind), dtype=np.bool_)
