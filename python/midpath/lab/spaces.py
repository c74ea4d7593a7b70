"""Network namespaces, and veth pairs between them."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, NetNS, netns
from pyroute2.ethtool import Ethtool

from midpath.lab.clean import stem

# What would make one frame of several, or leave its checksum to a network card that is not there.
OFFLOADS = (
    "tx-checksum-ip-generic",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
)


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Puts this thread into a namespace while the block runs."""
    netns.pushns(name)
    try:
        yield
    finally:
        netns.popns()


class Space:
    """A network namespace; it is there from the making of this object until `close`."""

    _made = itertools.count()

    def __init__(self, name: str) -> None:
        # Several laboratories may be there at a time, in one process and in several.
        self.name = f"{stem()}-{next(self._made)}{name}"
        netns.create(self.name)
        self.ip = NetNS(self.name)
        self.ip.link("set", index=1, state="up")

    def close(self) -> None:
        """Takes it away, and with it every device in it."""
        self.ip.close()
        netns.remove(self.name)

    def command(self, *arguments: str) -> list[str]:
        """A command line that runs in it."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *arguments]

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command in it."""
        return subprocess.run(self.command(*arguments), check=check, capture_output=True, text=True)

    def sysctl(self, key: str, value: object) -> None:
        """Sets one of its parameters, `net.ipv4.tcp_ecn`."""
        with inside(self.name):
            Path("/proc/sys", *key.split(".")).write_text(str(value))

    def index(self, device: str) -> int:
        """A device's number."""
        found: int = self.ip.link_lookup(ifname=device)[0]
        return found

    def address(self, device: str, address: str, prefix: int) -> None:
        """Gives a device an address, and sets it up."""
        self.ip.addr("add", index=self.index(device), address=address, prefixlen=prefix)
        self.up(device)

    def up(self, device: str) -> None:
        """Sets a device up."""
        self.ip.link("set", index=self.index(device), state="up")

    def neighbour(self, device: str, address: str, mac: str) -> None:
        """Spares a device the question who has an address."""
        self.ip.neigh("add", dst=address, lladdr=mac, ifindex=self.index(device), state="permanent")

    def route(self, to: str, via: str) -> None:
        """Adds a route."""
        self.ip.route("add", dst=to, gateway=via)

    def plain(self, device: str) -> None:
        """Makes a device send and hand over frames as they would lie on a wire."""
        with inside(self.name):
            ethtool = Ethtool()
            features = ethtool.get_features(device)
            for feature in OFFLOADS:
                if feature in features.features:
                    features.features[feature].enable = False
            ethtool.set_features(device, features)
            ethtool.close()


def pair(one: Space, device: str, other: Space, peer: str, *, mac: str, peer_mac: str) -> None:
    """Joins two namespaces with a veth pair, which stays down."""
    with IPRoute() as here:
        ends: dict[str, Any] = {"ifname": peer, "net_ns_fd": other.name, "address": peer_mac}
        here.link("add", kind="veth", ifname=device, net_ns_fd=one.name, address=mac, peer=ends)
    one.plain(device)
    other.plain(peer)
