"""A run inside of user-mode Linux: hosts and routers are namespaces of one guest, whose clock is virtual.

The guest uses this machine's files. It builds the same namespaces, runs the same `midpath-lab run`, and powers
itself off. With time travel its clock stops while anything runs and jumps when idle, so nothing is late, however
busy the machine is.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from midpath.lab import programs, qdiscs
from midpath.lab.network import Network
from midpath.lab.plan import Plan
from midpath.lab.spaces import NETNS

# Its memory; a queue of a second at 200 Mbps is 60 MB of it.
MEMORY = "1024M"
# The wall clock in the guest at its start, which the kernel takes in nanoseconds; one that certificates are valid at.
START_S = 1_700_000_000
# Seconds of this machine's time, after which a guest is given up: one of programs sooner, for a program that waits in a
# busy loop stops the clock.
PATIENCE_S, PROGRAMS_S = 3600, 600


class Guest(Network):
    """The namespaces as a script, and the guest that runs it."""

    def __init__(self, plan: Plan, linux: Path, qdisc: str | None, *, whole: bool = False) -> None:
        super().__init__(plan, whole=whole)
        self.linux = linux
        self.queues = qdiscs.queues(plan, qdisc)
        self.lines = ["mkdir -p /run/netns"]
        self._build()
        for queue in self.queues:
            self.run(self.space(queue.node), "".join(f"{line}\n" for line in qdiscs.script(plan, queue)))

    def batch(self, lines: list[str]) -> None:
        """Notes commands of `ip`."""
        self.lines += ["ip -batch - <<'END'", *lines, "END"]

    def run(self, space: str, script: str) -> None:
        """Notes a script for a namespace."""
        self.lines += [f"nsenter --net={NETNS}/{space} sh -eu <<'END'", script.rstrip("\n"), "END"]

    def default_control(self, name: str) -> None:
        """As on this machine; there all of them may be chosen."""
        self.lines.append(f"echo {name} > /proc/sys/net/ipv4/tcp_allowed_congestion_control")
        super().default_control(name)

    def close(self) -> None:
        """Nothing of it is on this machine."""

    def carry_out(self, order: dict[str, Any], midpath_lab: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Runs the order in a guest: what `midpath-lab run` says, and its captures."""
        # Of whoever makes it: what a killed laboratory leaves is found by the name.
        with tempfile.TemporaryDirectory(prefix=f"{self.stem}-") as name:
            folder = Path(name)
            files = folder / "files"
            files.mkdir()
            order = order | self.paths() | {"files": str(files), "kernel_queues": [queue.way for queue in self.queues]}
            order |= programs.order(self.plan, files) | {"names": str(folder / "hosts")}
            (folder / "hosts").write_text(programs.names(self.plan))
            (folder / "order").write_text(json.dumps(order) + "\n")
            (folder / "build").write_text("\n".join(self.lines) + "\n")
            init = folder / "init"
            init.write_text(self._init(folder, str(Path(midpath_lab).resolve())))
            init.chmod(0o755)
            with programs.shown(self.plan, files):
                console = self._boot(folder, init)
            ran = self._read(folder, console)
            counts = {path.name: path.read_text() for path in folder.glob("tc-*")}
            found = {queue.node: counts.get(f"tc-{queue.node}", "") for queue in self.queues}
            qdiscs.split(ran["ports"], self.plan, self.queues, found)
            ran["guest"] = (folder / "release").read_text().strip()
            return ran, {path.name: path.read_bytes() for path in files.iterdir()}

    def _init(self, folder: Path, midpath_lab: str) -> str:
        """The guest's first process."""
        lab, here = shlex.quote(midpath_lab), shlex.quote(str(folder))
        nodes = sorted({queue.node for queue in self.queues})
        counts = [f"  nsenter --net={NETNS}/{self.space(n)} tc -s -j qdisc show > tc-{n}" for n in nodes]
        lines = [
            "#!/bin/sh",
            f"export PATH={os.defpath}:/usr/local/sbin:/usr/sbin:/sbin",
            f"cd {here}",
            # A copy has no set-user-ID bit, which would make another user of root where a user's own root is inside.
            'cp "$(command -v mount)" mount',
            "./mount -t proc proc /proc",
            "./mount -t sysfs sysfs /sys",
            "./mount -t tmpfs tmpfs /run",
            "uname -r > release",
            *(["./mount --bind hosts /etc/hosts || :"] if self.plan.programs else []),
            f"if sh -eu build 2> error && {lab} run < order > ran 2> error; then",
            "  :",
            *counts,
            "fi",
            "sync",
            f"exec {lab} halt",
        ]
        return "\n".join(lines) + "\n"

    def _boot(self, folder: Path, init: Path) -> str:
        """Starts the guest, and waits until it has switched itself off; what its console said."""
        # It is in a namespace for processes: if we are killed, all of it ends. It is not the first there, whose abort,
        # after a panic, would be ignored.
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL"]
        command += ["sh", "-c", '"$@"; exit $?', "sh"]
        if os.geteuid() != 0:
            command = ["unshare", "--user", "--map-root-user", *command]
        command += [str(self.linux), f"mem={MEMORY}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw"]
        command += [
            "time-travel=inf-cpu",
            f"time-travel-start={START_S}000000000",
            "quiet",
            f"uml_dir={folder}/",
            "umid=guest",
        ]
        command += ["con=null", "con0=null,fd:1", f"init={init}"]
        null = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        patience = PROGRAMS_S if self.plan.programs else PATIENCE_S
        try:
            said, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            why = "; a program that waits in a busy loop stops its clock" if self.plan.programs else ""
            raise OSError(f"the guest failed: it has not ended in {patience} s{why}") from None
        except BaseException:
            process.kill()
            process.wait()
            raise
        return said.decode(errors="replace")

    def _read(self, folder: Path, console: str) -> dict[str, Any]:
        text = (folder / "ran").read_text() if (folder / "ran").exists() else ""
        lines = text.splitlines()
        if len(lines) > 1:
            ran: dict[str, Any] = json.loads(lines[-1])
            return ran
        errors = (folder / "error").read_text() if (folder / "error").exists() else ""
        said = [line for line in errors.splitlines() if line.strip()]
        # What went wrong comes before the list of all options.
        lines = console.strip().splitlines()
        why = said[:1] or [line for line in lines if "Kernel panic" in line][:1] or lines[-1:] or ["no output"]
        raise OSError(f"the guest failed: {why[0].strip().removeprefix('midpath-lab: ')}")
