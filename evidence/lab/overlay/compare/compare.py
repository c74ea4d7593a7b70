"""Unmodified curls over the same emulated lines: kernel TCP end to end, and through the gateway.

    cargo build --release -p midpathd -p midpath-lab
    python evidence/lab/overlay/compare/compare.py run RUNS.jsonl --repeats 6    # as root; 40 s a run
    python evidence/lab/overlay/compare/compare.py table RUNS.jsonl > RESULTS.md

Runs that are in the file are not made again. plan.py says what is measured, and what counts as winning.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import plan
from gateway import Gateway
from table import results
from work import Clients, Servers
from world import World


def late(lines: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> dict[str, int]:
    """How late lines and nodes were, in us."""
    p99 = max((said["late_us"]["p99"] for said in nodes.values()), default=0)
    return {"lines p99": lines["late_us"]["p99"], "lines p99.9": lines["late_us"]["p999"], "nodes p99": p99}


def measure(scene: plan.Scene, system: str) -> dict[str, Any]:
    """One run."""
    kind, name = system.split(" ")
    with World(scene) as world, ExitStack() as stack:
        # Servers reach the gateway over the machine's own interface: there the kernel's default does.
        stack.enter_context(Servers(world, name if kind == "kernel" else "cubic"))
        gateway = stack.enter_context(Gateway(world, name)) if kind == "overlay" else None
        clients = Clients(world)
        world.begin()
        clients.run()
        measured = clients.measured()
        nodes = {node: gateway.status(node) for node in gateway.names} if gateway else {}
        lines = world.finish()
    times = late(lines, nodes)
    most = max(times["lines p99"], times["nodes p99"])
    invalid = most > plan.LATE_P99_US or times["lines p99.9"] > plan.LATE_P999_US
    return {"scene": scene.name, "system": system, "invalid": invalid, "late": times, "lost": lines["lost"], **measured}


def run(file: Path, repeats: int, scenes: list[str], systems: list[str]) -> None:
    """All that is missing; systems take turns, so that a busy hour is everybody's."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for repeat in range(1, repeats + 1):
        for scene in (each for each in plan.SCENES if each.name in scenes):
            for system in systems:
                own = [row for row in rows if (row["scene"], row["system"]) == (scene.name, system)]
                valid = sum(not row["invalid"] for row in own)
                if valid >= repeat or len(own) >= 2 * repeats:
                    continue
                row = measure(scene, system) | {"at": time.strftime("%F %T")}
                rows.append(row)
                with file.open("a") as out:
                    out.write(json.dumps(row) + "\n")
                shown = {key: round(row[key], 3) for key in plan.measures(scene)}
                print(f"{repeat} {scene.name}, {system}: {shown} {row['late']}", file=sys.stderr, flush=True)


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--scene", action="append", choices=[scene.name for scene in plan.SCENES])
    parser.add_argument("--system", action="append", choices=plan.SYSTEMS)
    options = parser.parse_args()
    if options.what == "run":
        scenes = options.scene or [scene.name for scene in plan.SCENES]
        run(options.file, options.repeats, scenes, options.system or list(plan.SYSTEMS))
    else:
        rows = [json.loads(line) for line in options.file.read_text().splitlines()]
        print(results(rows, options.file.name), end="")


if __name__ == "__main__":
    main()
