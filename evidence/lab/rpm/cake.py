"""RPM beside CAKE and fq_codel: those are Linux's, in user-mode Linux; RPM and fq_codel again are the simulator's.

    python evidence/lab/rpm/cake.py --out DIR [--seeds N]

5 Mbps, round trips of 4, 40 and 100 ms of which all but 1 ms lie behind the router; two CUBIC flows with ECN for 8 s,
a page of 30 kB and a question of 1 kB twice a second each (Poisson). CoDel and CAKE have their defaults, 5 and 100 ms.
fq_codel is on both sides: where the two agree, the simulator's RPM can be read beside Linux's CAKE. Writes DIR/CAKE.md;
runs that are in DIR are not made again. One in the guest takes about 10 s of CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from beside import tables

from midpath.lab import beside as lab
from midpath.lab import clean, kernel, machine, real
from midpath.lab.plan import plan
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.stats import jain

FQ_CODEL = 'kind = "codel"\nscheduler = "fq"\n'
# The scheme, the queue's keys, and what is asked of the kernel; none: the simulator's.
CHOICES = {
    "Linux: CAKE": ("cubic", "", "cake besteffort"),
    "Linux: fq_codel": ("cubic", "", "fq_codel"),
    "simulated: fq_codel": ("cubic", FQ_CODEL, None),
    "simulated: RPM over CoDel": ("cubic+rpm", 'kind = "codel"\n', None),
    "simulated: RPM over fq_codel": ("cubic+rpm", FQ_CODEL, None),
}
# Who is compared with whom: first the two that ought to be alike.
PAIRS = (
    ("simulated: fq_codel", "Linux: fq_codel"),
    ("simulated: RPM over CoDel", "Linux: CAKE"),
    ("simulated: RPM over fq_codel", "Linux: CAKE"),
)
# Heading, scale and digits of each figure.
COLUMNS = {
    "goodput, Mbps": (1e-6, 2),
    "Jain's index": (1.0, 3),
    "wait p50, ms": (1e3, 1),
    "wait p99, ms": (1e3, 1),
    "question, ms": (1e3, 1),
    "page, ms": (1e3, 0),
    "repeats, %": (100.0, 2),
}
SCENARIO = """
stop = "8 s"
seed = {seed}
scheme = "{scheme}"
schemes.cubic.ecn = true

[topology]
links = [
    {{ a = "s", b = "r", rate = "100 Mbps", delay = "500 us" }},
    {{ a = "r", b = "d", rate = "5 Mbps", delay = "{behind} us" }},
]

[queue]
limit = "125 kB"
{queue}
[[flow]]
from = "s"
to = "d"
count = 2
jitter = "500 ms"

[[workload]]
arrivals = {{ kind = "poisson", rate_per_s = 2.0 }}
sizes = {{ kind = "fixed", size = "30 kB" }}
matrix = {{ kind = "pairs", pairs = [["s", "d"]] }}

[[workload]]
arrivals = {{ kind = "poisson", rate_per_s = 2.0 }}
sizes = {{ kind = "fixed", size = "1 kB" }}
matrix = {{ kind = "pairs", pairs = [["s", "d"]] }}
"""


def made(choice: str, round_trip: int, seed: int, out: Path, midpath_lab: str) -> Result:
    """One run."""
    scheme, queue, qdisc = CHOICES[choice]
    behind = round_trip * 500 - 500
    scenario = Scenario.from_toml(SCENARIO.format(seed=seed, scheme=scheme, behind=behind, queue=queue))
    if qdisc is None:
        return simulate(lab.as_linux(scenario, plan(scenario, midpath_lab)))
    place = out / f"{qdisc.partition(' ')[0]}-{round_trip}-{seed}"
    print(place.name, flush=True)
    return real.kept(place, scenario, real.Laboratory(midpath_lab, None, linux=kernel.find(), qdisc=qdisc))


def figures(run: Result) -> list[float]:
    """In the order of the columns; waits are those of the narrow port."""
    flows = run.flows.to_pylist()
    narrow = next(one for one in run.ports.to_pylist() if (one["node"], one["peer"]) == ("r", "d"))
    long = [flow["goodput_bps"] for flow in flows if flow["size_bytes"] is None]
    ended = [flow for flow in flows if flow["fct_s"] is not None]
    question, page = ([one["fct_s"] for one in ended if one["size_bytes"] == size] for size in (1_000, 30_000))
    return [
        sum(long),
        jain(long),
        narrow["delay_p50_s"],
        narrow["delay_p99_s"],
        sum(question) / len(question),
        sum(page) / len(page),
        run.summary["retransmitted_packets"] / run.summary["sent_packets"],
    ]


def lines(seeds: int, out: Path, midpath_lab: str) -> Iterator[str]:
    """The tables."""

    def of_seeds(choice: str, round_trip: int) -> list[list[float]]:
        return [figures(made(choice, round_trip, seed, out, midpath_lab)) for seed in range(1, 1 + seeds)]

    return tables(COLUMNS, CHOICES, PAIRS, of_seeds)


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    clean.clean()
    page = [
        "# RPM beside CAKE\n",
        f"Written by `evidence/lab/rpm/cake.py --seeds {asked.seeds}`: means over seeds with 95 % intervals.",
        "Linux's are of user-mode Linux 6.1 in virtual time. What is run stands at the head of the script.\n",
        *lines(asked.seeds, asked.out, machine.program("midpath-lab")),
    ]
    (asked.out / "CAKE.md").write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
