"""What our additions to RPM are worth, and the paper's text: long flows, shared registers, ACKs that come another way.

    python evidence/lab/rpm/additions.py [--seeds N] > evidence/lab/rpm/ADDITIONS.md

Takes about two minutes on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import midpath
from midpath import __version__, markdown
from midpath.run.drive import results
from midpath.stats import estimate

# What is written into [schemes.rpm], by what the table calls it. "ours" is guarded registers, and CoDel of RFC 8289.
VARIANTS = {
    "ours": "",
    '`registers = "plain"`': 'registers = "plain"',
    '`codel = "data-plane"`': 'codel = "data-plane"',
    '`text = "paper"`': 'text = "paper"',
    'CE on the data (`mode = "fwd"`)': 'mode = "fwd"',
}
# Two equal paths each way: ACKs of half of the flows come back past the other of two narrow routers.
TWO_WAYS = """
[topology]
links = [
  { a = "s0", b = "r0", rate = "1 Gbps", delay = "1 ms" },
  { a = "r0", b = "x", rate = "1 Gbps", delay = "10 ms" },
  { a = "r0", b = "y", rate = "1 Gbps", delay = "10 ms" },
  { a = "x", b = "r1", rate = "50 Mbps", delay = "10 ms" },
  { a = "y", b = "r1", rate = "50 Mbps", delay = "10 ms" },
  { a = "r1", b = "d0", rate = "1 Gbps", delay = "1 ms" },
]
"""
PAIR = """
[topology]
generate = "dumbbell"
pairs = 1
bottleneck = { rate = "100 Mbps", delay = "10 ms" }
access = { rate = "1 Gbps", delay = "5 ms" }
"""


def flows(count: int) -> str:
    """Long flows from one host to another, that start within a second."""
    return f'[[flow]]\nfrom = "s0"\nto = "d0"\ncount = {count}\njitter = "1 s"\n'


# A network and its flows; parameters of RPM that the case is about.
CASES = {
    "10 flows": (PAIR + flows(10), ""),
    "100 flows, 16 registers": (PAIR + flows(100), "size = 16"),
    "20 flows, ACKs of half another way": (TWO_WAYS + flows(20), ""),
}
# Heading, scale and digits of each figure.
COLUMNS = {
    "used, %": (100.0, 1),
    "Jain's index": (1.0, 2),
    "mean wait, ms": (1e3, 1),
    "wait at most, ms": (1e3, 0),
    "lost, %": (100.0, 2),
    "told by CE, ‰": (1e3, 2),
}


def scenario(text: str, parameters: str, seed: int) -> str:
    """What is run."""
    scheme = 'scheme = "cubic+rpm"\nschemes.cubic.ecn = true'
    return f'stop = "20 s"\nseed = {seed}\n{scheme}\n[schemes.rpm]\n{parameters}\n{text}'


def figures(result: midpath.Result) -> list[float]:
    """One run's figures, in the order of the columns; of queues those of the ports that choose."""
    ports = result.ports.to_pandas()
    busy = ports[(ports.peer == "r1") & ports.node.isin(["r0", "x", "y"])]
    wait = float((busy.delay_mean_s * busy.packets).sum() / busy.packets.sum())
    found, told = result.summary, float(busy.marks.sum() / busy.packets.sum())
    return [found["utilisation_max"], found["jain_goodput"], wait, busy.delay_max_s.max(), found["loss_ratio"], told]


def cell(values: Sequence[float], scale: float, digits: int) -> str:
    """Mean and 95 % interval."""
    found = estimate(scale * value for value in values)
    assert found is not None
    return f"{found.mean:.{digits}f}" if found.ci95 is None else f"{found.mean:.{digits}f} ± {found.ci95:.{digits}f}"


def rows(seeds: int) -> Iterator[str]:
    """The table's rows, as they are measured."""
    for case, (text, keys) in CASES.items():
        for name, parameters in VARIANTS.items():
            asked = (scenario(text, f"{parameters}\n{keys}", seed) for seed in range(1, 1 + seeds))
            columns = zip(zip(*map(figures, results(asked)), strict=True), COLUMNS.values(), strict=True)
            yield markdown.line([case, name, *(cell(values, *about) for values, about in columns)])


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print("# RPM, with and without what we add\n")
    command = f"python evidence/lab/rpm/additions.py --seeds {seeds}"
    print(f"Midpath {__version__}, written by `{command}`: CUBIC with ECN over RPM for 20 s,")
    print(
        "means over seeds with 95 % intervals. Waits are of the narrow ports, *told by CE* the share of their packets"
    )
    print("whose receivers are told, not their senders. *Ours* has guarded registers and the CoDel of RFC 8289.")
    print("What the cases are stands at the head of the script.\n")
    print(markdown.head(["case", "RPM", *COLUMNS]))
    for row in rows(seeds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
