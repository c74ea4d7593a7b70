"""Instructions of a run, counted by valgrind: they depend neither on other work on the machine nor on its counters."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from midpath.benchmark.measure import CHILD, NotMeasuredError, answered

VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
COUNT = re.compile(r"I\s+refs:\s+([\d,]+)")


def require() -> None:
    """Says now that nothing can be counted."""
    if shutil.which(VALGRIND[0]) is None:
        raise NotMeasuredError("valgrind is not installed")


def counted(request: dict[str, Any], child: Path = CHILD) -> tuple[int, dict[str, Any]]:
    """The instructions of a process that answers the request, start of Python and all, and its answer."""
    require()
    done, answer = answered(request, child, VALGRIND)
    return parsed(done), answer


def parsed(said: str) -> int:
    """What valgrind says."""
    found = COUNT.search(said)
    if not found:
        raise NotMeasuredError(f"valgrind counted nothing: {json.dumps(said[-200:])}")
    return int(found[1].replace(",", ""))


def per_hop(text: str, base: Path, child: Path = CHILD) -> float:
    """Instructions for each packet-hop of a scenario, without its set-up and without its result's rows."""
    request = {"text": text, "base": str(base), "threads": 1, "repeat": 1, "set_up": False}
    _, answer = answered(request, child)
    simulated, _ = counted(request | {"collect": False}, child)
    set_up, _ = counted(request | {"set_up": True}, child)
    return (simulated - set_up) / int(answer["runs"][0]["run"]["packet_hops"])
