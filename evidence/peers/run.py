"""Midpath beside htsim, ns-3, UNISON and Parsimon: the same flows, in turns, on this machine.

    python evidence/peers/run.py --write                   # every scenario, RESULTS.md and results.json
    python evidence/peers/run.py --only permutation-4      # one, printed

HTSIM, UNISON, PARSIMON and MINIM name checkouts (README.md), NS3_PREFIX another ns-3 than the installed one. What is
not there is skipped, and said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import page
import peers
import scenarios
from peers import Peer
from scenarios import Flow, Scenario

import midpath

HERE = Path(__file__).parent


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", help="one scenario by name")
    parser.add_argument("--repeat", type=int, default=3, help="turns (3)")
    parser.add_argument("--limit", type=float, default=60, help="seconds of the clock that a run may take (60)")
    parser.add_argument("--build", type=Path, default=Path(tempfile.gettempdir()) / "midpath-peers", help="a folder")
    parser.add_argument("--nice", type=int, default=0, help="priority of the runs (0)")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and results.json")
    asked = parser.parse_args()
    chosen = [one for one in scenarios.SCENARIOS if asked.only in (None, one.name)]
    if not chosen:
        parser.error(f"there are: {', '.join(one.name for one in scenarios.SCENARIOS)}")
    asked.build.mkdir(parents=True, exist_ok=True)
    found, skipped = peers.others(asked.build, os.environ)
    rows = peers.ours(f"Midpath {midpath.__version__}, {peers.commit(HERE)}") + found
    for line in skipped:
        print(line, file=sys.stderr)
    told = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "repeat": asked.repeat}
    results: dict[str, Any] = told | {
        "peers": {row.name: row.about for row in rows},
        "skipped": skipped,
        "scenarios": [measured(one, rows, asked) for one in chosen],
    }
    if asked.only and (HERE / "results.json").exists():
        before = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
        results["scenarios"] = merged(before["scenarios"], results["scenarios"])
        results["peers"] = before["peers"] | results["peers"]
    text = page.page(results)
    if asked.write:
        (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    print(text)


def merged(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured before, with what was measured now in place of the same scenario."""
    found = {one["name"]: one for one in before + now}
    return [found[one.name] for one in scenarios.SCENARIOS if one.name in found]


def measured(scenario: Scenario, rows: list[Peer], asked: argparse.Namespace) -> dict[str, Any]:
    """One scenario: all peers in turns, `repeat` times."""
    folder = asked.build / scenario.name
    flows, reference = prepared(scenario, folder)
    here = [row for row in rows if row.runs(scenario)]
    runs: dict[str, list[dict[str, Any]]] = {row.name: [] for row in here}
    for _ in range(asked.repeat):
        for row in here:
            if not any("failed" in one for one in runs[row.name]):
                runs[row.name].append(run(row, scenario, folder, asked))
                print(scenario.name, row.name, runs[row.name][-1], file=sys.stderr, flush=True)
    told = [
        {"peer": row.name, "runs": runs[row.name], "figures": figures(row, scenario, flows, folder)} for row in here
    ]
    about = {"name": scenario.name, "title": scenario.title, "at": f"{rows[0].about}, {asked.repeat} turns"}
    return about | {"flows": len(flows), "rows": told, "reference": reference}


def prepared(scenario: Scenario, folder: Path) -> tuple[list[Flow], str]:
    """Writes the files, has Midpath draw flows and say completion times; returns the flows and who is compared with."""
    folder.mkdir(parents=True, exist_ok=True)
    if scenario.drawn:
        own = write(folder / "workload.json", scenario.workload())
        rows = peers.last_json(said_by(own, "times", folder / "workload.times"))["rows"]
        order = sorted(range(len(rows)), key=lambda i: rows[i]["start_s"])
        kept = (folder / "workload.times").read_text(encoding="ascii").splitlines()
        (folder / "workload.times").write_text("".join(f"{kept[i]}\n" for i in order), encoding="ascii")
        flows = scenarios.drawn(scenario, rows)
    else:
        flows = scenarios.phased(scenario) if scenario.phases else scenarios.permutation(scenario)
    scenarios.write(scenario, flows, folder)
    listed = write(folder / "listed.json", scenario.midpath(flows, folder))
    said_by(listed, "times", folder / "listed.times")
    return flows, "Midpath"


def write(path: Path, scenario: dict[str, Any]) -> Path:
    """A scenario as JSON, and as TOML beside it."""
    path.write_text(json.dumps(scenario), encoding="ascii")
    path.with_suffix(".toml").write_text(midpath.Scenario.from_dict(scenario).text, encoding="utf-8")
    return path


def said_by(path: Path, what: str, out: Path) -> str:
    """What a run of Midpath that is not measured says."""
    command = [*peers.MIDPATH, what, str(path), "1", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def run(row: Peer, scenario: Scenario, folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """One run: wall and CPU seconds and peak memory of the process, and what it says of its simulation."""
    out = folder / f"{row.name.replace(' ', '-')}.out"
    out.unlink(missing_ok=True)
    words = row.words(scenario, folder, out)
    if asked.nice:
        words = ["nice", "-n", str(asked.nice), *words]
    said = folder / "said"
    with said.open("w") as file:
        begin = time.monotonic()
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=os.environ | row.environment)
        status, usage, peak = waited(process, begin + asked.limit)
        wall = time.monotonic() - begin
    if status is None:
        return {"failed": f"over {asked.limit:.0f} s"}
    text = said.read_text(encoding="utf-8", errors="replace")
    if status:
        last = text.strip().splitlines()[-1:] or [f"ended with {status}"]
        return {"failed": last[0][:200]}
    answer = peers.last_json(text)
    took = {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": peak}
    if "cpu_s" in answer:
        took |= {"run_cpu_s": answer["cpu_s"], "run_wall_s": answer["wall_s"]}
    return took | ({"packet_hops": int(answer["packet_hops"])} if answer.get("packet_hops") else {})


def waited(process: subprocess.Popen[bytes], until: float) -> tuple[int | None, Any, int]:
    """Status, usage and peak memory of a process of ours when it has ended; no status if it had to be stopped.

    Peak memory as the kernel says it every 10 ms: `ru_maxrss` begins with what the parent had.
    """
    peak = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage, peak
        if time.monotonic() > until:
            process.kill()
            process.wait()
            return None, None, peak
        peak = max(peak, peak_of(process.pid))
        time.sleep(0.01)


def peak_of(pid: int) -> int:
    """The most memory that a process has had, bytes; 0 where the kernel does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def figures(row: Peer, scenario: Scenario, flows: list[Flow], folder: Path) -> dict[str, float] | None:
    """Completion times and slowdowns of a peer's last run; times of Midpath are of a run that was not measured."""
    stored = {"listed": folder / "listed.times", "workload": folder / "workload.times"}
    path = stored.get(row.times, folder / f"{row.name.replace(' ', '-')}.out")
    if not path.exists():
        return None
    rows = [[float(word) for word in line.split()] for line in path.read_text(encoding="ascii").splitlines()]
    if row.times == "summary":
        return {name: one[0] for name, one in zip(("mean_s", "p50_s", "p99_s"), rows, strict=True) if one[0] >= 0}
    if row.times == "delay":
        return page.figures([1e-9 * (delay + ideal) for delay, ideal in rows], [1e-9 * ideal for _, ideal in rows])
    ideal = [scenarios.ideal_s(scenario.k, flow) for flow in flows]
    return page.figures([one[0] for one in rows], ideal)


if __name__ == "__main__":
    main()
