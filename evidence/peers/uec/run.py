"""HTSIM's permutation of 8,192 hosts under UEC's NSCC: its committed tails, ours, and HTSIM's own run here.

    HTSIM=~/HTSIM python evidence/peers/uec/run.py                 # Midpath's 15, printed
    HTSIM=~/HTSIM python evidence/peers/uec/run.py --beside --write   # HTSIM's beside them, and the page
    HTSIM=~/HTSIM python evidence/peers/uec/run.py --only 400g-64 --draws 10 --write   # both with other seeds
    HTSIM=~/HTSIM python evidence/peers/uec/run.py --only 400g-64 --draws 10 --hosts 1024 --write   # the same, smaller

HTSIM names a checkout of spcl/HTSIM at 8a33f33: its topologies (`.topo`) and connections (`.cm`) are read as they are.
With `--beside` its `htsim_uec` runs, too, which has to be built (README.md). `--only 400g-32` runs one; results are
kept case by case. `--draws` tells a difference from a draw: both with as many seeds, tails' means and intervals.

The tolerance was fixed before the first run (TOLERANCE): 5 % of the committed tail. HTSIM counts until the sender has
the last ACK, so the ACK's way back without queues is added to ours.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import midpath
from midpath import markdown
from midpath.stats import estimate

HERE = Path(__file__).parent
TOLERANCE = 0.05
REVISION = "8a33f33"
MTU, ACK = 4150, 64
HOSTS, RACK, LEAVES = 8192, 64, 128
# HTSIM's own, of which the committed runs say nothing.
SEED = 13
DELAY_US = 1.0
PATHS = (32, 64, 128)
# Rate in Gbps, oversubscription, failed links of each leaf (one spine at a quarter of its rate): the committed tails in
# us, by number of paths (results/*_nscc*.txt, messages of 1 MB).
COMMITTED: dict[str, tuple[int, int, int, tuple[float, float, float]]] = {
    "400g": (400, 1, 0, (38.7065, 36.1797, 35.3925)),
    "800g": (800, 1, 0, (25.2974, 22.8967, 22.1351)),
    "200g": (200, 1, 0, (59.8538, 59.071, 58.8088)),
    "400g-8to1": (400, 8, 0, (242.868, 235.767, 240.24)),
    "400g-fail1": (400, 1, 1, (41.9739, 44.6124, 45.3936)),
}
# HTSIM has a second set beside these (results/*_2.txt), of the same commands by another version. No bound; to explain.
AGAIN: dict[str, tuple[float, float, float]] = {
    "400g": (37.1783, 33.926, 34.2567),
    "800g": (25.0993, 23.2263, 22.1422),
    "200g": (63.6259, 61.6824, 60.7779),
    "400g-8to1": (203.658, 205.672, 208.57),
    "400g-fail1": (41.9739, 44.6124, 45.3936),
}


@dataclass(frozen=True)
class Case:
    """One of the fifteen."""

    name: str
    gbps: int
    oversubscribed: int
    failed: int
    paths: int
    committed: float
    again: float

    @property
    def queue(self) -> int:
        """The committed runs' `-q`, in packets: 100 at 400 Gbps."""
        return self.gbps // 4

    @property
    def marks(self) -> tuple[int, int]:
        """Their `-ecn`."""
        return self.gbps // 16, 3 * self.gbps // 16

    @property
    def rtt_ps(self) -> int:
        """HTSIM's `calculate_rtt`: four links there and back, a packet's transmission over each, and an ACK's."""
        sends = (8 * MTU * 1000 // self.gbps + 8 * ACK * 1000 // self.gbps) * 4
        return int(2 * 4 * DELAY_US * 1e6) + sends

    @property
    def ack_us(self) -> float:
        """An ACK's way back over a link."""
        return DELAY_US + 8 * ACK / self.gbps / 1000

    def htsim(self, topo: Path, flows: Path, seed: int = SEED) -> list[str]:
        """The committed run's command."""
        low, high = self.marks
        more = ["-failed", str(self.failed)] if self.failed else []
        numbers = ["-paths", str(self.paths), "-linkspeed", f"{self.gbps}000", "-q", str(self.queue)]
        numbers += ["-ecn", str(low), str(high), "-cwnd", str(3 * self.gbps // 8), *more]
        runs = ["-end", "1000", "-seed", str(seed)]
        return ["-tm", str(flows), *runs, *numbers, "-topo", str(topo), "-sender_cc_only"]

    def files(self, checkout: Path) -> tuple[Path, Path]:
        """HTSIM's topology and its connections."""
        folder = checkout / "htsim/sim/datacenter"
        over = f"_{self.oversubscribed}_to_1" if self.oversubscribed > 1 else ""
        topo = folder / "topologies" / f"leaf_spine_8192_{self.gbps}g{over}.topo"
        return topo, folder / "connection_matrices/perm_8192n_8192c_1MB.cm"

    def scenario(self, topo: Path, flows: Path) -> str:
        """The same as a scenario of ours."""
        low, high = self.marks

        def queue(share: int) -> str:
            room, least, most = (n * MTU // share for n in (self.queue, low, high))
            return f'kind = "trim"\nlimit = "{room} B"\nmin = "{least} B"\nmax = "{most} B"\n'

        network = f'file = "{topo}"\nrules = [{{ mtu = {MTU} }}]\n' if not self.failed else self.links()
        return f"""scheme = "uec"
[topology]
{network}
[queue]
{queue(1)}
[queues.failed]
{queue(4)}
[schemes.uec]
paths = {self.paths}
network_rtt = "{self.rtt_ps} ps"
rto = "{15_000_000 + self.queue * MTU * 6 * 8 * 1000 // self.gbps} ps"
[[workload]]
list = {{ file = "{flows}" }}
"""

    def links(self) -> str:
        """Its leaf-spine written out: the first spine's links are at a quarter of the rate (`-failed 1`)."""
        rows = []
        for host in range(HOSTS):
            ends = f'a = "{host}", b = "tor{host // RACK}"'
            rows.append(f'{{ {ends}, rate = "{self.gbps} Gbps", delay = "1 us", mtu = {MTU} }},')
        for leaf in range(LEAVES):
            for spine in range(RACK // self.oversubscribed):
                slow = spine < self.failed
                rate, own = self.gbps // 4 if slow else self.gbps, ', queue = "failed"' if slow else ""
                ends = f'a = "tor{leaf}", b = "agg{spine}"'
                rows.append(f'{{ {ends}, rate = "{rate} Gbps", delay = "1 us", mtu = {MTU}{own} }},')
        return "links = [\n" + "\n".join(rows) + "\n]\n"


CASES = [
    Case(f"{name}-{paths}", gbps, over, failed, paths, tails[i], AGAIN[name][i])
    for name, (gbps, over, failed, tails) in COMMITTED.items()
    for i, paths in enumerate(PATHS)
]


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", help="cases whose name begins so")
    parser.add_argument("--seed", type=int, default=1, help="(1)")
    parser.add_argument("--beside", action="store_true", help="run HTSIM, too")
    parser.add_argument("--draws", type=int, help="run both with seeds 1 to N")
    parser.add_argument("--hosts", type=int, default=HOSTS, help="with --draws: in racks of 64, a permutation of ours")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and results.json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if "HTSIM" not in os.environ:
        parser.error("HTSIM must name a checkout of spcl/HTSIM (README.md)")
    checkout = Path(os.environ["HTSIM"])
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not case.name.startswith(asked.only or ""):
                continue
            files = case.files(checkout) if asked.hosts == HOSTS else smaller(case, checkout, asked.hosts, Path(folder))
            if asked.one:
                print(json.dumps(ours(case, files, asked.seed)))
                return
            if asked.draws:
                draws(case, files, checkout, asked)
                continue
            row = {"midpath": alone(case, asked.seed)}
            if asked.beside:
                row["htsim"] = theirs(case, files, checkout)
            keep(asked.write, case.name, row)
    print(page(kept()))


def kept() -> dict[str, Any]:
    """What is known so far."""
    file = HERE / "results.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep(write: bool, name: str, row: dict[str, Any]) -> None:
    """A case's row is known, and with `write` kept."""
    print(name, row, file=sys.stderr, flush=True)
    if write:
        rows = kept()
        rows[name] = rows.get(name, {}) | row
        (HERE / "results.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (HERE / "RESULTS.md").write_text(page(rows), encoding="utf-8")


def draws(case: Case, files: tuple[Path, Path], checkout: Path, asked: argparse.Namespace) -> None:
    """Tails with several seeds; those that are known stay."""
    name = f"{case.name} of {asked.hosts}"
    for seed in range(1, asked.draws + 1):
        row = kept().get("draws", {}).get(name, {"midpath": {}, "htsim": {}})
        if str(seed) not in row["midpath"]:
            row["midpath"][str(seed)] = alone(case, seed, asked.hosts)["tail_us"]
        if str(seed) not in row["htsim"]:
            row["htsim"][str(seed)] = theirs(case, files, checkout, seed)["tail_us"]
        keep(asked.write, "draws", {name: row})


def smaller(case: Case, checkout: Path, hosts: int, folder: Path) -> tuple[Path, Path]:
    """Its topology with fewer racks, and a permutation of these hosts."""
    text = case.files(checkout)[0].read_text(encoding="utf-8")
    topo, flows = folder / f"{hosts}.topo", folder / f"{hosts}.cm"
    text = text.replace(str(HOSTS), str(hosts)).replace(f"Radix_Down {LEAVES}", f"Radix_Down {hosts // RACK}")
    topo.write_text(text, encoding="utf-8")
    rng, to = random.Random(5), list(range(hosts))
    while any(host == other for host, other in enumerate(to)):
        rng.shuffle(to)
    lines = [f"{host}->{other} id {host + 1} start 0 size 1000000" for host, other in enumerate(to)]
    flows.write_text("\n".join([f"Nodes {hosts}", f"Connections {hosts}", *lines]) + "\n", encoding="utf-8")
    return topo, flows


def alone(case: Case, seed: int, hosts: int = HOSTS) -> dict[str, Any]:
    """Our run in a process of its own, with what it took."""
    which = ["--only", case.name, "--seed", str(seed), "--hosts", str(hosts)]
    command = [sys.executable, __file__, "--one", *which]
    return measured(command, lambda said: json.loads(said.splitlines()[-1]))


def ours(case: Case, files: tuple[Path, Path], seed: int) -> dict[str, Any]:
    """Our run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(case.scenario(*files), encoding="utf-8")
        result = midpath.run(path, seed=seed)
    ends = 1e6 * result.flows["fct_s"].to_numpy() + result.flows["hops"].to_numpy() * case.ack_us
    again = int(result.flows["retransmitted_packets"].to_numpy().sum())
    marks, trims = (int(result.ports[name].to_numpy().sum()) for name in ("marks", "trims"))
    return {
        "tail_us": round(float(ends.max()), 4),
        "first_us": round(float(ends.min()), 4),
        "again": again,
        "marks": marks,
        "trims": trims,
        "seed": seed,
        "version": f"{midpath.__version__} ({commit()})",
    }


def commit() -> str:
    """Of this checkout."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def theirs(case: Case, files: tuple[Path, Path], checkout: Path, seed: int = SEED) -> dict[str, Any]:
    """HTSIM's run: `checkFinished` says when each flow ends (README.md)."""
    binary = checkout / "htsim/sim/build/datacenter/htsim_uec"
    with tempfile.TemporaryDirectory() as folder:
        command = [str(binary), *case.htsim(*files, seed), "-o", str(Path(folder) / "log")]
        return measured(command, finished, folder)


def finished(said: str) -> dict[str, Any]:
    """Tail, first end and retransmissions in what HTSIM says."""
    ends = [float(line.split(" finished at ")[1].split()[0]) for line in said.splitlines() if " finished at " in line]
    again = next(int(line.split("Rtx:")[1].split()[0]) for line in said.splitlines() if line.startswith("New:"))
    return {"tail_us": max(ends), "first_us": min(ends), "again": again, "flows": len(ends)}


def measured(command: list[str], read: Any, folder: str | None = None) -> dict[str, Any]:
    """A command's CPU time and memory, and what it says."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said, tempfile.TemporaryFile("w+", encoding="utf-8") as why:
        child = subprocess.Popen(command, stdout=said, stderr=why, text=True, cwd=folder)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        why.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)}: {why.read()[-500:]}")
        found: dict[str, Any] = read(said.read())
        return found | {
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "wall_s": round(time.monotonic() - began, 1),
            "memory_mb": used.ru_maxrss // 1024,
        }


def page(rows: dict[str, Any]) -> str:
    """The results' page."""
    table, within, near, shares = [], 0, 0, []
    for case in CASES:
        row = rows.get(case.name, {}).get("midpath", {})
        if "tail_us" not in row:
            continue
        off = row["tail_us"] / case.committed - 1
        within += abs(off) <= TOLERANCE
        own = rows[case.name].get("htsim", {})
        tails = [f"{tail:.2f}" for tail in (case.committed, case.again, row["tail_us"])]
        there = [f"{own['tail_us']:.2f}", *costs(own)] if "tail_us" in own else [""] * 4
        if "tail_us" in own:
            near += abs(row["tail_us"] / own["tail_us"] - 1) <= TOLERANCE
            shares.append(row["cpu_s"] / own["cpu_s"])
        table.append([case.name, *tails, f"{100 * off:+.1f} %", str(row["again"]), *costs(row), *there])
    ran = [row["midpath"] for row in rows.values() if "tail_us" in row.get("midpath", {})]
    versions, seeds = (", ".join(sorted({str(row[key]) for row in ran})) for key in ("version", "seed"))
    cost = ("CPU s", "wall s", "MB")
    heads = ("case-paths", "committed", "second set", "Midpath", "off", "sent again", *cost, "HTSIM here", *cost)
    lines = [
        "# UEC beside HTSIM: a permutation of 8,192 hosts\n",
        "`python evidence/peers/uec/run.py --beside --write` wrote this page. "
        f"Midpath {versions}, seed {seeds}; HTSIM {REVISION}, seed {SEED}. Tails in us of messages of 1 MB.\n",
        f"{within} of {len(table)} tails are within {100 * TOLERANCE:.0f} % of those that HTSIM has committed.",
    ]
    if shares:
        lines[-1] += f" Of {len(shares)} cases that HTSIM ran here, {near} are within as much of its own tail,"
        lines[-1] += f" and Midpath takes {min(shares):.2f} to {max(shares):.2f} of its CPU time."
    lines += ["", markdown.head(heads), *map(markdown.line, table)]
    if known := rows.get("draws"):
        lines += ["\n## Other seeds\n", "Tails in us: mean with 95 % interval, least and most (`--draws`).\n"]
        lines.append(markdown.head(("case, hosts", "Midpath", "HTSIM here", "difference of the means")))
        lines += [markdown.line([name, *beside(row)]) for name, row in known.items()]
    return "\n".join(lines) + "\n"


def costs(row: dict[str, Any]) -> list[str]:
    """What a run took; runs of old did not keep their wall time."""
    return [f"{row['cpu_s']:.1f}", f"{row['wall_s']:.0f}" if "wall_s" in row else "", str(row["memory_mb"])]


def beside(row: dict[str, dict[str, float]]) -> list[str]:
    """Both tails' means, and their difference with its interval (Student's of each, added in quadrature)."""
    told, means, halves = [], [], []
    for name in ("midpath", "htsim"):
        values = list(row[name].values())
        found = estimate(values)
        if found is None:
            return ["", "", ""]
        half = math.inf if found.ci95 is None else found.ci95
        interval = f" ± {half:.2f}, {min(values):.2f} to {max(values):.2f}" if half < math.inf else ""
        told.append(f"{found.mean:.2f}{interval}, {len(values)} seed{'s' if len(values) > 1 else ''}")
        means.append(found.mean)
        halves.append(half)
    off, half = means[0] / means[1] - 1, math.hypot(*halves) / means[1]
    return [*told, f"{100 * off:+.1f} %" + (f" ± {100 * half:.1f}" if half < math.inf else "")]


if __name__ == "__main__":
    main()
