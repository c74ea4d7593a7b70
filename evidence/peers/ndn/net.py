"""Namespaces with shaped links between them: what the checks of NDN share."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType

from midpath.lab.spaces import Space, pair

# Before whatever else this machine does. In a real-time class two processes of Go that wait for each other spin.
FIRST = ("nice", "-n", "-15")


@dataclass(frozen=True)
class Link:
    """Two nodes, and the rate in both directions."""

    one: str
    other: str
    mbps: float
    # Bytes that wait: 100 ms at 20 Mbit/s.
    queue: int = 250_000


class Network:
    """Nodes, each a namespace and a folder, and links; they go when it is left."""

    def __init__(self, links: list[Link]) -> None:
        self.links = links
        self.folder = Path(mkdtemp(prefix="midpath-ndn-"))
        names = dict.fromkeys(itertools.chain.from_iterable((link.one, link.other) for link in links))
        self.spaces = {name: Space(name) for name in names}
        for number, link in enumerate(links):
            self._lay(number, link)

    def _lay(self, number: int, link: Link) -> None:
        one, other = self.spaces[link.one], self.spaces[link.other]
        devices = f"to-{link.other}", f"to-{link.one}"
        macs = f"02:00:00:00:{number:02x}:01", f"02:00:00:00:{number:02x}:02"
        pair(one, devices[0], other, devices[1], mac=macs[0], peer_mac=macs[1])
        ends = [(one, devices[0], self.address(link, link.one)), (other, devices[1], self.address(link, link.other))]
        for space, device, address in ends:
            space.address(device, address, 30)
            rate = ("htb", "rate", f"{link.mbps}mbit", "ceil", f"{link.mbps}mbit", "burst", "3k", "cburst", "3k")
            self.tc(space, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
            self.tc(space, "class", "add", "dev", device, "parent", "1:", "classid", "1:1", *rate)
            self.tc(space, "qdisc", "add", "dev", device, "parent", "1:1", "bfifo", "limit", str(link.queue))

    @staticmethod
    def tc(space: Space, *words: str) -> str:
        """A command of traffic control."""
        return space.run("tc", *words).stdout

    def address(self, link: Link, node: str) -> str:
        """A node's address on a link."""
        return f"10.9.{self.links.index(link)}.{1 if node == link.one else 2}"

    def between(self, node: str, peer: str) -> Link:
        """The link of two nodes."""
        return next(link for link in self.links if {link.one, link.other} == {node, peer})

    def cut(self, one: str, other: str) -> None:
        """The link loses everything from now on; its devices stay up, as behind a switch."""
        for node, peer in ((one, other), (other, one)):
            space, device = self.spaces[node], f"to-{peer}"
            self.tc(space, "qdisc", "replace", "dev", device, "parent", "1:1", "bfifo", "limit", "1")

    def dropped(self) -> int:
        """Frames that all links' queues have dropped."""
        total = 0
        for space in self.spaces.values():
            said = self.tc(space, "-s", "qdisc", "show")
            total += sum(map(int, re.findall(r"qdisc htb 1:.*\n.*\(dropped (\d+),", said)))
        return total

    def start(self, node: str, *command: str, log: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A process at a node, before whatever else this machine does."""
        with (self.folder / log).open("ab") as out:
            words = self.spaces[node].command(*FIRST, *command)
            return subprocess.Popen(words, stdout=out, stderr=out, env=env)

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for space in self.spaces.values():
            space.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def ended(process: subprocess.Popen[bytes], seconds: float = 5) -> None:
    """Ends a process that we started."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
