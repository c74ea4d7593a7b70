"""Sender, router and receivers, with delay on the wires between them.

    s ── delay ── r ══ bottleneck ══ delays ── d0 … dn

Every receiver has its own wire, so that flows with different RTTs meet at the router's outgoing device.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from midpath.errors import UsageError
from midpath.lab.machine import Tools
from midpath.lab.spaces import Space, pair

SENDER = "10.77.1.1"
ROUTER_IN, ROUTER_OUT = "10.77.1.254", "10.77.2.254"
# The device that RPM is asked for.
BOTTLENECK = "ro"
# Enough for 200 Mbps over 220 ms, twice.
SOCKET_BYTES = 16 << 20
# More than are ever on the way: 200 Mbps over 100 ms are 1,700 full packets.
NETEM_PACKETS = 100_000
# Real-time priority for what keeps the time of the wires: without it a busy machine makes them late by milliseconds.
PRIORITY = ("chrt", "-f", "10")


def receiver(number: int) -> str:
    """A receiver's address."""
    return f"10.77.2.{number + 1}"


def mac(kind: int, number: int = 0) -> str:
    """A station's address."""
    return f"02:6d:70:00:{kind:02x}:{number:02x}"


@dataclass(frozen=True)
class Delays:
    """One-way delays in seconds: between sender and router, and between router and each receiver."""

    up: float
    down: tuple[float, ...]


class Testbed:
    """The namespaces, while the `with` block runs."""

    def __init__(self, delays: Delays, tools: Tools) -> None:
        self.delays, self.tools = delays, tools
        self.stack = ExitStack()
        self.wire: subprocess.Popen[str] | None = None
        self.wire_report: dict[str, Any] = {}
        self.by_netem = False

    def __enter__(self) -> Testbed:
        """Builds it."""
        try:
            self._build()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Takes it down."""
        self.stop_wire()
        self.stack.close()

    def _space(self, name: str) -> Space:
        space = Space(name)
        self.stack.callback(space.close)
        return space

    def _build(self) -> None:
        self.sender, self.router, self.between = self._space("s"), self._space("r"), self._space("w")
        self.receivers = [self._space(f"d{i}") for i in range(len(self.delays.down))]
        pair(self.sender, "s0", self.between, "ws", mac=mac(1), peer_mac=mac(0, 1))
        pair(self.router, "ri", self.between, "wi", mac=mac(2), peer_mac=mac(0, 2))
        pair(self.router, BOTTLENECK, self.between, "wo", mac=mac(3), peer_mac=mac(0, 3))
        self._sender()
        self._router()
        for number, space in enumerate(self.receivers):
            pair(space, "d0", self.between, f"w{number}", mac=mac(4, number), peer_mac=mac(5, number))
            self._receiver(space, number)
        for space in (self.sender, *self.receivers):
            _tune(space)
        for device in self._ends():
            # Frames pass as they come; the namespace's own stack is not to see them.
            self.between.sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 1)
            self.between.up(device)
        self.by_netem = self._netem()
        if not self.by_netem:
            self._start_wire()

    def _sender(self) -> None:
        self.sender.address("s0", SENDER, 24)
        self.sender.neighbour("s0", ROUTER_IN, mac(2))
        self.sender.route("10.77.2.0/24", ROUTER_IN)

    def _router(self) -> None:
        self.router.address("ri", ROUTER_IN, 24)
        self.router.address(BOTTLENECK, ROUTER_OUT, 24)
        self.router.neighbour("ri", SENDER, mac(1))
        for number in range(len(self.receivers)):
            self.router.neighbour(BOTTLENECK, receiver(number), mac(4, number))
        self.router.sysctl("net.ipv4.ip_forward", 1)

    def _receiver(self, space: Space, number: int) -> None:
        space.address("d0", receiver(number), 24)
        space.neighbour("d0", ROUTER_OUT, mac(3))
        space.route("10.77.1.0/24", ROUTER_OUT)

    # -- the wires ---------------------------------------------------------------------------------------------------

    def _ends(self) -> list[str]:
        return ["ws", "wi", "wo", *(f"w{number}" for number in range(len(self.receivers)))]

    def _netem(self) -> bool:
        """Delay by the kernel's netem, between bridges; whether it has one."""
        up, down = self.delays.up, self.delays.down
        delayed = [(self.between, "ws", up), (self.between, "wi", up)]
        delayed += [(self.between, f"w{number}", delay) for number, delay in enumerate(down)]
        # All come back through one device of the router, so each receiver delays what it sends itself.
        delayed += [(space, "d0", delay) for space, delay in zip(self.receivers, down, strict=True)]
        for space, device, delay in delayed:
            netem = ("netem", "delay", f"{delay * 1e6:.0f}us", "limit", str(NETEM_PACKETS))
            done = space.run("tc", "qdisc", "add", "dev", device, "root", *netem, check=False)
            if done.returncode != 0:
                return False
        for bridge, ends in (("up", ("ws", "wi")), ("down", tuple(self._ends()[2:]))):
            self.between.ip.link("add", ifname=bridge, kind="bridge")
            for device in ends:
                self.between.ip.link("set", index=self.between.index(device), master=self.between.index(bridge))
            self.between.up(bridge)
        return True

    def paths(self) -> list[str]:
        """The wires, as `midpath-lab wire` wants them."""
        up = f"{self.delays.up * 1e6:.0f}us"
        found = [f"in=ws,out=wi,delay={up}", f"in=wi,out=ws,delay={up}"]
        for number, delay in enumerate(self.delays.down):
            down = f"{delay * 1e6:.0f}us"
            found.append(f"in=wo,out=w{number},mac={mac(4, number)},delay={down}")
            found.append(f"in=w{number},out=wo,delay={down}")
        return found

    def _start_wire(self) -> None:
        """Lets frames pass."""
        options = [option for path in self.paths() for option in ("--path", path)]
        command = self.between.command(*realtime(), self.tools.midpath_lab, "wire", *options)
        pipe = subprocess.PIPE
        self.wire = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self.wire.stdout is not None
        assert self.wire.stderr is not None
        if self.wire.stdout.readline() != "ready\n":
            raise UsageError(f"cannot start the wire: {self.wire.stderr.read().strip()}")

    def stop_wire(self) -> None:
        """Stops frames; `wire_report` then says how late they were."""
        if self.wire is None:
            return
        try:
            out, _ = self.wire.communicate(timeout=10)
            self.wire_report = json.loads(out)
        except (subprocess.TimeoutExpired, ValueError):
            self.wire.kill()
            self.wire.wait()
        self.wire = None


def realtime() -> tuple[str, ...]:
    """What to put before a command for real-time priority, where that can be had."""
    allowed = (
        shutil.which("chrt") and subprocess.run([*PRIORITY, "true"], check=False, capture_output=True).returncode == 0
    )
    return PRIORITY if allowed else ()


def _tune(space: Space) -> None:
    """What the ends of every flow have in common."""
    space.sysctl("net.ipv4.tcp_ecn", 1)
    # A run must not know what the one before it has measured.
    space.sysctl("net.ipv4.tcp_no_metrics_save", 1)
    space.sysctl("net.ipv4.tcp_rmem", f"4096 131072 {SOCKET_BYTES}")
    space.sysctl("net.ipv4.tcp_wmem", f"4096 65536 {SOCKET_BYTES}")


def round_trips(delays: Delays) -> Sequence[float]:
    """Of each receiver, without queues."""
    return [2 * (delays.up + down) for down in delays.down]
