"""`midpathd rpm` on the laboratory's router."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, Any

from midpath.lab.machine import Tools
from midpath.lab.spaces import Space
from midpath.lab.testbed import BOTTLENECK

# How often the queue is looked at, in seconds.
SAMPLE_S = 0.1


@dataclass(frozen=True)
class Bottleneck:
    """What the router does at its bottleneck."""

    rate_bps: float = 100e6
    buffer_s: float = 0.2
    aqm: str = "codel"
    target_s: float = 0.005
    interval_s: float = 0.1
    registers: str = "guarded"
    aggregate: bool = False
    flows: int = 65_536
    # Of a flow's numbers, in MiB; 0: nobody is a stranger.
    window: int = 16

    def arguments(self, mode: str) -> list[str]:
        """As `midpathd rpm up` wants them; `none` is a router without signals."""

        def us(seconds: float) -> str:
            return f"{seconds * 1e6:.0f}us"

        found = ["--rate", f"{self.rate_bps:.0f}bps", "--buffer", us(self.buffer_s), "--aqm", self.aqm]
        found += ["--target", us(self.target_s), "--interval", us(self.interval_s)]
        found += ["--mode", "off" if mode == "none" else mode]
        found += ["--registers", self.registers, "--flows", str(self.flows), "--window", str(self.window)]
        return [*found, "--aggregate"] if self.aggregate else found


class Router:
    """RPM on the router's outgoing device, while the `with` block runs, and what it says of itself."""

    def __init__(self, space: Space, tools: Tools, bottleneck: Bottleneck, mode: str) -> None:
        self.space, self.tools, self.bottleneck, self.mode = space, tools, bottleneck, mode
        # Who looks, and the file that it writes: a pipe that nobody reads is full after a few looks.
        self.watching: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None

    def __enter__(self) -> Router:
        """Turns RPM on."""
        self._midpathd("up", "--dev", BOTTLENECK, *self.bottleneck.arguments(self.mode))
        return self

    def __exit__(self, *_: object) -> None:
        """Turns it off."""
        self.stop_watching()
        self._midpathd("down", "--dev", BOTTLENECK)

    def _midpathd(self, *arguments: str) -> str:
        done = self.space.run(self.tools.midpathd, "rpm", *arguments, check=False)
        if done.returncode != 0:
            raise OSError(f"midpathd rpm {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def status(self) -> dict[str, Any]:
        """What it has counted."""
        found: dict[str, Any] = json.loads(self._midpathd("status", "--dev", BOTTLENECK, "--json"))["devices"][0]
        return found

    def watch(self) -> None:
        """Begins to look at the queue again and again."""
        command = self.space.command(self.tools.midpathd, "rpm", "status", "--dev", BOTTLENECK, "--json")
        command += ["--watch", "--every", f"{SAMPLE_S * 1000:.0f}ms"]
        looks = tempfile.TemporaryFile()  # noqa: SIM115 (`stop_watching` closes it)
        self.watching = (subprocess.Popen(command, stdout=looks), looks)

    def stop_watching(self) -> list[dict[str, Any]]:
        """What was seen since `watch`: `time_s` (since boot) and the status at each look."""
        if self.watching is None:
            return []
        process, looks = self.watching
        self.watching = None
        process.terminate()
        process.wait()
        with looks:
            looks.seek(0)
            # The last line may have been cut off.
            lines = [json.loads(line) for line in looks if line.endswith(b"}\n")]
        return [{"time_s": line["time_s"], **line["devices"][0]} for line in lines if line["devices"]]
