"""Measures one scenario in its own process, so that peak memory is its alone.

`measure.py` starts this file with the simulator's package beside it and a JSON request on standard input; the answer is
JSON on standard output. Nothing but the simulator is loaded, which keeps Python's part of the memory at 9 MB.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
import types
from pathlib import Path
from typing import Any


def simulator() -> Any:
    """The extension, without what the package loads for people, which takes 75 MB."""
    package = types.ModuleType("midpath")
    package.__path__ = [str(Path(__file__).resolve().parents[1])]
    sys.modules["midpath"] = package
    return importlib.import_module("midpath._midpath")


def peak_bytes() -> int | None:
    """The most memory that this process has had, where the kernel says so.

    Not `getrusage`: that begins with what the parent had.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


class Watch:
    """What the clocks say when each part of a run begins."""

    def __init__(self, module: Any, set_up: bool, collect: bool) -> None:
        self.module, self.set_up, self.collect = module, set_up, collect
        self.marks: dict[str, dict[str, float | None]] = {}
        self.counters: Any = None
        self.readings: dict[str, Any] = {}
        self.mark("begin")

    def mark(self, name: str) -> None:
        """Notes the clocks, last of all: what looking takes is no part of what follows."""
        peak = peak_bytes()
        self.marks[name] = clocks() | {"peak_bytes": peak}

    def __call__(self, phase: str) -> bool:
        """Called by the simulator, in the thread that works: what this opens here counts that thread."""
        if phase == "simulate":
            self.counters = self.module.Counters()
            self.mark(phase)
            return not self.set_up
        if phase == "collect":
            now = clocks()
            self.readings = self.counters.read()
            self.marks[phase] = now | {"peak_bytes": peak_bytes()}
            return self.collect
        return True


def clocks() -> dict[str, float | None]:
    """Wall time, and user and system time of all threads."""
    return {"wall_s": time.perf_counter(), "cpu_s": time.process_time()}


def measured(module: Any, request: dict[str, Any]) -> dict[str, Any]:
    """One run: its marks, its counters, and what `run.json` says."""
    watch = Watch(module, request["set_up"], request.get("collect", True))
    text = module.measure(request["text"], Path(request["base"]), threads=request["threads"], phase=watch)
    watch.mark("end")
    return {"marks": watch.marks, "counters": watch.readings, "run": about(text)}


def about(text: str | None) -> dict[str, Any]:
    """What is needed of `run.json`, which has all links of the network."""
    if text is None:
        return {}
    run = json.loads(text)
    kept = {key: run[key] for key in ("packet_hops", "events", "memory_bytes", "threads", "simulated_s")}
    return kept | {"flows": run["summary"]["flows"], "completed": run["summary"]["completed"]}


def main() -> None:
    """Reads the request, runs as often as it says, and answers."""
    request = json.load(sys.stdin)
    try:
        module = simulator()
        gc.disable()
        answer: dict[str, Any] = {"runs": [measured(module, request) for _ in range(request["repeat"])]}
    except (ValueError, MemoryError) as error:
        answer = {"error": str(error) or "out of memory"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
