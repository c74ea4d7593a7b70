"""What each of our additions to FCP's pricing is worth: the 100 random networks of test_fcp_optimum.py without it.

    python checks/fcp/additions.py [--networks N] > checks/fcp/RESULTS.md

Takes about a minute for each row on two cores.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
import test_fcp_optimum as optimum
from midpath import __version__

ALL, PLAIN = "all of ours", "`plain`: the paper's text"
# What is written into [schemes.fcp.network], by what the table calls it.
VARIANTS = {
    ALL: "",
    "without `least_income`": "additions = { least_income = 0.0 }",
    "without `summed_span`": "additions = { summed_span = false }",
    "without `trust_balance`": "additions = { trust_balance = false }",
    "without `least_packets`": "additions = { least_packets = 0 }",
    "without `half_packet`": "additions = { half_packet = false }",
    "without `packet_of_queue`": "additions = { packet_of_queue = false }",
    "without `restart`": "additions = { restart = false }",
    "without `unanswered_rounds`": "additions = { unanswered_rounds = 0.0 }",
    "without `hold`": "additions = { hold = false }",
    "without `catch_up`": "catch_up = false",
    PLAIN: "plain = true",
}


def outcomes(seeds: list[int], header_rtt: str, network: str, pool: ProcessPoolExecutor) -> list[optimum.Outcome]:
    """Of all networks, in order."""
    return list(pool.map(optimum.run, seeds, itertools.repeat(header_rtt), itertools.repeat(network)))


def rows(seeds: list[int]) -> Iterator[str]:
    """The table's rows, as they are measured."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        for header_rtt, name in [
            *(("price-age", name) for name in VARIANTS),
            ("round-trip", ALL),
            ("round-trip", PLAIN),
        ]:
            network = VARIANTS[name]
            found = outcomes(seeds, header_rtt, network, pool)
            close = sum(one.plain <= optimum.CLOSE for one in found)
            deep = sum(one.queue_packets > 5 for one in found)
            worst = max(one.plain for one in found)
            yield f"| `{header_rtt}` | {name} | {close} | {100 * worst:.0f} % | {deep} |"


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=optimum.NETWORKS)
    count = parser.parse_args().networks
    seeds = [seed for seed in range(3 * count) if optimum.unambiguous(seed)][:count]
    print("# FCP on random networks, with and without what we add\n")
    print(f"Midpath {__version__}, written by `python checks/fcp/additions.py`: {len(seeds)} networks, a minute each,")
    print("goodput of the second half against SciPy's weighted proportional-fair optimum. *Close*: no flow further")
    print("than 3 % from it. *Deep*: a queue of more than five packets on average.\n")
    print("| `header_rtt` | pricing | close | furthest | deep |")
    print("|---|---|---|---|---|")
    for row in rows(seeds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
