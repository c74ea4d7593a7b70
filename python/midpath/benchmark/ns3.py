"""ns-3's side of a row: the programs of evidence/peers/ns3, where ns-3 is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from midpath.benchmark.measure import Measurement
from midpath.benchmark.suite import Bench
from midpath.errors import UsageError


@dataclass(frozen=True)
class Ns3Run:
    """What ns-3 took to move so many packets."""

    packet_hops: int
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Ns3:
    """An installed ns-3: the script that compiles and runs the programs, and which it is."""

    script: Path
    version: str

    def beside(self, bench: Bench, found: Measurement) -> Measurement:
        """A row's measurement with ns-3's, if there is a program for it: the best of as many repetitions."""
        if not bench.ns3:
            return found
        runs = [parsed(_said(self.script, *bench.ns3)) for _ in range(found.repetitions)]
        return replace(
            found,
            ns3_version=self.version,
            ns3_hops_per_s=max(run.packet_hops / run.wall_s for run in runs),
            ns3_hops_per_cpu_s=max(run.packet_hops / run.cpu_s for run in runs),
        )


def find_ns3() -> Ns3:
    """The system's ns-3, or the wheel's."""
    script = Path(__file__).resolve().parents[3] / "evidence/peers" / "ns3" / "run.sh"
    if not script.is_file():
        raise UsageError("ns-3's programs are in evidence/peers/ns3 of a checkout of midpath; this is not one")
    version = _said(script, "version").strip()
    if not version:
        raise UsageError("ns-3 is not installed; to install it: sh evidence/peers/ns3/run.sh install")
    return Ns3(script, version)


def parsed(output: str) -> Ns3Run:
    """The last line of JSON that a program printed."""
    last = json.loads(next(line for line in reversed(output.splitlines()) if line.startswith("{")))
    return Ns3Run(int(last["packet_hops"]), float(last["wall_s"]), float(last["cpu_s"]))


def _said(script: Path, *words: str) -> str:
    """What the script prints; what goes wrong (a compiler's words) goes to our user."""
    environment = {"PYTHON": sys.executable} | os.environ
    done = subprocess.run(
        ["sh", script, *words], stdout=subprocess.PIPE, text=True, check=False, env=environment, stderr=None
    )
    if done.returncode:
        raise UsageError(f"evidence/peers/ns3/run.sh {' '.join(words)} exited with {done.returncode}")
    return done.stdout
