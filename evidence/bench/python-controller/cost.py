"""What a controller in Python costs beside the same one in Rust, and that both send the same packets.

python evidence/bench/python-controller/cost.py > evidence/bench/python-controller/RESULTS.md
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import midpath
from midpath.controller import load

ROOT = Path(__file__).parents[3]
CONTROLLERS = ROOT / "examples" / "controllers"
RUST, PYTHON = "newreno", "newreno-in-python"
REPEATS = 5
# A run of each is long enough for the clock (0.3 s of Rust) and short enough for five of each.
SCENARIOS = {
    "1 flow, 100 Mbps": (1, "100 Mbps", "20 s"),
    "20 flows, 100 Mbps": (20, "100 Mbps", "20 s"),
    "200 flows, 1 Gbps": (200, "1 Gbps", "2 s"),
}


def scenario(pairs: int, rate: str, stop: str) -> dict[str, Any]:
    """Flows over one link, all for the whole run."""
    return {
        "stop": stop,
        "topology": {
            "generate": "dumbbell",
            "pairs": pairs,
            "bottleneck": {"rate": rate, "delay": "10 ms"},
            "access": {"rate": "10 Gbps", "delay": "1 ms"},
        },
        "queue": {"limit": "20 ms"},
        "flow": [{"from": f"s{n}", "to": f"d{n}", "start": f"{n} ms"} for n in range(pairs)],
    }


def counting(cls: type[midpath.Controller], counter: Iterator[int]) -> type[midpath.Controller]:
    """The same controller, with one call more for each ACK, which counts."""

    class Counting(cls):
        name = "counting"

        def on_delivery(self, ack: Any) -> None:  # noqa: ARG002
            next(counter)

    return Counting


def seconds(asked: dict[str, Any], scheme: str, controllers: list[type[midpath.Controller]]) -> tuple[float, Any]:
    """The least processor time of five runs, of all threads; and the result."""
    found = []
    for _ in range(REPEATS):
        begun = time.process_time()
        result = midpath.run(asked, scheme=scheme, controllers=controllers)
        found.append(time.process_time() - begun)
    return min(found), result


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="release", help="What `midpath` was built as; say so if it was not this.")
    build = parser.parse_args().build
    (newreno,) = load(CONTROLLERS / "newreno.py")
    rows, per_call = [], []
    for title, shape in SCENARIOS.items():
        asked = scenario(*shape)
        rust, one = seconds(asked, RUST, [])
        python, other = seconds(asked, PYTHON, [newreno])
        same = one.flows.drop(["scheme"]) == other.flows.drop(["scheme"])
        counter = itertools.count()
        more, _ = seconds(asked, "counting", [counting(newreno, counter)])
        calls = next(counter) / REPEATS
        per_call.append((more - python) / calls * 1e6)
        rows.append(
            f"| {title} | {calls:,.0f} | {rust:.2f} s | {python:.2f} s | {python / rust:.1f} | "
            f"{(python - rust) / calls * 1e6:.2f} µs | {'yes' if same else 'NO'} |"
        )
    print("# What a controller in Python costs\n")
    print("`python evidence/bench/python-controller/cost.py` writes this page.\n")
    print(
        f"NewReno in Python (`examples/controllers/newreno.py`) beside NewReno in Rust: least processor time of "
        f"{REPEATS} runs, building and collecting included. {platform.machine()}, Python {platform.python_version()}, "
        f"Midpath {midpath.__version__}, a {build} build, {os.cpu_count()} cores, "
        f"load average {os.getloadavg()[0]:.0f}.\n"
    )
    print("| | ACKs | Rust | Python | times | more per ACK | same flows |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print(
        f"\nOne more method that is called for each ACK and counts costs {statistics.median(per_call):.2f} µs per ACK "
        "(median of the three): the call, and the object that says what the ACK told. The rest is what NewReno does."
    )


if __name__ == "__main__":
    main()
