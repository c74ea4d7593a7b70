"""Network namespaces, and veth pairs between them, by iproute2."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from midpath.lab.clean import stem

NETNS = "/run/netns"
# <sched.h>; os.setns came with Python 3.12.
CLONE_NEWNET = 0x4000_0000


def enter(space: str, *words: str) -> list[str]:
    """A command that runs in a namespace."""
    return ["nsenter", f"--net={NETNS}/{space}", *words]


def script(space: str, text: str) -> None:
    """Runs a shell script in a namespace."""
    _told(enter(space, "sh", "-eu"), text)


def batch(lines: Sequence[str]) -> None:
    """Runs commands of `ip` outside of all namespaces."""
    _told(["ip", "-batch", "-"], "\n".join(lines) + "\n")


def _told(command: list[str], text: str) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"cannot build the laboratory: {' '.join(done.stderr.split())}")


def delete(space: str) -> None:
    """Takes a namespace away, and with it every device in it."""
    subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)


def setting(key: str, value: object) -> str:
    """A line of a script that sets a parameter, `net/ipv4/tcp_ecn`."""
    return f"echo '{value}' > /proc/sys/{key}\n"


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Puts this thread into a namespace while the block runs."""
    libc = ctypes.CDLL(None, use_errno=True)

    def move(space: int) -> None:
        if libc.setns(space, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {name}")

    with Path("/proc/thread-self/ns/net").open("rb") as here, Path(NETNS, name).open("rb") as there:
        move(there.fileno())
        try:
            yield
        finally:
            move(here.fileno())


class Space:
    """A network namespace; it is there from the making of this object until `close`."""

    _made = itertools.count()

    def __init__(self, name: str) -> None:
        # Several laboratories may be there at a time, in one process and in several.
        self.name = f"{stem()}-{next(self._made)}{name}"
        batch([f"netns add {self.name}"])
        self.script("ip link set lo up")

    def close(self) -> None:
        """Takes it away, and with it every device in it."""
        delete(self.name)

    def command(self, *arguments: str) -> list[str]:
        """A command line that runs in it."""
        return enter(self.name, *arguments)

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command in it."""
        return subprocess.run(self.command(*arguments), check=check, capture_output=True, text=True)

    def script(self, text: str) -> None:
        """Runs a shell script in it."""
        script(self.name, text)

    def sysctl(self, key: str, value: object) -> None:
        """Sets one of its parameters, `net.ipv4.tcp_ecn`."""
        self.script(setting(key.replace(".", "/"), value))

    def address(self, device: str, address: str, prefix: int) -> None:
        """Gives a device an address, and sets it up."""
        self.script(f"ip addr add {address}/{prefix} dev {device}\nip link set {device} up")

    def up(self, device: str) -> None:
        """Sets a device up."""
        self.script(f"ip link set {device} up")

    def neighbour(self, device: str, address: str, mac: str) -> None:
        """Spares a device the question who has an address."""
        self.script(f"ip neigh add {address} lladdr {mac} dev {device} nud permanent")

    def route(self, to: str, via: str) -> None:
        """Adds a route."""
        self.script(f"ip route add {to} via {via}")


def veth(one: str, device: str, other: str, peer: str, *, mac: str, peer_mac: str = "", more: str = "") -> str:
    """A line for `batch` that joins two namespaces with a veth pair, which stays down."""
    station = f"address {peer_mac} " if peer_mac else ""
    return (
        f"link add {device} netns {one} address {mac} {more} type veth peer name {peer} netns {other} {station}{more}"
    )


# Devices send frames as they would lie on a wire: a packet each.
SINGLE = "gso_max_segs 1"


def pair(one: Space, device: str, other: Space, peer: str, *, mac: str, peer_mac: str) -> None:
    """Joins two namespaces with a veth pair that carries single packets, and stays down."""
    batch([veth(one.name, device, other.name, peer, mac=mac, peer_mac=peer_mac, more=SINGLE)])
