"""One experiment: its flows, router, and execution."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, Self

from midpath.errors import UsageError
from midpath.lab import traffic
from midpath.lab.machine import Tools, describe
from midpath.lab.router import Bottleneck, Router
from midpath.lab.spaces import Space
from midpath.lab.testbed import Delays, Testbed, receiver, round_trips
from midpath.lab.traffic import LONG_PORT, SHORT_PORT

AQMS = ("codel", "codel-dataplane", "step")
MODES = ("none", "fwd", "rpm", "both")
# Kernel TCP's segment with timestamps over an MTU of 1500.
SEGMENT_BYTES = 1448
# Flows without end start one after the other within this time, in seconds: what starts at once stays in step.
SPREAD_S = 0.1
# How long after the end a process may take to say what it has measured.
PATIENCE_S = 60


def check_modes(modes: Sequence[str]) -> None:
    """Raises `UsageError` unless there are such modes."""
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise UsageError(f"--modes {unknown[0]}: there are {', '.join(MODES)}")


@dataclass(frozen=True)
class Short:
    """Short flows beside the long ones, one after the other at random."""

    packets: tuple[int, ...] = (10, 30, 100, 300)
    per_s: float = 4.0


@dataclass(frozen=True)
class Experiment:
    """What is run, but for the congestion control, the mode and the repeat."""

    title: str
    bottleneck: Bottleneck
    delays: Delays
    # Flows without end to each receiver.
    long: int = 1
    seconds: float = 10.0
    short: Short | None = None
    # Senders space their packets out.
    paced: bool = False

    def check(self) -> None:
        """Raises `UsageError` if it cannot be run."""
        if not 1e6 <= self.bottleneck.rate_bps <= 1e9:
            raise UsageError("--rate: must be from 1 Mbps to 1 Gbps; above 200 Mbps this machine limits the results")
        if self.bottleneck.aqm not in AQMS:
            raise UsageError(f"--aqm {self.bottleneck.aqm}: there are {', '.join(AQMS)}")
        if self.long < 0 or (self.long == 0 and self.short is None):
            raise UsageError("--flows: must be at least 1")
        if not 1 <= self.seconds <= 3600:
            raise UsageError("--seconds: must be from 1 to 3600")
        if self.delays.up < 0 or not all(0 <= delay <= 5 for delay in self.delays.down):
            raise UsageError("--rtt: must be from 0 to 10 s, and above --upstream")

    def flows(self, control: str, seed: int) -> list[dict[str, Any]]:
        """The flows of one run; the same seed gives the same."""
        rng = random.Random(seed)
        found = []
        for number in range(len(self.delays.down)):
            for _ in range(self.long):
                start = rng.uniform(0, SPREAD_S)
                found.append({"to": receiver(number), "receiver": number, "start_s": start, "size_bytes": None})
        if self.short is not None:
            # The long flows come to terms first.
            at = min(2.0, self.seconds / 4)
            while (at := at + rng.expovariate(self.short.per_s)) < self.seconds - 1:
                number = rng.randrange(len(self.delays.down))
                size = rng.choice(self.short.packets) * SEGMENT_BYTES
                found.append({"to": receiver(number), "receiver": number, "start_s": at, "size_bytes": size})
        common = {"cc": control, "stop_s": self.seconds, "paced": self.paced}
        return [flow | common | {"flow": index} for index, flow in enumerate(found)]


@dataclass(frozen=True)
class Measured:
    """What one run gave, as it came."""

    flows: list[dict[str, Any]]
    # Of each flow: its sender's word.
    sent: dict[int, dict[str, Any]]
    # Of each flow: bytes delivered, and when the last one was.
    delivered: dict[int, int]
    ended: dict[int, float]
    # Bytes of all flows at a time.
    progress: list[tuple[float, int]]
    begin: float
    router: dict[str, Any]
    seen: list[dict[str, Any]]
    machine: dict[str, str]


def measure(
    bed: Testbed,
    experiment: Experiment,
    control: str,
    mode: str,
    seed: int,
    tools: Tools,
    before_down: Callable[[Router], None] | None = None,
) -> Measured:
    """Runs it once; `before_down` may look at the router while its programs are still there."""
    flows = experiment.flows(control, seed)
    machine = describe(tools)
    with ExitStack() as stack:
        router = stack.enter_context(Router(bed.router, tools, experiment.bottleneck, mode))
        ends = [stack.enter_context(_Receiver(space, control)) for space in bed.receivers]
        senders = stack.enter_context(_Senders(bed.sender, flows))
        router.watch()
        # On a busy machine a process takes its time to start; from here on all are there.
        begin = time.monotonic() + 0.2
        sent = senders.run(begin, experiment.seconds)
        seen = router.stop_watching()
        status = router.status()
        if before_down is not None:
            before_down(router)
        received = [part for end in ends for part in end.stop()]
    return Measured(
        flows=flows,
        sent={int(flow["flow"]): flow for flow in sent},
        delivered={int(flow): count for part in received for flow, count in part["bytes"].items()},
        ended={int(flow): at for part in received for flow, at in part["ended"].items()},
        progress=_together([part["samples"] for part in received]),
        begin=begin,
        router=status,
        seen=seen,
        machine=machine,
    )


class _Ends:
    """Processes of one namespace, while the `with` block runs."""

    def __init__(self, space: Space, arguments: Sequence[tuple[str, ...]]) -> None:
        pipe = subprocess.PIPE
        # By its path: the package around it takes a second to load.
        commands = [space.command(sys.executable, traffic.__file__, *some) for some in arguments]
        self.processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for command in commands]

    def __enter__(self) -> Self:
        for process in self.processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise OSError("cannot start a process of the laboratory")
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            # Waits for it, and closes its pipes: after an error nobody has read them.
            with process:
                pass


class _Receiver(_Ends):
    """The receiving processes of a namespace: one for long flows, one for short ones."""

    def __init__(self, space: Space, control: str) -> None:
        super().__init__(space, [("receive", control, str(port)) for port in (LONG_PORT, SHORT_PORT)])

    def stop(self) -> list[dict[str, Any]]:
        """What they have measured."""
        return [json.loads(process.communicate(timeout=PATIENCE_S)[0]) for process in self.processes]


class _Senders(_Ends):
    """The sending processes: one for long flows, one for short ones, if there are any."""

    def __init__(self, space: Space, flows: list[dict[str, Any]]) -> None:
        kinds = ([f for f in flows if f["size_bytes"] is None], [f for f in flows if f["size_bytes"] is not None])
        self.parts = [part for part in kinds if part]
        super().__init__(space, [("send",)] * len(self.parts))

    def run(self, begin: float, seconds: float) -> list[dict[str, Any]]:
        """Sends, and says what the senders have measured."""
        for process, part in zip(self.processes, self.parts, strict=True):
            assert process.stdin is not None
            process.stdin.write(json.dumps({"begin": begin, "flows": part}))
            process.stdin.close()
            process.stdin = None
        patience = seconds + PATIENCE_S
        answers = [json.loads(process.communicate(timeout=patience)[0]) for process in self.processes]
        found: list[dict[str, Any]] = [flow for answer in answers for flow in answer["flows"]]
        failed = [flow["error"] for flow in found if flow["error"]]
        if failed:
            raise OSError(f"a flow failed: {failed[0]}")
        return found


def _together(parts: Sequence[list[Any]]) -> list[tuple[float, int]]:
    """Bytes of all receivers at the looks of the first one; of the others, at the last look before."""
    looks = [([at for at, _ in part], [sum(found.values()) for _, found in part]) for part in parts]
    together = []
    for at in looks[0][0]:
        places = [bisect_right(times, at) for times, _ in looks]
        together.append((at, sum(sums[place - 1] for place, (_, sums) in zip(places, looks, strict=True) if place)))
    return together


def command(experiment: Experiment, controls: Sequence[str], modes: Sequence[str], repeats: int) -> str:
    """What to type to run it again."""
    bottleneck, delays = experiment.bottleneck, experiment.delays

    def ms(seconds: float) -> str:
        return f"{seconds * 1e3:g}ms"

    options = {
        "cc": ",".join(controls),
        "modes": ",".join(modes),
        "flows": experiment.long,
        "rtt": ",".join(ms(rtt) for rtt in round_trips(delays)),
        "upstream": ms(2 * delays.up),
        "rate": f"{bottleneck.rate_bps / 1e6:g}Mbps",
        "buffer": ms(bottleneck.buffer_s),
        "aqm": bottleneck.aqm,
        "target": ms(bottleneck.target_s),
        "interval": ms(bottleneck.interval_s),
        "seconds": f"{experiment.seconds:g}",
        "repeats": repeats,
    }
    asked = {"aggregate": bottleneck.aggregate, "short": experiment.short, "paced": experiment.paced}
    flags = [f"--{name}" for name, wanted in asked.items() if wanted]
    return " ".join(["midpath lab rpm", *(f"--{name} {value}" for name, value in options.items()), *flags])


def to_dict(experiment: Experiment) -> dict[str, Any]:
    """The experiment as plain data, for results."""
    return asdict(experiment)
