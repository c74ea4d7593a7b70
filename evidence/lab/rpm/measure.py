"""Everything that RESULTS.md shows, part by part: writes DIR/RESULTS.md.

    python evidence/lab/rpm/measure.py --out DIR [--repeats 5] [--only PART,…] [--midpathd PROGRAM]

A part is a list of experiments; each writes its runs below DIR and a section. Runs that are in DIR are not made again,
so an interrupted suite goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import download
import overhead

from midpath.compare.comparison import Comparison
from midpath.lab import beside, machine, real
from midpath.lab.machine import Tools
from midpath.lab.rpm import SEGMENT_BYTES, Bottleneck, Delays, Experiment, Short, cases
from midpath.lab.table import HEADS, cells
from midpath.markdown import table
from midpath.storage import write_text

MS = 1e-3
CODEL = Bottleneck()
# The paper's §V-B.
PAPER = Bottleneck(target_s=1 * MS, interval_s=20 * MS)
STEP = Bottleneck(aqm="step", target_s=1 * MS)
# The paper's table I: one-way delays of the receivers' links; the senders' are 10 ms.
TABLE_I = {
    "1": (10, 10, 10, 10, 10),
    "2": (10, 20, 30, 40, 50),
    "3": (20, 40, 60, 80, 100),
}
THREE = ("none", "fwd", "rpm")


@dataclass(frozen=True)
class Case:
    """An experiment with what it is run under."""

    name: str
    experiment: Experiment
    controls: tuple[str, ...] = ("cubic",)
    modes: tuple[str, ...] = THREE

    def cases(self) -> list[real.Case]:
        """Its runs of a seed."""
        return cases(self.experiment, self.controls, self.modes)


def behind(rtt_ms: float) -> Delays:
    """All of the round trip lies behind the router: what RPM shortens most."""
    return Delays(0.0, (rtt_ms / 2 * MS,))


def long_flows(bottleneck: Bottleneck, name: str, control: str) -> list[Case]:
    """1 and 8 flows over 4, 40 and 100 ms."""
    found = []
    for rtt in (4, 40, 100):
        for flows in (1, 8):
            title = f"{name}, {control}, RTT {rtt} ms, {count(flows)}"
            experiment = Experiment(title, bottleneck, behind(rtt), long=flows, seconds=8.0)
            found.append(Case(f"{rtt}ms-{flows}", experiment, (control,)))
    return found


def count(flows: int) -> str:
    """`1 flow`."""
    return f"{flows} flow" if flows == 1 else f"{flows} flows"


def crossed() -> list[Case]:
    """Each congestion control under the other's AQM."""
    codel = Experiment("CoDel 5/100 ms, dctcp, RTT 40 ms, 8 flows", CODEL, behind(40), long=8, seconds=8.0)
    step = Experiment("Step 1 ms, cubic, RTT 40 ms, 8 flows", STEP, behind(40), long=8, seconds=8.0)
    modes = ("fwd", "rpm")
    return [Case("codel-dctcp", codel, ("dctcp",), modes), Case("step-cubic", step, ("cubic",), modes)]


def rates() -> list[Case]:
    """The same at other rates."""
    found = []
    for mbps in (20, 50, 200):
        bottleneck = Bottleneck(rate_bps=mbps * 1e6)
        title = f"{mbps} Mbps, CoDel 5/100 ms, cubic, RTT 40 ms, 8 flows"
        found.append(Case(f"{mbps}mbps", Experiment(title, bottleneck, behind(40), long=8, seconds=8.0)))
    return found


def mixed() -> list[Case]:
    """Table I: ten flows whose round trips differ, under the paper's CoDel; one of them with DCTCP."""
    found = []
    for number, down in TABLE_I.items():
        delays = Delays(10 * MS, tuple(delay * MS for delay in down))
        title = f"Table I, experiment {number}, CoDel 1/20 ms, cubic"
        found.append(Case(number, Experiment(title, PAPER, delays, long=2, seconds=12.0)))
    delays = Delays(10 * MS, tuple(delay * MS for delay in TABLE_I["2"]))
    step = Experiment("Table I, experiment 2, step 1 ms, dctcp", STEP, delays, long=2, seconds=12.0)
    return [*found, Case("2-step", step, ("dctcp",))]


def paper_codel() -> list[Case]:
    """The paper's CoDel; the RFC's is in the part `codel`."""
    found = []
    for flows in (1, 8):
        title = f"CoDel 1/20 ms, cubic, RTT 40 ms, {count(flows)}"
        experiment = Experiment(title, PAPER, behind(40), long=flows, seconds=8.0)
        found.append(Case(f"1ms-{flows}", experiment, modes=("fwd", "rpm")))
    return found


def short() -> list[Case]:
    """Completion of short flows beside two long ones (the paper's figure 5)."""
    found = []
    for bottleneck, name, control in ((PAPER, "CoDel 1/20 ms", "cubic"), (STEP, "step 1 ms", "dctcp")):
        title = f"Short flows beside 2 long ones, {control}, {name}, RTT 40 ms"
        experiment = Experiment(title, bottleneck, behind(40), long=2, seconds=15.0, short=Short())
        found.append(Case(control, experiment, (control,)))
    return found


def others() -> list[Case]:
    """Other congestion controls, and RPM's other forms; all with 8 flows, RTT 40 ms."""

    def eight(title: str, bottleneck: Bottleneck = CODEL) -> Experiment:
        return Experiment(title, bottleneck, behind(40), long=8, seconds=8.0)

    return [
        Case("controls", eight("NewReno and BBR"), ("newreno", "bbr")),
        Case("aggregate", eight("One register for all (§III-C)", Bottleneck(aggregate=True)), modes=("rpm",)),
        Case("plain", eight("Plain registers (algorithm 1)", Bottleneck(registers="plain")), modes=("rpm",)),
        Case("dataplane", eight("Data-plane CoDel", Bottleneck(aqm="codel-dataplane")), modes=("fwd", "rpm")),
        Case("both", eight("Both ways at once"), modes=("both",)),
    ]


PARTS: dict[str, Callable[[], list[Case]]] = {
    "codel": lambda: long_flows(CODEL, "CoDel 5/100 ms", "cubic"),
    "step": lambda: long_flows(STEP, "Step 1 ms", "dctcp"),
    "crossed": crossed,
    "rates": rates,
    "mixed": mixed,
    "paper-codel": paper_codel,
    "short": short,
    "others": others,
}
# What the part `sim` runs in the simulator, too.
SIMULATED = (("codel", "4ms-8"), ("codel", "40ms-1"), ("codel", "40ms-8"), ("codel", "100ms-8"), ("step", "40ms-8"))
# Parts that are no comparison of runs.
SPECIAL = ("sim", "cost", "memory", "download")


INTRO = """# RPM on a real Linux router: measurements

Written by `measure.py`. A row is a congestion control and what the router does: nothing beyond its shaper (`cubic`),
forward marks (`cubic-fwd`), RPM (`cubic-rpm`), both at once (`cubic-both`). 100 Mbps, 200 ms of buffer, and all of the
round trip behind the router, unless a heading says otherwise.

*Goodput* is of all flows together. *Sojourn* is the time in the router's queue, *RTT* the mean of the senders' own.
*Jain* is among flows without end. *Signals* are the AQM's decisions; *CE* and *ECE* what the router wrote; *Echoed* the
packets that senders took for marked. *Short FCT* is the mean completion time of short flows. Slow start is included.
"""


def section(part: str, out: Path, tools: Tools, repeats: int) -> str:
    """A part of the page."""
    if part in PARTS:
        return "".join(_case(out / part, case, tools, repeats) for case in PARTS[part]())
    if part == "sim":
        return "".join(_beside(out / name, _case_of(name, case), tools, repeats) for name, case in SIMULATED)
    if part == "cost":
        return overhead.section(tools, repeats)
    return overhead.memory(tools) if part == "memory" else download.section(tools, repeats)


def _case_of(part: str, name: str) -> Case:
    return next(case for case in PARTS[part]() if case.name == name)


def _case(out: Path, case: Case, tools: Tools, repeats: int) -> str:
    found = _measured(out / case.name, case, tools, repeats)
    text = f"### {case.experiment.title}\n\n{table(HEADS, cells(found), numbers=True)}\n\n{real.footnote(found)}\n\n"
    return text if case.experiment.short is None else f"{text}{_sizes(found)}\n\n"


def _beside(out: Path, case: Case, tools: Tools, repeats: int) -> str:
    """The same runs in the simulator, as far as it has them."""
    found = _measured(out / case.name, case, tools, repeats)
    lines = beside.beside(case.cases(), found, real.Laboratory.of(tools))
    return f"### {case.experiment.title}\n\n{table(beside.HEADS, beside.cells(lines), numbers=True)}\n\n"


def _measured(directory: Path, case: Case, tools: Tools, repeats: int) -> Comparison:
    """The runs that are there already, or new ones."""
    seeds = range(1, repeats + 1)
    return real.compare(case.cases(), seeds, real.Laboratory.of(tools), out=directory, resume=True)


def _sizes(found: Comparison) -> str:
    """Mean completion times by size."""
    flows = {scheme: [flow for one in found.of(scheme) for flow in one.flows.to_pylist()] for scheme in found.schemes}
    sizes = sorted({flow["size_bytes"] for own in flows.values() for flow in own if flow["size_bytes"]})
    lines = []
    for scheme, own in flows.items():
        times = [[flow["fct_s"] for flow in own if flow["size_bytes"] == size and flow["completed"]] for size in sizes]
        lines.append([scheme, *(f"{1e3 * sum(some) / len(some):.1f}" if some else "–" for some in times)])
    return table(["Mean FCT ms", *(f"{size / SEGMENT_BYTES:.0f} packets" for size in sizes)], lines, numbers=True)


def main() -> None:
    """Runs all parts, or some; writes RESULTS.md after each."""
    everything = (*PARTS, *SPECIAL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", type=lambda text: text.split(","), default=everything)
    parser.add_argument("--midpathd")
    asked = parser.parse_args()
    if unknown := set(asked.only) - set(everything):
        parser.error(f"--only {', '.join(sorted(unknown))}: there are {', '.join(everything)}")
    if (why := machine.no_spaces()) is not None:
        parser.error(why)
    tools = machine.find_tools(asked.midpathd)
    machine.check(tools)
    for part in (part for part in everything if part in asked.only):
        print(part, "…", flush=True)
        text = section(part, asked.out, tools, asked.repeats)
        write_text(asked.out / "sections" / f"{part}.md", f"## {part}\n\n{text}")
        sections = [asked.out / "sections" / f"{one}.md" for one in everything]
        parts = "\n".join(one.read_text(encoding="utf-8") for one in sections if one.is_file())
        write_text(asked.out / "RESULTS.md", f"{INTRO}\n{parts}")
    print(f"results in {asked.out / 'RESULTS.md'}")


if __name__ == "__main__":
    main()
