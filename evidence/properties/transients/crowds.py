"""Crowds and scarcity: many flows that come at once, and shares below a packet in a round trip.

A number draws how many packets in a round trip a fair share is (1/20 to 50), how many flows there are (2 to 1,000) and
their round trip (1 to 200 ms, up to ten times unlike in one half); the core's rate follows, 1 Mbps to 1 Gbps. All have
no end. They start at once, in step, or at random times, over one round trip or ten. In one half of the scenarios one or
two flows are there three seconds before. In one of five each, once all are there, the core fails for long enough that
senders time out, or its first router restarts; in one of five half of the flows leave at once. The flows have a pair of
hosts each, or share two to ten pairs. A queue holds 20 to 200 ms, and 20 packets at least.
"""

from __future__ import annotations

import random

import scenes
from transients.scene import Flow, Scene

LEAST_RATE, MOST_RATE = 1.0, 1000.0
"""Mbps."""
MOST_PACKETS = 1e6
"""That the core carries in a run: for the suite's time, not for the schemes."""
CALM = (5.0, 50.0)
AFTER = (5.0, 100.0)


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"crowds {number}")
    while True:
        scene = attempt(number, rng)
        packets = scene.rate * 1e6 / 12e3 * scene.stop
        if LEAST_RATE <= scene.rate <= MOST_RATE and packets <= MOST_PACKETS:
            return scene


def attempt(number: int, rng: random.Random) -> Scene:
    """A scenario whose core may be faster or slower than wanted."""
    count, share = round(10 ** rng.uniform(0.3, 3)), 10 ** rng.uniform(-1.3, 1.7)
    trip = 10 ** rng.uniform(0, 2.3)
    rate = float(f"{share * count * 12 / trip:.3g}")
    ratio = 10 ** rng.uniform(0, 1) if rng.random() < 0.5 else 1.0
    delay = round(trip / 2 * rng.uniform(0.1, 0.8), 3)
    queue = round(max(rng.uniform(20, 200), 20 * 12 / rate), 1)
    # The longest is about `trip`: what the core does not take of it, the access links do.
    rest = max(trip / 2 - delay - 0.1, 0.01)
    at = 3.0 if rng.random() < 0.5 else 0.0
    flows = [Flow(round(rest, 3), 0.0) for _ in range(rng.randint(1, 2) if at else 0)]
    over = rng.choice((1, 10)) * trip / 1e3
    way = rng.choice(("at once", "in step", "at random"))
    for i in range(count):
        late = {"at once": 0.0, "in step": over * i / count, "at random": rng.uniform(0, over)}[way]
        flows.append(Flow(round(rest * ratio ** -rng.random(), 3), round(at + late, 6)))
    changes, faults = [at + over if way != "at once" else at], []
    then = round(changes[0] + max(2.0, 30 * trip / 1e3), 3)
    what = rng.choice(("outage", "restart", "leave", "", ""))
    if what == "outage":
        until = round(then + 10 ** rng.uniform(-0.5, 0.5), 3)
        faults.append(scenes.down("r0", "r1", f"{then} s", f"{until} s"))
        changes.append(until)
    elif what == "restart":
        faults.append(scenes.restart(f"{then} s"))
        changes.append(then)
    elif what == "leave":
        gone = range(len(flows) - count // 2, len(flows))
        flows = [Flow(f.delay, f.start, stop=then) if i in gone else f for i, f in enumerate(flows)]
        changes.append(then)
    hosts = rng.randint(2, 10) if rng.random() < 0.3 and count > 10 else 0
    return Scene("crowd", number, rate, delay, queue, flows, faults, [rate], changes, CALM, AFTER, hosts)
