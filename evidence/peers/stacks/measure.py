"""Stacks of others in the simulator: the same bytes again, fairness beside our CUBIC, what they cost.

    python evidence/peers/stacks/measure.py        # builds stacks/, runs for a few minutes, writes RESULTS.md
    python evidence/peers/stacks/measure.py "Estimates on a varying link"      # measures this section alone again

Bounds, set before the first run: 20 MB of QUIC at 20 Mbps and a round trip of 100 ms are the same bytes twice and on
two threads, in less than 1 s of wall time; Jain's index of quinn's CUBIC beside ours is at least .9 on average over
ten seeds on each of three dumbbells; the mean of str0m's estimate, and of SCReAM's target, in the last 10 s before each
change of a link that it has alone is between .7 and 1.1 of the link's rate.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from midpath.stats import jain

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = HERE / "RESULTS.md"
RUNNER = ROOT / "target/release/stacks"

SEEDS = range(1, 11)
JAIN = 0.9
WALL_S = 1.0
# Rate, one-way delay of the bottleneck, and the queue: a bandwidth-delay product each, and half of one.
DUMBBELLS = {
    "20 Mbps, 100 ms, 250 kB": ("20 Mbps", "48 ms", "250 kB"),
    "50 Mbps, 40 ms, 250 kB": ("50 Mbps", "18 ms", "250 kB"),
    "10 Mbps, 60 ms, 38 kB": ("10 Mbps", "28 ms", "38 kB"),
}
LONG = "60 s"
STACKS = ("cubic", "quinn", "quinn-midpath-cubic", "quinn-midpath-bbr", "smoltcp", "str0m")
# Of a varying link: until when, in s, it has which rate, in Mbps; and queues of 100 and 500 ms at 5 Mbps.
PHASES = ((30, 5), (60, 2), (90, 8))
QUEUES = ("63 kB", "313 kB")
ESTIMATE = (0.7, 1.1)
# Whose `rate_bps` is what its encoder is told, and what it is called.
ENCODERS = {"str0m": "estimate", "scream": "target"}
BESIDE = (["str0m"], ["scream"], ["cubic"], ["str0m", "cubic"], ["scream", "cubic"], ["str0m", "scream"])
# Series are read from so long before a phase's end.
LAST_S = 10


def dumbbell(shape: tuple[str, str, str], flows: Sequence[str], more: str = "") -> str:
    """A scenario of one flow per pair."""
    rate, delay, queue = shape
    text = f"""
[topology]
generate = "dumbbell"
pairs = {len(flows)}
bottleneck = {{ rate = "{rate}", delay = "{delay}" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}
[queue]
limit = "{queue}"
"""
    for pair, flow in enumerate(flows):
        text += f'[[flow]]\nfrom = "s{pair}"\nto = "d{pair}"\njitter = "1 s"\n{flow}\n'
    return more + text


def run(text: str, *options: str) -> dict[str, Any]:
    """One run's result."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([RUNNER, file.name, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def by_pair(result: dict[str, Any]) -> list[float]:
    """Goodput of the flows of s0, s1, …: results have flows in the order of their starts."""
    flows = result["flows"]
    return [goodput for _, goodput in sorted(zip(flows["src"], flows["goodput_bps"], strict=True))]


def captures(folder: Path) -> dict[str, bytes]:
    """Files by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def again() -> list[str]:
    """20 MB, thrice."""
    pcap = "".join(f'[[measure.pcap]]\nfrom = "{a}"\nto = "{b}"\npackets = 40000\n' for a, b in ("01", "10"))
    pcap = pcap.replace('"0"', '"r0"').replace('"1"', '"r1"')
    text = dumbbell(DUMBBELLS["20 Mbps, 100 ms, 250 kB"], ['size = "20 MB"'], 'scheme = "quinn"\n')
    rows, seen = [], []
    for threads in ("1", "1", "2"):
        with tempfile.TemporaryDirectory() as folder:
            result = run(text + pcap, "--threads", threads, "--out", folder)
            files = captures(Path(folder))
        flows = result["flows"]
        wall = run(text, "--threads", threads)["run"]["wall_s"]
        seen.append((files, flows))
        size = sum(map(len, files.values()))
        same = "" if len(seen) == 1 else "yes" if seen[-1] == seen[0] else "**no**"
        fast = "yes" if wall < WALL_S else "**no**"
        rows.append(
            f"| {threads} | {flows['fct_s'][0]:.9f} | {flows['sent_packets'][0]} | {size} | {same} "
            f"| {wall:.2f} | {fast} |"
        )
    head = "| threads | completion, s | packets | bytes captured | the same | wall, s | below 1 s |"
    return [head, "|---|---|---|---|---|---|---|", *rows]


def fairness() -> list[str]:
    """Two long flows, by pairs of schemes."""
    rows = []
    for name, shape in DUMBBELLS.items():
        for one, other in (
            ("quinn", "cubic"),
            ("cubic", "cubic"),
            ("quinn", "quinn"),
            ("quinn-midpath-cubic", "cubic"),
        ):
            text = dumbbell(shape, [f'scheme = "{one}"', f'scheme = "{other}"'], f'stop = "{LONG}"\n')
            goodput = [by_pair(run(text, "--seed", str(seed))) for seed in SEEDS]
            each = [jain(pair) for pair in goodput]
            share = statistics.mean(pair[0] / sum(pair) for pair in goodput)
            mean = statistics.mean(each)
            bound = ("yes" if mean >= JAIN else "**no**") if (one, other) == ("quinn", "cubic") else ""
            rows.append(
                f"| {name} | `{one}` | `{other}` | {mean:.3f} | {min(each):.3f} | {share:.2f} "
                f"| {statistics.mean(map(sum, goodput)) / 1e6:.1f} | {bound} |"
            )
    head = "| bottleneck | one | other | Jain, mean | least | share of the first | both, Mbps | at least .9 |"
    return [head, "|---|---|---|---|---|---|---|---|", *rows]


def cost() -> list[str]:
    """What a simulated second takes."""
    rows = []
    for scheme in STACKS:
        text = dumbbell(DUMBBELLS["20 Mbps, 100 ms, 250 kB"], ["", ""], f'scheme = "{scheme}"\nstop = "{LONG}"\n')
        runs = [run(text)["run"] for _ in range(3)]
        wall = min(one["wall_s"] for one in runs)
        hops = runs[0]["packet_hops"]
        rows.append(f"| `{scheme}` | {hops} | {1000 * wall / 60:.2f} | {1e9 * wall / hops:.0f} |")
    head = "| scheme | packet-hops in 60 s | wall, ms per simulated s | ns per packet-hop |"
    return [head, "|---|---|---|---|", *rows]


def estimates() -> list[str]:
    """str0m, SCReAM and CUBIC alone and in pairs, on a link whose rate changes."""
    steps = ", ".join(f'{{ at = "{end} s", rate = "{rate} Mbps" }}' for (end, _), (_, rate) in pairwise(PHASES))
    vary = f'stop = "{PHASES[-1][0]} s"\nmeasure = {{ series = true }}\n'
    rows = []
    for queue in QUEUES:
        for schemes in BESIDE:
            text = dumbbell((f"{PHASES[0][1]} Mbps", "48 ms", queue), [f'scheme = "{one}"' for one in schemes], vary)
            made = run(f'{text}[[vary]]\nlink = ["r0", "r1"]\nsteps = [{steps}]\n')
            for pair, scheme in enumerate(schemes):
                flow = made["flows"]["src"].index(f"s{pair}")
                cells = [phase(made["series"], flow, scheme, *of, alone=len(schemes) == 1) for of in PHASES]
                beside = f"`{scheme}` beside `{schemes[1 - pair]}`" if len(schemes) > 1 else f"`{scheme}`"
                rows.append(f"| {queue} | {beside} | {' | '.join(cells)} |")
    head = "| queue | flow |" + "".join(f" {rate} Mbps, until {end} s |" for end, rate in PHASES)
    return [head, "|" + "---|" * (2 + len(PHASES)), *rows]


def phase(series: list[list[Any]], flow: int, scheme: str, end: int, rate: int, *, alone: bool) -> str:
    """A cell: means over the last seconds of a phase."""

    def mean(entity: str, metric: str) -> float:
        return statistics.mean(
            value for of, name, at, value in series if (of, name) == (entity, metric) and end - LAST_S < at <= end
        )

    goodput, queue = mean(f"flow:{flow}", "goodput_bps") / 1e6, mean("port:r0>r1", "queue_bytes")
    said = f"{goodput:.2f} Mbps, {queue * 8 / rate / 1e3:.0f} ms queued"
    if scheme not in ENCODERS:
        return said
    estimate = mean(f"flow:{flow}", "rate_bps") / 1e6
    misses = alone and not ESTIMATE[0] <= estimate / rate <= ESTIMATE[1]
    return f"{'**' if misses else ''}{ENCODERS[scheme]} {estimate:.2f}{'**' if misses else ''}, {said}"


def section(title: str, measured: Callable[[], list[str]]) -> str:
    """A section's table: measured, or that of the page where others are asked for."""
    if len(sys.argv) > 1 and title not in sys.argv[1:]:
        _, after = PAGE.read_text().split(f"## {title}\n")
        return "\n".join(line for line in after.split("\n## ")[0].splitlines() if line.startswith("|"))
    return "\n".join(measured())


def main() -> None:
    """Builds, measures, writes."""
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "stack-runner"], cwd=ROOT / "stacks", check=True)
    version = subprocess.run(
        ["cargo", "tree", "-q", "--depth", "1", "-p", "stack-quinn"],
        cwd=ROOT / "stacks",
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    quinn = next(line.split()[-1] for line in version.splitlines() if "quinn-proto" in line)
    text = [
        "# Stacks of others in the simulator",
        f"Written by `python evidence/peers/stacks/measure.py`. quinn-proto {quinn}, TLS 1.3. Wall times are of one "
        "noisy machine.",
        "## The same bytes",
        "20 MB at 20 Mbps over a round trip of 100 ms. Captures have both directions of the bottleneck, payloads "
        "included; the wall time is of the same run without captures.",
        section("The same bytes", again),
        "## Fairness",
        f"Two flows without end for {LONG}, started within a second of each other, ten seeds. Rows without a verdict "
        "are for comparison: `quinn-midpath-cubic` is quinn with our CUBIC.",
        section("Fairness", fairness),
        "## Estimates on a varying link",
        f"One round trip of 100 ms; means over the last {LAST_S} s of each phase. str0m's encoder uses nine tenths of "
        "its estimate, of payloads, SCReAM's its target, RTP's headers with it; bold ones are not within "
        f"{ESTIMATE[0]} and {ESTIMATE[1]} of the link's rate.",
        section("Estimates on a varying link", estimates),
        "The first bold estimate by str0m's own log: after 11 s probes find 4.4 to 4.9 Mbps, the queue is full at an "
        "estimate of 5.8 Mbps, the loss controller goes from DelayBased to Decreasing, and the estimate is .4 Mbps "
        "from 22 s on; probes end that 20 s later.",
        "The second, 1.12 of 2 Mbps, by the same log and the links' series: from 30 s on the estimate grows from "
        "5.6 to 6.6 Mbps while 1.25 s of queue fill. From 33.0 to 36.5 s losses of 31 to 37 % take the loss "
        "controller from 1.9 to 1.01 Mbps in steps of 5 %. At 36.7 s a probe of 190 kB in .2 s fills the queue "
        "again, and the delay controller falls to .35 Mbps. After 4 s it is back at 1.01, where the loss controller"
        " stays for 15: after a fall it allows 1.2 times the acknowledged rate, and of an encoder at nine tenths of"
        " 1.006 Mbps .832 are acknowledged, 1.2 times of which are .998. At 56.7 s a probe raises that rate. With "
        "an encoder that subtracts headers alone (7 %) the estimate with the short queue is 4.77 of 5 and .77 of 2 "
        "Mbps, and .96 of 2 with the long one.",
        "## Cost",
        "Two flows, 20 Mbps, 60 s; the least of three runs.",
        section("Cost", cost),
        "## Found",
        "smoltcp 0.12 does not limit what is in flight by its congestion window: `seq_to_transmit` compares the window "
        "with what is still to be sent. 60 kB at 1 Gbps and 100 ms arrive after 1.5 round trips under each of its "
        "controllers (`cargo test -p stack-smoltcp first_flight`).",
        "## Misbehaviour",
        "A stack that panics, never stops sending, wants to be woken in the past or sends above the interface's MTU "
        "ends the run with one line: `cargo test -p midpath-stack misbehaves`, on one thread and two.",
    ]
    PAGE.write_text("\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
