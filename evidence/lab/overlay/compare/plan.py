"""What is compared, how it is measured, and what counts as winning: fixed before the first run.

Lines are emulated below everything, the same for all systems: a rate, a queue of 100 ms at that rate, a delay. Rates
count IP packets. All that runs has real-time priority.

The work of a run, from 0 s on: an unmodified curl fetches without end ("bulk"), and from 2 s on another curl fetches
50 kB every half second ("small"). What is measured:

- small, p50 and p95: how long a small fetch takes, from curl's connect to its last byte. One that fails, or takes
  more than 10 s, counts as 10 s.
- bulk: the rate at which the bulk fetch's bytes reach curl between 2 s and the end.
- silence: the longest time in which curl got nothing of the bulk fetch, after 2 s. It counts for the lines that fail.
- share: of two bulk fetches from two sites, bytes of the one with three times the budget over the other's, after 2 s.
  (At first the near site had the larger budget. In a trial the kernel's CUBIC gave it 3.2 times as much by its round
  trips alone, so the far one has it. And small fetches from there took half its budget while they lasted, so this
  scene has none: 2.1 with them.)

Connections go to the gateway by a local route (`[[transparent]]`): curl knows of no proxy. (By SOCKS5, as in the first
trials, curl waits for the answer of the exit: one round trip more.)

A system through the gateway *wins* a measure over one of the kernel's if the estimate of the ratio is at least a
tenth on the good side, and the whole interval is on it; it *loses* likewise; else it is level, or not decided. The
estimate is Hodges-Lehmann's of the runs' ratios, the interval the Mann-Whitney test's of 95 %. The share is good
where the interval of its median over the runs touches 2.7 to 3.3.

INRPP's kept runs had one rule more: an answer to an earlier one of several repeats was heeded. It helped in no case
that was simulated, so it was taken out afterwards, and nothing was run again.

A run is invalid, "machine too busy", if a hundredth of the line's frames, or of the wake-ups of any node, was more
than 1,024 us late, or a thousandth of the frames 10 ms. It is made again, up to twice as many runs as asked for; over
a fifth invalid fails the row.
"""

from __future__ import annotations

from dataclasses import dataclass

SECONDS = 18.0
WARM_UP = 2.0
SMALL_BYTES, SMALL_EVERY, SMALL_UNTIL = 50_000, 0.5, 16.0
LONGEST = 10.0
LATE_P99_US, LATE_P999_US = 1024, 10_000
QUEUE_SECONDS = 0.1
# What an overlay's links are configured for: shapers are set a little below the line.
BELOW = 0.97
BUDGETS = {"b": 1.0, "c": 3.0}
WIN = 1.1

KERNEL = ("cubic", "bbr")
OVERLAY = ("cubic", "fcp", "inrpp")
SYSTEMS = tuple(f"kernel {name}" for name in KERNEL) + tuple(f"overlay {name}" for name in OVERLAY)


@dataclass(frozen=True)
class Line:
    """A line between two places; `steps` are later rates, by seconds from the start, 0 where it is down."""

    a: str
    b: str
    mbps: float
    delay_ms: float
    steps: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Scene:
    """Lines, and who fetches from where; the client is at `a`. Kernels route by fewest lines."""

    name: str
    about: str
    lines: tuple[Line, ...]
    bulk: tuple[str, ...] = ("b",)
    small: str | None = "b"
    # Sites with a node for connections and one that forwards: only nodes that forward take detours.
    two: bool = False


def star(*steps: tuple[float, float]) -> tuple[Line, ...]:
    """Three sites at a hub; the line to the client's site is the narrow one."""
    return (Line("a", "r", 20, 10, steps), Line("b", "r", 50, 5), Line("c", "r", 50, 20))


def triangle(*steps: tuple[float, float]) -> tuple[Line, ...]:
    """A straight line between two sites, and another way by a third one."""
    return (Line("a", "b", 20, 10, steps), Line("a", "r", 20, 10), Line("b", "r", 20, 10))


SCENES = (
    Scene("sites", "three sites at a hub; bulk from b, small ones from c, over a's line of 20 Mbps", star(), small="c"),
    Scene("detour", "a line of 20 Mbps, and as much by a third site, which kernels do not use", triangle(), two=True),
    Scene(
        "varying",
        "sites, and a's line goes from 20 to 8 (4 s), 16 (7 s), 5 (10 s) and 20 Mbps (13 s)",
        star((4, 8), (7, 16), (10, 5), (13, 20)),
        small="c",
    ),
    Scene("outage", "sites, and a's line is down from 6 to 11 s", star((6, 0), (11, 20)), small="c"),
    Scene(
        "outage, two ways", "detour, and the straight line is down from 6 to 11 s", triangle((6, 0), (11, 20)), two=True
    ),
    Scene(
        "budgets",
        "sites, bulk from b and c; c, which is further, has three times b's budget",
        star(),
        bulk=("b", "c"),
        small=None,
    ),
)

# Which measures count in which scene, and whether more is better.
MEASURES = {"small p50": False, "small p95": False, "bulk": True, "silence": False, "share": True}


def measures(scene: Scene) -> tuple[str, ...]:
    """Those of a scene."""
    small = ("small p50", "small p95") if scene.small else ()
    silence = ("silence",) if "outage" in scene.name else ()
    return (*small, "bulk", *silence, *(("share",) if len(scene.bulk) > 1 else ()))


def places(scene: Scene) -> list[str]:
    """Where something is fetched from."""
    return sorted({*scene.bulk, *([scene.small] if scene.small else [])})
