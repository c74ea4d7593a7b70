"""The nodes of an overlay on a scene's lines."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plan import BELOW, BUDGETS, QUEUE_SECONDS, Scene, places
from world import NODES, World, program


@dataclass(frozen=True)
class Link:
    """A link of the overlay, its ends with their addresses."""

    a: tuple[str, str]
    b: tuple[str, str]
    mbps: float
    delay_ms: float


def inner(scene: Scene, place: str) -> str:
    """The node of a place that has its lines."""
    return f"{place}-lines" if scene.two and place != "r" else place


def links(world: World) -> list[Link]:
    """One for each line, and one within each site that has two nodes."""
    scene, found = world.scene, []
    for line in scene.lines:
        ends = ((line.a, line.b), (line.b, line.a))
        a, b = ((inner(scene, place), world.address[place, peer]) for place, peer in ends)
        found.append(Link(a, b, BELOW * line.mbps, line.delay_ms))
    for place in ("a", "b") if scene.two else ():
        found.append(Link((place, "127.0.0.1"), (inner(scene, place), "127.0.0.1"), 100, 0.1))
    return found


class Gateway:
    """Its processes, while the `with` block runs."""

    def __init__(self, world: World, scheme: str) -> None:
        self.world, self.scheme = world, scheme
        self.links = links(world)
        self.names = sorted({name for link in self.links for name, _ in (link.a, link.b)})
        self.ports = {name: 4700 + place for place, name in enumerate(self.names)}
        self.folder = tempfile.TemporaryDirectory(prefix="midpath-compare-")
        self.path = Path(self.folder.name)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Gateway:
        """Starts them, and waits until all links are up."""
        try:
            self._configure()
            for exit_at in self._exits():
                self.world.bring_here("a", exit_at)
            for name in self.names:
                command = self._space(name).command(*NODES, str(program("midpathd")), "node", "up", str(self._of(name)))
                with (self.path / f"{name}.log").open("ab") as log:
                    self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)
            until = time.monotonic() + 20
            while not all(self._is_up(name) for name in self.names):
                if time.monotonic() > until:
                    logs = {name: (self.path / f"{name}.log").read_text() for name in self.names}
                    raise TimeoutError(f"links are not up: {logs}")
                time.sleep(0.05)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends them."""
        self.close()

    def close(self) -> None:
        """Ends them."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.folder.cleanup()

    def _space(self, name: str) -> Any:
        return self.world.places[name[0]]

    def _of(self, name: str) -> Path:
        return self.path / f"{name}.toml"

    def _configure(self) -> None:
        hosts = [name for name in self.names if len(name) == 1 and name != "r"]
        nodes = ", ".join(f'{{ name = "{name}", kind = "host" }}' for name in hosts)
        rows = [
            f'{{ a = "{link.a[0]}", b = "{link.b[0]}", rate = "{link.mbps:.3f} Mbps", delay = "{link.delay_ms} ms" }}'
            for link in self.links
        ]
        text = f'scheme = "{self.scheme}"\n[topology]\nnodes = [{nodes}]\nlinks = [{", ".join(rows)}]\n'
        text += (
            f'[queue]\nlimit = "{QUEUE_SECONDS * 1e3:.0f} ms"\n[schemes.inrpp]\nsecret = "not that of the sources"\n'
        )
        if self.scheme == "fcp" and len(self.world.scene.bulk) > 1:
            text += "".join(f"[schemes.fcp.hosts.{host}]\nbudget = {budget}\n" for host, budget in BUDGETS.items())
        text += '[[flow]]\nfrom = "b"\nto = "a"\nsize = "1 MB"\n'
        (self.path / "net.toml").write_text(text)
        keys = {}
        for name in self.names:
            command = [program("midpathd"), "node", "key", self.path / f"{name}.key"]
            keys[name] = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        for name in self.names:
            self._configure_node(name, keys)

    def _configure_node(self, name: str, keys: dict[str, str]) -> None:
        lines = [f'network = "net.toml"\nnode = "{name}"\nkey = "{name}.key"\nlisten = "0.0.0.0:{self.ports[name]}"']
        for link in self.links:
            for own, (peer, address) in ((link.a, link.b), (link.b, link.a)):
                if own[0] == name:
                    at = f"{address}:{self.ports[peer]}"
                    lines.append(f'[[neighbour]]\nnode = "{peer}"\nkey = "{keys[peer]}"\naddress = "{at}"')
        if name == "a":
            for exit_at in self._exits():
                to = f"{self.world.at(exit_at)}/32:{self.world.port(exit_at)}"
                lines.append(f'[[transparent]]\nto = "{to}"\nexit = "{exit_at}"')
        if name in self._exits():
            lines.append('[exit]\nallow = ["10.81.0.0/16:8000-8999"]')
        self._of(name).write_text("\n".join(lines) + "\n")

    def _exits(self) -> list[str]:
        return places(self.world.scene)

    def status(self, name: str) -> dict[str, Any]:
        """What a node has to say."""
        command = [program("midpathd"), "node", "status", self._of(name)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def _is_up(self, name: str) -> bool:
        try:
            return all(port["link"]["up"] for port in self.status(name)["ports"])
        except subprocess.CalledProcessError:
            return False
