"""RPM's cost on a router: time per packet, and memory per flow."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from midpath.errors import UsageError
from midpath.lab import real
from midpath.lab.machine import Tools, describe
from midpath.lab.router import Router
from midpath.lab.rpm import Bottleneck, Delays, Experiment, scenario
from midpath.lab.spaces import Space, pair
from midpath.lab.table import cell, spread
from midpath.markdown import table
from midpath.units import quantity

STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
PROGRAMS = ("rpm_divert", "rpm_enqueue", "rpm_dequeue", "rpm_return")
BUSY = Experiment("cost", Bottleneck(aqm="step", target_s=0.001), Delays(0.0, (0.01,)), long=8, seconds=5.0)
# The sender, the router before it and behind it, and who is never there.
SENDER, ROUTER_IN, ROUTER_OUT, NOBODY = "10.77.1.1", "10.77.1.254", "10.77.2.254", "10.77.2.1"
BOTTLENECK = "ro"
# Datagrams of one measurement of the whole path.
DATAGRAMS = 100_000
# The share of a core is told for so many packets a second.
RATE_PPS = 100_000

# The time of the thread that sends is the time of the whole path: each datagram is forwarded, shaped and delivered
# within the system call that sends it, before the next one. So what else runs on the machine does not count.
SEND = textwrap.dedent(
    """
    import socket, sys, time
    to, count = (sys.argv[1], 9), int(sys.argv[2])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    data = bytes(1400)
    for _ in range(2000):
        s.sendto(data, to)
    begin = time.thread_time_ns()
    for _ in range(count):
        s.sendto(data, to)
    print((time.thread_time_ns() - begin) / count)
    """
)


@contextmanager
def program_times() -> Iterator[None]:
    """Lets the kernel take the time of programs, which itself costs some 20 ns a run."""
    before = STATS.read_text()
    STATS.write_text("1")
    try:
        yield
    finally:
        STATS.write_text(before)


def program_ns() -> dict[str, tuple[float, int]]:
    """Of each program, the mean time of a run so far, and how many there were."""
    said = subprocess.run(["bpftool", "-j", "prog", "show"], check=True, capture_output=True, text=True).stdout
    found = {}
    for program in json.loads(said):
        runs = program.get("run_cnt", 0)
        if program.get("name") in PROGRAMS and runs:
            found[program["name"]] = (program["run_time_ns"] / runs, runs)
    return found


@contextmanager
def straight() -> Iterator[tuple[Space, Space]]:
    """A sender and a router without wires between: what is sent is forwarded at once, and then nobody takes it."""
    with ExitStack() as stack:
        sender, router, nobody = (stack.enter_context(closing(Space(name))) for name in ("s", "r", "n"))
        macs = [f"02:6d:70:00:00:{number:02x}" for number in range(1, 6)]
        pair(sender, "s0", router, "ri", mac=macs[0], peer_mac=macs[1])
        pair(router, BOTTLENECK, nobody, "n0", mac=macs[2], peer_mac=macs[3])
        sender.address("s0", SENDER, 24)
        router.address("ri", ROUTER_IN, 24)
        router.address(BOTTLENECK, ROUTER_OUT, 24)
        nobody.up("n0")
        sender.neighbour("s0", ROUTER_IN, macs[1])
        sender.route("10.77.2.0/24", ROUTER_IN)
        # Another station's address: the frame is dropped where it arrives.
        router.neighbour(BOTTLENECK, NOBODY, macs[4])
        router.sysctl("net.ipv4.ip_forward", 1)
        yield sender, router


def path_ns(sender: Space) -> float:
    """Thread time of one datagram from the sender through the router."""
    done = sender.run(sys.executable, "-c", SEND, NOBODY, str(DATAGRAMS))
    return float(done.stdout)


def section(tools: Tools, repeats: int) -> str:
    """The measurements, as text."""
    if shutil.which("bpftool") is None:
        raise UsageError("cost: bpftool, which reads the programs' times, is not installed")
    machine = describe(tools)
    programs: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    paths: dict[str, list[float]] = {}
    for seed in range(1, repeats + 1):
        for name, value in _programs(tools, seed).items():
            programs[name].append(value)
        for name, value in _paths(tools).items():
            paths.setdefault(name, []).append(value)
    return _text(programs, paths, machine, repeats)


def _programs(tools: Tools, seed: int) -> dict[str, float]:
    """Under TCP with signals."""
    laboratory = real.Laboratory.of(tools)
    with program_times(), real.built(laboratory.prepare(scenario(BUSY, "cubic", "rpm", seed)), laboratory) as lab:
        lab.carry_out()
        return {name: ns for name, (ns, _) in program_ns().items()}


def _router(space: Space, tools: Tools, mode: str, *more: str) -> Router:
    return Router(space.name, tools.midpathd, BOTTLENECK, ["--mode", mode, *more])


def _paths(tools: Tools) -> dict[str, float]:
    """With datagrams, at a rate that never holds them up."""
    with straight() as (sender, router):
        found = {"no midpathd": path_ns(sender)}
        for mode in ("off", "fwd", "rpm"):
            with _router(router, tools, mode, "--rate", "100Gbps", "--buffer", "100ms") as running:
                found[f"mode {mode}"] = path_ns(sender)
                passed = running.status()["counters"]["packets"]
            if passed < DATAGRAMS:
                raise OSError(f"cost: only {passed} of {DATAGRAMS} datagrams passed the router")
    return found


def _text(
    programs: dict[str, list[float]], paths: dict[str, list[float]], machine: dict[str, str], repeats: int
) -> str:
    lines = [[name, cell(spread(values))] for name, values in programs.items()]
    data = sum(statistics.median(programs[name]) for name in PROGRAMS[:3] if programs[name])
    data += statistics.median(programs["rpm_divert"]) if programs["rpm_divert"] else 0.0
    ack = statistics.median(programs["rpm_return"]) if programs["rpm_return"] else 0.0
    lines.append(["a data packet (rpm_divert runs twice)", cell({"median": data, "min": data, "max": data})])
    share = (data * RATE_PPS + ack * RATE_PPS / 2) / 1e9
    # Each repeat by itself: what else the machine does changes slower than that.
    more = {name: [a - b for a, b in zip(values, paths["no midpathd"], strict=True)] for name, values in paths.items()}
    whole = [[name, cell(spread(values)), cell(spread(more[name]))] for name, values in paths.items()]
    added = statistics.median(more["mode rpm"])
    return (
        f"Programs, 8 CUBIC flows through 100 Mbps, by the kernel's count (including its clock reads):\n\n"
        f"{table(('Program', 'ns per run'), lines, numbers=True)}\n\n"
        f"At {RATE_PPS:,} data packets/s and half as many ACKs the programs take {share:.1%} of a core.\n\n"
        f"Whole path: thread time per datagram of 1400 bytes from sender to wire, including the divert through the "
        "internal pair and its shaper:\n\n"
        f"{table(('Router', 'ns per packet', 'more than without'), whole, numbers=True)}\n\n"
        f"So {RATE_PPS:,} packets/s cost {added * RATE_PPS / 1e9:.1%} of a core more than plain forwarding.\n\n"
        f"Medians of {repeats} runs; kernel {machine['kernel']}, {machine['midpathd']}, load average "
        f"{machine['load_average']}.\n\n"
    )


def memory(tools: Tools) -> str:
    """Bytes by number of flows."""
    lines = []
    with straight() as (_, space):
        for flows in (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20):
            with _router(space, tools, "rpm", "--rate", "100Mbps", "--flows", str(flows)) as router:
                registers = router.status()["registers"]
            total, bytes_ = registers["total"], registers["bytes"]
            lines.append(
                [f"{total:,}", quantity("bytes", bytes_), f"{bytes_ / total:.0f}", quantity("bytes", total / 8)]
            )
    heads = ("Flows", "Registers", "Bytes per flow", "The paper's least: a bit per flow")
    return f"{table(heads, lines, numbers=True)}\n\n"
