"""Loss: the changes of `changes.py` on a core that loses packets, with round trips up to 1,000 times unlike.

The core has a delay of 0.05 to 5 ms, access links up to 250 ms, so that round trips are 0.5 to 500 ms. It loses 0.1 to
5 % of what goes to receivers (data), of what comes back (ACKs, Interests), or of each, packet by packet. Under schemes
by name receivers ask, so that these are Data and Interests.

Bounds are those of `changes`, and *starved* of crowds. As in racks, flows fill half of the core, or what NewReno fills,
less one percent. What the link loses is no queue's loss.
"""

from __future__ import annotations

import random
from dataclasses import replace

import scenes
from transients import changes
from transients.scene import Scene

DELAYS = (-1.3, 0.7)
UNLIKE, MOST = 4.0, 250.0
LOST = (1e-3, 5e-2)


def draw(number: int) -> Scene:
    """The scenario with this number."""
    rng = random.Random(f"lossy {number}")
    scene = changes.drawn("lossy", number, rng, DELAYS, UNLIKE, MOST)
    share = float(f"{scenes.log_uniform(rng, *LOST):.3g}")
    there, back = rng.choice(((share, 0.0), (0.0, share), (share, share)))
    return replace(scene, lost=(there, back))
