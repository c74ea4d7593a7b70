"""HTSIM's permutation of 8,192 hosts under UEC's NSCC: its committed tails, ours, and HTSIM's own run here.

    HTSIM=~/HTSIM python evidence/peers/uec/run.py                 # Midpath's 15, printed
    HTSIM=~/HTSIM python evidence/peers/uec/run.py --beside --write   # HTSIM's beside them, and the page

HTSIM names a checkout of spcl/HTSIM at 8a33f33: its topologies (`.topo`) and connections (`.cm`) are read as they are.
With `--beside` its `htsim_uec` runs, too, which has to be built (README.md). `--only 400g-32` runs one.

The tolerance was fixed before the first run (TOLERANCE): 5 % of the committed tail. HTSIM counts until the sender has
the last ACK, so the ACK's way back without queues is added to ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import midpath

HERE = Path(__file__).parent
TOLERANCE = 0.05
REVISION = "8a33f33"
MTU, ACK = 4150, 64
HOSTS, RACK, LEAVES = 8192, 64, 128
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

    def htsim(self, topo: Path, flows: Path) -> list[str]:
        """The committed run's command."""
        low, high = self.marks
        more = ["-failed", str(self.failed)] if self.failed else []
        numbers = ["-paths", str(self.paths), "-linkspeed", f"{self.gbps}000", "-q", str(self.queue)]
        numbers += ["-ecn", str(low), str(high), "-cwnd", str(3 * self.gbps // 8), *more]
        return ["-tm", str(flows), "-end", "1000", *numbers, "-topo", str(topo), "-sender_cc_only"]

    def files(self, checkout: Path) -> tuple[Path, Path]:
        """HTSIM's topology and its connections."""
        folder = checkout / "htsim/sim/datacenter"
        over = f"_{self.oversubscribed}_to_1" if self.oversubscribed > 1 else ""
        topo = folder / "topologies" / f"leaf_spine_8192_{self.gbps}g{over}.topo"
        return topo, folder / "connection_matrices/perm_8192n_8192c_1MB.cm"

    def scenario(self, checkout: Path) -> str:
        """The same as a scenario of ours."""
        topo, flows = self.files(checkout)
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
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and results.json")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if "HTSIM" not in os.environ:
        parser.error("HTSIM must name a checkout of spcl/HTSIM (README.md)")
    checkout = Path(os.environ["HTSIM"])
    if asked.one:
        print(json.dumps(ours(next(case for case in CASES if case.name == asked.one), checkout, asked.seed)))
        return
    kept = json.loads((HERE / "results.json").read_text(encoding="utf-8")) if (HERE / "results.json").exists() else {}
    for case in CASES:
        if case.name.startswith(asked.only or ""):
            row = kept.setdefault(case.name, {})
            row["midpath"] = alone(case, asked.seed)
            if asked.beside:
                row["htsim"] = theirs(case, checkout)
            print(case.name, case.committed, row, file=sys.stderr, flush=True)
    text = page(kept)
    if asked.write:
        (HERE / "results.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    print(text)


def alone(case: Case, seed: int) -> dict[str, Any]:
    """Our run in a process of its own, with what it took."""
    command = [sys.executable, __file__, "--one", case.name, "--seed", str(seed)]
    return measured(command, lambda said: json.loads(said.splitlines()[-1]))


def ours(case: Case, checkout: Path, seed: int) -> dict[str, Any]:
    """Our run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(case.scenario(checkout), encoding="utf-8")
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
        "version": midpath.__version__,
    }


def theirs(case: Case, checkout: Path) -> dict[str, Any]:
    """HTSIM's run: `checkFinished` says when each flow ends (README.md)."""
    binary = checkout / "htsim/sim/build/datacenter/htsim_uec"
    with tempfile.TemporaryDirectory() as folder:
        command = [str(binary), *case.htsim(*case.files(checkout)), "-o", str(Path(folder) / "log")]
        return measured(command, finished)


def finished(said: str) -> dict[str, Any]:
    """Tail, first end and retransmissions in what HTSIM says."""
    ends = [float(line.split(" finished at ")[1].split()[0]) for line in said.splitlines() if " finished at " in line]
    again = next(int(line.split("Rtx:")[1].split()[0]) for line in said.splitlines() if line.startswith("New:"))
    return {"tail_us": max(ends), "first_us": min(ends), "again": again, "flows": len(ends)}


def measured(command: list[str], read: Any) -> dict[str, Any]:
    """A command's CPU time and memory, and what it says."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said, tempfile.TemporaryFile("w+", encoding="utf-8") as why:
        child = subprocess.Popen(command, stdout=said, stderr=why, text=True)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        why.seek(0)
        if child.returncode:
            return {"failed": why.read()[-500:]}
        return read(said.read()) | {
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "memory_mb": used.ru_maxrss // 1024,
        }


def page(rows: dict[str, Any]) -> str:
    """The results' page."""
    table, kept = [], 0
    for case in CASES:
        row = rows.get(case.name, {}).get("midpath", {})
        if "tail_us" not in row:
            continue
        off = row["tail_us"] / case.committed - 1
        kept += abs(off) <= TOLERANCE
        own = rows[case.name].get("htsim", {})
        there = f"{own['tail_us']:.2f} | {own['cpu_s']:.0f} | {own['memory_mb']}" if "tail_us" in own else "| | "
        table.append(
            f"| {case.name} | {case.committed:.2f} | {case.again:.2f} | {row['tail_us']:.2f} | {100 * off:+.1f} % | "
            f"{row['again']} | {row['cpu_s']:.1f} | {row['memory_mb']} | {there} |"
        )
    told = sorted(
        {(r["midpath"]["version"], r["midpath"]["seed"]) for r in rows.values() if "tail_us" in r.get("midpath", {})}
    )
    versions = "; ".join(f"Midpath {version}, seed {seed}" for version, seed in told)
    head = (
        "# UEC beside HTSIM: a permutation of 8,192 hosts\n\n"
        "`python evidence/peers/uec/run.py --beside --write` wrote this page. "
        f"{versions}; HTSIM {REVISION}. Tails in us of messages of 1 MB.\n\n"
        f"{kept} of {len(table)} tails are within {100 * TOLERANCE:.0f} % of those that HTSIM has committed.\n\n"
        "| case-paths | committed | second set | Midpath | off | sent again | CPU s | MB | HTSIM here | CPU s | MB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(table) + "\n"


if __name__ == "__main__":
    main()
