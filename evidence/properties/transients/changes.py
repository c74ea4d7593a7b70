"""Scenarios in which things change: joins, leaves, outages, steps of the rate, restarts.

A core of 2 to 20 Mbps and 1 to 5 ms. One or two flows have no end; others join, and leave by size or by `stop`. The
core may go down, or change its rate, and its first router may restart. Round trips differ by up to 100 times. In nine
of ten there are more flows than packets fit into the core's own bandwidth-delay product, and in one of six all of these
start within a second.
"""

from __future__ import annotations

import math
import random

import scenes
from transients.scene import Flow, Scene


def draw(number: int) -> Scene:
    """The scenario with this number."""
    return drawn("transient", number, random.Random(f"transients {number}"))


def drawn(
    name: str,
    number: int,
    rng: random.Random,
    delays: tuple[float, float] = (0.0, 0.7),
    unlike: float = 2.0,
    most: float = math.inf,
) -> Scene:
    """One in which a core's delay (ms) and how unlike round trips are lie between these powers of ten, and no access
    link has more than `most` ms."""
    rate, delay = round(10 ** rng.uniform(0.3, 1.3), 2), round(10 ** rng.uniform(*delays), 2)
    queue = round(rng.uniform(20, 200))
    ratio = 10 ** rng.uniform(0, unlike)

    def access() -> float:
        # Round trips up to `ratio` times the core's own.
        return round(min(delay * (ratio ** rng.random() - 1), most) + 0.1, 3)

    flows = [Flow(access(), 0.0) for _ in range(rng.randint(1, 2))]
    changes = [0.0]
    crowd = rng.random() < 1 / 6
    bdp = max(1, round(rate * 1e6 / 8 * 2 * delay / 1e3 / 1500))
    for _ in range(min(80, bdp + rng.randint(1, 10)) if crowd else rng.randint(1, 12)):
        start = round(rng.uniform(0.5, 1.5 if crowd else 8.0), 3)
        if rng.random() < 0.5:
            size = round(10 ** rng.uniform(3.5, 6.5))
            flows.append(Flow(access(), start, size=size))
            # It leaves when it has its size: at the latest when the core has carried all of these.
            changes.append(start)
        else:
            stop = round(start + 10 ** rng.uniform(-1, 0.8), 3)
            flows.append(Flow(access(), start, stop=stop))
            changes.append(stop)
    carried = sum(flow.size or 0 for flow in flows) * 8 / (rate * 1e6)
    changes.append(max(changes) + 2 * carried)
    faults, rates = [], [rate]
    if rng.random() < 0.3:
        at, lasts = round(rng.uniform(1, 8), 3), round(10 ** rng.uniform(-1.5, 0.7), 3)
        faults.append(scenes.down("r0", "r1", f"{at} s", f"{round(at + lasts, 3)} s"))
        changes.append(at + lasts)
    if rng.random() < 0.3:
        at = round(rng.uniform(1, 8), 3)
        rates.append(round(rate * 5 ** rng.uniform(-1, 1), 2))
        faults.append(scenes.rate_step("r0", "r1", f"{at} s", f"{rates[-1]} Mbps"))
        changes.append(at + 2 * carried * max(1.0, rate / rates[-1]))
    if rng.random() < 0.2:
        at = round(rng.uniform(1, 8), 3)
        faults.append(scenes.restart(f"{at} s"))
        changes.append(at)
    return Scene(name, number, rate, delay, queue, flows, faults, rates, changes)
