"""Schemes as they are compared: over the networks that they run in, or over the queues that they are made for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from midpath.palette import name
from midpath.schemes import Column, column, described, shipped

# What a scheme needs: hosts alone, queues that mark or drop early, or routers that run it.
ENDS, QUEUES, MIDPATH = "ends", "queues", "mid-path"
CLASSES = {
    ENDS: "hosts alone, over plain queues",
    QUEUES: "hosts, over queues that mark or drop early",
    MIDPATH: "routers take part",
}
# Schemes that answer no question of the matrix. Those of fabrics were measured on slow links
# (evidence/properties/transients/EXPLAINED.md).
LEFT_OUT = {
    "bfc": "windows of its hosts' rate: on a slower link timeouts repeat all that waits, and nothing new arrives",
    "eqds": "a fabric's credits, over queues that trim",
    "falcon": "a target of 25 us, below a packet's time on slow links, which idle; Swift stands for it",
    "fixed-window": "constant window",
    "gcc": "calls, which move no files",
    "inrpp-attack": "an attack",
    "ndp": "a fabric's pulls, over queues that trim",
    "scream": "calls, which move no files",
    "udp": "no congestion control",
    "uec": "a window of a packet at least, over queues that trim: many flows flood a slow link",
}
# The queues that a scheme is made for, where its runs would have plain ones.
# DCQCN's marks go by the queue's length now, and all packets are marked above `max` (§5.2 of its paper).
MADE_FOR: Mapping[str, dict[str, Any]] = {
    "prague": {"kind": "dualpi2"},
    "dcqcn": {"kind": "red", "max_p": "1 %", "weight": "100 %", "gentle": False},
}
# A transport that marks reach, over queues or a network that mark.
WITH_ECN = {"cubic": {"schemes.cubic.ecn": True}, "newreno": {"schemes.newreno.ecn": True}}
# Beside the schemes by themselves.
COMBINED = ("cubic@codel", "cubic@fq_codel", "cubic+rpm", "dctcp+rpm")


@dataclass(frozen=True)
class Entry:
    """One column."""

    name: str

    @property
    def scheme(self) -> str:
        """As a scenario names it: over the queue that it is made for."""
        return f"{self.name}@{MADE_FOR[self.name]['kind']}" if self.name in MADE_FOR else self.name

    @property
    def column(self) -> Column:
        """Its parts."""
        return column(self.scheme)

    @property
    def title(self) -> str:
        """As people write it."""
        return name(self.name)

    @property
    def changes(self) -> dict[str, Any]:
        """What a scenario needs for it, besides."""
        if own := MADE_FOR.get(self.name):
            return {f"queues.{own['kind']}": own}
        alone = self.name == self.column.transport
        return {} if alone else dict(WITH_ECN.get(self.column.transport, {}))

    @property
    def kind(self) -> str:
        """Of `CLASSES`."""
        about = described(self.column.network or self.column.transport)
        if about.routers and not about.needs_marks:
            return MIDPATH
        return QUEUES if about.needs_marks or self.column.queue else ENDS


def every(own: Iterable[str] = ()) -> list[str]:
    """The names of all columns: each scheme that carries flows, `own` ones, and the combinations."""
    alone = [one for one, about in shipped().items() if about.hosts and one not in LEFT_OUT]
    return sorted([*alone, *COMBINED, *own], key=lambda one: (list(CLASSES).index(Entry(one).kind), alone_first(one)))


def alone_first(one: str) -> tuple[str, bool, str]:
    """A transport stands before its combinations."""
    transport = column(one).transport
    return transport, one != transport, one


def columns(names: Sequence[str] | None, own: Iterable[str] = ()) -> list[Entry]:
    """The columns that were asked for, each once; all where none are."""
    return [Entry(one) for one in dict.fromkeys(names or every(own))]
