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

# What is written into [schemes.fcp.network.additions], by what the table calls it.
ADDITIONS = {
    "least_income": "0.0",
    "summed_span": "false",
    "trust_balance": "false",
    "least_packets": "0",
    "half_packet": "false",
    "packet_of_queue": "false",
    "restart": "false",
    "unanswered_rounds": "0.0",
    "opening_budget": "false",
    "spread": "false",
    "patience": "1.0",
    "keep_pace": "false",
    "noise": "0.0",
    "longest_age": "0.0",
    "leave_unpaid": "false",
}
# What is written into [schemes.fcp].
VARIANTS = {
    "all of ours": "",
    **{f"without `{name}`": f"network.additions.{name} = {off}" for name, off in ADDITIONS.items()},
    "without `catch_up`": "network.catch_up = false",
    '`header_rtt = "round-trip"`': 'header_rtt = "round-trip"',
    '`preload_for = "flow-size"`': 'preload_for = "flow-size"',
    '`text = "paper"`': 'text = "paper"',
    '`text = "paper"`, but `header_rtt = "price-age"`': 'text = "paper"\nheader_rtt = "price-age"',
}


def rows(seeds: list[int]) -> Iterator[str]:
    """The table's rows, as they are measured."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, parameters in VARIANTS.items():
            found = list(pool.map(optimum.run, seeds, itertools.repeat(parameters)))
            close = sum(one.plain <= optimum.CLOSE for one in found)
            deep = sum(one.queue_packets > 5 for one in found)
            worst = max(one.plain for one in found)
            yield f"| {name} | {close} | {100 * worst:.0f} % | {deep} |"


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
    print("| FCP | close | furthest | deep |")
    print("|---|---|---|---|")
    for row in rows(seeds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
