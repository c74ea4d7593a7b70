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
from midpath.lab import real
from midpath.lab.congestion import allowed
from midpath.lab.machine import Tools, describe
from midpath.lab.network import Network, address
from midpath.lab.router import Routers
from midpath.lab.rpm import Bottleneck, Delays, Experiment, scenario
from midpath.lab.spaces import enter
from midpath.lab.table import cell, spread
from midpath.markdown import table

FILE_BYTES = 50 << 20
WEB_PORT = 8080
ASKED = Experiment("A download", Bottleneck(), Delays(0.0, (0.02,)))


def server(network: Network) -> str:
    """The namespace of the sender."""
    return network.space(network.plan.number("s"))


def url(network: Network) -> str:
    """Where its files are."""
    return f"http://{address(network.plan.number('s'))}:{WEB_PORT}/"


@contextmanager
def web_server(network: Network, root: Path) -> Iterator[str]:
    """A server in the sender's namespace: nginx where there is one, else Python's."""
    if shutil.which("nginx"):
        name, command = "nginx", ["nginx", "-p", str(root), "-c", str(_nginx(root))]
    else:
        name, command = "python -m http.server", [sys.executable, "-m", "http.server", str(WEB_PORT), "-d", str(root)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(enter(server(network), *command), stdout=quiet, stderr=quiet)
    try:
        _wait(network, process)
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


def _wait(network: Network, process: subprocess.Popen[bytes]) -> None:
    asks = enter(server(network), "curl", "-s", "-o", "/dev/null", url(network))
    for _ in range(300):
        there = subprocess.run(asks, check=False)
        if there.returncode == 0:
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise OSError("the web server did not start")


def fetch(network: Network, digest: str) -> float:
    """Seconds that one download takes; what arrives must be what was sent."""
    with tempfile.NamedTemporaryFile() as file:
        asks = ("curl", "-s", "-o", file.name, "-w", "%{http_code} %{time_total}")
        command = enter(network.space(network.plan.number("d0")), *asks, f"{url(network)}file")
        said = subprocess.run(command, check=True, capture_output=True, text=True)
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
    machine, name = describe(tools), ""
    took: dict[str, list[float]] = {}
    counted: dict[str, list[dict[str, int]]] = {}
    laboratory = real.Laboratory.of(tools)
    plans = {mode: laboratory.prepare(scenario(ASKED, "cubic", mode, 1)) for mode in ("none", "fwd", "rpm")}
    with (
        tempfile.TemporaryDirectory() as directory,
        allowed("cubic"),
        Network(plans["none"]) as network,
        network.wires(tools.midpath_lab),
    ):
        root = Path(directory)
        root.chmod(0o755)
        (root / "file").write_bytes(content)
        network.default_control("cubic")
        with web_server(network, root) as name:
            for _ in range(repeats):
                for mode, plan in plans.items():
                    with Routers(plan, network, tools.midpathd) as routers:
                        took.setdefault(mode, []).append(fetch(network, digest))
                        (status,) = (router.status() for router in routers.at.values())
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
        f"50 MiB by curl from {name}, CUBIC, 100 Mbps, RTT 40 ms, CoDel 5/100 ms; SHA-256 checked each time:\n\n"
        f"{table(heads, lines, numbers=True)}\n\n"
        f"Medians of {repeats} runs; kernel {machine['kernel']}, load average {machine['load_average']}.\n\n"
    )
