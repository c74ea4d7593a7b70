"""Walks through a page of docs to the letter: writes the files that it shows, and runs its commands on a network.

    python scripts/walk.py docs/ndn.md              needs root, iproute2 and midpathd (target, or MIDPATHD)

The network is made of namespaces, and what is installed goes into copies of /etc and /usr/local: nothing of it stays.
All commands of `sh` and `console` blocks run in one shell, in their order. What a `console` block shows must be
printed, but for numbers. Commands in the text are listed, and so is what a page's stage leaves out, and why. A command
that fails ends the walk.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from follow import BLOCK, READERS_FOLDER, commands, put, same

ROOT = Path(__file__).parents[1]
# A page takes fifteen minutes at most; none of its commands takes more than this, in seconds.
LIMIT = 300
# How long a reader waits for what he has started, in seconds.
PATIENCE = 30
MARK = "walked:"
# Commands within a sentence.
INLINE = re.compile(r"`((?:midpathd|midpath|ip|tc|sysctl|apt-get|curl|python|pip|systemctl|cargo) [^`]+)`")
# Numbers and their units; a median of nothing is a dash.
NUMBER = re.compile(r"(?:[\d.,]*\d|–)(?: [kMG]?B| [mµn]?s| [kMG]?bps)?\b|–")


class WalkError(Exception):
    """A command did not do what the page says."""


class Shell:
    """The reader's shell."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, command: str) -> tuple[int, str]:
        """Its exit status, and what it prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\nprintf '\\n{MARK} %s\\n' $?\n")
        self.process.stdin.flush()
        watch = threading.Timer(LIMIT, self.end)
        watch.start()
        lines: list[str] = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                watch.cancel()
                return int(line.split()[1]), "".join(lines).removesuffix("\n")
            lines.append(line)
        raise WalkError(f"{command}: the shell ended, or {LIMIT} s were over")

    def end(self) -> None:
        """Ends it, and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """Ends it, and closes its pipes."""
        self.end()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


class Stage:
    """What a page's reader has before the first command, and what others do meanwhile."""

    # Where the reader stands: an empty folder, or the repository.
    in_repository = False
    # Commands that are not run, by what they begin with, and why.
    apart: ClassVar[dict[str, str]] = {}

    def __init__(self, midpathd: Path, folder: Path) -> None:
        self.midpathd, self.folder = midpathd, folder
        # What stands for something in commands.
        self.instead: dict[str, str] = {}
        self.started: list[subprocess.Popen[bytes]] = []

    def prepare(self) -> None:
        """Makes the network."""

    def file(self, body: str) -> str:
        """A file as the reader writes it."""
        return body

    def before(self, command: str) -> None:
        """What has to be so for this command."""

    def after(self, command: str, printed: str) -> None:
        """What happens behind it."""

    def do(self, script: str) -> str:
        """A script of the stage's."""
        done = subprocess.run(
            ["sh", "-ec", script], cwd=self.folder, capture_output=True, text=True, check=False, timeout=LIMIT
        )
        if done.returncode:
            raise WalkError(f"the stage: {done.stderr.strip() or script}")
        return done.stdout

    def start(self, command: str) -> None:
        """Starts what runs until the walk ends."""
        log = (self.folder / "stage.log").open("ab")
        self.started.append(subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=self.folder, stdout=log, stderr=log))


FAR = """
ip netns add far
ip link add eth0 index 2 type veth peer name eth0 netns far
ip address add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip -n far address add 192.0.2.7/24 dev eth0
ip -n far link set eth0 up
ip -n far link set lo up
"""
# As systemd starts a unit of `enable --now unit@instance`.
SYSTEMCTL = """#!/bin/sh -e
unit=/etc/systemd/system/${3%@*}@.service instance=${3#*@}
get() { sed -n "s/^$1=//p" "$unit" | sed "s/%[iI]/$instance/g"; }
OPTIONS=$(sed -n 's/^OPTIONS=//p' "$(get EnvironmentFile)")
rights=-all,$(get CapabilityBoundingSet | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
eval "exec setpriv --bounding-set=$rights --no-new-privs $(get ExecStart)"
"""
# 40 MB are 3 s at 95 Mbps: CoDel signals after 0.1 s.
SERVER = """
import socket
s = socket.create_server(("192.0.2.7", 9000))
while True:
    c = s.accept()[0]
    while c.recv(1 << 20):
        pass
    c.sendall(b"all")
"""
CLIENT = """
import socket
c = socket.create_connection(("192.0.2.7", 9000), 20)
c.settimeout(60)
c.sendall(bytes(40_000_000))
c.shutdown(1)
assert c.recv(9) == b"all"
"""


class Rpm(Stage):
    """A router whose `eth0` leads to a server."""

    in_repository = True
    apart: ClassVar = {
        "apt-get install": "packages are this machine's",
        "cargo build": "it has been built",
        "pip install": "packages are this machine's",
        "midpath lab rpm": "tests/python/test_lab_real.py runs the laboratory",
        "midpath report": "of what the laboratory has measured",
        "tc qdisc add": "an example",
    }

    def prepare(self) -> None:
        """Both machines."""
        self.instead = {"target/dist/midpathd": str(self.midpathd)}
        self.do(FAR + "mkdir -p /etc/systemd/system")
        self.do("ip netns exec far sysctl -w net.ipv4.tcp_ecn=1")
        systemctl = Path("/usr/local/sbin/systemctl")
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        (self.folder / "server.py").write_text(SERVER)
        (self.folder / "client.py").write_text(CLIENT)
        self.start(f"ip netns exec far {sys.executable} server.py")

    def before(self, command: str) -> None:
        """What others do first."""
        if command.startswith("midpathd rpm status"):
            self.do(f"{sys.executable} client.py")
        if command.startswith("tc qdisc delete"):
            self.do("midpathd rpm up --dev eth0 --rate 95Mbps")

    def after(self, command: str, printed: str) -> None:
        """Whether it did what it says."""
        if command.startswith(("midpathd rpm down", "ip link delete")):
            left = self.do("ip link; tc qdisc")
            if "mpq" in left or "clsact" in left:
                raise WalkError(f"{command} left {left}")
        if command.startswith("curl") and not re.search(r'marked_ece_total\{device="eth0"\} [1-9]', printed):
            raise WalkError(f"no ACK was marked: {printed}")


class Ndn(Stage):
    """A machine with a neighbour, behind which `/a/file` is."""

    apart: ClassVar = {
        "midpathd ndn metrics": "tests/python/test_ndn_transfers.py",
        "python -m ndn.bin.nfdc": "needs ndnd's or python-ndn's keys",
    }

    def prepare(self) -> None:
        """Both machines."""
        self.do(FAR)
        (self.folder / "far.toml").write_text(
            '[listen]\nunix = "/run/far.sock"\nudp = ["192.0.2.7:6363"]\n[[face]]\nto = "udp4://192.0.2.1:6363"\n'
            'rate = "10Mbps"\nback = "20Mbps"\n'
        )
        self.start("ip netns exec far midpathd ndn up far.toml")
        (self.folder / "content").write_bytes(os.urandom(100_000))
        serve = f"{sys.executable} {ROOT}/evidence/peers/ndn/apps.py serve /a/file content"
        self.do("until [ -S /run/far.sock ]; do sleep 0.1; done")
        self.start(f"env NDN_CLIENT_TRANSPORT=unix:///run/far.sock {serve}")
        self.do("until grep -q ready stage.log; do sleep 0.1; done")

    def after(self, command: str, printed: str) -> None:
        """Whether it did what it says."""
        if " fetch " in command and (self.folder / "file").read_bytes() != (self.folder / "content").read_bytes():
            raise WalkError("what was fetched is not the object")
        if " status " in command and '"faces"' not in printed:
            raise WalkError(f"status says {printed}")
        if command.startswith("export NDN"):
            # With the faces of the page's second part.
            # The forwarder that `down` has told to stop may still be there.
            again = "for i in $(seq 100); do midpathd ndn check /etc/midpath/ndn.toml && exit; sleep 0.1; done; exit 1"
            self.do(again)


class Overlay(Stage):
    """This machine is a; r and b are namespaces, and so is the server's address behind b."""

    apart: ClassVar = {"ip route add local": "it takes all connections of this machine to these addresses"}

    def prepare(self) -> None:
        """Both machines."""
        self.do("""
            ip netns add r; ip netns add b
            ip link add to-r type veth peer name to-a netns r
            ip link add to-r netns b type veth peer name to-b netns r
            ip address add 203.0.113.1 peer 203.0.113.7 dev to-r; ip link set to-r up
            ip -n b address add 203.0.113.8 peer 203.0.113.7 dev to-r; ip -n b link set to-r up
            ip -n r address add 203.0.113.7 peer 203.0.113.1 dev to-a; ip -n r link set to-a up
            ip -n r address add 203.0.113.7 peer 203.0.113.8 dev to-b; ip -n r link set to-b up
            ip -n b link set lo up; ip -n b address add 198.51.100.3 dev lo
            mkdir www; seq 100000 > www/file
        """)
        self.public = {name: self.do(f"midpathd node key {name}.key").strip() for name in "rb"}
        self.start(f"ip netns exec b {sys.executable} -m http.server --directory www --bind 198.51.100.3 80")

    def file(self, body: str) -> str:
        """With real keys."""

        def key(found: re.Match[str]) -> str:
            return f'node = "{found[1]}"\nkey = "{self.public[found[1]]}"'

        return re.sub(r'node = "(\w)"\nkey = "…"', key, body)

    def before(self, command: str) -> None:
        """What others do first."""
        if " up " in command:
            for name in "rb":
                self.do(f"midpathd node check {name}.toml")
                self.start(f"ip netns exec {name} midpathd node up {name}.toml")

    def after(self, command: str, printed: str) -> None:
        """Whether it did what it says."""
        if command.startswith("midpathd node key"):
            self.public["a"] = printed.strip()
        if command.startswith("curl") and len(printed) < 100_000:
            raise WalkError(f"the file did not come: {printed}")


class Operator(Stage):
    """An empty folder: from a map to a decision, without a network."""

    def after(self, command: str, printed: str) -> None:
        """Whether the pages are there, and are named."""
        if found := re.fullmatch(r"midpath report (\w+)", command):
            page = self.folder / found[1] / "report.html"
            if str(page) not in printed or "</html>" not in page.read_text(encoding="utf-8"):
                raise WalkError(f"{command} wrote no page: {printed}")


STAGES = {"operator": Operator, "rpm-on-linux": Rpm, "ndn": Ndn, "overlay": Overlay}


def walk(page: Path, stage: Stage, shell: Shell) -> None:
    """Follows the page."""
    text = page.read_text(encoding="utf-8")
    ran, started = [], 0.0
    for found in BLOCK.finditer(text):
        language, title, body = found.groups()
        if title:
            put(stage.folder, title, stage.file(body))
        steps = commands(body) if language == "console" else []
        steps_of_sh = re.findall(r"(?:.*\\\n)*.+\n", body) if language == "sh" else []
        for command, says in [
            *((step.text, step.printed) for step in steps),
            *((one.strip(), None) for one in steps_of_sh),
        ]:
            ran.append(command)
            if (why := left_out(stage, command)) is not None:
                print(f"–\t{command}\t({why})", flush=True)
                continue
            begin = time.monotonic()
            printed = run(stage, shell, command, until=started + PATIENCE)
            printed = printed.replace(str(stage.folder), READERS_FOLDER)
            if says is not None and not same(NUMBER.sub("#", says), NUMBER.sub("#", printed)):
                raise WalkError(f"$ {command}\nthe page says\n{says}\nprinted is\n{printed}")
            print(f"{time.monotonic() - begin:.1f}\t{command}", flush=True)
            if re.search(r"&\s*(#.*)?$", command):
                started = time.monotonic()
    prose = BLOCK.sub("", text)
    for command in dict.fromkeys(INLINE.findall(prose)):
        if not any(command in other for other in ran):
            print(f"·\t{command}\t({left_out(stage, command) or 'in the text'})")


def run(stage: Stage, shell: Shell, command: str, until: float) -> str:
    """What a command prints; again and again until `until`, for what was started may not be there yet."""
    stage.before(command)
    line = command
    for old, new in stage.instead.items():
        line = line.replace(old, new)
    while True:
        code, printed = shell.run(line)
        if code == 0:
            stage.after(command, printed)
            return printed
        if time.monotonic() > until:
            raise WalkError(f"$ {command}\nended with {code}:\n{printed}")
        time.sleep(0.2)


def left_out(stage: Stage, command: str) -> str | None:
    """Why a command is not run, if it is not."""
    return next((why for begin, why in stage.apart.items() if command.startswith(begin)), None)


def midpathd() -> Path:
    """The program: `MIDPATHD`, or what was built last."""
    built = [ROOT / "target" / profile / "midpathd" for profile in ("debug", "release")]
    found = [Path(p) for p in [os.environ.get("MIDPATHD")] if p] or [path for path in built if path.exists()]
    if not found:
        raise WalkError("there is no midpathd; make it with: cargo build -p midpathd")
    return max(found, key=lambda path: path.stat().st_mtime).resolve()


def isolated(page: Path) -> int:
    """Within namespaces of its own: the page, on its stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        private(folder)
        work = folder / "work"
        work.mkdir()
        stage = STAGES[page.stem](midpathd(), work)
        shutil.copy(stage.midpathd, "/usr/local/sbin/midpathd")
        # `python` and `midpath` are those that run this script.
        path = f"/usr/local/sbin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        os.environ["PATH"] = path
        shell = Shell(ROOT if stage.in_repository else work, dict(os.environ))
        try:
            stage.prepare()
            walk(page, stage, shell)
        except WalkError as why:
            log = work / "stage.log"
            print(why, log.read_text()[-2000:] if log.exists() else "", sep="\n", file=sys.stderr)
            return 1
        finally:
            # All else ends with the namespace of processes.
            shell.close()
            for process in stage.started:
                process.kill()
    return 0


def private(folder: Path) -> None:
    """Copies of what installing changes, in this namespace of mounts."""
    shutil.copytree("/etc", folder / "etc", symlinks=True)
    mounts = [f"mount --bind {folder}/etc /etc", "mount -t tmpfs tmpfs /run", "mount -t tmpfs tmpfs /usr/local/sbin"]
    if Path("/usr/local/share/man").is_dir():
        mounts += ["mount -t tmpfs tmpfs /usr/local/share/man"]
    for command in [*mounts, "mount -t proc proc /proc", "mount -t sysfs sysfs /sys", "ip link set lo up"]:
        subprocess.run(command.split(), check=True)


def main() -> int:
    """Walks through a page in namespaces of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, help=" ".join(f"docs/{name}.md" for name in STAGES))
    parser.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.isolated:
        return isolated(asked.page.resolve())
    spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL"]
    return subprocess.run([*spaces, sys.executable, __file__, "--isolated", asked.page], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
