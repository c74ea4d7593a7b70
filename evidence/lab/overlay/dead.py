"""How long live targets wait at an exit beside dead ones:

    unshare -Urnm python evidence/lab/overlay/dead.py 1000 names

Half of the dead are addresses whose SYNs are dropped, half are names that no resolver answers for. Without `names` it
takes addresses alone, and needs no namespaces.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import nodes

LIVE = 300


@contextmanager
def full() -> Iterator[int]:
    """A port at which SYNs are dropped: nobody takes what waits there, and no more may wait."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        time.sleep(0.05)
        yield listener.getsockname()[1]


def ask(entrance: int, host: str, port: int) -> socket.socket:
    """A connection that has asked by SOCKS5 for this target; its answer is 12 bytes, of which the fourth says which."""
    try:
        target = b"\1" + socket.inet_aton(host)
    except OSError:
        target = b"\3" + bytes([len(host)]) + host.encode()
    asking = socket.create_connection(("127.0.0.1", entrance))
    asking.sendall(b"\5\1\0" + b"\5\1\0" + target + port.to_bytes(2, "big"))
    return asking


def answer(asking: socket.socket) -> int:
    """What SOCKS5 says of the target."""
    said = b""
    while len(said) < 12:
        piece = asking.recv(12 - len(said))
        if not piece:
            raise ConnectionResetError(f"only {said!r}")
        said += piece
    return said[3]


def live(entrance: int, server: int) -> list[float]:
    """Seconds until live targets have answered, one after the other, in order."""
    took = []
    for _ in range(LIVE):
        begun = time.monotonic()
        with ask(entrance, "127.0.0.1", server) as asking:
            code = answer(asking)
        if code != 0:
            raise ConnectionRefusedError(f"SOCKS5 says {code}")
        took.append(time.monotonic() - begun)
    return sorted(took)


def resolver(until: ExitStack) -> socket.socket:
    """In namespaces of this process's: the only resolver is this socket, which answers nothing by itself."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    silent = until.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    silent.bind(("127.0.0.1", 53))
    settings = Path(until.enter_context(tempfile.TemporaryDirectory()), "resolv.conf")
    settings.write_text("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", settings, Path("/etc/resolv.conf").resolve()], check=True)
    return silent


def say(what: str, took: list[float]) -> None:
    """Prints these seconds, which are in order."""
    p50, p99 = took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3
    print(f"{what}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {took[-1] * 1e3:.1f} ms", flush=True)


def main(targets: int, names: bool) -> None:
    """Live targets alone, beside dead ones, and what these are told."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with ExitStack() as until:
        if names:
            resolver(until)
        server = until.enter_context(nodes.serving(lambda connection: connection.recv(1)))
        port = until.enter_context(full())
        overlay = until.enter_context(nodes.Overlay("cubic"))
        say("alone", live(overlay.socks, server))
        hosts = [f"name-{i}.example" if names and i % 2 else "127.0.0.1" for i in range(targets)]
        begun = time.monotonic()
        dead = [until.enter_context(ask(overlay.socks, host, port)) for host in hosts]
        say(f"beside {targets} dead targets", live(overlay.socks, server))
        fill = overlay.ask("b")["tables"]["fill"]["connecting"]
        print(f"after {time.monotonic() - begun:.1f} s {fill} of them wait at the exit", flush=True)
        codes = Counter(answer(one) for one in dead)
        print(f"after {time.monotonic() - begun:.1f} s all have an answer: {dict(sorted(codes.items()))}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), names="names" in sys.argv[2:])
