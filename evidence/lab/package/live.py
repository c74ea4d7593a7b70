"""Installs, runs, upgrades and removes a package of `midpathd` on a copy of this machine, and says what was done.

    unshare --mount --net --pid --fork --kill-child --mount-proc \
        python evidence/lab/package/live.py FIRST.deb SECOND.deb

The copy is an overlay over `/` in a namespace: nothing stays. Where systemd is not the first process units cannot be
started, so each unit's commands run as it would run them: as a user without rights that has the unit's capabilities
alone, on a read-only file system but for the unit's folders, with its credentials. Needs root and overlayfs.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

# Where systemd's dynamic users are.
USERS = itertools.count(61_184)
NETWORK = """
scheme = "cubic"
[topology]
nodes = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
links = [{ a = "a", b = "b", rate = "50 Mbps", delay = "1 ms" }]
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"""
# What dpkg itself writes, and what the operator has.
NOT_OURS = ("var/lib/dpkg", "var/log", "var/cache", "etc/midpath", "var/lib/midpath", "tmp", "root")


def run(*words: object) -> str:
    """A command that has to succeed; what it prints."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


class Copy:
    """This machine, as an overlay."""

    def __init__(self) -> None:
        """Mounts it; the namespace's end takes it away."""
        run("mount", "--make-rprivate", "/")
        folder = Path(tempfile.mkdtemp())
        run("mount", "-t", "tmpfs", "tmpfs", folder)
        self.upper, work, self.root = (folder / name for name in ("upper", "work", "root"))
        for path in (self.upper, work, self.root):
            path.mkdir()
        options = f"lowerdir=/,upperdir={self.upper},workdir={work}"
        run("mount", "-t", "overlay", "overlay", "-o", options, self.root)
        run("mount", "-t", "proc", "proc", self.root / "proc")
        run("mount", "--rbind", "/dev", self.root / "dev")
        run("mount", "--rbind", "/sys", self.root / "sys")
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.root / "run")

    def within(self, *words: object) -> str:
        """A command there, as root."""
        return run("chroot", self.root, *words)

    def left(self) -> list[str]:
        """Files that are not as they were before."""
        found = (
            path.relative_to(self.upper) for path in self.upper.rglob("*") if not stat.S_ISDIR(path.lstat().st_mode)
        )
        return sorted(str(path) for path in found if not str(path).startswith(NOT_OURS))


class Unit:
    """A unit, run as systemd would."""

    def __init__(self, copy: Copy, name: str, instance: str = "", options: str = "") -> None:
        """`instance` stands behind the name's @."""
        self.copy, self.name, self.instance = copy, name, instance
        text = (copy.root / "usr/lib/systemd/system" / f"{name}.service").read_text()
        self.says = dict(
            re.findall(r"^(\w+)=(.*)$", text.replace("%i", instance).replace("%I", instance), re.MULTILINE)
        )
        self.options = options
        self.user = next(USERS)
        assert self.says["DynamicUser"] == "yes" and self.says["ProtectSystem"] == "strict"

    def prepare(self) -> dict[str, str]:
        """Makes its folders and credentials; its environment."""
        for key, place in (("RuntimeDirectory", "run"), ("StateDirectory", "var/lib")):
            for name in self.says.get(key, "").split():
                folder = self.copy.root / place / name
                folder.mkdir(parents=True, exist_ok=True)
                os.chown(folder, self.user, self.user)
                if place != "run":
                    run("mount", "--bind", folder, folder)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        if "LoadCredential" in self.says:
            name, source = self.says["LoadCredential"].split(":")
            handed = Path("/run/credentials", f"{self.name}{self.instance}")
            inside = self.copy.root / str(handed).lstrip("/")
            inside.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.copy.root / source.lstrip("/"), inside / name)
            # By systemd an ACL gives it to the user, which shows as the group's right.
            os.chown(inside / name, 0, self.user)
            (inside / name).chmod(0o440)
            environment["CREDENTIALS_DIRECTORY"] = str(handed)
        return environment

    def command(self, key: str) -> list[str]:
        """The words of ExecStart and its kin, with what makes them run as the unit does."""
        words = self.says[key].replace("$OPTIONS", self.options).split()
        ambient, bounds = (self.capabilities(which) for which in ("AmbientCapabilities", "CapabilityBoundingSet"))
        assert ambient == bounds, "what it may have it has, and nothing else"
        given = ",".join(f"+{name}" for name in ambient)
        rights = [
            "--inh-caps",
            f"-all{',' if given else ''}{given}",
            "--bounding-set",
            f"-all{',' if given else ''}{given}",
        ]
        rights += ["--ambient-caps", given] if given else []
        who = ["--reuid", str(self.user), "--regid", str(self.user), "--clear-groups", "--no-new-privs"]
        # A bind mount of its own is read-only where the file system is not.
        alone = 'mount --rbind "$0" "$0" && mount -o remount,ro,bind "$0" && exec chroot "$0" "$@"'
        root = str(self.copy.root)
        return ["unshare", "--mount", "sh", "-c", alone, root, "setpriv", *who, *rights, "--", *words]

    def capabilities(self, key: str) -> list[str]:
        """Their names, as setpriv has them."""
        return [name.removeprefix("CAP_").lower() for name in self.says.get(key, "").split()]

    def does(self, key: str) -> str:
        """Runs one of its commands to the end."""
        done = subprocess.run(self.command(key), env=self.prepare(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.name} {key}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self) -> subprocess.Popen[str]:
        """Starts what runs on."""
        return subprocess.Popen(self.command("ExecStart"), env=self.prepare(), stderr=subprocess.PIPE, text=True)

    def holds(self, process: subprocess.Popen[str]) -> bool:
        """Whether a process has the unit's user and capabilities, and no others."""
        status = Path(f"/proc/{process.pid}/status").read_text()
        numbers = {name: 1 << number for name, number in NUMBERS.items()}
        allowed = sum(numbers[name] for name in self.capabilities("CapabilityBoundingSet"))
        effective, user = (re.search(rf"^{key}:\s+(\w+)", status, re.MULTILINE) for key in ("CapEff", "Uid"))
        assert effective and user
        return int(effective[1], 16) in (0, allowed) and int(user[1]) == self.user


# linux/capability.h.
NUMBERS = {"net_bind_service": 10, "net_admin": 12, "sys_admin": 21, "perfmon": 38, "bpf": 39}


def wait(what: str, process: subprocess.Popen[str], done: object) -> None:
    """Until `done()` holds."""
    until = time.monotonic() + 60
    while not done():  # type: ignore[operator]
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            raise SystemExit(f"{what}: {process.communicate()[1]}")
        time.sleep(0.05)


def configure(copy: Copy) -> None:
    """What an operator writes: two nodes, a forwarder."""
    etc = copy.root / "etc/midpath"
    (etc / "net.toml").write_text(NETWORK)
    keys = {name: copy.within("midpathd", "node", "key", f"/etc/midpath/{name}.key").strip() for name in "ab"}
    for name, peer, port in (("a", "b", 4701), ("b", "a", 4702)):
        (etc / f"{name}.toml").write_text(
            f'network = "net.toml"\nnode = "{name}"\nkey = "{name}.key"\nlisten = "127.0.0.1:{port}"\n'
            f'[[neighbour]]\nnode = "{peer}"\nkey = "{keys[peer]}"\naddress = "127.0.0.1:{4701 + 4702 - port}"\n'
            # Below 1024: the unit's capability.
            + ('[[socks]]\nlisten = "127.0.0.1:108"\nexit = "b"\n' if name == "a" else "")
        )
    (etc / "ndn.toml").write_text('[listen]\nunix = "/run/nfd/nfd.sock"\nudp = ["127.0.0.1:6363"]\n')


def nodes(copy: Copy) -> Iterator[str]:
    """Two nodes find each other, read their configurations again, and stop."""
    units = [Unit(copy, "midpathd-node@", name) for name in "ab"]
    running = [unit.start() for unit in units]

    def up() -> bool:
        words = ["chroot", str(copy.root), "midpathd", "node", "status", "/etc/midpath/a.toml"]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return '"up": true' in said

    wait("node a", running[0], up)
    yield f"nodes: up without root: {all(unit.holds(one) for unit, one in zip(units, running, strict=True))}"
    said = copy.within("midpathd", "node", "check", "/etc/midpath/b.toml").strip()
    yield f"nodes: checked while they run: {said}"
    units[0].does("ExecReload")
    yield "nodes: reloaded"
    yield from upgraded(copy, running)
    for unit, process in zip(units, running, strict=True):
        unit.does("ExecStop")
        code = process.wait(30)
        left = sorted(path.name for path in (copy.root / "run/midpath" / unit.instance).iterdir())
        yield f"node {unit.instance}: stopped with {code}, left {left}"


def upgraded(copy: Copy, running: list[subprocess.Popen[str]]) -> Iterator[str]:
    """The other package takes the place of the first, under what runs."""
    copy.within("dpkg", "--force-depends", "-i", "/second.deb")
    still = all(process.poll() is None for process in running)
    yield f"upgraded to {copy.within('dpkg-query', '-W', '-f', '${Version}', 'midpathd')}: nodes run on: {still}"


def forwarder(copy: Copy) -> Iterator[str]:
    """The forwarder listens where applications look."""
    unit = Unit(copy, "midpathd-ndn@", "ndn")
    process = unit.start()
    socket = copy.root / "run/nfd/nfd.sock"
    wait("ndn", process, lambda: socket.is_socket() and (copy.root / "run/midpath/ndn/control.sock").is_socket())
    yield f"ndn: up without root: {unit.holds(process)}"
    unit.does("ExecStop")
    yield f"ndn: stopped with {process.wait(30)}, left {sorted(path.name for path in socket.parent.iterdir())}"


def rpm(copy: Copy) -> Iterator[str]:
    """RPM on a device, and its metrics."""
    run("ip", "link", "add", "dev0", "type", "veth", "peer", "name", "dev1")
    for device in ("lo", "dev0", "dev1"):
        run("ip", "link", "set", device, "up")
    unit = Unit(copy, "midpathd-rpm@", "dev0", "--rate 95Mbps")
    done = subprocess.run(unit.command("ExecStart"), env=unit.prepare(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"rpm: skipped: {done.stderr.strip()}"
        return
    yield f"rpm: {done.stdout.strip()}"
    metrics = Unit(copy, "midpathd-rpm-metrics")
    process = metrics.start()
    assert process.stderr is not None
    assert "/metrics" in process.stderr.readline()
    with urllib.request.urlopen("http://127.0.0.1:9466/metrics", timeout=30) as answer:
        page = answer.read().decode()
    has = 'midpath_rpm_up{device="dev0"} 1' in page
    yield f"rpm-metrics: serves without root: {has and metrics.holds(process)}"
    process.kill()
    process.wait()
    unit.does("ExecReload")
    yield f"rpm: {unit.does('ExecStop').strip()}"


def main(first: str, second: str) -> None:
    """All of it."""
    copy = Copy()
    for name, package in (("first.deb", first), ("second.deb", second)):
        shutil.copy(package, copy.root / name)
    copy.within("dpkg", "--force-depends", "-i", "/first.deb")
    print(f"installed {copy.within('dpkg-query', '-W', '-f', '${Version}', 'midpathd')}")
    print(f"differs from the package: {copy.within('dpkg', '--verify', 'midpathd').split() or 'nothing'}")
    run("ip", "link", "set", "lo", "up")
    configure(copy)
    for steps in (nodes, forwarder, rpm):
        for line in steps(copy):
            print(line, flush=True)
    copy.within("dpkg", "-r", "midpathd")
    for name in ("first.deb", "second.deb"):
        (copy.root / name).unlink()
    print(f"removed, left: {copy.left() or 'nothing'}")
    kept = sorted(path.name for path in (copy.root / "etc/midpath").iterdir())
    print(f"kept of the operator's: {', '.join(kept)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
