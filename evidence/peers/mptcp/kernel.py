"""MPTCP of this machine's kernel over two paths, beside our simulation of the same network.

Two network namespaces, a sender with two addresses and a receiver with two, joined by two veth pairs that are shaped
to a rate in each direction. No delay is added: what delay there is comes from the shapers' queues, and the base round
trip of a veth pair is measured and printed. Needs root, iproute2 with `ip mptcp`, and a kernel with MPTCP, veth and
tbf; says so and leaves with 0 where one of them is missing.

Run it as `python evidence/peers/mptcp/kernel.py [SECONDS [RUNS]]`.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import midpath
from midpath.lab.spaces import SINGLE, batch, delete, enter, veth

RATE_MBPS = 10
# As many bytes as 100 packets of 1500 bytes: the simulation's queue.
QUEUE_BYTES = 150_000
SENDER, RECEIVER = f"mp-s-{os.getpid()}", f"mp-d-{os.getpid()}"
IPPROTO_MPTCP = 262
PORT = 5201
SCENARIO = """
scheme = "{scheme}"
seed = {seed}
stop = "{seconds} s"

[topology]
links = [
    {{ a = "s", b = "p", rate = "{rate} Mbps", delay = "25 us" }},
    {{ a = "s", b = "q", rate = "{rate} Mbps", delay = "25 us" }},
    {{ a = "p", b = "d", rate = "1 Gbps", delay = "25 us" }},
    {{ a = "q", b = "d", rate = "1 Gbps", delay = "25 us" }},
    {{ a = "p", b = "q", rate = "1 Mbps", delay = "1 ms" }}, # makes the network one; unused
]
nodes = [{{ name = "s", kind = "host" }}, {{ name = "d", kind = "host" }}]

[queue]
limit = "{queue} B"

[schemes.mptcp]
subflows = {subflows}
min_rto = "200 ms"
delack_timeout = "40 ms"

[[flow]]
from = "s"
to = "d"
"""


def run(*command: str, check: bool = True) -> str:
    """What a command prints."""
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def within(namespace: str, *command: str, check: bool = True) -> str:
    """The same in a network namespace."""
    return run(*enter(namespace, *command), check=check)


def missing() -> str | None:
    """What this machine lacks."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    if not all(shutil.which(tool) for tool in ("ip", "tc")):
        return "needs iproute2"
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
    except OSError as error:
        return f"the kernel has no MPTCP: {error}"
    if subprocess.run(["ip", "mptcp", "limits"], check=False, capture_output=True).returncode != 0:
        return "iproute2 has no `ip mptcp`"
    return None


def build(paths: int) -> None:
    """Two namespaces and as many shaped veth pairs as `paths`."""
    for namespace in (SENDER, RECEIVER):
        batch([f"netns add {namespace}"])
        within(namespace, "ip", "link", "set", "lo", "up")
        within(namespace, "sysctl", "-qw", "net.mptcp.enabled=1")
    for i in range(paths):
        a, b = f"mps{i}", f"mpd{i}"
        batch([veth(SENDER, a, RECEIVER, b, mac=f"02:6d:70:09:{i:02x}:01", more=SINGLE)])
        for namespace, device, last in ((SENDER, a, 1), (RECEIVER, b, 2)):
            within(namespace, "ip", "address", "add", f"10.9.{i}.{last}/24", "dev", device)
            within(namespace, "ip", "link", "set", device, "up")
            shape = ["rate", f"{RATE_MBPS}mbit", "burst", "3100", "limit", str(QUEUE_BYTES)]
            within(namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", *shape)
    # The path manager makes all pairs of a local and a remote address that it has a route for; one link each here.
    for namespace in (SENDER, RECEIVER):
        within(namespace, "ip", "mptcp", "limits", "set", "subflow", "4", "add_addr_accepted", "4")
    for i in range(1, paths):
        within(SENDER, "ip", "mptcp", "endpoint", "add", f"10.9.{i}.1", "dev", f"mps{i}", "subflow")
        within(RECEIVER, "ip", "mptcp", "endpoint", "add", f"10.9.{i}.2", "dev", f"mpd{i}", "signal")


def transmitted(device: str) -> int:
    """Bytes that the sender's device has sent."""
    (link,) = json.loads(within(SENDER, "ip", "-s", "-j", "link", "show", device))
    return int(link["stats64"]["tx"]["bytes"])


def remove() -> None:
    """Takes away what `build` has made."""
    for namespace in (SENDER, RECEIVER):
        delete(namespace)


SERVER = f"""
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {IPPROTO_MPTCP})
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.9.0.2", {PORT}))
s.listen()
print("ready", flush=True)
c, _ = s.accept()
begin, total, limit = time.monotonic(), 0, float(sys.argv[1])
while (left := limit - (time.monotonic() - begin)) > 0:
    c.settimeout(left)
    try:
        data = c.recv(1 << 16)
    except TimeoutError:
        break
    if not data:
        break
    total += len(data)
print(total * 8 / (time.monotonic() - begin) / 1e6, flush=True)
"""

# A port where nobody listens answers with a reset, a round trip later.
REFUSED = """
import socket, time
begin = time.perf_counter()
try:
    socket.socket().connect(("10.9.0.2", 9))
except ConnectionRefusedError:
    print((time.perf_counter() - begin) * 1e3)
"""

CLIENT = f"""
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {IPPROTO_MPTCP})
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
s.connect(("10.9.0.2", {PORT}))
end, data = time.monotonic() + float(sys.argv[1]) + 1, bytes(1 << 16)
try:
    while time.monotonic() < end:
        s.sendall(data)
except OSError:
    pass
"""


def kernel(paths: int, seconds: float) -> tuple[float, list[int], float]:
    """Goodput in Mbps, bytes on each path, and the base round trip in ms."""
    try:
        build(paths)
        base = min(float(within(SENDER, sys.executable, "-c", REFUSED)) for _ in range(5))
        server = enter(RECEIVER, sys.executable, "-c", SERVER, str(seconds))
        client = enter(SENDER, sys.executable, "-c", CLIENT, str(seconds))
        with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as receiving:
            assert receiving.stdout is not None
            receiving.stdout.readline()
            with subprocess.Popen(client) as sending:
                goodput = float(receiving.stdout.readline())
                sending.terminate()
        sent = [transmitted(f"mps{i}") for i in range(paths)]
        return goodput, sent, base
    finally:
        remove()


def simulated(paths: int, seconds: float, seed: int) -> float:
    """Goodput in Mbps of the same in the simulator, slow start included as above."""
    text = SCENARIO.format(
        scheme="mptcp", seed=seed, seconds=seconds, rate=RATE_MBPS, queue=QUEUE_BYTES, subflows=paths
    )
    path = Path(tempfile.gettempdir()) / f"midpath-mptcp-{os.getpid()}.toml"
    path.write_text(textwrap.dedent(text))
    try:
        return float(midpath.run(path).summary["goodput_total_bps"]) / 1e6
    finally:
        path.unlink()


def main(seconds: float, runs: int) -> None:
    """Prints both goodputs for one path and for two."""
    lack = missing()
    if lack is not None:
        print(f"skipped: {lack}")
        return
    print(f"kernel {os.uname().release}, {RATE_MBPS} Mbps a path, queue {QUEUE_BYTES} B, {seconds:g} s")
    for paths in (1, 2):
        found = []
        for _ in range(runs):
            goodput, sent, base = kernel(paths, seconds)
            found.append(goodput)
            shares = ", ".join(f"{b * 8 / seconds / 1e6:.2f}" for b in sent)
            print(f"  kernel, {paths} path(s): {goodput:.2f} Mbps; links {shares} Mbps; base round trip {base:.3f} ms")
            time.sleep(0.2)
        ours = simulated(paths, seconds, 1)
        print(f"{paths} path(s): kernel {sum(found) / len(found):.2f} Mbps (of {runs}), simulation {ours:.2f} Mbps")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 15.0, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
