"""Explains how long a datagram of a call took: where it waited, and whose bytes went first."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from midpath.errors import UsageError
from midpath.result import Result
from midpath.trace.critical import Way
from midpath.trace.record import NOTHING, Trace
from midpath.trace.words import at, span
from midpath.units import listed, quantity

PARTS = {"queued": "queue", "left": "network"}
"""What goes by from an event on; from another one `blocked`: at the sender, or kept by a scheme."""

MOST = 3
"""Flows that are named of those whose bytes went first."""


class DatagramWay(Way):
    """The way of one of a group's datagrams, from when its sender had it to its delivery."""

    word = "datagram"

    def __init__(self, trace: Trace, group: str, number: int | None = None) -> None:
        """`number` is a packet of the trace, by default that which took longest."""
        self.trace, self.application = trace, group
        self.flows = trace.result.flows
        own = delays(trace, group)
        if not own:
            raise UsageError(f"no datagram of `{group}` was recorded from its start to its delivery")
        self.number = max(own, key=lambda packet: (own[packet], -packet)) if number is None else number
        if self.number not in own:
            said = f"packet {number} is no datagram of `{group}` that was recorded from its start to its delivery"
            raise UsageError(f"{said}, such as {listed([str(packet) for packet in sorted(own)[:3]])}")
        self.events = trace.packet(self.number)
        self.pieces = self._cut()

    def _cut(self) -> list[dict[str, Any]]:
        first, begin = self.events[0], self.events[0].time - self.events[0].value
        found: list[dict[str, Any]] = []
        part, place = "blocked", ""
        for event in self.events:
            node, _, peer = place.partition(">")
            if event.time > begin:
                piece = {"application": self.application, "number": self.number, "part": part, "flow": first.flow}
                found.append(piece | {"from_s": begin, "until_s": event.time, "link_from": node, "link_to": peer})
            begin, part, place = event.time, PARTS.get(event.what, "blocked"), event.place
        return found

    def name_of(self, piece: dict[str, Any]) -> str:
        """The port or the link, else the sender."""
        return f"{piece['link_from']}>{piece['link_to']}" if piece["link_from"] else "its sender"

    def went_first(self, piece: dict[str, Any]) -> dict[int, int]:
        """Bytes by flow that left a queue while it waited there; of packets between neighbours, flow -1."""
        trace = self.trace
        rows = trace.is_of("event", "left") & trace.is_of("node", piece["link_from"])
        rows &= trace.is_of("peer", piece["link_to"]) & (trace.columns["packet"] != self.number)
        rows &= (trace.time >= piece["from_s"]) & (trace.time < piece["until_s"])
        flows, sizes = trace.columns["flow"][rows], trace.columns["size_bytes"][rows]
        return {int(flow): int(sizes[flows == flow].sum()) for flow in np.unique(flows)}

    def sentences(self) -> list[str]:
        """Its delay, then its waits and links, the longest first."""
        first = self.events[0]
        took = span(self.end - self.start)
        told = [
            f"{at(self.end)}: datagram {self.number} of {self.application} ({self._flow(first.flow)}, "
            f"{first.size:,} B) was delivered after {took}: {self._parts()}"
        ]
        for piece in sorted(self.pieces, key=lambda piece: piece["from_s"] - piece["until_s"]):
            told.append(self._told(piece))
        return told

    def _told(self, piece: dict[str, Any]) -> str:
        begins, took, where = at(piece["from_s"]), span(piece["until_s"] - piece["from_s"]), self.name_of(piece)
        if piece["part"] == "network":
            return f"{begins}: the link {where} took {took}"
        if piece["part"] == "blocked":
            return f"{begins}: {took} at {where}, for its window or pace"
        first = self.went_first(piece)
        total = quantity("bytes", sum(first.values()))
        most_first = sorted(first.items(), key=lambda one: -one[1])
        own = [f"{quantity('bytes', size)} of {self._flow(flow)}" for flow, size in most_first]
        more = [f"{len(own) - MOST} others"] if len(own) > MOST else []
        behind = f"while {total} went first: {listed(own[:MOST] + more)}" if own else "behind what was being sent"
        if not self.is_whole:
            behind = f"{behind} (of the flows that were recorded; others are not known)"
        return f"{begins}: {took} in the queue at {where} {behind}"

    @cached_property
    def is_whole(self) -> bool:
        """Whether packets of every flow are in the trace: `[trace]` may name some."""
        recorded = np.unique(self.trace.columns["flow"])
        return bool((recorded != NOTHING).sum() >= self.flows.num_rows)

    def _flow(self, flow: int) -> str:
        if flow == NOTHING:
            return "packets between neighbours"
        row = self.flows.slice(flow, 1).select(["src", "dst", "group"]).to_pylist()[0]
        return f"flow {flow} ({row['group'] or row['src'] + '>' + row['dst']})"


def groups(result: Result) -> list[str]:
    """Groups with datagrams."""
    table = result.tables.get("datagrams")
    return [] if table is None else sorted(str(name) for name in pc.unique(table["group"]).to_pylist() if name)


def delays(trace: Trace, group: str) -> dict[int, float]:
    """How long each datagram took, by packet: those recorded from their start to their delivery."""
    table = trace.result.tables["datagrams"]
    flows = table.filter(pc.equal(table["group"], group))["flow"].to_pylist()
    own: npt.NDArray[np.bool_] = np.isin(trace.columns["flow"], flows) & trace.is_of("kind", "datagram")
    # Reports go without a time of their own.
    starts = np.flatnonzero(own & trace.is_of("event", "sent") & ~np.isnan(trace.value))
    ends = np.flatnonzero(own & trace.is_of("event", "delivered"))
    packets = trace.columns["packet"]
    began = {int(packets[row]): float(trace.time[row] - trace.value[row]) for row in starts}
    return {
        int(packets[row]): float(trace.time[row]) - began[int(packets[row])]
        for row in ends
        if int(packets[row]) in began
    }


def longest(trace: Trace, most: int) -> list[DatagramWay]:
    """The datagrams of each group that took longest, `most` in all, in order of their starts."""
    known = [(took, group, one) for group in groups(trace.result) for one, took in delays(trace, group).items()]
    chosen = sorted(known, reverse=True)[:most]
    return sorted((DatagramWay(trace, group, packet) for _, group, packet in chosen), key=lambda way: way.start)
