"""Scenarios in user-mode Linux, beside the simulator: writes DIR/VIRTUAL.md.

    python checks/lab/virtual.py --out DIR

Runs that are in DIR are not made again. A packet on a link takes half a millisecond of CPU: two minutes in all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from midpath import load
from midpath.lab import beside, clean, kernel, machine, real
from midpath.lab.table import markdown
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.units import digits

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORTER = {f"flow.{number}.size": "2.5 MB" for number in range(3)}
BLOAT = {"flow.1.start": "1 s", "stop": "6 s"}
CODEL = {"queue.kind": "codel"}
FQ_CODEL = CODEL | {"queue.scheduler": "fq"}
PIE = {"queue.kind": "pie"}
# What is asked of the kernel, and the simulator's same queue.
DISCIPLINES = (
    ("bfifo", None, {}),
    ("codel", None, CODEL),
    ("fq_codel", None, FQ_CODEL),
    ("pie", None, PIE),
    ("cake", "cake", None),
)

INTRO = """# The laboratory in virtual time

Written by `checks/lab/virtual.py`. {guest}
"""


def measured(place: Path, scenario: Scenario, laboratory: real.Laboratory) -> Result:
    """The run that is there, or a new one."""
    if not (place / "run.json").is_file():
        made = real.run(scenario, laboratory)
        print(place.name, made.run["emulator"]["frames"], "frames", flush=True)
        made.save(place)
    return load(place)


def as_linux(scenario: Scenario, laboratory: real.Laboratory) -> Result:
    """The same in the simulator, with Linux's timers."""
    return simulate(beside.as_linux(scenario, real.prepare(scenario, laboratory.midpath_lab)))


def twice(out: Path, laboratory: real.Laboratory) -> tuple[str, Result]:
    """The first scenario, twice, beside the simulator."""
    scenario = Scenario.from_toml(EXAMPLES / "dumbbell.toml").with_(scheme="cubic", changes=SHORTER)
    runs = [measured(out / f"dumbbell-{number}", scenario, laboratory) for number in (1, 2)]
    sim = as_linux(scenario, laboratory)
    rows = []
    for head, unit, of in (
        ("packets sent by flows", 1.0, lambda one: one.summary["sent_packets"]),
        ("repeats", 1.0, lambda one: one.summary["retransmitted_packets"]),
        ("packets over links", 1.0, lambda one: sum(one.ports["packets"].to_pylist())),
        ("goodput, Mbps", 1e6, lambda one: one.summary["goodput_total_bps"]),
        ("median completion, ms", 1e-3, lambda one: one.summary["fct_p50_s"]),
        ("bottleneck's wait p50, ms", 1e-3, lambda one: beside.bottleneck(one)["delay_p50_s"]),
    ):
        rows.append([head, *(digits(of(one) / unit) for one in (*runs, sim))])
    heads = ("", "first run", "second run", "simulated")
    text = f"## Two runs of `examples/dumbbell.toml`, CUBIC, 2.5 MB each\n\n{markdown(heads, rows)}\n"
    return text, runs[0]


def disciplines(out: Path, laboratory: real.Laboratory) -> str:
    """Disciplines of Linux 6.1 at one bottleneck, and the simulator's."""
    rows = []
    for name, qdisc, queue in DISCIPLINES:
        scenario = Scenario.from_toml(EXAMPLES / "bufferbloat.toml").with_(
            scheme="cubic", changes=BLOAT | (queue or {})
        )
        inside = real.Laboratory(laboratory.midpath_lab, None, linux=laboratory.linux, qdisc=qdisc)
        run = measured(out / f"queue-{name}", scenario, inside)
        rows.append([f"Linux: {name}", *figures(run)])
        if queue is not None:
            rows.append([f"simulated: {name}", *figures(as_linux(scenario, laboratory))])
    heads = ("", "wait p50 ms", "p99 ms", "chosen drops", "no room", "goodput Mbps", "Jain")
    what = "`examples/bufferbloat.toml`, CUBIC without ECN, the second flow after 1 s, 6 s"
    return f"## Disciplines at a bottleneck\n\n{what}.\n\n{markdown(heads, rows)}\n"


def figures(run: Result) -> list[str]:
    """A row: the port r0>r1, and all flows."""
    port = next(one for one in run.ports.to_pylist() if (one["node"], one["peer"]) == ("r0", "r1"))
    waits = [digits((port[key] or 0.0) * 1e3) for key in ("delay_p50_s", "delay_p99_s")]
    counts = [f"{port[key]:,}" for key in ("drops_aqm", "drops_queue")]
    return [*waits, *counts, digits(run.summary["goodput_total_bps"] / 1e6), digits(run.summary["jain_goodput"])]


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    clean.clean()
    laboratory = real.Laboratory(machine.program("midpath-lab"), None, linux=kernel.find())
    text, first = twice(out, laboratory)
    here, late = first.run["machine"], first.run["emulator"]["late_us"]["max"]
    load_average = here["load_average"].split()[0]
    guest = f"User-mode Linux {here['kernel']}, load average {load_average}; frames late by {late} µs at most."
    text = f"{INTRO.format(guest=guest)}\n{text}\n{disciplines(out, laboratory)}"
    (out / "VIRTUAL.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
