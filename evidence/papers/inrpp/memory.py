"""What memory buys INRPP: completion times and waits on Abilene (examples/abilene.toml), at equal memory and beyond.

    python evidence/papers/inrpp/memory.py [--seeds N] > evidence/papers/inrpp/MEMORY.md

Each row is one size of all ports' memory. Takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import midpath
from midpath import __version__
from midpath.run.drive import results

EXAMPLE = Path(__file__).parents[3] / "examples" / "abilene.toml"
SIZES = ("25 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "5 s", "20 s")
SCHEMES = ("newreno", "mircc", "inrpp")
BESIDE = {
    "INRPP, a cache of 1 s beside 50 ms": 'cache = "1 s"',
    "INRPP, a cache of 20 s beside 50 ms": 'cache = "20 s"',
    "INRPP, the same kept full (without `standing`)": 'cache = "20 s"\nwithout = ["standing"]',
    "INRPP without detours": "detours = 0",
    "INRPP without promises": 'without = ["promises"]',
    "INRPP, the paper's text (20 s beside 50 ms)": 'text = "paper"',
    "INRPP, the paper's text with 50 ms in all": (
        'text = "paper"\nhigh = "12.5 ms"\ncache = "25 ms"\nbuffer = "12.5 ms"\ntcp_cache = "12.5 ms"'
    ),
}
"""Other sizes and switches beside a queue of 50 ms."""
WAS = "50 ms"


def scenario(scheme: str, limit: str, own: str, seed: int) -> str:
    """The example with this memory."""
    text = EXAMPLE.read_text(encoding="utf-8")
    text = re.sub(r"\[schemes\.inrpp\]\n(?:[a-z_]+ = .*\n)*", "", text)
    text = text.replace('limit = "25 ms"', f'limit = "{limit}"').replace("seed = 1\n", f"seed = {seed}\n")
    text = text.replace('scheme = "cubic"', f'scheme = "{scheme}"').replace("series = true\n", "")
    return text + (f"\n[schemes.inrpp]\n{own}\n" if own else "")


def figures(result: midpath.Result) -> tuple[float, float, float, float]:
    """Mean and 99th percentile of completion times in seconds, that of packets' waits in ms, packets dropped in %."""
    names = ("afct_s", "fct_p99_s", "queue_delay_p99_s", "loss_ratio")
    afct, late, wait, loss = (float(result.summary[name]) for name in names)
    return afct, late, 1e3 * wait, 100 * loss


def rows(runs: list[tuple[str, str, str]], seeds: int, jobs: int) -> Iterator[str]:
    """Each run's means over the seeds, as cells."""
    found = map(figures, results((scenario(*run, seed) for run in runs for seed in range(1, seeds + 1)), jobs))
    for _ in runs:
        afct, late, wait, loss = np.mean(list(itertools.islice(found, seeds)), axis=0)
        yield f"{afct:.3f} s | {late:.2f} s | {wait:.0f} ms | {loss:.2f} %"


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    print("# What memory buys INRPP\n")
    print(f"Midpath {__version__}, written by `python evidence/papers/inrpp/memory.py --seeds {asked.seeds}`.")
    print("`examples/abilene.toml` with ports of so much memory in all, in time of their rate. Completion times")
    print("of flows, mean and 99th percentile; how long packets wait at a port, 99th percentile; packets")
    print("dropped, of those sent.\n")
    head = "| {} | AFCT | 99th percentile | wait | dropped |\n|---|---|---|---|---|"
    equal = [(scheme, size, "") for size in SIZES for scheme in SCHEMES]
    print(head.format("memory in all"))
    for (scheme, size, _), cells in zip(equal, rows(equal, asked.seeds, asked.jobs), strict=True):
        print(f"| {size}, {scheme} | {cells} |", flush=True)
    print("\n" + head.format("beside a queue of " + WAS))
    beside = [("inrpp", WAS, own) for own in BESIDE.values()]
    for name, cells in zip(BESIDE, rows(beside, asked.seeds, asked.jobs), strict=True):
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
