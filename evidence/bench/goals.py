"""What the simulator costs beside its goals: writes GOALS.md, each part of it by itself.

    python evidence/bench/goals.py rows                # a table of `midpath bench`; half an hour with the large rows
    python evidence/bench/goals.py beside b7b53da      # instructions of short rows, and CPU seconds in turns

Schemes' goals are in matrix/COST.md. goals.json keeps what each part has measured, and on which machine; and of rows
what an earlier commit took. The extension must be of a release build.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from midpath import markdown
from midpath.benchmark import beside, choose, measure, suite, with_goals
from midpath.units import quantity

HERE = Path(__file__).parent
# The clock that goals of rows are for, GHz.
CLOCK = 3.6
ROWS = "long-4,long-64,long-1024,long-16384,chain-8,fat-tree-4,fat-tree-8,fat-tree-16,short,fcp,million"
TURNS = "long-4,chain-8"


def machine() -> dict[str, Any]:
    """What it is measured on, and at what."""

    def said(*words: str) -> str:
        return subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()

    lines = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines() if sys.platform == "linux" else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())
    clock = said("cargo", "run", "--quiet", "--release", "-p", "midpath-core", "--example", "clock")
    load = f"{os.getloadavg()[0]:.1f}"
    return {"commit": said("git", "rev-parse", "--short", "HEAD"), "cpu": model, "ghz": float(clock), "load": load}


def rows(asked: argparse.Namespace) -> Any:
    """Rows with what they reach of their goals."""
    chosen = choose(suite(), asked.only or ROWS)
    found = with_goals([measure(row, repeat=asked.repeat) for row in chosen], {row.id: row.goal for row in chosen})
    return [one.to_json() for one in found]


def against(asked: argparse.Namespace) -> Any:
    """Short rows by instructions beside a revision, and some by CPU seconds in turns."""
    with beside.both(asked.rev) as sides:
        counted = [
            beside.beside(row, sides, 1, only_instructions=True).to_json()
            for row in suite()
            if row.id in beside.SHORT and (not asked.only or row.id in asked.only.split(","))
        ]
        turns = [beside.beside(row, sides, asked.repeat).to_json() for row in choose(suite(), TURNS)]
    return {"rev": asked.rev, "instructions": counted, "turns": turns}


PARTS: Mapping[str, Callable[[argparse.Namespace], Any]] = {"rows": rows, "beside": against}


def page(kept: Mapping[str, Any]) -> Iterator[str]:
    """GOALS.md."""
    yield "# What the simulator costs, beside its goals\n"
    yield "Written by `python evidence/bench/goals.py` from [goals.json](goals.json); `--help` says how."
    for name, write in {"rows": _rows, "beside": _beside}.items():
        if name in kept:
            about = kept[name]["machine"]
            at = f"At {about['commit']}, {about['cpu']} at {about['ghz']} GHz, load {about['load']}."
            yield from ("", *write(kept, at, about["ghz"]))


def _rows(kept: Mapping[str, Any], at: str, ghz: float) -> Iterator[str]:
    earlier, found = kept["earlier"], {one["id"]: one for one in kept["rows"]["found"]}
    before = {one["id"]: one for one in earlier["found"]}
    commit, clock = earlier["machine"]["commit"], earlier["machine"]["ghz"]
    yield "## Rows\n"
    yield f"{at} Best of repetitions. Goals are for {CLOCK} GHz: *at {CLOCK} GHz* is what as many cycles give there."
    yield f"The last columns are of {commit}, on another machine of {clock} GHz; some rows are of there alone.\n"
    now = ["Mhop per CPU s", "CPU, all", "peak memory", "goal", "reached", f"at {CLOCK} GHz"]
    then = [f"{commit}: Mhop per CPU s", "CPU, all", "peak memory", f"at {CLOCK} GHz"]
    yield markdown.head(["row", *now, *then])
    for name in dict.fromkeys([*found, *before]):
        one, cells = found.get(name), ["–"] * 6
        if one:
            parts = [each["share"] * (1 if each["of"] == "peak_bytes" else CLOCK / ghz) for each in one["reached"]]
            shares = [f"{one['share']:.0%}", f"{min(parts):.0%}"] if parts else ["–", "–"]
            cells = [*_cost(one), one["goal"] or "–", *shares]
        old = before.get(name)
        last = [*_cost(old), f"{old['share']:.0%}" if old["share"] else "–"] if old else ["–"] * 4
        yield markdown.line([f"`{name}`", *cells, *last])


def _cost(one: Mapping[str, Any]) -> list[str]:
    """Speed, CPU time and memory of a row."""
    speed = f"{one['hops_per_cpu_s'] / 1e6:.1f}" if one["hops_per_cpu_s"] else "–"
    return [speed, quantity("seconds", one["total_cpu_s"]), quantity("bytes", one["peak_bytes"])]


def _beside(kept: Mapping[str, Any], at: str, _: float) -> Iterator[str]:
    found = kept["beside"]["found"]
    yield f"## Beside {found['rev']}\n"
    yield f"{at} Short rows' instructions a packet-hop by cachegrind, without set-up and result; CPU time in turns"
    yield f"(at {found['turns_at']}). Goal: 1.\n" if "turns_at" in found else "beside. Goal: 1.\n"
    before = found.get("before", {"commit": "–", "found": []})
    sides = (before["found"], found["instructions"])
    earlier, now = ({one["id"]: one["instructions_per_hop"] for one in rows} for rows in sides)
    turns = {one["id"]: one["ratios"]["cpu"] for one in found["turns"]}
    heads = ["instructions", f"at {found['rev']}", "ratio", f"at {before['commit']}", "ratio", "CPU time, ratio"]
    yield markdown.head(["row", *heads])
    for name in dict.fromkeys([*now, *earlier]):
        there = (now.get(name) or earlier[name])[1]
        counts = [one[name][0] if name in one else None for one in (now, earlier)]
        both = [(f"{count:.0f}", f"{count / there:.3f}") if count else ("–", "–") for count in counts]
        cpu = f"{turns[name]['mean']:.3f} ± {turns[name]['ci95']:.3f}" if name in turns else "–"
        yield markdown.line([f"`{name}`", both[0][0], f"{there:.0f}", both[0][1], *both[1], cpu])


def main() -> None:
    """Measures a part, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("rev", nargs="?", default="b7b53da", help="of `beside`")
    parser.add_argument("--only", help="rows by name")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    measured = {"machine": machine(), "found": PARTS[asked.part](asked)}
    file = HERE / "goals.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    kept[asked.part] = measured
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (HERE / "GOALS.md").write_text("\n".join(page(kept)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
