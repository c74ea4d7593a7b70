"""Explains how long a request, a page, a view or an iteration took: its critical path, from the end back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from midpath.errors import UsageError
from midpath.result import Result
from midpath.trace.words import at, span
from midpath.units import listed, quantity

MOST = 8
"""Links of a chain that are told; the others are counted."""

PARTS = {
    "network": "network",
    "compute": "computation",
    "service": "servers",
    "blocked": "blocked",
    "queue": "queues",
}
"""The table's parts, in words; of a datagram alone, a part is a queue."""


class Kind(NamedTuple):
    """What an application does again and again: its table, the column that numbers it, and one in words."""

    table: str
    group: str
    number: str
    took: str
    word: str


KINDS = (
    Kind("requests", "client", "request", "completion_s", "request"),
    Kind("pages", "client", "load", "onload_s", "page"),
    Kind("videos", "client", "view", "", "view"),
    Kind("iterations", "job", "iteration", "completion_s", "iteration"),
)


@dataclass
class Link:
    """A link of the chain: something that came, and what went by from the end of the one before."""

    key: int
    """The first of its flows."""
    name: str
    start: float
    end: float
    spent: dict[str, float] = field(default_factory=dict)
    flow: int | None = None
    """The one of its flows that took longest."""
    longest: float = 0.0
    slowest: str = ""
    """The slowest link on that flow's way."""

    @property
    def took(self) -> float:
        """From the end of the one before to its own."""
        return self.end - self.start


class Way:
    """What time went by with, piece by piece, from a start to an end."""

    word: str
    application: str
    number: int
    pieces: list[dict[str, Any]]

    @property
    def spent(self) -> dict[str, float]:
        """How long each part took; their sum is the time from the start to the end."""
        found = dict.fromkeys(PARTS, 0.0)
        for piece in self.pieces:
            found[piece["part"]] += piece["until_s"] - piece["from_s"]
        return found

    @property
    def start(self) -> float:
        """When it started."""
        return float(self.pieces[0]["from_s"])

    @property
    def end(self) -> float:
        """When it ended."""
        return float(self.pieces[-1]["until_s"])

    def name_of(self, piece: dict[str, Any]) -> str:
        """What a piece is about."""
        raise NotImplementedError

    def sentences(self) -> list[str]:
        """The newest first."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "application": self.application,
            self.word: self.number,
            "start_s": self.start,
            "took_s": self.end - self.start,
            "spent_s": self.spent,
            "path": self.pieces,
        }

    def _parts(self) -> str:
        return ", ".join(f"{span(time)} {PARTS[part]}" for part, time in self.spent.items() if time > 0)


class CriticalPath(Way):
    """The critical path of one of an application's requests, pages, views or iterations."""

    def __init__(self, result: Result, application: str, number: int | None = None) -> None:
        """`number` is by default that which took longest."""
        self.result = result
        self.kind = _kind(result, application)
        self.word = self.kind.word
        self.application = application
        pieces = result.tables.get("critical")
        own = _where(pieces, "application", application) if pieces is not None else None
        if own is None or not own.num_rows:
            raise UsageError(f"none of `{application}` has ended")
        if number is None:
            number = max(_spans(own).items(), key=lambda one: (one[1], -one[0]))[0]
        self.number = number
        self.pieces = _where(own, "number", number).to_pylist()
        if not self.pieces:
            known = sorted(_spans(own))
            said = f"{self.kind.word} {number} of `{application}` has not ended, or is not among the {len(known):,}"
            raise UsageError(f"{said} slowest that are kept, such as {listed([str(one) for one in known[:3]])}")
        self.flows = result.flows
        self.names = _Names(result, self.kind, application, number)

    def name_of(self, piece: dict[str, Any]) -> str:
        """What the piece's flow is part of."""
        return self.names.of(piece["flow"])[1]

    def chain(self) -> list[Link]:
        """What came after what, in order: pieces of the same thing are one link."""
        links: list[Link] = []
        for piece in self.pieces:
            begin, end, part, flow = piece["from_s"], piece["until_s"], piece["part"], piece["flow"]
            key, name = self.names.of(flow)
            last = links[-1] if links else None
            if last is not None and last.key == key and part == "compute":
                # What is computed after the last flow is a link of its own.
                key, name = -1, "the load event"
            if last is None or last.key != key:
                last = Link(key, name, begin, end)
                links.append(last)
            last.end = end
            last.spent[part] = last.spent.get(part, 0.0) + end - begin
            if part == "network" and end - begin > last.longest:
                last.flow, last.longest = flow, end - begin
                last.slowest = f"{piece['link_from']}>{piece['link_to']}" if piece["link_from"] else ""
        return links

    def sentences(self) -> list[str]:
        """Ten at most, the newest first."""
        links = self.chain()
        whole = f"{self.kind.word} {self.number} of {self.application}"
        told = [f"{at(self.end)}: {whole} was complete after {span(self.end - self.start)}: {self._parts()}"]
        longest = sorted(range(len(links)), key=lambda i: -links[i].took)[:MOST]
        for i in sorted(longest, reverse=True):
            told.append(self._told(links[i], links[i - 1] if i else None))
        rest = [link.took for i, link in enumerate(links) if i not in longest]
        if rest:
            told.append(f"{len(rest):,} others took {span(sum(rest))} in all, {span(max(rest))} at most")
        return told

    def _told(self, link: Link, before: Link | None) -> str:
        after = f"waited for {before.name} and" if before is not None else "was first and"
        spent = ", ".join(f"{span(time)} {PARTS[part]}" for part, time in link.spent.items())
        return f"{at(link.end)}: {link.name} {after} took {span(link.took)}: {spent}{self._way(link)}"

    def _way(self, link: Link) -> str:
        """Of the flow that took longest: what is the network's, and where."""
        if link.flow is None:
            return ""
        row = self.flows.slice(link.flow, 1).to_pylist()[0]
        size = quantity("bytes", row["size_bytes"])
        said = f"; flow {link.flow} ({row['src']}>{row['dst']}, {size})"
        ideal = row["ideal_fct_s"]
        if ideal is not None and row["fct_s"] is not None and row["fct_s"] > ideal:
            said += f" took {span(row['fct_s'] - ideal)} longer than on an idle path"
        return f"{said}; slowest link {link.slowest}{self._queue(link.slowest)}" if link.slowest else said

    def _queue(self, port: str) -> str:
        node, _, peer = port.partition(">")
        rows = _where(_where(self.result.tables["ports"], "node", node), "peer", peer)
        delay = rows["delay_mean_s"][0].as_py() if rows.num_rows else None
        return f" (mean queueing delay {span(delay)})" if delay else ""


def between(result: Result, begin: float, end: float, most: int) -> list[CriticalPath]:
    """The first paths that were under way between two times, `most` at most, in order of their starts."""
    pieces = result.tables.get("critical")
    if pieces is None:
        return []
    own = pieces.group_by(["application", "number"]).aggregate([("from_s", "min"), ("until_s", "max")]).to_pylist()
    there = [row for row in own if row["from_s_min"] <= end and row["until_s_max"] >= begin]
    there.sort(key=lambda row: (row["from_s_min"], row["application"], row["number"]))
    return [CriticalPath(result, row["application"], row["number"]) for row in there[:most]]


def applications(result: Result) -> dict[str, Kind]:
    """What each client and job of a run does, by its group."""
    found: dict[str, Kind] = {}
    for kind in KINDS:
        if kind.table in result.tables:
            for group in pc.unique(result.tables[kind.table][kind.group]).to_pylist():
                found[str(group)] = kind
    return found


def _kind(result: Result, application: str) -> Kind:
    known = applications(result)
    if application not in known:
        there = f"there are {listed([f'`{name}`' for name in known])}" if known else "the run has none"
        raise UsageError(f"--of: no client or job `{application}`; {there}")
    return known[application]


def _where(table: pa.Table, column: str, value: object) -> pa.Table:
    return table.filter(pc.equal(table[column], pa.scalar(value)))


def _spans(pieces: pa.Table) -> dict[int, float]:
    """How long each took, by number."""
    ends = pieces.group_by("number").aggregate([("from_s", "min"), ("until_s", "max")])
    return {
        int(number): float(end - start)
        for number, start, end in zip(
            *(ends[c].to_pylist() for c in ("number", "from_s_min", "until_s_max")), strict=True
        )
    }


class _Names:
    """What flows are called: entries of a HAR, segments, else who sends to whom."""

    def __init__(self, result: Result, kind: Kind, application: str, number: int) -> None:
        self.flows, self.word = result.flows, kind.word
        self.firsts: list[tuple[int, str]] = []
        """The first flow of each of a page's resources, or a view's segments, and its name."""
        if kind.word == "page":
            rows = _where(_where(result.tables["resources"], "client", application), "load", number).to_pylist()
            self.firsts = [(row["flow"], f"entry {row['entry']} ({row['origin']})") for row in rows]
        elif kind.word == "view":
            rows = _where(_where(result.tables["segments"], "client", application), "view", number).to_pylist()
            rates = [quantity("bps", row["bitrate_bps"]) for row in rows]
            self.firsts = [
                (row["flow"], f"segment {row['segment']} ({rate})") for row, rate in zip(rows, rates, strict=True)
            ]

    def of(self, flow: int) -> tuple[int, str]:
        """The first flow of what a flow is part of, and its name."""
        known = next((known for known in reversed(self.firsts) if known[0] <= flow), None)
        if known is not None:
            return known
        row = self.flows.slice(flow, 1).select(["src", "dst"]).to_pylist()[0]
        return flow, f"{'message' if self.word == 'iteration' else 'RPC'} {row['src']}>{row['dst']}"
