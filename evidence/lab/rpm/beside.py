"""RPM beside flow queueing and CAKE: what an operator may turn on at one bottleneck, in the simulator.

    python evidence/lab/rpm/beside.py [--seeds N] > evidence/lab/rpm/BESIDE.md

50 Mbps, round trips of 4, 40 and 100 ms of which all but 1 ms lie behind the router; four CUBIC flows for 20 s, a page
of 30 kB five times a second and a question of 1 kB ten times a second (Poisson). CoDel is RFC 8289's (5 ms, 100 ms),
flow queueing RFC 8290's, CAKE as in Linux (../CAKE.md compares). Room is 200 ms of the link for each.

Verdicts are of pairs of seeds: a difference counts if the 95 % interval of its mean leaves out zero.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from additions import cell

import midpath
from midpath import __version__, markdown
from midpath.run.drive import results
from midpath.stats import jain, told_apart

ROUND_TRIPS = (4, 40, 100)
CODEL = 'kind = "codel"\n'
# The scheme, whether flows use ECN, and the queue's keys besides its room.
CHOICES = {
    "drop-tail": ("cubic", False, ""),
    "CoDel, drops": ("cubic", False, CODEL),
    "CoDel, CE": ("cubic", True, CODEL),
    "fq_codel, drops": ("cubic", False, CODEL + 'scheduler = "fq"\n'),
    "fq_codel, CE": ("cubic", True, CODEL + 'scheduler = "fq"\n'),
    "CAKE": ("cubic", True, 'kind = "cake"\n'),
    "RPM over CoDel": ("cubic+rpm", True, CODEL),
    "RPM over fq_codel": ("cubic+rpm", True, CODEL + 'scheduler = "fq"\n'),
}
# Who is compared with whom.
PAIRS = (
    ("RPM over CoDel", "CoDel, CE"),
    ("RPM over CoDel", "fq_codel, CE"),
    ("RPM over fq_codel", "fq_codel, CE"),
    ("RPM over CoDel", "CAKE"),
    ("RPM over fq_codel", "CAKE"),
)
# Heading, scale and digits of each figure.
COLUMNS = {
    "used, %": (100.0, 1),
    "Jain's index": (1.0, 3),
    "mean wait, ms": (1e3, 2),
    "p99 wait, ms": (1e3, 1),
    "question, ms": (1e3, 1),
    "question p99, ms": (1e3, 0),
    "page, ms": (1e3, 0),
    "lost, %": (100.0, 2),
}
SCENARIO = """
stop = "20 s"
seed = {seed}
scheme = "{scheme}"
schemes.cubic.ecn = {ecn}

[topology]
generate = "dumbbell"
pairs = 1
bottleneck = {{ rate = "50 Mbps", delay = "{behind} us" }}
access = {{ rate = "1 Gbps", delay = "250 us" }}

[queue]
limit = "1250 kB"
{queue}
[[flow]]
from = "s0"
to = "d0"
count = 4
jitter = "1 s"

[[workload]]
arrivals = {{ kind = "poisson", rate_per_s = 5.0 }}
sizes = {{ kind = "fixed", size = "30 kB" }}
matrix = {{ kind = "pairs", pairs = [["s0", "d0"]] }}

[[workload]]
arrivals = {{ kind = "poisson", rate_per_s = 10.0 }}
sizes = {{ kind = "fixed", size = "1 kB" }}
matrix = {{ kind = "pairs", pairs = [["s0", "d0"]] }}
"""


def scenario(choice: str, round_trip: int, seed: int) -> str:
    """What is run."""
    scheme, ecn, queue = CHOICES[choice]
    behind = round_trip * 500 - 500
    return SCENARIO.format(seed=seed, scheme=scheme, ecn=str(ecn).lower(), behind=behind, queue=queue)


def figures(result: midpath.Result) -> list[float]:
    """One run's figures, in the order of the columns; waits are those of the narrow port."""
    ports, flows = result.ports.to_pandas(), result.flows.to_pandas()
    narrow = ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0]
    long = flows[flows.size_bytes.isna()].goodput_bps
    question, page = (flows[flows.size_bytes == size].fct_s.dropna() for size in (1000, 30_000))
    return [
        narrow.utilisation,
        jain(long.tolist()),
        narrow.delay_mean_s,
        narrow.delay_p99_s,
        question.mean(),
        question.quantile(0.99),
        page.mean(),
        result.summary["loss_ratio"],
    ]


def verdict(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Which is lower, if that can be told."""
    if not told_apart(ours, theirs):
        return "not told apart"
    return f"{sum(ours) / sum(theirs) - 1:+.0%}" if sum(theirs) else "more"


def lines(seeds: int) -> Iterator[str]:
    """The tables, as they are measured."""
    heads = markdown.head(["round trip, ms", "router", *COLUMNS])
    yield heads
    differences = []
    for round_trip in ROUND_TRIPS:
        found = {}
        for choice in CHOICES:
            runs = results(scenario(choice, round_trip, seed) for seed in range(1, 1 + seeds))
            found[choice] = list(zip(*map(figures, runs), strict=True))
            cells = [cell(v, *about) for v, about in zip(found[choice], COLUMNS.values(), strict=True)]
            yield f"| {round_trip} | {choice} | {' | '.join(cells)} |"
        for ours, theirs in PAIRS:
            cells = [verdict(a, b) for a, b in zip(found[ours], found[theirs], strict=True)]
            differences.append(f"| {round_trip} | {ours} against {theirs} | {' | '.join(cells)} |")
    yield "\nThe first against the second, by pairs of seeds:\n"
    yield heads
    yield from differences


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print("# RPM beside CoDel, flow queueing and CAKE\n")
    print(f"Midpath {__version__}, simulated, written by `python evidence/lab/rpm/beside.py --seeds {seeds}`:")
    print("means over seeds with 95 % intervals. What is run stands at the head of the script.\n")
    for line in lines(seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
