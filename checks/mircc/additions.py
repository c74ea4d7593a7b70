"""What each of our additions to MIRCC is worth, and the paper's text with each of them: random networks.

    python checks/mircc/additions.py [--networks N] > checks/mircc/RESULTS.md

Takes about two minutes on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import midpath
from midpath import __version__
from midpath.papers.mircc import networks
from midpath.papers.mircc.common import dropped
from midpath.papers.mircc.layered import DATA, draw, rest
from midpath.papers.series import mean

SCENARIO = Path(networks.__path__[0]) / "network.toml"
# Networks of the paper's claims are 0 to 99.
FIRST = 1000
# Rates are means over these seconds; each flow has one path.
OVER = (12.0, 20.0)
# Ours: what a window of eight seconds and whole Data leave.
CLOSE = 0.03
# Bytes on the link per byte of payload of a full Data.
WIRE = DATA / 1428
# Our additions where there is one class, by parameter: as we have it, as the text has it.
ADDITIONS = {
    "capacity": ("left", "link"),
    "cap": (0.95, 0.0),
    "floor": (1e-3, 0.0),
    "rtt": ("least", "average"),
    "min_packets": (10.0, 0.0),
    "sparse": (True, False),
    "drain": ("interval", "round-trip"),
    "spread": (True, False),
    "outstanding": ("due", "paced"),
    "repair": ("later-data", "timeout"),
}


def variants() -> Iterator[tuple[str, dict[str, object]]]:
    """Rows: names, and parameters of MIRCC."""
    yield "all of ours", {}
    for name, (_, text) in ADDITIONS.items():
        yield f"without `{name}`", {name: text}
    yield '`text = "paper"`', {"text": "paper"}
    for name, (ours, _) in ADDITIONS.items():
        yield f'`text = "paper"` with `{name}`', {"text": "paper", name: ours}


def run(parameters: dict[str, object], seed: int) -> tuple[float, float, float]:
    """One network: its furthest flow's distance from max-min, what all get of that, packets dropped."""
    found = draw(seed, 1)
    more = {f"schemes.mircc.{name}": value for name, value in parameters.items()}
    changes = found.scenario() | {"stop": f"{OVER[1]:g} s"} | more
    result = midpath.run(midpath.Scenario.from_toml(SCENARIO).with_(seed=1 + seed, changes=changes))
    got = np.array([WIRE * (mean(result, f"group:{flow[1]}", "goodput_bps", *OVER) or 0.0) for flow in found.flows])
    wanted = rest(found).max_min
    return float((np.abs(got - wanted) / wanted).max()), float(got.sum() / wanted.sum()), dropped(result)


def rows(count: int) -> Iterator[str]:
    """The table's rows, as they are measured."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        for name, parameters in variants():
            runs = list(pool.map(partial(run, parameters), range(FIRST, FIRST + count)))
            furthest, got, lost = zip(*runs, strict=True)
            close = sum(one <= CLOSE for one in furthest)
            median, worst = 100 * float(np.median(furthest)), 100 * max(furthest)
            yield (
                f"| {name} | {close} | {median:.1f} % | {worst:.0f} % | {100 * min(got):.0f} % "
                f"| {sum(one > 0 for one in lost)} |"
            )


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=20)
    count = parser.parse_args().networks
    print("# MIRCC on random networks, with and without what we add\n")
    print(f"Midpath {__version__}, written by `python checks/mircc/additions.py`: {count} networks with one path")
    print(f"per flow, rates over the seconds {OVER[0]:g} to {OVER[1]:g} against a max-min solver that runs none of")
    print(f"the equations. *Close*: no flow further than {100 * CLOSE:g} % from it. *Furthest*: a network's furthest")
    print("flow, median and most of the networks. *Least used*: what all flows of a network get of their max-min rates")
    print("together. *Drop*: networks in which a queue or a policy refused a packet.\n")
    print("| MIRCC | close | furthest, median | furthest, most | least used | drop |")
    print("|---|---|---|---|---|---|")
    for row in rows(count):
        print(row, flush=True)


if __name__ == "__main__":
    main()
