"""A program over several networks: the step of action.yml, with its inputs in the environment.

Prints what the programs say, writes a table to the job's summary, and exits with 1 where a program failed or an
expectation does not hold.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCENARIOS = Path(__file__).parent / "scenarios"
HEADS = ("Scenario", "", "Client", "Delivered to h0", "Goodput", "Delay p99", "Lost", "Expectations")


@dataclass
class Ran:
    """What came out of a scenario."""

    name: str
    passed: bool
    run: dict[str, Any] = field(default_factory=dict)
    flows: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    def cells(self) -> list[str]:
        """Its line of the table."""
        verdict = "passed" if self.passed else "**failed**"
        if self.error:
            return [self.name, verdict, self.error, *[""] * (len(HEADS) - 3)]
        there = [flow for flow in self.flows if flow["dst"] == "h0" and flow["protocol"]]
        most = max(there, key=lambda flow: flow["delivered_bytes"], default=None)
        clients = [row for row in self.run["programs"] if not row["serves"]]
        said = [f"{'holds' if one['holds'] else '**fails**'}: {one['said']}" for one in self.run["expectations"]]
        figures = [
            f"{sum(flow['delivered_bytes'] for flow in there) / 1e6:.2f} MB",
            f"{most['goodput_bps'] / 1e6:.2f} Mbps" if most else "–",
            f"{most['delay_p99_s'] * 1e3:.1f} ms" if most and most["delay_p99_s"] is not None else "–",
            str(sum(flow["lost_packets"] for flow in self.flows if flow["protocol"])),
        ]
        return [self.name, verdict, "; ".join(row["ending"] for row in clients), *figures, "<br>".join(said)]


def lines(name: str) -> list[str]:
    """The lines of an input."""
    return [line.strip() for line in os.environ.get(f"INPUT_{name}", "").splitlines() if line.strip()]


def scenarios() -> list[Path]:
    """The files that were asked for."""
    asked = lines("SCENARIOS")
    if not asked:
        return sorted(SCENARIOS.glob("*.toml"))
    return [Path(one) if one.endswith(".toml") else SCENARIOS / f"{one}.toml" for one in asked]


def expectations(name: str) -> list[str]:
    """Those of a scenario: the ones of all, and its own."""
    parts = [re.fullmatch(r"(?:([\w.-]+):\s+)?(.*)", line) for line in lines("EXPECT")]
    return [part[2] for part in parts if part is not None and part[1] in (None, name)]


def midpath() -> list[str]:
    """The command, as root where that costs nothing: real-time priority keeps links on time."""
    program = shutil.which("midpath") or "midpath"
    if os.geteuid() == 0 or shutil.which("sudo") is None:
        return [program]
    if subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode != 0:
        return [program]
    return ["sudo", "-nE", "env", f"PATH={os.environ['PATH']}", program]


def run(file: Path) -> Ran:
    """Runs the program over one network."""
    out = Path(os.environ.get("INPUT_OUT") or "midpath-results") / file.stem
    words = ["lab", "exec", str(file), "--json", "--out", str(out)]
    for one in expectations(file.stem):
        words += ["--expect", one]
    for option, host, name in (("--serve", "h1", "SERVE"), ("--at", "h0", "AT")):
        command = os.environ.get(f"INPUT_{name}", "").strip()
        words += [option, host, "--", "bash", "-c", command] if command else []
    print(f"::group::{file.stem}", flush=True)
    with tempfile.TemporaryFile("w+") as answer:
        with subprocess.Popen([*midpath(), *words], stdout=answer, stderr=subprocess.PIPE, text=True) as process:
            last = ""
            for line in process.stderr or ():
                print(line, end="", flush=True)
                last = line.strip() or last
        print("::endgroup::", flush=True)
        answer.seek(0)
        try:
            said = json.load(answer)
        except ValueError:
            return Ran(file.stem, passed=False, error=last or f"exit {process.returncode}")
    return Ran(file.stem, process.returncode == 0, said["run"], said["flows"])


def table(found: list[Ran]) -> str:
    """All of them, as Markdown."""
    rows = [HEADS, ["---"] * len(HEADS), *(one.cells() for one in found)]
    return "".join(f"| {' | '.join(cell.replace('|', '∣') for cell in row)} |\n" for row in rows)


def append(variable: str, text: str) -> None:
    """Adds to a file that the runner reads, if there is one."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def main() -> int:
    """Runs all."""
    found = [run(file) for file in scenarios()]
    for one in found:
        mark = "passed" if one.passed else "failed"
        print(f"{one.name}: {mark}{f' ({one.error})' if one.error else ''}")
        for verdict in one.run.get("expectations", []):
            print(f"  {'holds' if verdict['holds'] else 'FAILS'}: {verdict['said']}")
    append("GITHUB_STEP_SUMMARY", f"### Midpath\n\n{table(found)}\n")
    verdicts = [
        {"scenario": one.name, "passed": one.passed, "expectations": one.run.get("expectations", [])} for one in found
    ]
    append("GITHUB_OUTPUT", f"verdicts={json.dumps(verdicts)}\n")
    return 0 if all(one.passed for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
