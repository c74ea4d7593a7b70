"""Scenarios on Midpath's nodes beside the simulator, which runs the same code: writes DIR/NODES.md.

    sudo python evidence/lab/nodes.py --out DIR [--seeds 3] [--only NAME,…]

Runs that are in DIR are not made again, so an interrupted suite goes on where it stopped.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from suite import EXAMPLES, HERE, SHORTER, Case, calibrated, measured, options, verdict

from midpath.lab import beside, real
from midpath.markdown import table
from midpath.run import run as simulate
from midpath.units import digits

OURS = ("newreno", "cubic", "rcp", "fcp", "inrpp")
SLOWER = {f"topology.links.{number}.rate": "20 Mbps" for number in range(3, 11)}
CASES = (
    Case("dumbbell", EXAMPLES / "dumbbell.toml", OURS, SHORTER),
    Case("detour", EXAMPLES / "inrpp_detour.toml", ("newreno", "fcp", "inrpp"), SLOWER | SHORTER | {"stop": "15 s"}),
    Case(
        "answers",
        HERE / "incast.toml",
        OURS,
        {"topology.access.rate": "10 Mbps", "workload.0.sizes": {"kind": "fixed", "size": "20 kB"}},
    ),
)

INTRO = """# Midpath's nodes beside the simulator

Written by `evidence/lab/nodes.py`. Each row is a figure of one scenario and scheme: medians of {seeds} runs
(smallest–largest), on nodes over the laboratory's lines, and simulated with the same flows.
[docs/lab.md](../../docs/lab.md) has the margins; they are those of the kernel's TCP, fixed before.

**{verdict}.**
"""


def section(case: Case, out: Path, seeds: int, laboratory: real.Laboratory) -> tuple[str, list[beside.Line]]:
    """The table of a case."""
    lines: list[beside.Line] = []
    runs = []
    for scheme, found in measured(case, out, seeds, laboratory):
        pairs = [(lab, simulate(case.scenario().with_(scheme=scheme, seed=lab.seed))) for lab in found]
        lines += beside.verdicts(scheme, pairs)
        runs += found
    late = [run.run["emulator"]["late_us"]["p99"] for run in runs]
    woken = [run.run["nodes"]["late_us"]["p99"] for run in runs]
    loads = [float(run.run["machine"]["load_average"].split()[0]) for run in runs]
    note = (
        f"{case.told()} Load average {min(loads):.1f}–{max(loads):.1f}; p99 of lateness: frames "
        f"{statistics.median(late):.0f} µs, nodes {statistics.median(woken):.0f} µs, in the worst run {max(woken)} µs."
    )
    return f"## {case.name}\n\n{table(beside.HEADS, beside.cells(lines), numbers=True)}\n\n{note}\n", lines


# What a node lets an application of another one send before it has read anything (docs/decisions.md).
FIRST_WINDOW = "11 kB"


def first_window(case: Case, out: Path, seeds: int, laboratory: real.Laboratory) -> str:
    """The same where the simulator's receivers have the window that nodes begin with: what that explains."""
    rows = []
    for scheme, found in measured(case, out, seeds, laboratory):
        sims = [
            [simulate(case.scenario().with_(scheme=scheme, seed=lab.seed, changes=changes)) for lab in found]
            for changes in ({}, {f"schemes.{scheme}.receive_window": FIRST_WINDOW})
        ]
        for head, of in (
            ("FCT p50 ms", lambda one: one.summary["fct_p50_s"] * 1e3),
            ("Repeats %", lambda one: 100 * one.summary["retransmitted_packets"] / one.summary["sent_packets"]),
            ("Jain", lambda one: one.summary["jain_goodput"]),
        ):
            rows.append([scheme, head, *(digits(statistics.median(map(of, runs))) for runs in (found, *sims))])
    heads = ("", "Figure", "Measured", "Simulated", f"with a window of {FIRST_WINDOW}")
    return f"### The first window of `{case.name}`\n\n{WINDOW}\n{table(heads, rows, numbers=True)}\n"


WINDOW = """A node promises an application of another node little before it has read something. Medians, beside the
simulator whose receivers have no more than that for the whole run.
"""


def main() -> None:
    """Runs everything, or some."""
    asked, cases = options(__doc__, CASES)
    laboratory = calibrated(nodes=True)
    parts, everything = [], []
    for case in cases:
        text, lines = section(case, asked.out, asked.seeds, laboratory)
        parts.append(text)
        if case.name == "answers":
            parts.append(first_window(case, asked.out, asked.seeds, laboratory))
        everything += lines
        body = "\n".join([INTRO.format(seeds=asked.seeds, verdict=verdict(everything)), *parts])
        (asked.out / "NODES.md").write_text(body, encoding="utf-8")
    print(f"{verdict(everything)}; {asked.out / 'NODES.md'}")


if __name__ == "__main__":
    main()
