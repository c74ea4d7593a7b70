"""What a trace costs: instructions a packet-hop without and with one, bytes an event, how long a million events load.

    python evidence/bench/trace/measure.py [--builds OLD NEW] > evidence/bench/trace/RESULTS.md

Valgrind counts instructions, as in ../matrix/cost.py, whose scenario this is: four long flows through 40 Mbps, all
events of all packets and flows, from their record to the table. `--builds` are two builds of
`cargo build --release -p midpath-sim --example profile`, of before traces and of now: what they cost while off.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import midpath
from midpath.matrix import entries
from midpath.trace import Trace

sys.path.insert(0, str(Path(__file__).parents[2] / "properties"))
sys.path.insert(0, str(Path(__file__).parents[1] / "matrix"))
import cost as matrix
import scenes

SCHEMES = ("newreno", "cubic+rpm", "inrpp", "mircc", "fcp")
ALL = {"trace.events": 10_000_000}
MILLION = {"trace.events": 1_000_000, "workload.0.sizes.size": "100 MB", "stop": "60 s"}
TEXT = """
stop = "4500 ms"
[topology]
generate = "dumbbell"
pairs = 4
bottleneck = { rate = "40 Mbps", delay = "18 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }
[queue]
limit = "500 kB"
"""


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


def of_build(program: str, scheme: str) -> int:
    """The instructions of a whole run by a build of `examples/profile`."""
    flows = "".join(f'[[flow]]\nfrom = "s{i}"\nto = "d{i}"\n' for i in range(4))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "long.toml"
        scenario.write_text(TEXT + flows)
        done = subprocess.run([*matrix.VALGRIND, program, str(scenario), scheme], capture_output=True, check=True)
    found = matrix.COUNT.search(done.stderr.decode())
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def off(builds: Sequence[str]) -> Iterator[str]:
    """What traces cost while they are off."""
    yield "\n## Off\n"
    yield "Instructions of a whole run by a build of before traces and by one of now, which differ in other things,"
    yield "too.\n"
    yield scenes.head(["", "before", "now", "more"])
    for scheme in SCHEMES:
        old, new = (of_build(program, scheme) for program in builds)
        yield scenes.row([scheme, f"{old:,}", f"{new:,}", f"{100 * (new / old - 1):+.2f} %"])


def page(builds: Sequence[str] | None) -> Iterator[str]:
    """RESULTS.md."""
    yield "# What a trace costs\n"
    yield f"Midpath {midpath.__version__}, a release build, written by `python evidence/bench/trace/measure.py`.\n"
    yield scenes.head(["", "instructions a packet-hop without", "with all events", "times", "events", "bytes an event"])
    for one in entries.columns(SCHEMES):
        without, with_all = a_hop(one, {}), a_hop(one, ALL)
        events, size = an_event(one)
        times = f"{with_all / without:.2f}"
        yield scenes.row([one.title, f"{without:.0f}", f"{with_all:.0f}", times, f"{events:,}", f"{size:.1f}"])
    events, seconds, size = loading()
    yield f"\n{events:,} events ({size / 1e6:.1f} MB) are loaded in {seconds:.2f} s of processor time."
    if builds:
        yield from off(builds)


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", nargs=2, metavar=("OLD", "NEW"))
    for line in page(parser.parse_args().builds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
