"""RPM on each kind of device that Linux can make: a TCP flow through it, marks on its ACKs, and nothing left behind.

    python evidence/lab/rpm/devices.py [KIND…]            in namespaces of this kernel; needs root
    python evidence/lab/rpm/devices.py --guest [KIND…]    in user-mode Linux (`midpath lab kernel`), which has all kinds

Prints a line for each kind: `works`, `refused` with what `up` says, `missing` if the kernel has no such device, or
`wrong`. It ends with 1 if a kind is not as `KINDS` has it.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
NETNS = Path("/run/netns")
# Enough for CoDel with an interval of 20 ms, many times over: 1 MB takes 400 ms at 20 Mbps.
RATE, BYTES = "20Mbps", 1_000_000
# How long any command may take, in seconds: a flow takes two, and the machine may be busy.
PATIENCE = 120
WITHOUT_RIGHTS = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all")


@dataclass(frozen=True)
class Kind:
    """How to make a device over `u0`, a veth that joins both sides, and what is expected of RPM on it."""

    name: str
    # Commands of `ip`, parted by `;`. `{me}` and `{peer}` end addresses: 1 and 2, or 2 and 1.
    make: str
    # RPM is turned on for this device.
    device: str = "t0"
    # The flow's addresses are on this one.
    at: str = "t0"
    # Part of what `up` says if it has to refuse.
    refused: str | None = None
    # Nobody is at the other end: packets leave, no flow comes about.
    alone: bool = False


# What `ip` says where the kernel has no such device.
ABSENT = ("Unknown device type", "not supported", "No such file or directory")
ENDS = "local 10.0.0.{me} remote 10.0.0.{peer}"
ENDS6 = "local fd00::{me} remote fd00::{peer}"
STACKED = {"device": "u0", "at": "t0"}
BY_ROUTE = "without a fixed remote address"
MACSEC = """link add link u0 t0 type macsec sci 000000000000000{me};
    macsec add t0 tx sa 0 pn 1 on key 01 11111111111111111111111111111111; macsec add t0 rx sci 000000000000000{peer};
    macsec add t0 rx sci 000000000000000{peer} sa 0 pn 1 on key 01 11111111111111111111111111111111"""
BOND = "link add t0 type bond mode active-backup; link set u0 down; link set u0 master t0"
KINDS = [
    Kind("veth", "", device="u0", at="u0"),
    Kind("dummy", "link add t0 type dummy", alone=True),
    Kind("vlan", "link add link u0 name t0 type vlan id 7"),
    Kind("vlan, tag in frames", "link add link u0 name t0 type vlan id 7 reorder_hdr off"),
    Kind("vlan 802.1ad", "link add link u0 name v type vlan proto 802.1ad id 5; link set v up; "
         "link add link v name t0 type vlan id 7"),
    Kind("below a vlan", "link add link u0 name t0 type vlan id 7", **STACKED),
    Kind("below two vlans", "link add link u0 name v type vlan proto 802.1ad id 5; link set v up; "
         "link add link v name t0 type vlan id 7", **STACKED),
    Kind("macvlan", "link add link u0 name t0 type macvlan mode bridge"),
    Kind("below a macvlan", "link add link u0 name t0 type macvlan mode private", **STACKED),
    Kind("ipvlan l2", "link add link u0 name t0 type ipvlan mode l2"),
    Kind("bridge", "link add t0 type bridge; link set u0 master t0"),
    Kind("port of a bridge", "link add t0 type bridge; link set u0 master t0", **STACKED),
    Kind("bond", BOND),
    Kind("port of a bond", BOND, **STACKED),
    Kind("vxlan", "link add t0 type vxlan id 7 dstport 4789 " + ENDS + " dev u0"),
    Kind("vxlan external", "link add t0 type vxlan dstport 4789 external", refused=BY_ROUTE),
    Kind("geneve", "link add t0 type geneve id 7 remote 10.0.0.{peer}"),
    Kind("geneve external", "link add t0 type geneve external", refused=BY_ROUTE),
    Kind("gretap", "link add t0 type gretap " + ENDS),
    Kind("gretap external", "link add t0 type gretap external", refused=BY_ROUTE),
    Kind("ip6gretap", "link add t0 type ip6gretap " + ENDS6),
    Kind("gre", "link add t0 type gre " + ENDS),
    Kind("gre to anybody", "link add t0 type gre local 10.0.0.{me} key 7", refused=BY_ROUTE),
    Kind("gre external", "link add t0 type gre external", refused=BY_ROUTE),
    Kind("ip6gre", "link add t0 type ip6gre " + ENDS6),
    Kind("ipip", "link add t0 type ipip " + ENDS),
    Kind("ipip to anybody", "link add t0 type ipip local 10.0.0.{me}", refused=BY_ROUTE),
    Kind("ipip external", "link add t0 type ipip external", refused=BY_ROUTE),
    Kind("sit", "link add t0 type sit mode any " + ENDS),
    Kind("ip6tnl", "link add t0 type ip6tnl mode any " + ENDS6),
    Kind("ip6tnl external", "link add t0 type ip6tnl external", refused=BY_ROUTE),
    Kind("wireguard", "link add t0 type wireguard"),
    Kind("macsec", MACSEC),
    Kind("tun", "tuntap add t0 mode tun"),
    Kind("tap", "tuntap add t0 mode tap"),
    Kind("vrf", "link add t0 type vrf table 7", refused="is a VRF"),
    Kind("ifb", "link add t0 type ifb", refused="is an IFB"),
    Kind("loopback", "", device="lo", at="lo", refused="neither Ethernet nor a tunnel"),
]  # fmt: skip


class MissingError(Exception):
    """This machine cannot make such a device."""


def do(*command: str, check: bool = True, text: str | None = None) -> str:
    """What a command prints."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Sides:
    """Namespaces a and b, joined by `u0`, and c, which is empty."""

    def __init__(self, midpathd: str) -> None:
        self.midpathd = midpathd
        self.names = {side: f"mpdev{os.getpid()}{side}" for side in "abc"}
        self.started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Sides:
        for name in self.names.values():
            do("ip", "netns", "add", name)
        a, b = self.names["a"], self.names["b"]
        do("ip", "link", "add", "u0", "netns", a, "type", "veth", "peer", "name", "u0", "netns", b)
        for side, me in (("a", 1), ("b", 2)):
            self.ip(side, "link set lo up; link set u0 up")
            self.ip(side, f"address add 10.0.0.{me}/24 dev u0; address add fd00::{me}/64 dev u0 nodad")
            # Flows need ECN, and tunnels copy it. A SYN that a bridge's port loses as it comes up must not give ECN up.
            sysctl = "cd /proc/sys/net/ipv4; echo 1 > tcp_ecn; echo 0 > tcp_ecn_fallback"
            self.inside(side, "sh", "-c", sysctl)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            process.kill()
            process.wait()
        for name in self.names.values():
            do("ip", "netns", "delete", name, check=False)

    def ip(self, side: str, commands: str) -> None:
        """Commands of `ip`, parted by `;`."""
        lines = [" ".join(command.split()) for command in commands.split(";")]
        do("ip", "-n", self.names[side], "-batch", "-", text="\n".join(lines) + "\n")

    def enter(self, side: str) -> list[str]:
        """What a command begins with that runs on this side."""
        return ["nsenter", f"--net={NETNS / self.names[side]}"]

    def inside(self, side: str, *command: str, check: bool = True) -> str:
        """What a command prints on this side."""
        return do(*self.enter(side), *command, check=check)

    def start(self, side: str, *command: str) -> subprocess.Popen[str]:
        """Starts what runs until the sides go, and has printed a line."""
        process = subprocess.Popen([*self.enter(side), *command], stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def rpm(self, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """`midpathd rpm` on side a."""
        command = [*self.enter("a"), *prefix, self.midpathd, "rpm", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def does(self, *arguments: str) -> str:
        """`midpathd rpm`, which must succeed."""
        done = self.rpm(*arguments)
        if done.returncode:
            raise RuntimeError(f"rpm {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def status(self) -> dict:
        """Of the one device that RPM is on for."""
        return json.loads(self.does("status", "--json"))["devices"][0]

    def state(self) -> str:
        """Devices, qdiscs and filters of side a, as the tools show them."""
        shown = self.inside("a", "sh", "-c", STATE)
        # Linux finds the carrier and the operational state out in its own time.
        return re.sub(r" state [A-Z]+|NO-CARRIER,|,LOWER_UP", "", shown)


STATE = """
ip -o link; tc qdisc
for d in /sys/class/net/*; do for side in ingress egress; do tc filter show dev ${d##*/} $side; done; done
"""
SERVER = """
import socket
s = socket.create_server(("192.0.2.2", 0))
print(s.getsockname()[1], flush=True)
while True:
    c, n = s.accept()[0], 0
    c.settimeout(60)
    while d := c.recv(1 << 20):
        n += len(d)
    c.sendall(str(n).encode())
"""
CLIENT = """
import socket, sys
c = socket.create_connection(("192.0.2.2", int(sys.argv[1])), 20)
c.settimeout(60)
c.sendall(bytes(int(sys.argv[2])))
c.shutdown(1)
print(c.recv(20).decode())
"""
DATAGRAMS = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    s.sendto(bytes(1000), ("192.0.2.2", 9))
# They leave in 8 ms.
time.sleep(0.2)
"""


def make(sides: Sides, kind: Kind) -> None:
    """The devices of a kind, with addresses; raises `MissingError`."""
    if kind.name in ("tun", "tap") and not Path("/dev/net/tun").exists():
        raise MissingError("there is no /dev/net/tun")
    for side, me, peer in (("a", 1, 2), ("b", 2, 1)):
        try:
            if kind.name not in ("tun", "tap"):
                sides.ip(side, kind.make.format(me=me, peer=peer))
        except RuntimeError as error:
            if not any(words in str(error) for words in ABSENT):
                raise
            raise MissingError(str(error).splitlines()[0]) from error
    if kind.name in ("tun", "tap"):
        wire = sides.start("a", sys.executable, __file__, "--wire", kind.name, str(NETNS / sides.names["b"]))
        wire.stdout.readline()
    if kind.name == "wireguard":
        keys(sides)
    for side, me in (("a", 1), ("b", 2)):
        sides.ip(side, "link set u0 up")
        if kind.at != "lo":
            sides.ip(side, f"link set {kind.at} up; address add 192.0.2.{me}/24 dev {kind.at}")
    if kind.alone:
        sides.ip("a", f"neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev {kind.at}")


def keys(sides: Sides) -> None:
    """Makes both sides WireGuard's peers."""
    pem = {side: do("openssl", "genpkey", "-algorithm", "X25519") for side in "ab"}

    def raw(side: str, *more: str) -> str:
        command = ["openssl", "pkey", *more, "-outform", "DER"]
        done = subprocess.run(command, input=pem[side].encode(), capture_output=True, check=True)
        return done.stdout[-32:].hex()

    for side, other, peer in (("a", "b", 2), ("b", "a", 1)):
        sides.inside(side, sys.executable, __file__, "--key", raw(side), raw(other, "-pubout"), f"10.0.0.{peer}")


def set_key(private: str, public: str, address: str) -> None:
    """Configures WireGuard's `t0` in this namespace."""
    from pyroute2 import WireGuard  # noqa: PLC0415 a second of the guest's

    peer = {"public_key": b64encode(bytes.fromhex(public)), "endpoint_addr": address, "endpoint_port": 51820}
    peer["allowed_ips"] = ["192.0.2.0/24"]
    WireGuard().set("t0", private_key=b64encode(bytes.fromhex(private)), listen_port=51820, peer=peer)


def wire(mode: str, other: str) -> None:
    """Joins two tunnels' ends, here and in the other namespace, as a VPN's program would."""
    ends = [open_tun(mode)]
    with Path(other).open() as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")
    ends.append(open_tun(mode))
    print("joined", flush=True)

    def copy(here: int, there: int) -> None:
        while True:
            try:
                os.write(there, os.read(here, 65536))
            except OSError:
                # The other end, or this one, is down.
                threading.Event().wait(0.01)

    threading.Thread(target=copy, args=ends, daemon=True).start()
    copy(*reversed(ends))


def open_tun(mode: str) -> int:
    """A device `t0` without packet information (linux/if_tun.h: TUNSETIFF)."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    flags = {"tun": 0x0001, "tap": 0x0002}[mode] | 0x1000
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"t0", flags))
    return end


class WrongError(Exception):
    """Something is not as it has to be."""


def expect(right: bool, otherwise: str) -> None:
    """Raises `WrongError`."""
    if not right:
        raise WrongError(otherwise)


class Trial:
    """RPM on a device of a kind."""

    def __init__(self, sides: Sides, kind: Kind) -> None:
        self.sides, self.kind, self.port = sides, kind, ""
        # The paper's CoDel marks more often than RFC 8289's.
        self.on = ("up", "--dev", kind.device, "--rate", RATE, "--target", "1ms", "--interval", "20ms")

    def traffic(self) -> None:
        """A TCP flow to the other side."""
        if self.kind.alone:
            self.sides.inside("a", sys.executable, "-IS", "-c", DATAGRAMS)
            return
        if not self.port:
            self.port = self.sides.start("b", sys.executable, "-IS", "-c", SERVER).stdout.readline().strip()
        came = self.sides.inside("a", sys.executable, "-IS", "-c", CLIENT, self.port, str(BYTES))
        expect(came.strip() == str(BYTES), f"{came!r} of {BYTES} bytes came")

    def marks(self, when: str) -> str:
        """Traffic, and what the counters say of it."""
        before = self.sides.status()["counters"]
        self.traffic()
        after = self.sides.status()["counters"]
        packets, marked = (after[name] - before[name] for name in ("packets", "marked_ece"))
        expect(packets >= (20 if self.kind.alone else BYTES // 1500), f"{when}: {packets} packets were shaped")
        expect(self.kind.alone or marked > 0, f"{when}: no ACK was marked, of {packets} packets: {after}")
        return f"{packets} packets, {marked} ACKs marked"

    def refusal(self) -> str:
        """What `up` says; nothing is changed by it."""
        before = self.sides.state()
        done = self.sides.rpm(*self.on)
        said = done.stderr.strip()
        expect(done.returncode != 0, f"up does not refuse, and says {done.stdout.strip()}")
        expect(len(said.splitlines()) == 1 and self.kind.refused in said, f"up says {said}")
        expect(self.sides.state() == before, "a refusal changed something")
        return said.removeprefix("midpathd: ")

    def works(self) -> str:
        """On and off, and with what happens to devices in between."""
        sides, device = self.sides, self.kind.device
        before = sides.state()
        sides.does(*self.on)
        said = self.marks("at first")
        self.without_rights()
        self.flaps()
        sides.does("down")
        expect(sides.state() == before, f"down left\n{sides.state()}\nof\n{before}")
        self.traffic()
        sides.does(*self.on)
        self.goes(device)
        return said

    def without_rights(self) -> None:
        """A user without rights gets one line."""
        done = self.sides.rpm("status", prefix=WITHOUT_RIGHTS)
        lines = (done.stdout + done.stderr).strip().splitlines()
        expect(done.returncode == 1 and len(lines) == 1 and "root" in lines[0], f"status without rights: {lines}")

    def flaps(self) -> None:
        """Down and up again, which takes routes and neighbours along."""
        device = self.kind.device
        self.sides.ip("a", f"link set {device} down; link set {device} up")
        if self.kind.alone:
            self.sides.ip("a", f"neighbour replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev {device}")
        self.marks("after down and up")

    def goes(self, device: str) -> None:
        """To another namespace, or for good; `down` clears up, and `up` works on a device that is made again."""
        sides = self.sides
        try:
            do("ip", "-n", sides.names["a"], "link", "set", device, "netns", sides.names["c"])
        except RuntimeError:
            # Some kinds stay where they are made.
            sides.ip("a", f"link delete {device}")
        said = sides.does("status")
        expect("half set up" in said, f"status of a device that has gone: {said}")
        sides.ip("a", f"link add {device} type veth peer name other")
        sides.does(*self.on)
        expect(sides.status()["active"], "up on a device that was made again")
        sides.ip("a", f"link delete {device}")
        expect(sides.does("down") == f"RPM is off: {device}\n", "down after the device has gone")
        left = sides.inside("a", "ip", "-o", "link")
        expect("mpq" not in left and "mpx" not in left, f"down left {left}")
        expect(sides.does("status") == "RPM is off\n", "status after down")


def try_kind(midpathd: str, kind: Kind) -> tuple[str, str]:
    """What becomes of a kind, and what there is to say."""
    with Sides(midpathd) as sides:
        try:
            make(sides, kind)
            trial = Trial(sides, kind)
            return ("refused", trial.refusal()) if kind.refused else ("works", trial.works())
        except MissingError as why:
            return "missing", str(why)
        except (WrongError, RuntimeError, subprocess.TimeoutExpired) as why:
            return "wrong", str(why)


def guest(arguments: list[str]) -> int:
    """The same in user-mode Linux: its first process is a script that starts this one."""
    from midpath.lab import kernel  # noqa: PLC0415 numpy would come along into the guest

    linux = kernel.find()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = shlex.join([sys.executable, __file__, *arguments])
        init = folder / "init"
        lines = ["#!/bin/sh", f"export PATH={os.environ['PATH']}", f"cd {folder}"]
        lines += [
            f"mount -t {kind} {kind} {at}" for kind, at in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"))
        ]
        lines += ["mount -t devtmpfs devtmpfs /dev", f"{sys.executable} {__file__} --seed"]
        lines += [f"{command} > said 2> errors", "echo $? > code", "sync"]
        # LINUX_REBOOT_CMD_POWER_OFF; there is no `halt` without an init.
        lines += [f"exec {sys.executable} -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'"]
        init.write_text("\n".join(lines) + "\n")
        init.chmod(0o755)
        boot = [str(linux), "mem=1024M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "quiet"]
        boot += [
            "time-travel=inf-cpu",
            f"uml_dir={folder}/",
            "umid=guest",
            "con=null",
            "con0=null,fd:1",
            f"init={init}",
        ]
        own = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
        pid = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL"]
        done = subprocess.run(
            [*own, *pid, *boot], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if not (folder / "code").exists():
            print(done.stdout[-2000:], file=sys.stderr)
            return 1
        print((folder / "said").read_text(), end="")
        print((folder / "errors").read_text(), end="", file=sys.stderr)
        return int((folder / "code").read_text())


def seed() -> None:
    """Gives the guest's random numbers a beginning: where time stands still no entropy comes."""
    # RNDADDENTROPY, linux/random.h
    with Path("/dev/random").open("wb") as device:
        fcntl.ioctl(device, 0x40085203, struct.pack("ii256s", 2048, 256, bytes(range(256))))


def main() -> int:
    """Tries the kinds that are asked for, or all."""
    if sys.argv[1:2] == ["--wire"]:
        wire(*sys.argv[2:])
    if sys.argv[1:2] == ["--seed"]:
        seed()
        return 0
    if sys.argv[1:2] == ["--key"]:
        set_key(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", help="; ".join(kind.name for kind in KINDS))
    parser.add_argument("--guest", action="store_true")
    parser.add_argument("--midpathd", default=shutil.which("midpathd") or str(ROOT / "target/debug/midpathd"))
    asked = parser.parse_args()
    if asked.guest:
        return guest([*asked.kind, "--midpathd", str(Path(asked.midpathd).resolve())])
    wrong = 0
    for kind in KINDS:
        if asked.kind and kind.name not in asked.kind:
            continue
        verdict, said = try_kind(asked.midpathd, kind)
        print(f"{kind.name}\t{verdict}\t{' | '.join(said.splitlines())}", flush=True)
        wrong += verdict == "wrong"
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
