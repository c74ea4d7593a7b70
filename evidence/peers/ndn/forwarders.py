"""Forwarders at the nodes of a network: ndnd's and ours, started and given routes in the same way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from net import Network, ended

ROOT = Path(__file__).parents[3]
# A prefix, the next node, what it costs.
Route = tuple[str, str, int]


def ndnd_program() -> Path:
    """The ndnd program: `NDND`, or the one on the path."""
    found = os.environ.get("NDND") or shutil.which("ndnd")
    if not found or not Path(found).exists():
        raise FileNotFoundError("no ndnd; see evidence/peers/ndn/README.md, and name it in NDND")
    return Path(found)


def midpathd_program() -> Path:
    """Our program: `MIDPATHD`, or what was built last."""
    named = os.environ.get("MIDPATHD")
    built = [ROOT / "target" / profile / "midpathd" for profile in ("debug", "release", "dist")]
    found = [Path(named)] if named else sorted((b for b in built if b.exists()), key=lambda b: b.stat().st_mtime)
    if not found or not found[-1].exists():
        raise FileNotFoundError("no midpathd; `cargo build --release -p midpathd` makes one")
    return found[-1]


class Forwarder:
    """A forwarder at one node. Applications connect to its socket."""

    def __init__(self, network: Network, node: str, routes: list[Route]) -> None:
        self.network, self.node, self.routes = network, node, routes
        self.socket = network.folder / f"{node}.sock"
        self.process: subprocess.Popen[bytes]

    def uri(self, peer: str) -> str:
        """The face that leads to a neighbour."""
        return f"udp4://{self.network.address(self.network.between(self.node, peer), peer)}:6363"

    def env(self) -> dict[str, str]:
        """What tells applications where it is."""
        return os.environ | {"NDN_CLIENT_TRANSPORT": f"unix://{self.socket}", "HOME": str(self.network.folder)}

    def launch(self, *command: str) -> None:
        """Starts it, and waits for its socket."""
        self.process = self.network.start(self.node, *command, log=f"{self.node}.log", env=self.env())
        until = time.monotonic() + 10
        while not self.socket.exists():
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError(f"{self.node} does not start: {self.log()}")
            time.sleep(0.02)

    def log(self) -> str:
        """What it wrote."""
        return (self.network.folder / f"{self.node}.log").read_text()[-2000:]

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Resident bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def close(self) -> None:
        """Ends it."""
        ended(self.process)


class Ndnd(Forwarder):
    """ndnd's own."""

    def __init__(self, network: Network, node: str, routes: list[Route]) -> None:
        super().__init__(network, node, routes)
        program = ndnd_program()
        config = {
            "core": {"log_level": "WARN"},
            "faces": {
                "udp": {"enabled_multicast": False},
                "unix": {"socket_path": str(self.socket)},
                "websocket": {"enabled": False},
            },
            "fw": {"threads": 1},
        }
        file = network.folder / f"{node}.yml"
        file.write_text(json.dumps(config))
        self.launch(str(program), "fw", "run", str(file))
        for prefix, peer, cost in routes:
            words = ("fw", "route-add", f"prefix={prefix}", f"face={self.uri(peer)}", f"cost={cost}")
            command = network.spaces[node].command(str(program), *words)
            subprocess.run(command, check=True, capture_output=True, env=self.env())


class Midpathd(Forwarder):
    """Ours, by delay."""

    # Whether links' rates are told, and MIRCC runs on them.
    mircc = False
    # More of its configuration.
    more: tuple[str, ...] = ()

    def __init__(self, network: Network, node: str, routes: list[Route]) -> None:
        super().__init__(network, node, routes)
        lines = [f'control = "{node}.control"', "[listen]", f'unix = "{self.socket}"', 'udp = ["0.0.0.0:6363"]']
        for prefix, peer, cost in routes:
            lines += ["[[route]]", f'prefix = "{prefix}"', f'to = "{self.uri(peer)}"', f"cost = {cost}"]
        for link in network.links if self.mircc else []:
            if node in (link.one, link.other):
                peer = link.other if node == link.one else link.one
                lines += ["[[face]]", f'to = "{self.uri(peer)}"', f'rate = "{link.mbps} Mbps"']
        lines += self.more
        self.file = network.folder / f"{node}.toml"
        self.file.write_text("\n".join(lines) + "\n")
        self.launch(str(midpathd_program()), "ndn", "up", str(self.file))

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        words = (str(midpathd_program()), "ndn", "status", str(self.file))
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return dict(json.loads(said))


class Mircc(Midpathd):
    """Ours, with MIRCC."""

    mircc = True


def mixed(router: type[Forwarder], ends: type[Forwarder]) -> Callable[[Network, str, list[Route]], Forwarder]:
    """One at node r, the other elsewhere: each cuts and puts together the other's fragments."""
    return lambda network, node, routes: (router if node == "r" else ends)(network, node, routes)


KINDS: dict[str, Callable[[Network, str, list[Route]], Forwarder]] = {
    "ndnd": Ndnd,
    "midpathd": Midpathd,
    "midpathd, MIRCC": Mircc,
    "ndnd between midpathd": mixed(Ndnd, Midpathd),
    "midpathd between ndnd": mixed(Midpathd, Ndnd),
}
