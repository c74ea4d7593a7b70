"""Racks: the same kinds of change at a data centre's round trips, which PowerTCP, TIMELY, Swift and DCQCN are made for.

TIMELY's paper has round trips of 20 us, DCQCN's timers are of 55 us, Swift's base target is 20 us, and PowerTCP's τ is
about 25 us. Here a round trip is 20 us to 1 ms, up to ten times unlike; the core has 100 Mbps to 1 Gbps and 50 to
500 kB. One or two flows have no end. Others join and leave by size or by `stop`; in one of four they are an incast, 10
to 1,000 of one size within a round trip. The core may be down for a millisecond to a second, its rate may fall to a
hundredth, or rise tenfold to 1 Gbps at most, and in half of these come back; its first router may restart. In one of
five the core corrupts packets, one of 100 to 3,000 each way: data and ACKs.

Bounds are those of `changes`, and *starved* of crowds. Where packets are corrupted, flows fill half of the core, or
what NewReno fills, less one percent. All is settled two seconds, or fifty round trips, after the last change, and the
run goes on for two.
"""

from __future__ import annotations

import random

import scenes
from transients.scene import Flow, Scene

MOST_RATE = 1000.0
MOST_PACKETS = 4e5
"""That the core carries in a run: for the suite's time, not for the schemes."""
CALM = (2.0, 50.0)
AFTER = (2.0, 0.0)


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"racks {number}")
    while True:
        scene = attempt(number, rng)
        if max(scene.rates) * 1e6 / 12e3 * scene.stop <= MOST_PACKETS:
            return scene


def attempt(number: int, rng: random.Random) -> Scene:
    """A scenario whose core may carry too many packets."""
    rate = float(f"{10 ** rng.uniform(2, 3):.4g}")
    trip, ratio = 10 ** rng.uniform(-1.7, 0), 10 ** rng.uniform(0, 1)
    # A tenth of the shortest half trip is the receiver's link's, and three tenths are the core's.
    far, delay = round(trip / ratio / 20, 6), round(3 * trip / ratio / 20, 6)
    rest = trip / 2 - far - delay
    queue = float(f"{10 ** rng.uniform(1.7, 2.7) * 8 / rate:.4g}")

    def access() -> float:
        # Between 1/ratio of the longest, and that.
        return round(trip / 2 * ratio ** -rng.random() - far - delay, 6)

    flows = [Flow(round(rest, 6), 0.0), *(Flow(access(), 0.0) for _ in range(rng.randint(0, 1)))]
    changes = [0.0]
    if rng.random() < 1 / 4:
        count, at = round(10 ** rng.uniform(1, 3)), round(rng.uniform(0.1, 0.5), 3)
        # All of them are half a second of the core at most.
        size = round(min(10 ** rng.uniform(3.5, 6), rate * 1e6 / 16 / count))
        for _ in range(count):
            flows.append(Flow(access(), round(at + trip / 1e3 * rng.random(), 7), size=size))
    else:
        for _ in range(rng.randint(1, 12)):
            start = round(rng.uniform(0.1, 0.8), 3)
            if rng.random() < 0.5:
                flows.append(Flow(access(), start, size=round(10 ** rng.uniform(3.5, 6.5))))
            else:
                stop = round(start + 10 ** rng.uniform(-2, 0), 3)
                flows.append(Flow(access(), start, stop=stop))
                changes.append(stop)
    joined = max(flow.start for flow in flows)
    carried = sum(flow.size or 0 for flow in flows) * 8 / (rate * 1e6)
    changes += [joined, max(*changes, joined) + 2 * carried]
    faults, rates = [], [rate]
    if rng.random() < 0.3:
        at, lasts = round(rng.uniform(0.1, 0.8), 4), round(10 ** rng.uniform(-3, 0), 4)
        faults.append(scenes.down("r0", "r1", f"{at} s", f"{round(at + lasts, 4)} s"))
        changes.append(at + lasts)
    if rng.random() < 0.3:
        at = round(rng.uniform(0.1, 0.8), 4)
        rates.append(float(f"{min(rate * 10 ** rng.uniform(-2, 1), MOST_RATE):.4g}"))
        faults.append(scenes.rate_step("r0", "r1", f"{at} s", f"{rates[-1]} Mbps"))
        if rng.random() < 0.5:
            at = round(at + 10 ** rng.uniform(-2, 0), 4)
            rates.append(rate)
            faults.append(scenes.rate_step("r0", "r1", f"{at} s", f"{rate} Mbps"))
        changes.append(at + 2 * carried * max(1.0, rate / rates[-1]))
    if rng.random() < 0.2:
        at = round(rng.uniform(0.1, 0.8), 4)
        faults.append(scenes.restart(f"{at} s"))
        changes.append(at)
    corruption = float(f"{10 ** rng.uniform(-3.5, -2):.3g}") if rng.random() < 0.2 else 0.0
    return Scene(
        "rack", number, rate, delay, queue, flows, faults, rates, changes, CALM, AFTER, far=far, corruption=corruption
    )
