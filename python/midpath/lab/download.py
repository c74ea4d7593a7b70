"""Files by `curl` from a web server through the router: neither host knows of RPM."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from midpath.errors import UsageError
from midpath.lab.machine import Tools, describe
from midpath.lab.router import Bottleneck, Router
from midpath.lab.table import cell, markdown, spread
from midpath.lab.testbed import SENDER, Delays, Testbed

FILE_BYTES = 50 << 20
WEB_PORT = 8080
# Which congestion controls a namespace may make its default is decided for the whole machine.
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


@contextmanager
def allowed(control: str) -> Iterator[None]:
    """Lets namespaces take a congestion control for their own."""
    before = ALLOWED.read_text()
    ALLOWED.write_text(" ".join(dict.fromkeys([*before.split(), control])))
    try:
        yield
    finally:
        ALLOWED.write_text(before)


@contextmanager
def web_server(bed: Testbed, root: Path) -> Iterator[str]:
    """A server in the sender's namespace: nginx where there is one, else Python's."""
    if shutil.which("nginx"):
        name, command = "nginx", ["nginx", "-p", str(root), "-c", str(_nginx(root))]
    else:
        name, command = "python -m http.server", [sys.executable, "-m", "http.server", str(WEB_PORT), "-d", str(root)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(bed.sender.command(*command), stdout=quiet, stderr=quiet)
    try:
        _wait(bed, process)
        yield name
    finally:
        process.terminate()
        process.wait()


def _nginx(root: Path) -> Path:
    """As few words as it needs; user and paths are this run's."""
    config = root / "nginx.conf"
    config.write_text(
        f"daemon off; pid {root}/nginx.pid; error_log {root}/error.log; user root;\n"
        "events {}\n"
        f"http {{ access_log off; server {{ listen {WEB_PORT}; root {root}; }} }}\n"
    )
    return config


def _wait(bed: Testbed, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        there = bed.sender.run("curl", "-s", "-o", "/dev/null", f"http://{SENDER}:{WEB_PORT}/", check=False)
        if there.returncode == 0:
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise OSError("the web server did not start")


def fetch(bed: Testbed, digest: str) -> float:
    """Seconds that one download takes; what arrives must be what was sent."""
    with tempfile.NamedTemporaryFile() as file:
        said = bed.receivers[0].run(
            "curl", "-s", "-o", file.name, "-w", "%{http_code} %{time_total}", f"http://{SENDER}:{WEB_PORT}/file"
        )
        code, seconds = said.stdout.split()
        if code != "200" or hashlib.sha256(Path(file.name).read_bytes()).hexdigest() != digest:
            raise OSError(f"the download failed: {said.stdout}")
    return float(seconds)


def section(tools: Tools, repeats: int) -> str:
    """Downloads with and without RPM, as text."""
    if shutil.which("curl") is None:
        raise UsageError("download: curl is not installed")
    content = os.urandom(FILE_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    machine, server = describe(tools), ""
    took: dict[str, list[float]] = {}
    counted: dict[str, list[dict[str, int]]] = {}
    with tempfile.TemporaryDirectory() as directory, allowed("cubic"), Testbed(Delays(0.0, (0.02,)), tools) as bed:
        root = Path(directory)
        root.chmod(0o755)
        (root / "file").write_bytes(content)
        bed.sender.sysctl("net.ipv4.tcp_congestion_control", "cubic")
        with web_server(bed, root) as server:
            for _ in range(repeats):
                for mode in ("none", "fwd", "rpm"):
                    with Router(bed.router, tools, Bottleneck(), mode) as router:
                        took.setdefault(mode, []).append(fetch(bed, digest))
                        status = router.status()
                    counts = status["counters"] | {"p99_ns": status["sojourn"]["p99_ns"] or 0}
                    counted.setdefault(mode, []).append(counts | {"drops": status["queue"]["drops"]})
    lines = [
        [
            mode,
            cell(spread(seconds)),
            *(
                cell(spread([float(c[key]) for c in counted[mode]]), by)
                for key, by in (("p99_ns", 1e6), ("marked_ece", 1), ("marked_ce", 1), ("drops", 1))
            ),
        ]
        for mode, seconds in took.items()
    ]
    heads = ("Mode", "Seconds", "Sojourn p99 ms", "ECE", "CE", "Drops")
    return (
        f"50 MiB by curl from {server}, CUBIC, 100 Mbps, RTT 40 ms, CoDel 5/100 ms; SHA-256 checked each time:\n\n"
        f"{markdown(heads, lines)}\n"
        f"Medians of {repeats} runs; kernel {machine['kernel']}, load average {machine['load_average']}.\n\n"
    )
