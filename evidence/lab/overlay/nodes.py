"""Nodes of an overlay on this machine, each a process of `midpathd`: what tests and checks of it share."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[3]
# In a line: `a` is where applications connect, `r` forwards, `b` connects to servers.
NODES = ("a", "r", "b")
PEERS = {"a": ("r",), "r": ("a", "b"), "b": ("r",)}
NETWORK = """
scheme = "{scheme}"
[topology]
nodes = [{{ name = "a", kind = "host" }}, {{ name = "r" }}, {{ name = "b", kind = "host" }}]
links = [
    {{ a = "a", b = "r", rate = "{rate}", delay = "1 ms" }},
    {{ a = "r", b = "b", rate = "{rate}", delay = "1 ms" }},
]
[schemes.inrpp]
secret = "not the one that stands in the sources"
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"""


def daemon() -> Path:
    """The program: `MIDPATHD`, or what was built last."""
    named = os.environ.get("MIDPATHD")
    built = [ROOT / "target" / profile / "midpathd" for profile in ("debug", "release", "dist")]
    found = [Path(named)] if named else sorted((b for b in built if b.exists()), key=lambda b: b.stat().st_mtime)
    if not found or not found[-1].exists():
        raise FileNotFoundError("no midpathd; `cargo build -p midpathd` makes one")
    return found[-1]


# What this process has drawn: as long as it lives, nobody else who draws gets the same.
_drawn: list[socket.socket] = []


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that nobody has, that no client is given, and that is drawn only once among all processes of tests.

    Drawing twice is prevented by a name in Linux's abstract namespace, which goes with its process.
    """
    first_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(5_000, max(first_of_clients, 6_000))
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0midpath-test-port-{port}")
            with socket.socket(socket.AF_INET, kind) as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        _drawn.append(name)
        return port


def run(command: str, within: tuple[str, ...] = ()) -> None:
    """A command that must work; `within` is a command that runs it."""
    subprocess.run([*within, *command.split()], check=True, capture_output=True)


def may_have_namespaces(kinds: str = "-Urn") -> bool:
    """Whether this machine makes such namespaces, and has `ip`; `kinds` are flags of `unshare`."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run(["unshare", kinds, "true"], capture_output=True, check=False).returncode == 0


@contextmanager
def namespace() -> Iterator[tuple[int, tuple[str, ...]]]:
    """A network namespace with its loopback device up: a process in it, and the command that runs others there."""
    with subprocess.Popen(["unshare", "-n", "sleep", "infinity"]) as there:
        try:
            while Path(f"/proc/{there.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
                time.sleep(0.01)
            within = ("nsenter", "--net", f"--target={there.pid}")
            run("ip link set lo up", within)
            yield there.pid, within
        finally:
            there.kill()


@contextmanager
def serving(handle: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server on this machine, with a thread for each connection; its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def talk(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            handle(connection)

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        # Without this the thread would take one more connection: of whoever gets the same file number next.
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


class Overlay:
    """Three nodes with keys; they and their files go when it is left."""

    def __init__(
        self,
        scheme: str = "cubic",
        rate: str = "50 Mbps",
        forwards: tuple[int, ...] = (),
        hosts: dict[str, str] | None = None,
        within: dict[str, tuple[str, ...]] | None = None,
        reached: Callable[[Overlay, str, str], str] | None = None,
        **more: str,
    ):
        """`forwards` are servers' ports, each of which gets an entrance. `more`: TOML for a node, by its name.

        `hosts` are addresses of nodes that are not at 127.0.0.1, `within` the commands that run nodes. `reached` says
        how a node reaches a neighbour: by datagrams to its address, unless it is given.
        """
        self.hosts, self.within = hosts or {}, within or {}
        self.reached = reached or (lambda overlay, _, peer: f'address = "{overlay.address(peer)}"')
        self.program = daemon()
        self.folder = Path(tempfile.mkdtemp(prefix="midpath-overlay-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.servers = forwards
        self.more = more
        (self.folder / "net.toml").write_text(NETWORK.format(scheme=scheme, rate=rate))
        self.keys = {name: self.new_key(f"{name}.key") for name in NODES}
        self.draw_ports()

    def draw_ports(self) -> None:
        """New ports for everything, and configurations that name them."""
        self.socks, self.connect = free_port(), free_port()
        self.forward = {server: free_port() for server in self.servers}
        self.ports = {name: free_port(socket.SOCK_DGRAM) for name in NODES}
        for name in NODES:
            self.configure(name)

    def new_key(self, file: str) -> str:
        """Makes a key; its public half."""
        return self.command("key", self.folder / file).stdout.strip()

    def command(self, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`midpathd node …`."""
        command = [self.program, "node", *map(str, words)]
        return subprocess.run(command, check=check, capture_output=True, text=True, timeout=60)

    def configure(self, name: str, keys: dict[str, list[str]] | None = None, key: str | None = None) -> None:
        """Writes a node's configuration; `keys` in place of those that its neighbours have, `key` its own file."""
        lines = ['network = "net.toml"', f'node = "{name}"', f'key = "{key or name + ".key"}"']
        lines += [f'listen = "{self.address(name)}"', self.more.get(name, "")]
        for peer in PEERS[name]:
            theirs = (keys or {}).get(peer, [self.keys[peer]])
            lines += ["[[neighbour]]", f'node = "{peer}"', f"key = {json.dumps(theirs)}"]
            lines += [self.reached(self, name, peer)]
        if name == "a":
            for table, port in (("socks", self.socks), ("connect", self.connect)):
                lines += [f"[[{table}]]", f'listen = "127.0.0.1:{port}"', 'exit = "b"']
            for server, port in self.forward.items():
                lines += ["[[forward]]", f'listen = "127.0.0.1:{port}"', 'exit = "b"', f'to = "127.0.0.1:{server}"']
        if name == "b":
            lines += [
                "[exit]",
                'allow = ["127.0.0.0/8:1024-65535", "[::1]:1024-65535", "198.51.100.0/24:80", "[2001:db8:1::]/48:80"]',
            ]
        self.config(name).write_text("\n".join(lines) + "\n")

    def address(self, name: str) -> str:
        """Where a node's datagrams go."""
        return f"{self.hosts.get(name, '127.0.0.1')}:{self.ports[name]}"

    def config(self, name: str) -> Path:
        """A node's configuration."""
        return self.folder / f"{name}.toml"

    def start(self, *names: str, environment: dict[str, str] | None = None) -> None:
        """Starts nodes."""
        for name in names or NODES:
            with (self.folder / f"{name}.log").open("ab") as log:
                command = [*self.within.get(name, ()), str(self.program), "node", "up", str(self.config(name))]
                env = os.environ | (environment or {})
                self.processes[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=env)

    def ask(self, name: str, word: str = "status") -> dict:
        """What a node has to say."""
        with socket.socket(socket.AF_UNIX) as commands:
            commands.settimeout(10)
            commands.connect(str(self.config(name).with_suffix(".sock")))
            commands.sendall(f"{word}\n".encode())
            answer = b""
            while piece := commands.recv(1 << 16):
                answer += piece
        said: dict = json.loads(answer)
        return said

    def is_up(self, name: str) -> bool:
        """Whether all links of a node are."""
        try:
            return all(port["link"]["up"] for port in self.ask(name)["ports"])
        except (OSError, ValueError):
            return False

    def wait(self, *names: str, seconds: float = 30) -> None:
        """Until all links are up."""
        until = time.monotonic() + seconds
        for name in names or NODES:
            while not self.is_up(name):
                if time.monotonic() > until or any(process.poll() is not None for process in self.processes.values()):
                    raise TimeoutError(f"{name} is not up:\n{self.printed()}")
                time.sleep(0.02)

    def printed(self) -> str:
        """What each node printed, and how it ended if it did."""
        return "\n".join(
            f"{name} ({'runs' if process.poll() is None else f'ended with {process.returncode}'}): "
            + self.config(name).with_suffix(".log").read_text()
            for name, process in self.processes.items()
        )

    def kill(self, *names: str) -> None:
        """As the kernel does when it is out of memory."""
        for name in names or NODES:
            process = self.processes.pop(name, None)
            if process is not None:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def held(self) -> dict[str, dict[str, int]]:
        """What nodes hold of connections: zeros where none is open."""
        found = {}
        for name in NODES:
            status = self.ask(name)
            found[name] = {"open": status["conversations"]["open"], **status["held_bytes"]}
        return found

    def wait_until_empty(self, seconds: float = 20) -> None:
        """Until nothing is left of any connection."""
        until = time.monotonic() + seconds
        while found := {name: held for name, held in self.held().items() if any(held.values())}:
            if time.monotonic() > until:
                raise TimeoutError(f"something is left: {found}")
            time.sleep(0.05)

    def memory(self, name: str) -> int:
        """A node's resident memory in bytes."""
        text = Path(f"/proc/{self.processes[name].pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def cpu(self, name: str) -> float:
        """Seconds of CPU that a node has taken."""
        fields = Path(f"/proc/{self.processes[name].pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Overlay:
        try:
            for _ in range(5):
                self.start()
                try:
                    self.wait()
                    return self
                except TimeoutError:
                    # Somebody who doesn't draw ports as we do can still have taken one.
                    if "Address already in use" not in self.printed():
                        raise
                self.kill(*list(self.processes))
                for name in NODES:
                    self.config(name).with_suffix(".log").unlink(missing_ok=True)
                self.draw_ports()
            raise OSError("five times a port was somebody else's")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends them."""
        self.kill(*list(self.processes))
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
