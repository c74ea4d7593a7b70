"""The replay: one self-contained page that animates a trace's packets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from midpath.compare.comparison import Comparison
from midpath.html import embedded
from midpath.palette import name
from midpath.result import Result
from midpath.storage import write_text
from midpath.topology.layout import is_map, places
from midpath.trace.critical import PARTS, between
from midpath.trace.datagrams import longest
from midpath.trace.record import NOTHING, Trace

MOST = 300_000
"""Events on a page; more make it slow to open."""

MOST_APPLICATIONS = 200
"""Requests, pages, views and iterations on a page."""

MOST_DATAGRAMS = 20
"""Datagrams on a page: those that took longest."""


def write_replay(trace: Trace, path: str | Path) -> Path:
    """Writes the page, whole or not at all."""
    target = Path(path)
    write_text(target, html(trace))
    return target


def write_beside(traces: Sequence[Trace], path: str | Path) -> Path:
    """Writes a page with several replays side by side on one time axis, whole or not at all."""
    target = Path(path)
    frame = '<iframe title="{}" srcdoc="{}"></iframe>'
    frames = [frame.format(escape(name(trace.result.scheme)), escape(html(trace))) for trace in traces]
    title = escape(" and ".join(dict.fromkeys(trace.result.title for trace in traces)))
    write_text(target, Template(_asset("beside.html")).substitute(title=title, frames="\n".join(frames)))
    return target


def write_replays(source: object, folder: Path) -> dict[str, str]:
    """Writes a replay of each scheme that has a trace, of its first run: the files, by what is said of each."""
    if isinstance(source, Comparison):
        firsts = {name(scheme): source.of(scheme)[0] for scheme in source.schemes}
    elif isinstance(source, Result):
        firsts = {name(source.scheme): source}
    else:
        return {}
    kept = {said: run for said, run in firsts.items() if "trace" in run.tables and run.tables["trace"].num_rows}
    files = {said: "replay.html" if len(firsts) == 1 else f"replay-{run.scheme}.html" for said, run in kept.items()}
    for said, run in kept.items():
        write_replay(Trace(run), folder / files[said])
    return files


def html(trace: Trace) -> str:
    """The page as text."""
    result = trace.result
    shown = min(len(trace), MOST)
    left = f" The first {MOST:,} of {len(trace):,} events." if shown < len(trace) else ""
    return Template(_asset("replay.html")).substitute(
        title=escape(result.title),
        about=escape(f"{result.scheme}, seed {result.seed}: {shown:,} events.{left}"),
        style=_asset("replay.css"),
        script=_asset("replay.js"),
        data=embedded(data(trace, shown)),
    )


def _asset(file: str) -> str:
    return files("midpath.trace").joinpath("assets", file).read_text(encoding="utf-8")


def data(trace: Trace, shown: int) -> dict[str, Any]:
    """What the script draws: nodes, links, and the events column by column."""
    topology = trace.result.run["topology"]
    where = places(topology)
    names = [node["name"] for node in topology["nodes"]]
    number = {name: i for i, name in enumerate(names)}
    texts = {name: _texts(trace, name, shown) for name in ("event", "kind", "why")}
    return {
        "nodes": [
            {
                "name": node["name"],
                "host": node.get("kind") == "host",
                "x": where[node["name"]][0],
                "y": where[node["name"]][1],
            }
            for node in topology["nodes"]
        ],
        "links": [
            {"a": number[link["a"]], "b": number[link["b"]], "rate": link["rate_bps"], "delay": link["delay_s"]}
            for link in topology["links"]
        ],
        "map": is_map(topology),
        "flows": _flows(trace),
        "applications": _applications(trace, shown),
        "events": {
            # Picoseconds from the first event on: small numbers, and exact.
            "t": _since_first(trace, shown),
            "node": _numbered(trace, "node", number, shown),
            "peer": _numbered(trace, "peer", number, shown),
            **{key: trace.columns[name][:shown].tolist() for key, name in NUMBERS.items()},
            "value": [None if math.isnan(value) else float(f"{value:.9g}") for value in trace.value[:shown].tolist()],
            **texts,
        },
        "first": float(trace.time[0]) if shown else 0.0,
    }


def _applications(trace: Trace, shown: int) -> list[dict[str, Any]]:
    """What applications waited for while events were recorded: times from the first event on."""
    if not shown:
        return []
    first, last = float(trace.time[0]), float(trace.time[shown - 1])
    ways = [*between(trace.result, first, last, MOST_APPLICATIONS), *longest(trace, MOST_DATAGRAMS)]
    return [
        {
            "name": f"{way.word} {way.number} of {way.application}",
            "pieces": [
                {
                    "part": list(PARTS).index(piece["part"]),
                    "from": piece["from_s"] - first,
                    "until": piece["until_s"] - first,
                    "flow": piece["flow"],
                    "for": way.name_of(piece),
                }
                for piece in way.pieces
            ],
        }
        for way in sorted(ways, key=lambda way: way.start)
    ]


NUMBERS = {"flow": "flow", "packet": "packet", "cause": "cause", "size": "size_bytes", "number": "number"}


def _since_first(trace: Trace, shown: int) -> list[int]:
    ps = np.asarray(trace.table["time_ps"].to_numpy()[:shown]).astype(np.int64)
    return [int(step) for step in np.diff(ps, prepend=ps[:1])]


def _numbered(trace: Trace, column: str, number: dict[str, int], shown: int) -> list[int]:
    dictionary, index = trace.texts[column]
    numbers = np.array([number.get(name, NOTHING) for name in dictionary] or [NOTHING])
    return [int(value) for value in numbers[index[:shown]]]


def _texts(trace: Trace, column: str, shown: int) -> dict[str, Any]:
    dictionary, index = trace.texts[column]
    return {"names": dictionary, "of": index[:shown].tolist()}


def _flows(trace: Trace) -> list[dict[str, Any]]:
    there = set(np.unique(trace.columns["flow"]).tolist())
    flows = trace.result.flows
    rows = zip(flows["flow"].to_pylist(), flows["src"].to_pylist(), flows["dst"].to_pylist(), strict=True)
    return [{"flow": flow, "src": src, "dst": dst} for flow, src, dst in rows if flow in there]
