"""Measuring a scenario."""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from midpath.benchmark.suite import Bench
from midpath.run import run
from midpath.scenario import Scenario


@dataclass(frozen=True)
class Measurement:
    """What a benchmark gave: medians over its repetitions."""

    id: str
    title: str
    flows: int
    packet_hops: int
    wall_s: float
    hops_per_s: float
    ns_per_event: float | None
    memory_bytes: int
    bytes_per_flow: float | None
    ns3_hops_per_s: float | None

    @property
    def ratio_to_ns3(self) -> float | None:
        """How many times ns-3's speed."""
        return self.hops_per_s / self.ns3_hops_per_s if self.ns3_hops_per_s else None

    def to_json(self) -> dict[str, Any]:
        """As `midpath bench --json` prints it."""
        return asdict(self) | {"ratio_to_ns3": self.ratio_to_ns3}


def measure(bench: Bench, *, repeat: int = 3, threads: int = 1, ns3: Path | None = None) -> Measurement:
    """Runs a benchmark `repeat` times, and ns-3's side of it once if its programs are given."""
    runs = [run(Scenario.from_dict(bench.scenario), threads=threads) for _ in range(repeat)]
    wall = statistics.median(result.run["wall_s"] for result in runs)
    first = runs[0].run
    hops, events, flows = first["packet_hops"], first["events"], first["summary"]["flows"]
    return Measurement(
        id=bench.id,
        title=bench.title,
        flows=flows,
        packet_hops=hops,
        wall_s=wall,
        hops_per_s=hops / wall,
        ns_per_event=wall / events * 1e9 if events else None,
        memory_bytes=first["memory_bytes"],
        bytes_per_flow=first["memory_bytes"] / flows if bench.together else None,
        ns3_hops_per_s=_ns3(ns3, bench) if ns3 and bench.ns3 else None,
    )


def ns3_programs() -> Path | None:
    """The script that compiles and runs ns-3's side, in a checkout of this project."""
    script = Path(__file__).resolve().parents[3] / "checks" / "ns3" / "run.sh"
    return script if script.is_file() else None


def _ns3(script: Path, bench: Bench) -> float | None:
    """ns-3's packet-hops per second; `None` where it is not installed."""
    done = subprocess.run(["sh", script, *bench.ns3], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return None
    found = json.loads(lines[-1])
    return float(found["packet_hops"] / found["wall_s"])
