"""A trace as qlog (draft-ietf-quic-qlog-main-schema): a trace for each flow's sender, and one for the network.

Recovery events use the names of QUIC's events (draft-ietf-quic-qlog-quic-events). All others are in the namespace
`midpath`, with the columns of the table `trace`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from midpath.storage import write_text
from midpath.trace.record import NOTHING, Event, Trace

FILE = "urn:ietf:params:qlog:file:contained"
QUIC = "urn:ietf:params:qlog:events:quic"
OURS = "urn:midpath:qlog:events"
MEDIA_TYPE = "application/qlog+json"
METRICS = {"window": ("congestion_window", 1), "rate": ("pacing_rate", 1), "RTT": ("latest_rtt", 1000)}
"""Fields of `recovery_metrics_updated`, and what a number of ours is there. Round trips are in milliseconds."""


def write_qlog(trace: Trace, path: str | Path) -> Path:
    """Writes the file, whole or not at all."""
    target = Path(path)
    write_text(target, json.dumps(qlog(trace), ensure_ascii=False, allow_nan=False) + "\n")
    return target


def qlog(trace: Trace) -> dict[str, Any]:
    """The file as values."""
    result = trace.result
    senders: dict[int, list[dict[str, Any]]] = {}
    network: list[dict[str, Any]] = []
    states: dict[int, str] = {}
    for row in range(len(trace)):
        event = trace.event(row)
        if event.packet == NOTHING and event.flow != NOTHING and event.why != "receiver":
            senders.setdefault(event.flow, []).append(_of_sender(event, states))
        else:
            network.append(_own(event))
    flows = result.flows
    sources = dict(zip(flows["flow"].to_pylist(), flows["src"].to_pylist(), strict=True))
    traces = [
        _trace(f"flow {flow}", {"name": sources.get(flow, ""), "type": "client"}, events, flow=flow)
        for flow, events in sorted(senders.items())
    ]
    traces.append(_trace("network", {"name": "all nodes", "type": "network", "flow": "unknown"}, network))
    about = f"Midpath, {result.scheme}, seed {result.seed}"
    head = {"file_schema": FILE, "serialization_format": MEDIA_TYPE, "title": result.title, "description": about}
    return head | {"traces": traces}


def _trace(title: str, where: dict[str, str], events: list[dict[str, Any]], **common: int) -> dict[str, Any]:
    fields = {
        "time_format": "relative_to_epoch",
        "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        **common,
    }
    schemas = [QUIC, OURS] if common else [OURS]
    return {
        "title": title,
        "common_fields": fields,
        "vantage_point": where,
        "event_schemas": schemas,
        "events": events,
    }


def _of_sender(event: Event, states: dict[int, str]) -> dict[str, Any]:
    """What a sender does, by QUIC's names where there is one."""
    if event.what in METRICS:
        field, scale = METRICS[event.what]
        number = event.value * scale
        return _event(event, "quic:recovery_metrics_updated", {field: number if scale > 1 else round(number)})
    if event.what == "phase":
        old, states[event.flow] = states.get(event.flow), event.why
        state = {"new": event.why} if old is None else {"old": old, "new": event.why}
        return _event(event, "quic:congestion_state_updated", state)
    return _own(event)


def _own(event: Event) -> dict[str, Any]:
    return _event(event, f"midpath:{event.what.replace(' ', '_').replace('-', '_')}", dict(_columns(event)))


def _event(event: Event, name: str, data: dict[str, Any]) -> dict[str, Any]:
    """An event, with its time in milliseconds, and the rows of it and of its cause, so that causes can be followed."""
    cause = {} if event.cause == NOTHING else {"cause": event.cause}
    return {"time": event.time * 1000, "name": name, "data": data, "row": event.row} | cause


def _columns(event: Event) -> Iterator[tuple[str, Any]]:
    """What the table has of an event besides its time, its name and its cause."""
    yield "node", event.node
    if event.peer:
        yield "peer", event.peer
    if event.flow != NOTHING:
        yield "flow", event.flow
    if event.packet != NOTHING:
        yield from (("packet", event.packet), ("kind", event.kind), ("size", event.size), ("number", event.number))
    if not math.isnan(event.value):
        yield "value", event.value
    if event.why:
        yield "why", event.why
