"""What a trace costs: instructions a packet-hop without and with one, bytes an event, how long a million events load.

    python evidence/bench/trace/measure.py > evidence/bench/trace/RESULTS.md

Valgrind counts instructions, as in ../matrix/cost.py, whose scenario this is: four long flows through 40 Mbps, all
events of all packets and flows, from their record to the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import midpath
from midpath import entries, markdown
from midpath.trace import Trace

sys.path.insert(0, str(Path(__file__).parents[2] / "properties"))
sys.path.insert(0, str(Path(__file__).parents[1] / "matrix"))
import cost as matrix

SCHEMES = ("newreno", "cubic+rpm", "inrpp", "mircc", "fcp")
ALL = {"trace.events": 10_000_000}
MILLION = {"trace.events": 1_000_000, "workload.0.sizes.size": "100 MB", "stop": "60 s"}


def a_hop(one: entries.Entry, changes: dict[str, Any]) -> float:
    """Instructions for each packet-hop of two seconds more."""
    (few, few_hops), (many, many_hops) = (matrix.counted(one, stop, changes) for stop in matrix.STOPS)
    return float((many - few) / (many_hops - few_hops))


def an_event(one: entries.Entry) -> tuple[int, float]:
    """How many events the longer run has, and the bytes of the file for each."""
    result = midpath.run(matrix.long_flows(one, matrix.STOPS[1]).with_(changes={**ALL, "scheme": one.scheme}))
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "out")
        size = (Path(folder) / "out" / "trace.parquet").stat().st_size
    events = result.run["trace"]["events"]
    return events, size / events


def loading() -> tuple[int, float, int]:
    """Events, seconds of processor time until all of their columns can be searched, and the file's bytes."""
    result = midpath.run(matrix.long_flows(entries.Entry("newreno"), "60 s").with_(changes=MILLION))
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "out")
        size = (Path(folder) / "out" / "trace.parquet").stat().st_size
        began = time.process_time()
        trace = Trace.of(Path(folder) / "out")
        _ = trace.time, trace.columns, trace.texts, trace.value
        return len(trace), time.process_time() - began, size


def page() -> Iterator[str]:
    """RESULTS.md."""
    yield "# What a trace costs\n"
    yield f"Midpath {midpath.__version__}, a release build, written by `python evidence/bench/trace/measure.py`.\n"
    yield markdown.head(
        ["", "instructions a packet-hop without", "with all events", "times", "events", "bytes an event"]
    )
    for one in entries.columns(SCHEMES):
        without, with_all = a_hop(one, {}), a_hop(one, ALL)
        events, size = an_event(one)
        times = f"{with_all / without:.2f}"
        yield markdown.line([one.title, f"{without:.0f}", f"{with_all:.0f}", times, f"{events:,}", f"{size:.1f}"])
    events, seconds, size = loading()
    yield f"\n{events:,} events ({size / 1e6:.1f} MB) are loaded in {seconds:.2f} s of processor time."


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for line in page():
        print(line, flush=True)


if __name__ == "__main__":
    main()
