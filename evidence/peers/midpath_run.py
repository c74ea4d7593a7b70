"""One run of Midpath in a process of its own: midpath_run.py WHAT SCENARIO THREADS OUT

WHAT is `cost`, which measures a run, `times` or `estimate`, of which OUT gets a line with each completion time in
seconds, -1 if there is none, or with the estimate's mean, median and 99th percentile. A line of JSON goes to standard
output: of `cost` what the simulation took, without set-up, as the other programs say it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any


def cost(path: Path, threads: int) -> dict[str, Any]:
    """What a run takes. Only the extension is loaded."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "python/midpath/benchmark"))
    child = importlib.import_module("child")
    text = path.with_suffix(".toml").read_text(encoding="utf-8")
    request = {"text": text, "base": str(path.parent), "threads": threads, "set_up": False}
    found = child.measured(child.simulator(), request)
    begin, end = found["marks"]["simulate"], found["marks"]["collect"]
    took = {key: end[key] - begin[key] for key in ("wall_s", "cpu_s")}
    return took | {"packet_hops": found["run"]["packet_hops"]}


def times(scenario: dict[str, Any], out: Path) -> dict[str, Any]:
    """Completion times, in the flows' order."""
    table = importlib.import_module("midpath").run(scenario).flows
    every = (f"{-1.0 if one is None else one!r}\n" for one in table.column("fct_s").to_pylist())
    out.write_text("".join(every), encoding="ascii")
    rows = table.select(["src", "dst", "size_bytes", "start_s"]).to_pylist()
    return {"rows": rows} if "workload" in scenario else {}


def estimate(scenario: dict[str, Any], out: Path) -> dict[str, Any]:
    """Mean, median and 99th percentile; -1 where the estimate is refused."""
    estimated = importlib.import_module("midpath.estimate").estimate
    begin, cpu = time.perf_counter(), time.process_time()
    (found,) = estimated(scenario, "dctcp")
    took = {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - cpu}
    every = (f"{-1.0 if one.value is None else one.value!r}\n" for one in found.figures)
    out.write_text("".join(every), encoding="ascii")
    return took


def main() -> None:
    """Runs and answers."""
    what, path, threads, out = sys.argv[1:]
    if what == "cost":
        answer = cost(Path(path), int(threads))
    else:
        scenario = json.loads(Path(path).read_text(encoding="ascii"))
        answer = (times if what == "times" else estimate)(scenario, Path(out))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
