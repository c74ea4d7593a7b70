"""Places and the lines between them, in network namespaces: what every system runs on."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from plan import QUEUE_SECONDS, Line, Scene

from midpath.lab.spaces import Space, pair

ROOT = Path(__file__).parents[4]
# The lines keep time for all others; nodes for connections.
LINES, NODES, CLIENTS = (("chrt", "-f", str(priority)) for priority in (20, 15, 10))


def program(name: str) -> Path:
    """One of ours: by its variable in the environment, or as it was built last."""
    return Path(os.environ.get(name.upper().replace("-", "_"), ROOT / "target" / "release" / name))


def mac(line: int, end: int) -> str:
    """The station at an end of a line."""
    return f"02:6d:70:01:{line:02x}:{end:02x}"


class World:
    """A scene's places, while the `with` block runs."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.stack = ExitStack()
        self.places: dict[str, Space] = {}
        self.wire: subprocess.Popen[str] | None = None
        # Addresses of places on their lines, by place and neighbour.
        self.address: dict[tuple[str, str], str] = {}

    def __enter__(self) -> World:
        """Builds it."""
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Takes it down."""
        self.close()

    def close(self) -> None:
        """Takes it down."""
        if self.wire is not None:
            self.wire.kill()
            self.wire.wait()
        self.stack.close()

    def _space(self, name: str) -> Space:
        space = Space(name)
        self.stack.callback(space.close)
        return space

    def _build(self) -> None:
        between = self._space("w")
        names = sorted({place for line in self.scene.lines for place in (line.a, line.b)})
        self.places = {name: self._space(name) for name in names}
        for number, line in enumerate(self.scene.lines):
            self._join(between, number, line)
        for name, space in self.places.items():
            self._tune(name, space)
        paths = [option for path in self._paths() for option in ("--path", path)]
        command = between.command(*LINES, str(program("midpath-lab")), "wire", *paths)
        pipe = subprocess.PIPE
        self.wire = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self.wire.stdout is not None
        if self.wire.stdout.readline() != "ready\n":
            raise RuntimeError("the lines could not be started")

    def _join(self, between: Space, number: int, line: Line) -> None:
        ends = ((line.a, line.b, 1), (line.b, line.a, 2))
        for place, peer, end in ends:
            space, device = self.places[place], f"to-{peer}"
            pair(space, device, between, f"w{number}{end}", mac=mac(number, end), peer_mac=mac(number, end + 16))
            between.sysctl(f"net.ipv6.conf.w{number}{end}.disable_ipv6", 1)
            between.up(f"w{number}{end}")
            self.address[place, peer] = f"10.80.{number}.{end}"
            space.address(device, self.address[place, peer], 24)
        for place, peer, end in ends:
            self.places[place].neighbour(f"to-{peer}", f"10.80.{number}.{3 - end}", mac(number, 3 - end))

    def _tune(self, name: str, space: Space) -> None:
        space.sysctl("net.ipv4.ip_forward", 1)
        space.sysctl("net.ipv4.tcp_no_metrics_save", 1)
        space.sysctl("net.ipv4.tcp_rmem", f"4096 131072 {16 << 20}")
        space.sysctl("net.ipv4.tcp_wmem", f"4096 65536 {16 << 20}")
        # A place has an address of its own; what is not at the other end of a line is behind the hub.
        space.address("lo", self.at(name), 32)
        for other in self.places:
            if other != name:
                via = self.address.get((other, name)) or self.address["r", name]
                space.route(f"{self.at(other)}/32", via)
        if (name, "r") in self.address:
            space.route("10.80.0.0/16", self.address["r", name])

    def bring_here(self, place: str, other: str) -> None:
        """What a place sends to another one's own address ends at itself from now on."""
        space, to = self.places[place], f"{self.at(other)}/32"
        space.run("ip", "route", "del", to)
        space.run("ip", "route", "add", "local", to, "dev", "lo")

    @staticmethod
    def at(place: str) -> str:
        """A place's own address."""
        return f"10.81.0.{ord(place)}"

    @staticmethod
    def port(place: str) -> int:
        """Where a place's server listens. The gateway has one exit for a port."""
        return 8000 + ord(place)

    def _paths(self) -> list[str]:
        found = []
        for number, line in enumerate(self.scene.lines):
            shape = f"delay={line.delay_ms}ms,rate={line.mbps}Mbps,queue={line.mbps * 1e3 / 8 * QUEUE_SECONDS}kB"
            shape += "".join(f",at={at}s:{mbps}Mbps" for at, mbps in line.steps)
            found += [f"in=w{number}1,out=w{number}2,{shape}", f"in=w{number}2,out=w{number}1,{shape}"]
        return found

    def begin(self) -> None:
        """The schedule of rates begins."""
        assert self.wire is not None
        assert self.wire.stdin is not None
        self.wire.stdin.write("go\n")
        self.wire.stdin.flush()

    def finish(self) -> dict[str, Any]:
        """Ends the lines; what they have to say."""
        assert self.wire is not None
        out, _ = self.wire.communicate(timeout=10)
        said: dict[str, Any] = json.loads(out)
        self.wire = None
        return said
