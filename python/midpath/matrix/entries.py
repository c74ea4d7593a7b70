"""The columns of the matrix: a scheme, over the network that it runs in or under the queues that it is made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from midpath.errors import UsageError, no_such
from midpath.palette import name
from midpath.schemes import described, shipped

# What a scheme needs: hosts alone, queues that mark or drop early, or routers that run it.
ENDS, QUEUES, MIDPATH = "ends", "queues", "mid-path"
CLASSES = {
    ENDS: "hosts alone, over plain queues",
    QUEUES: "hosts, over queues that mark or drop early",
    MIDPATH: "routers take part",
}
# What stands between a transport and the queues that it runs over.
OVER = "@"
# Schemes that answer no question of the matrix.
LEFT_OUT = {"fixed-window": "its window never changes", "inrpp-attack": "an attack", "udp": "it controls nothing"}
# The queues that a scheme is made for, where its runs would have plain ones.
# DCQCN's marks go by the queue's length now, and all packets are marked above `max` (§5.2 of its paper).
MADE_FOR: Mapping[str, dict[str, Any]] = {
    "prague": {"kind": "dualpi2"},
    "dcqcn": {"kind": "red", "max_p": "1 %", "weight": "100 %", "gentle": False},
}
# A transport that marks reach, over queues or a network that mark.
WITH_ECN = {"cubic": {"schemes.cubic.ecn": True}, "newreno": {"schemes.newreno.ecn": True}}
QUEUE_KINDS: Mapping[str, dict[str, Any]] = {
    "codel": {"kind": "codel"},
    "pie": {"kind": "pie"},
    "fq_codel": {"kind": "codel", "scheduler": "fq"},
}
# Beside the schemes by themselves.
COMBINED = ("cubic@codel", "cubic@fq_codel", "cubic+rpm", "dctcp+rpm")


@dataclass(frozen=True)
class Entry:
    """One column: `queue` are keys of [queue], `changes` further ones."""

    name: str
    transport: str
    network: str | None = None
    queue: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """As people write it."""
        transport, _, queues = self.name.partition(OVER)
        return f"{name(transport)}, {queues}" if queues else name(transport)

    @property
    def scheme(self) -> str:
        """As a scenario names it."""
        return f"{self.transport}+{self.network}" if self.network else self.transport

    @property
    def kind(self) -> str:
        """Of `CLASSES`."""
        routers = described(self.network or self.transport).routers
        if routers and not routers.startswith("queues"):
            return MIDPATH
        return QUEUES if routers or self.queue else ENDS


def every() -> list[str]:
    """The names of all columns: each scheme that carries flows, and the combinations."""
    alone = [one for one, about in shipped().items() if about.hosts and one not in LEFT_OUT]
    return sorted([*alone, *COMBINED], key=lambda one: (list(CLASSES).index(entry(one).kind), alone_first(one)))


def alone_first(one: str) -> tuple[str, bool, str]:
    """A transport stands before its combinations."""
    transport = one.partition(OVER)[0].partition("+")[0]
    return transport, one != transport, one


def entry(text: str) -> Entry:
    """A column by its name: `fcp`, `cubic+rpm`, `cubic@fq_codel`."""
    scheme, over, queues = text.partition(OVER)
    transport, plus, network = scheme.partition("+")
    for one in (transport, *([network] if plus else [])):
        if one not in shipped():
            raise UsageError(no_such("scheme", one, shipped()))
    if over and queues not in QUEUE_KINDS:
        raise UsageError(no_such("queue", queues, QUEUE_KINDS))
    queue = QUEUE_KINDS[queues] if over else MADE_FOR.get(transport, {})
    return Entry(text, transport, network or None, queue, WITH_ECN.get(transport, {}) if over or plus else {})


def columns(names: Sequence[str] | None) -> list[Entry]:
    """The columns that were asked for, each once; all where none are."""
    return [entry(one) for one in dict.fromkeys(names or every())]
