"""Use, drops and waits of a queue from 10 s to 60 s: a run until its end, less one until its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath.papers.lab import Lab, Measured
from midpath.result import Result

# What happened between these times, in seconds; a quick run looks at the first.
WINDOW, QUICK = (10, 60), (2, 5)
RATE = 10e6
# Of each case its scenario, what is changed there, and whether it has sparse flows.
CASES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "pie.5": ("flows", {}, False),
    "pie.30": (
        "flows",
        {
            "topology.pairs": 30,
            "flow": [{"from": f"s{i}", "to": f"d{i}", "jitter": "1 s"} for i in range(30)],
        },
        False,
    ),
    "pie.load": ("load", {}, False),
    "fq_codel": ("sparse", {}, True),
    "codel": ("sparse", {"queue.scheduler": "fifo"}, True),
}
# Of a sparse datagram on an empty way: 228 B at 100 Mbps twice and at 10 Mbps once, and 22 ms.
EMPTY = 0.022 + 228 * 8 * (2 / 100e6 + 1 / RATE)


def measure(lab: Lab) -> Iterator[Measured]:
    """The figures of each case."""
    window = QUICK if lab.quick else WINDOW
    runs = {
        case: [lab.runs(name, changes={**changes, "stop": f"{stop} s"}, label=f"{case}-{stop}") for stop in window]
        for case, (name, changes, _) in CASES.items()
    }
    for case, (before, after) in runs.items():
        found = [_figures(*pair, window) for pair in zip(before, after, strict=True)]
        names = ("use", "dropped", "wait", "sparse") if CASES[case][2] else ("use", "dropped", "wait")
        for i, name in enumerate(names):
            yield Measured(f"{case}.{name}", [one[i] for one in found])


def _figures(before: Result, after: Result, window: tuple[int, int]) -> tuple[float, float, float, float | None]:
    """Use, share dropped, mean wait without sparse flows, sparse flows' mean wait."""
    start, stop = window
    first, last = _counts(before), _counts(after)
    packets, sent, drops, waited = (b - a for a, b in zip(first, last, strict=True))
    sparse = _sparse(after, start)
    wait = (waited - sum(sparse)) / (packets - len(sparse))
    use = sent * 8 / RATE / (stop - start)
    return use, drops / (drops + packets), wait, sum(sparse) / len(sparse) if sparse else None


def _counts(result: Result) -> tuple[float, float, float, float]:
    """Packets and bytes that were sent, packets that were dropped, and the sum of waits."""
    ports = result.ports.to_pandas()
    port = ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0]
    return port.packets, port.bytes, port.drops_aqm + port.drops_queue, port.packets * port.delay_mean_s


def _sparse(result: Result, start: int) -> list[float]:
    """Waits of the sparse flows that began after the window's begin."""
    flows = result.flows.to_pandas()
    chosen = flows[(flows.group.astype(str) == "sparse") & (flows.start_s >= start)]
    return [float(took) - EMPTY for took in chosen.fct_s.dropna()]
