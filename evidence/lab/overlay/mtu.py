"""Links over paths of any MTU, in namespaces: `unshare -Urn python evidence/lab/overlay/mtu.py [--quick] [SCHEME …]`.

Nodes `a` and `b`, the client and the server are here; `r` is two namespaces away. The router between drops what does
not fit. Each line: seconds of a transfer, also over what it takes at 1,500 bytes; with `1500 -> 1280` the MTU changes
in its middle. Then what `b` and `r` have found.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass

from nodes import Overlay, namespace, run, serving

SCHEMES = ("cubic", "rcp", "fcp", "inrpp")
# The path's MTU, and what it becomes in the middle of the transfer.
FOUR = ((576, 576), (1006, 1006), (1400, 1400), (1460, 1460), (1480, 1480), (1499, 1499), (1500, 1280), (1280, 1500))
SIX = ((1280, 1280), (1492, 1492), (1500, 1281), (1290, 1500))
SIZE = 6_000_000
RATE = "20 Mbps"
WORST = 30.0


@dataclass(frozen=True)
class Path:
    """here (10.58.1.1, fd58:1::1) - a router - there (10.58.2.2, fd58:2::2); what commands in the two begin with."""

    in_router: tuple[str, ...]
    in_there: tuple[str, ...]

    def carry(self, mtu: int) -> None:
        """The MTU of the router's way there, and of the way back to the router."""
        run(f"ip link set far0 mtu {mtu}", self.in_router)
        run(f"ip link set far mtu {mtu}", self.in_there)

    def set(self, state: str) -> None:
        """`down`: nothing gets there or back, until `up`."""
        run(f"ip link set far0 {state}", self.in_router)


def cable(stack: ExitStack) -> Path:
    """Makes the path."""
    router, in_router = stack.enter_context(namespace())
    there, in_there = stack.enter_context(namespace())
    run("ip link set lo up")
    run(f"ip link add near type veth peer name near0 netns {router}")
    run(f"ip link add far0 netns {router} type veth peer name far netns {there}")
    for inside, device, net, host in (
        ((), "near", 1, 1),
        (in_router, "near0", 1, 2),
        (in_router, "far0", 2, 1),
        (in_there, "far", 2, 2),
    ):
        run(f"ip addr add 10.58.{net}.{host}/24 dev {device}", inside)
        run(f"ip addr add fd58:{net}::{host}/64 dev {device} nodad", inside)
        run(f"ip link set {device} up", inside)
    for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
        run(f"sysctl -qw {key}=1", in_router)
    run("ip route add default via 10.58.1.2")
    run("ip -6 route add default via fd58:1::2")
    run("ip route add default via 10.58.2.1", in_there)
    run("ip -6 route add default via fd58:2::1", in_there)
    return Path(in_router, in_there)


def seconds(port: int, change: object) -> float:
    """How long SIZE bytes take; `change` is called in the middle."""
    begun, got = time.monotonic(), 0
    with socket.create_connection(("127.0.0.1", port), timeout=WORST) as connection:
        while got < SIZE:
            piece = len(connection.recv(1 << 16))
            if not piece:
                break
            if callable(change) and got < SIZE // 2 <= got + piece:
                change()
            got += piece
    return time.monotonic() - begun if got == SIZE else float("inf")


def main(schemes: list[str], quick: bool) -> None:
    """Prints a line for each scheme, family and path."""
    six, four = (SIX[1:2], FOUR[2:3] + FOUR[6:7]) if quick else (SIX, FOUR)
    with ExitStack() as stack:
        path = cable(stack)
        server = stack.enter_context(serving(lambda connection: connection.sendall(bytes(SIZE))))
        # A device of less than 1,280 B loses IPv6 for good: IPv4 comes last.
        for hosts, pairs in (
            ({"a": "[fd58:1::1]", "b": "[fd58:1::1]", "r": "[fd58:2::2]"}, six),
            ({"a": "10.58.1.1", "b": "10.58.1.1", "r": "10.58.2.2"}, four),
        ):
            for scheme in schemes:
                path.carry(1500)
                overlay = stack.enter_context(Overlay(scheme, RATE, (server,), hosts, within={"r": path.in_there}))
                seconds(overlay.forward[server], None)  # until rates have grown
                full = seconds(overlay.forward[server], None)
                for first, then in pairs:
                    path.carry(first)
                    time.sleep(3)
                    took = seconds(overlay.forward[server], lambda mtu=then: path.carry(mtu))
                    deadline = time.monotonic() + 13
                    # Data goes from `b` by `r` to `a`.
                    while True:
                        links = [overlay.ask(name)["ports"][0]["link"] for name in ("b", "r")]
                        if all(link["path_mtu"] == then for link in links) or time.monotonic() > deadline:
                            break
                        seconds(overlay.forward[server], None)
                    found = ", ".join(f"path_mtu {link['path_mtu']}, too_large {link['too_large']}" for link in links)
                    family = 6 if "[" in hosts["a"] else 4
                    print(
                        f"{scheme:7} IPv{family} {first} -> {then}: {took:5.2f} s, {took / full:.2f} times; {found}",
                        flush=True,
                    )
                overlay.close()


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word != "--quick"]
    main(names or list(SCHEMES), "--quick" in sys.argv)
