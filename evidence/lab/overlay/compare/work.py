"""What a run does: servers, curls, and what is measured of them."""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from plan import BUDGETS, LONGEST, SECONDS, SMALL_BYTES, SMALL_EVERY, SMALL_UNTIL, WARM_UP, places
from world import CLIENTS, World

ENDLESS = 10**12


def serve(address: str, port: str, congestion: str) -> None:
    """A server of as many bytes as a path says, with the kernel's congestion control of this name."""
    listener = socket.create_server((address, int(port)), backlog=128)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    print("ready", flush=True)
    piece = bytes(i % 251 for i in range(1 << 16))

    def answer(connection: socket.socket) -> None:
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                more = connection.recv(4096)
                if not more:
                    return
                asked += more
            left = int(asked.split(b" ")[1][1:])
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {left}\r\nConnection: close\r\n\r\n".encode())
            try:
                while left > 0:
                    left -= connection.send(piece[: min(left, len(piece))])
            except OSError:
                return  # whoever fetches without end hangs up

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


@dataclass
class Bulk:
    """A fetch without end: when which bytes came."""

    process: subprocess.Popen[bytes]
    began: float
    came: list[tuple[float, int]] = field(default_factory=list)

    def watch(self) -> None:
        """Reads what curl writes, until it ends."""
        assert self.process.stdout is not None
        while piece := self.process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
            self.came.append((time.monotonic() - self.began, len(piece)))

    def bytes_after(self, since: float) -> int:
        """How many came between this time and the end."""
        return sum(count for at, count in self.came if since <= at < SECONDS)

    def silence(self, since: float) -> float:
        """The longest time without any."""
        times = [since, *(at for at, _ in self.came if since <= at < SECONDS), SECONDS]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


class Clients:
    """The curls at a's site."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bulk: dict[str, Bulk] = {}
        self.small: list[subprocess.Popen[str]] = []

    def _command(self, place: str, count: int, *more: str) -> list[str]:
        url = f"http://{self.world.at(place)}:{self.world.port(place)}/{count}"
        return self.world.places["a"].command(*CLIENTS, "curl", "-sS", *more, url)

    def run(self) -> None:
        """All of it."""
        began = time.monotonic()
        threads = []
        for place in self.world.scene.bulk:
            command = self._command(place, ENDLESS, "--max-time", str(SECONDS + 1))
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.bulk[place] = Bulk(process, began)
            threads.append(threading.Thread(target=self.bulk[place].watch))
            threads[-1].start()
        at = WARM_UP
        small = self.world.scene.small
        while small and at < SMALL_UNTIL:
            time.sleep(max(0.0, began + at - time.monotonic()))
            say = "%{time_total} %{size_download} %{exitcode}"
            command = self._command(small, SMALL_BYTES, "-o", "/dev/null", "--max-time", str(LONGEST), "-w", say)
            self.small.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
            at += SMALL_EVERY
        time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        for bulk in self.bulk.values():
            bulk.process.kill()
            bulk.process.wait()
        for thread in threads:
            thread.join()

    def took(self) -> list[float]:
        """How long small fetches took."""
        found = []
        for process in self.small:
            said, _ = process.communicate(timeout=2 * LONGEST)
            total, size, code = said.split()
            found.append(float(total) if (int(size), int(code)) == (SMALL_BYTES, 0) else LONGEST)
        return found

    def measured(self) -> dict[str, Any]:
        """The measures, beside what they come from."""
        took = sorted(self.took())
        count = {place: bulk.bytes_after(WARM_UP) for place, bulk in self.bulk.items()}
        found = {
            "bulk": sum(count.values()) * 8 / (SECONDS - WARM_UP) / 1e6,
            "silence": max(bulk.silence(WARM_UP) for bulk in self.bulk.values()),
            "small": [round(each, 4) for each in took],
            "failed": sum(each >= LONGEST for each in took),
        }
        for share in (0.5, 0.95) if took else ():
            found[f"small p{100 * share:.0f}"] = took[min(int(share * len(took)), len(took) - 1)]
        if len(count) > 1:
            more, less = sorted(BUDGETS, key=lambda place: -BUDGETS[place])
            found["share"] = count[more] / max(count[less], 1)
        return found


class Servers:
    """One at each place that is fetched from, while the `with` block runs."""

    def __init__(self, world: World, congestion: str) -> None:
        self.world, self.congestion = world, congestion
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Servers:
        """Starts them."""
        for place in places(self.world.scene):
            own = [sys.executable, __file__, self.world.at(place), str(self.world.port(place)), self.congestion]
            command = self.world.places[place].command(*CLIENTS, *own)
            self.processes.append(subprocess.Popen(command, stdout=subprocess.PIPE))
            stdout = self.processes[-1].stdout
            assert stdout is not None
            if stdout.readline() != b"ready\n":
                raise RuntimeError("the server does not start")
        return self

    def __exit__(self, *_: object) -> None:
        """Ends them."""
        for process in self.processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    serve(*sys.argv[1:])
