"""The second kernel: Linux 6.1 as a program (user-mode Linux), in virtual time; built once, from Debian's source."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from midpath.errors import UsageError

# Debian's package linux-source-6.1.
SOURCE = Path("/usr/src/linux-source-6.1.tar.xz")
PACKAGES = "linux-source-6.1 build-essential flex bison bc xz-utils"
TOOLS = ("make", "gcc", "flex", "bison", "bc", "xz", "tar")
# Most of the source is for devices. Their menus stay, for the configuration reads all.
LEFT_OUT = ("drivers/gpu/*.[chS]", "drivers/media/*.[ch]", "sound/*.[ch]", "Documentation/*.rst")
# `allnoconfig` and this; the last lines are kinds of devices, for evidence/lab/rpm/devices.py, which Debian's kernels
# have as well. They move TCP's results: without them slow start ends sooner (evidence/lab/VIRTUAL.md). Time travel lets
# the clock stand while anything runs, and jump while nothing does.
OPTIONS = """
UML_TIME_TRAVEL_SUPPORT HOSTFS 64BIT BINFMT_ELF BINFMT_SCRIPT STDERR_CONSOLE NULL_CHAN PROC_FS PROC_SYSCTL SYSFS
SYSCTL TMPFS SHMEM DEVTMPFS EPOLL FUTEX EVENTFD TIMERFD SIGNALFD POSIX_TIMERS MULTIUSER PRINTK BUG FILE_LOCKING
ADVISE_SYSCALLS MEMBARRIER NO_HZ_IDLE HIGH_RES_TIMERS NAMESPACES NET_NS PID_NS UTS_NS NET PACKET UNIX INET IPV6
NETDEVICES NET_CORE VETH IP_ADVANCED_ROUTER IP_ROUTE_MULTIPATH IP_MULTIPLE_TABLES TCP_CONG_ADVANCED TCP_CONG_CUBIC
TCP_CONG_BBR TCP_CONG_DCTCP DEFAULT_CUBIC INET_DIAG NET_SCHED NET_SCH_TBF NET_SCH_HTB NET_SCH_NETEM NET_SCH_CODEL
NET_SCH_FQ_CODEL NET_SCH_CAKE NET_SCH_PIE NET_SCH_FQ_PIE NET_SCH_FQ NET_SCH_RED NET_SCH_SFQ NET_SCH_PRIO NET_CLS
NET_CLS_ACT BPF BPF_SYSCALL NET_CLS_BPF NET_ACT_BPF NET_SCH_INGRESS CC_OPTIMIZE_FOR_PERFORMANCE
VLAN_8021Q MACVLAN IPVLAN VXLAN GENEVE BRIDGE BONDING IFB DUMMY TUN NET_IPIP NET_IPGRE_DEMUX NET_IPGRE IPV6_SIT IPV6_GRE
IPV6_TUNNEL WIREGUARD NET_L3_MASTER_DEV IPV6_MULTIPLE_TABLES NET_VRF MACSEC NET_ACT_MIRRED
"""
# Room for a processor's vector state, which the kernel takes for AVX-512's: AMX has 11,008 bytes. It lies
# on stacks, too, of 1 << 4 pages.
STATE = ("arch/x86/um/user-offsets.c", "DEFINE_LONGS(HOST_FP_SIZE, 2696)", "DEFINE_LONGS(HOST_FP_SIZE, 12288)")
STACK = "CONFIG_KERNEL_STACK_ORDER=4"
Say = Callable[[str], None]


def place() -> Path:
    """Where the kernel is, once it is built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "midpath" / "linux-6.1-uml"


def find() -> Path:
    """The kernel; an error says how to get it."""
    if (why := missing()) is not None:
        raise UsageError(why)
    return place()


def missing() -> str | None:
    """Why there is no second kernel here, if there is none."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return "--virtual needs Linux on x86_64"
    for tool in ("unshare", "setpriv", "nsenter", "ip", "tc"):
        if shutil.which(tool) is None:
            return f"--virtual needs {tool} (packages util-linux and iproute2)"
    if not os.access(place(), os.X_OK):
        return "user-mode Linux is not built yet; build it with: midpath lab kernel"
    return None


def build(source: Path, jobs: int, say: Say) -> Path:
    """Builds it in a directory of its own, which is gone afterwards."""
    if not source.is_file():
        raise UsageError(f"{source} does not exist; install it with: apt-get install {PACKAGES}")
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise UsageError(f"building a kernel needs {', '.join(lacking)}; install with: apt-get install {PACKAGES}")
    target = place()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="linux-", dir=target.parent) as folder:
        say(f"unpacking {source}")
        excludes = [f"--exclude=*/{pattern}" for pattern in LEFT_OUT]
        _do(["tar", "-xf", str(source), "--strip-components=1", *excludes], folder)
        say(f"building with {jobs} jobs; this takes some minutes")
        _configure(Path(folder))
        _do(["make", "ARCH=um", f"-j{jobs}", "linux"], folder)
        _do(["strip", "linux"], folder)
        (Path(folder) / "linux").replace(target)
    return target


def version() -> str:
    """What it says of itself."""
    return subprocess.run([place(), "--version"], capture_output=True, text=True, check=True).stdout.strip()


def _configure(folder: Path) -> None:
    file, small, large = STATE
    text = (folder / file).read_text()
    if small not in text:
        raise UsageError(f"this source is not that of Linux 6.1: {file} differs")
    (folder / file).write_text(text.replace(small, large))
    wanted = [*(f"CONFIG_{option}=y" for option in OPTIONS.split()), STACK]
    (folder / "wanted").write_text("\n".join(wanted) + "\n")
    _do(["make", "ARCH=um", "KCONFIG_ALLCONFIG=wanted", "allnoconfig"], str(folder))
    made = set((folder / ".config").read_text().split("\n"))
    if lacking := [option for option in wanted if option not in made]:
        raise UsageError(f"this source cannot be configured for the laboratory: {lacking[0]} is missing")


def _do(command: list[str], folder: str) -> None:
    done = subprocess.run(["nice", "-n", "10", *command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["no output"]
        raise UsageError(f"{command[0]} failed: {last[0].strip()}")
