"""Round trips until the first byte has come, on idle lines: `python evidence/lab/overlay/compare/first.py`, as root.

A server at c, 30 ms from a each way, is asked for one byte: four times, ten seconds apart, and four times, half a
second apart.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from contextlib import ExitStack

import plan
from gateway import Gateway
from work import Servers
from world import CLIENTS, World

ROUND_TRIP = 0.060
TIMES = 4


def first_byte(world: World) -> float:
    """Round trips until curl has it."""
    url = f"http://{world.at('c')}:{world.port('c')}/1"
    command = [*CLIENTS, "curl", "-sS", "-o", "/dev/null", "-w", "%{time_starttransfer}", url]
    done = subprocess.run(world.places["a"].command(*command), check=True, capture_output=True, text=True)
    return float(done.stdout) / ROUND_TRIP


def main() -> None:
    """Prints the medians."""
    scene = next(scene for scene in plan.SCENES if scene.name == "sites")
    for system in plan.SYSTEMS:
        kind, name = system.split(" ")
        with World(scene) as world, ExitStack() as stack:
            stack.enter_context(Servers(world, name if kind == "kernel" else "cubic"))
            if kind == "overlay":
                stack.enter_context(Gateway(world, name))
            found = {}
            for apart in (10.0, 0.5):
                took = []
                for _ in range(TIMES):
                    time.sleep(apart)
                    took.append(first_byte(world))
                # The first of those that come one after the other has nobody before it.
                found[apart] = statistics.median(took[0 if apart > 1 else 1 :])
            print(f"{system}: {found[10.0]:.2f} round trips, {found[0.5]:.2f} one after the other", flush=True)


if __name__ == "__main__":
    main()
