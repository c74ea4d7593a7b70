"""Scenarios in user-mode Linux, beside the simulator: writes DIR/VIRTUAL.md.

    python evidence/lab/virtual.py --out DIR

Runs that are in DIR are not made again. A packet on a link takes half a millisecond of CPU: eight minutes in all.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mechanisms import acknowledgements

from midpath.lab import beside, clean, kernel, machine, real
from midpath.markdown import table
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.units import digits

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
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

# What our TCP can do as Linux does, if it is asked to.
HYSTART = {"schemes.cubic.hystart": "linux"}
# And as it did before RACK-TLP.
RFC_6675 = {"schemes.cubic.loss_detection": "rfc6675"}
EACH = {"schemes.cubic.delayed_ack": False}
# What receiver `d0` sends.
CAPTURED = {"measure.pcap": [{"from": "d0", "to": "r1"}]}
SEGMENT = 1448
# A file each two seconds. The router is restarted so many ms after it begins: from when some of the last packets wait
# there to when the very last is leaving.
LOST_AT_MS = range(83, 95)
TAIL = """
[[flow]]
from = "s"
to = "d"
size = "43 kB"
start = "{start} s"

[[fault]]
at = "{lost} ms"
kind = "restart"
node = "r"
"""

# One flow over 130 ms, of which the first hop's 64 ms vary by so many: packets overtake each other, and none is lost.
JITTERS_MS = (1, 5, 30)
REORDERED = """
scheme = "cubic"
stop = "20 s"

[topology]
links = [
    {{ a = "s", b = "r", rate = "50 Mbps", delay = "64 ms" }},
    {{ a = "r", b = "d", rate = "50 Mbps", delay = "1 ms" }},
]
nodes = [{{ name = "s", kind = "host" }}, {{ name = "d", kind = "host" }}]

[queue]
limit = "800 kB"

[[vary]]
link = ["s", "r"]
one_way = true
jitter = {{ law = "uniform", max = "{jitter} ms", reorder = true }}

[[flow]]
from = "s"
to = "d"
start = "0 s"
"""

INTRO = """# The laboratory in virtual time

Written by `evidence/lab/virtual.py`. {guest}
"""


def as_linux(scenario: Scenario, laboratory: real.Laboratory, changes: dict[str, Any] | None = None) -> Result:
    """The same in the simulator, with Linux's timers, and with what else is asked for."""
    plan = real.prepare(scenario, laboratory.midpath_lab)
    return simulate(beside.as_linux(scenario, plan, beside.TIMERS).with_(changes=changes or {}))


def twice(out: Path, laboratory: real.Laboratory) -> tuple[str, Result]:
    """The first scenario, twice, beside the simulator."""
    scenario = Scenario.from_toml(EXAMPLES / "dumbbell.toml").with_(scheme="cubic", changes=SHORTER)
    runs = [real.kept(out / f"dumbbell-{number}", scenario, laboratory) for number in (1, 2)]
    kinds: tuple[dict[str, Any], ...] = ({}, HYSTART, HYSTART | RFC_6675, HYSTART | EACH)
    sims = [as_linux(scenario, laboratory, changes) for changes in kinds]
    rows = []
    for head, unit, of in (
        ("packets sent by flows", 1.0, lambda one: one.summary["sent_packets"]),
        ("repeats", 1.0, lambda one: one.summary["retransmitted_packets"]),
        ("packets over links", 1.0, lambda one: sum(one.ports["packets"].to_pylist())),
        ("goodput, Mbps", 1e6, lambda one: one.summary["goodput_total_bps"]),
        ("median completion, ms", 1e-3, lambda one: one.summary["fct_p50_s"]),
        ("bottleneck's wait p50, ms", 1e-3, lambda one: beside.bottleneck(one)["delay_p50_s"]),
        ("window of the first flow after 0.2 s, segments", SEGMENT, window),
    ):
        rows.append([head, *(digits(of(one) / unit) for one in (*runs, *sims))])
    simulated = ("simulated", "with Linux's HyStart", "and RFC 6675", "Linux's HyStart, an ACK for each segment")
    heads = ("", "first run", "second run", *simulated)
    text = f"## Two runs of `examples/dumbbell.toml`, CUBIC, 2.5 MB each\n\n{table(heads, rows, numbers=True)}\n\n"
    return f"{text}\n{acks(out, scenario, laboratory)}", runs[0]


def window(made: Result) -> float:
    """The first flow's congestion window 0.2 s after it began, in bytes."""
    series = made.series.to_pandas()
    mine = series[(series.entity == "flow:0") & (series.metric == "cwnd_bytes")]
    at = made.flows.to_pylist()[0]["start_s"] + 0.2
    return float(mine.iloc[(mine.time_s - at).abs().argmin()].value)


def acks(out: Path, scenario: Scenario, laboratory: real.Laboratory) -> str:
    """Why Linux repeats less there: what its receiver acknowledges one by one."""
    made = real.kept(out / "dumbbell-acks", scenario.with_(changes=CAPTURED), laboratory)
    sent = list(acknowledgements(made.files["d0-r1.pcapng"]))
    counts = {n: [grown > 0 for fresh, grown in sent if round(fresh / SEGMENT) == n] for n in (1, 2)}
    ones, twos = counts[1], counts[2]
    return f"""**The repeats.** Linux's first receiver sends {len(ones)} ACKs for one segment, {len(twos)} for two. Of
the former {sum(ones)} have a larger window than the ACK before, of the latter {sum(twos)}: while its receive window
grows it acknowledges each segment at once (`tcp_grow_window`). At 10 Mbps such ACKs are 1.2 ms apart, and those for
two segments 2.4 ms. HyStart takes ACKs within 2 ms for a train, and a train as long as half of a round trip ends slow
start. So Linux's ends a round sooner than ours with ACKs for two segments. In the last column each segment is
acknowledged, for the whole run: slow start ends a round sooner still, and repeats are as many as Linux's.
"""


def tails(out: Path, laboratory: real.Laboratory) -> str:
    """Files whose last packets are lost."""
    one = (HERE / "tail.toml").read_text(encoding="utf-8")
    begins = [(1 + 2 * number, lost) for number, lost in enumerate(LOST_AT_MS)]
    flows = "".join(TAIL.format(start=start, lost=1000 * start + lost) for start, lost in begins)
    scenario = Scenario.from_toml(one + flows)
    found = {
        "Linux": real.kept(out / "tails", scenario, laboratory),
        "simulated": as_linux(scenario, laboratory),
        "by RFC 6675": as_linux(scenario, laboratory, RFC_6675),
        "with Linux's HyStart": as_linux(scenario, laboratory, HYSTART),
    }
    rows = []
    for name, made in found.items():
        ends = made.flows.to_pylist()
        times = [digits(flow["fct_s"] * 1e3) for flow in ends]
        counts = [f"{sum(flow[key] for flow in ends):,}" for key in ("timeouts", "retransmitted_packets")]
        mean = sum(flow["fct_s"] for flow in ends) / len(ends)
        rows.append([name, digits(mean * 1e3), *counts, ", ".join(times)])
    heads = ("", "mean ms", "timeouts", "repeats", "completion of each, ms")
    what = (
        f"`evidence/lab/tail.toml`, CUBIC: {len(begins)} files of 43 kB one after the other. The router forgets what "
        f"waits in it {LOST_AT_MS[0]} to {LOST_AT_MS[-1]} ms after they begin"
    )
    return f"## Lost tails\n\n{what}.\n\n{table(heads, rows, numbers=True)}\n\n"


def reordering(out: Path, laboratory: real.Laboratory) -> str:
    """Packets that overtake each other and are not lost."""
    rows = []
    for jitter in JITTERS_MS:
        scenario = Scenario.from_toml(REORDERED.format(jitter=jitter))
        found = (
            real.kept(out / f"reordered-{jitter}", scenario, laboratory),
            as_linux(scenario, laboratory),
            as_linux(scenario, laboratory, RFC_6675),
        )
        goodputs = [digits(one.summary["goodput_total_bps"] / 1e6) for one in found]
        repeats = [f"{one.summary['retransmitted_packets']:,.0f}" for one in found]
        rows.append([f"{jitter} ms", *goodputs, *repeats])
    kinds = ("Linux", "simulated", "by RFC 6675")
    heads = ("jitter", *(f"{kind}, Mbps" for kind in kinds), *(f"{kind}, repeats" for kind in kinds))
    what = "CUBIC, 50 Mbps, 130 ms, 20 s. Bound: 10 % less than Linux at most"
    return f"## Reordering without loss\n\n{what}.\n\n{table(heads, rows, numbers=True)}\n\n"


def disciplines(out: Path, laboratory: real.Laboratory) -> str:
    """Disciplines of Linux 6.1 at one bottleneck, and the simulator's."""
    rows = []
    for name, qdisc, queue in DISCIPLINES:
        scenario = Scenario.from_toml(EXAMPLES / "bufferbloat.toml").with_(
            scheme="cubic", changes=BLOAT | (queue or {})
        )
        inside = real.Laboratory(laboratory.midpath_lab, None, linux=laboratory.linux, qdisc=qdisc)
        run = real.kept(out / f"queue-{name}", scenario, inside)
        rows.append([f"Linux: {name}", *figures(run)])
        if queue is not None:
            rows.append([f"simulated: {name}", *figures(as_linux(scenario, laboratory))])
            rows.append([f"with Linux's HyStart: {name}", *figures(as_linux(scenario, laboratory, HYSTART))])
    heads = ("", "wait p50 ms", "p99 ms", "chosen drops", "no room", "goodput Mbps", "Jain")
    what = "`examples/bufferbloat.toml`, CUBIC without ECN, the second flow after 1 s, 6 s"
    return f"## Disciplines at a bottleneck\n\n{what}.\n\n{table(heads, rows, numbers=True)}\n\n"


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
    rest = (part(out, laboratory) for part in (tails, reordering, disciplines))
    text = "\n".join((INTRO.format(guest=guest), text, *rest))
    (out / "VIRTUAL.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
