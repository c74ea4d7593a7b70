"""Scenarios in the laboratory beside the simulator, and the mechanisms of TCP one by one: writes RESULTS.md.

    sudo python evidence/lab/suite.py --out DIR [--seeds 3] [--only NAME,…]

Runs that are in DIR are not made again, so an interrupted suite goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from midpath.lab import beside, budget, clean, machine, real
from midpath.markdown import table
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


@dataclass(frozen=True)
class Case:
    """A scenario as it is run here: shorter, and no faster than two cores can."""

    name: str
    file: Path
    schemes: tuple[str, ...]
    changes: dict[str, Any] = field(default_factory=dict)
    variant: str | None = None

    def scenario(self) -> Scenario:
        """The scenario with the changes."""
        found = Scenario.from_toml(self.file)
        if self.variant:
            found = found.with_variant(self.variant)
        return found.with_(changes=self.changes)

    def told(self) -> str:
        """File, variant, changes."""
        file = self.file.relative_to(HERE.parents[1])
        changed = "".join(f"; `{key}` = {json.dumps(value)}" for key, value in self.changes.items())
        variant = f", variant {self.variant}" if self.variant else ""
        return f"`{file}`{variant}{changed}."


SHORTER = {f"flow.{number}.size": "2.5 MB" for number in range(3)}
CASES = (
    Case("dumbbell", EXAMPLES / "dumbbell.toml", ("newreno", "cubic"), SHORTER),
    Case("bufferbloat", EXAMPLES / "bufferbloat.toml", ("cubic",), {"stop": "12 s"}, "drop-tail"),
    Case("bufferbloat-codel", EXAMPLES / "bufferbloat.toml", ("cubic",), {"stop": "12 s"}, "CoDel"),
    Case("buffers", EXAMPLES / "buffers.toml", ("newreno", "cubic")),
    Case("cellular", EXAMPLES / "links" / "cellular.toml", ("cubic",), {"stop": "15 s"}),
    Case(
        "forward-marking",
        EXAMPLES / "rpm_forward_marking.toml",
        ("newreno",),
        # The slope of its marks is that of the file.
        {"topology.bottleneck.rate": "50 Mbps", "stop": "12 s", "fault.0.at": "8 s", "fault.0.rate": "40 Mbps"},
    ),
    Case(
        "abilene",
        EXAMPLES / "abilene.toml",
        ("newreno", "cubic"),
        {
            "topology.rate": "4 Mbps",
            "topology.hosts.rate": "40 Mbps",
            "workload.0.arrivals.load_of": "4 Mbps",
            "workload.0.sizes": {"kind": "cdf", "name": "hadoop"},
            "workload.0.until": "5 s",
        },
    ),
    Case("one-flow", HERE / "one_flow.toml", ("newreno", "cubic"), {"measure": {}}),
    Case("incast", HERE / "incast.toml", ("newreno", "dctcp")),
)

# What else the simulator is asked for.
TIMERS = "With Linux's timers alone, without RACK-TLP and Linux's HyStart"
EACH = "With an ACK for each segment, which Linux's receivers send at first ([why](VIRTUAL.md))"
INTRO = """# The laboratory beside the simulator

Written by `evidence/lab/suite.py`. Each row is a figure of one scenario and scheme: medians of {seeds} runs
(smallest–largest), measured with this kernel's TCP and simulated with the same flows. [docs/lab.md](../../docs/lab.md)
has the margins, which were fixed before. Scenarios are those of `examples/`, shorter and slower where a line says so.
"""


def measured(case: Case, out: Path, seeds: int, laboratory: real.Laboratory) -> list[tuple[str, list[Result]]]:
    """The runs of a case, by scheme: those that are there, or new ones."""
    scenario = case.scenario()
    first = scenario.base_seed()

    def told(scheme: str, seed: int, *_: int) -> None:
        print(case.name, scheme, seed, flush=True)

    cases, numbers = real.cases(scenario, case.schemes), range(first, first + seeds)
    found = real.compare(cases, numbers, laboratory, out=out / case.name, resume=True, told=told)
    return [(scheme, found.of(scheme)) for scheme in found.schemes]


def section(
    case: Case, out: Path, seeds: int, laboratory: real.Laboratory, others: dict[str, list[beside.Line]]
) -> tuple[str, list[beside.Line]]:
    """The table of a case; `others` get its rows where the simulator is asked for something else."""
    scenario = case.scenario()
    lines: list[beside.Line] = []
    runs: list[Result] = []
    for scheme, found in measured(case, out, seeds, laboratory):
        for into, linux, more in (
            (lines, None, {}),
            (others[TIMERS], beside.TIMERS, {}),
            (others[EACH], None, {f"schemes.{scheme}.delayed_ack": False}),
        ):
            pairs = []
            for lab in found:
                asked = scenario.with_(scheme=scheme, seed=lab.seed)
                plan = real.prepare(asked, laboratory.midpath_lab)
                pairs.append((lab, simulate(beside.as_linux(asked, plan, linux).with_(changes=more))))
            into.extend(beside.verdicts(scheme, pairs))
        runs += found
    late = [run.run["emulator"]["late_us"] for run in runs]
    loads = [float(run.run["machine"]["load_average"].split()[0]) for run in runs]
    note = (
        f"{case.told()} Load average {min(loads):.1f}–{max(loads):.1f}; frames late by "
        f"{statistics.median(one['p50'] for one in late):.0f} µs (p50), {max(one['p99'] for one in late)} µs (p99)."
    )
    return f"## {case.name}\n\n{table(beside.HEADS, beside.cells(lines), numbers=True)}\n\n{note}\n", lines


# Where the link stands still for longer than the retransmission timer.
OUTAGE = """
**Its repeats.** The link stands still for a second from 6 s on, and the timer of either side goes off though nothing
was lost. Linux sees that by the next ACKs (RFC 3522, RFC 5682), takes its window back, and repeats what was lost. The
simulator's TCP sends all again that was in flight, and begins with slow start.
"""


def needless(case: Case, out: Path, seeds: int, laboratory: real.Laboratory) -> str:
    """Run by run: packets lost, and sent again."""
    rows = []
    for scheme, found in measured(case, out, seeds, laboratory):
        for lab in found:
            asked = case.scenario().with_(scheme=scheme, seed=lab.seed)
            sim = simulate(beside.as_linux(asked, real.prepare(asked, laboratory.midpath_lab)))
            for side, made in (("measured", lab), ("simulated", sim)):
                flows = made.flows.to_pylist()
                counts = [sum(flow[key] for flow in flows) for key in ("lost_packets", "retransmitted_packets")]
                timeouts = sum(flow["timeouts"] for flow in flows)
                rows.append([f"seed {lab.seed}, {side}", *(str(n) for n in (*counts, counts[1] - counts[0], timeouts))])
    return f"{OUTAGE}\n{table(('', 'lost', 'sent again', 'of these not lost', 'timeouts'), rows, numbers=True)}\n"


def verdict(lines: list[beside.Line]) -> str:
    """How many of those that count are within."""
    counted = [line for line in lines if line.verdict.partition(" ")[0] in ("yes", "no")]
    within = sum(line.verdict.startswith("yes") for line in counted)
    invalid = sum("invalid" in line.verdict for line in lines)
    return f"{within} of {len(counted)} figures that count are within their margins; {invalid} rows without a verdict"


def options(doc: str | None, cases: Sequence[Case]) -> tuple[argparse.Namespace, list[Case]]:
    """What was asked for, and the cases that were."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    return asked, [case for case in cases if not asked.only or case.name in asked.only.split(",")]


def calibrated(*, nodes: bool = False) -> real.Laboratory:
    """A laboratory of which nothing is left from before, and that knows what this machine can do."""
    midpath_lab = machine.program("midpath-lab")
    clean.clean()
    return real.Laboratory(midpath_lab, budget.calibrate(midpath_lab), nodes=nodes)


def main() -> None:
    """Runs everything, or some."""
    asked, cases = options(__doc__, CASES)
    laboratory = calibrated()
    assert laboratory.budget is not None
    print(laboratory.budget.says(), flush=True)
    parts: list[str] = []
    everything: list[beside.Line] = []
    others: dict[str, list[beside.Line]] = {TIMERS: [], EACH: []}
    for case in cases:
        text, lines = section(case, asked.out, asked.seeds, laboratory, others)
        parts.append(text + (needless(case, asked.out, asked.seeds, laboratory) if case.name == "cellular" else ""))
        everything += lines
        counts = [f"{what}: {verdict(found).partition(' figures')[0]}" for what, found in others.items()]
        headline = f"**{verdict(everything)}.** {'. '.join(counts)}.\n"
        body = "\n".join([INTRO.format(seeds=asked.seeds), headline, *parts])
        mechanisms = asked.out / "MECHANISMS.md"
        if mechanisms.is_file():
            body += "\n" + mechanisms.read_text(encoding="utf-8")
        (asked.out / "RESULTS.md").write_text(body, encoding="utf-8")
    print(f"{verdict(everything)}; {asked.out / 'RESULTS.md'}")


if __name__ == "__main__":
    main()
