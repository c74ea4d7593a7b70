"""Kills nodes at random while connections go through them: right by hash or an error, and nothing is left.

python evidence/lab/overlay/soak.py 600 [SCHEME]    # for so many seconds
"""

from __future__ import annotations

import argparse
import hashlib
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from nodes import NODES, Overlay, serving

CONTENT = hashlib.shake_256(b"soak").digest(2_000_000)
# Longer than any wait that the nodes know: an application that waits so long is stuck.
STUCK = 60


def talk(connection: socket.socket) -> None:
    """Says what it is told, from the end of it on; `give` gets CONTENT."""
    said = read_all(connection)
    connection.sendall(CONTENT if said == b"give" else said[::-1])


def read_all(connection: socket.socket) -> bytes:
    """Up to the end."""
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def ask(port: int, said: bytes, wanted: bytes) -> str:
    """What has become of one question."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=STUCK) as connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            answer = read_all(connection)
    except TimeoutError:
        return "stuck"
    except OSError as error:
        named = type(error).__name__
        return f"{named} {error.errno}" if named == "OSError" else named
    return "right" if answer == wanted else f"WRONG: {len(answer)} of {len(wanted)} bytes, then an end"


def system() -> set[str]:
    """What a process that is killed could leave in the system. Namespaces without a name or a device go with it."""
    named = Path("/run/netns")
    names = [f"namespace {n.name}" for n in named.iterdir()] if named.exists() else []
    devices = [f"device {device.name}" for device in Path("/sys/class/net").iterdir()]
    lines = [
        line.split() for file in ("route", "ipv6_route") for line in Path("/proc/net", file).read_text().splitlines()
    ]
    # Columns between count uses.
    return {*names, *devices, *(f"route {words[0]} {words[1]} {words[-1]}" for words in lines)}


def left(before: set[str], seconds: float = 20) -> set[str]:
    """What was not there before, once others that run beside us have had time to take theirs away."""
    until = time.monotonic() + seconds
    while (found := system() - before) and time.monotonic() < until:
        time.sleep(0.2)
    return found


def files_of(overlay: Overlay, name: str) -> int:
    """How many files a node has open."""
    return len(list(Path(f"/proc/{overlay.processes[name].pid}/fd").iterdir()))


def settle(overlay: Overlay, files: dict[str, int], say: Callable[[str], None]) -> None:
    """Waits until nothing is left of any connection, and no more files are open than `files` says of each node."""
    overlay.wait_until_empty(60)
    for name in NODES:
        until = time.monotonic() + 10
        while any((fill := overlay.ask(name)["tables"]["fill"]).values()) and time.monotonic() < until:
            time.sleep(0.05)  # who has closed first is there for a little while (TIME-WAIT)
        while (now := files_of(overlay, name)) > files[name] and time.monotonic() < until:
            time.sleep(0.05)  # what was asked last is being closed
        say(f"{name}: {fill}, {now} files ({files[name]} at first)")
        assert not any(fill.values()), (name, fill)
        assert now <= files[name], (name, now, files[name])


def run(seconds: float, scheme: str = "cubic", seed: int = 1, say: Callable[[str], None] = print) -> None:
    """Kills for so long; raises where something is not as it should be."""
    draws, outcomes, kills = random.Random(seed), Counter[str](), Counter[str]()
    before = system()
    over = threading.Event()
    with serving(talk) as server, Overlay(scheme, "100 Mbps", (server,)) as overlay:
        port = overlay.forward[server]
        files = {name: files_of(overlay, name) for name in NODES}

        def work(number: int) -> None:
            while not over.is_set():
                length = (number * 7919) % 300_000 + 1
                question = (b"give", CONTENT) if number % 2 else (CONTENT[:length], CONTENT[:length][::-1])
                outcome = ask(port, *question)
                outcomes[outcome] += 1
                if outcome == "ConnectionRefusedError":
                    time.sleep(0.05)  # `a` is not there

        workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for worker in workers:
            worker.start()
        for name in rounds(seconds, draws):
            overlay.kill(name)
            kills[name] += 1
            time.sleep(draws.uniform(0, 1))
            overlay.start(name)
        overlay.wait(seconds=60)
        over.set()
        for worker in workers:
            worker.join(STUCK + 10)
            assert not worker.is_alive()
        say(f"{sum(kills.values())} kills: {dict(sorted(kills.items()))}")
        say(f"{sum(outcomes.values())} connections: {dict(outcomes.most_common())}")
        settle(overlay, files, say)
        assert ask(port, b"give", CONTENT) == "right", "all is well in the end"
    assert not [o for o in outcomes if o.startswith("WRONG")]
    assert not outcomes["stuck"]
    assert outcomes["right"]
    found = left(before)
    say(f"left in the system: {found or 'nothing'}")
    assert not found


def rounds(seconds: float, draws: random.Random) -> Iterator[str]:
    """Whom to kill next, and when."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(draws.uniform(0.2, 3))
        yield draws.choice(NODES)


def main() -> None:
    """Prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("scheme", nargs="?", default="cubic")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begun = time.monotonic()
    run(options.seconds, options.scheme, options.seed)
    print(f"{options.scheme}: as it should be, after {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
