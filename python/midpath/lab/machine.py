"""Requirements of the laboratory, and checks of this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from midpath.errors import UsageError

# Where cargo puts the binaries of a checkout, the better ones first.
BUILT = [Path(__file__).parents[3] / "target" / kind for kind in ("release", "dist", "debug")]


@dataclass(frozen=True)
class Tools:
    """The programs that the laboratory starts."""

    midpathd: str
    midpath_lab: str


def program(name: str, asked: str | None = None, how: str | None = None) -> str:
    """A binary of ours: the one that was asked for, on the path, or built in this checkout; `how` else to get it."""
    if asked is not None:
        if os.access(asked, os.X_OK):
            return asked
        raise UsageError(f"{asked} is not a program")
    found = shutil.which(name) or next((str(path / name) for path in BUILT if os.access(path / name, os.X_OK)), None)
    if found is None:
        how = how or f"cargo build --release -p {name}"
        raise UsageError(f"{name} is not on the PATH; in a checkout: {how}")
    return found


# In the environment of whoever is root of a user namespace only.
OWN = "MIDPATH_OWN_ROOT"
# What a user's own root runs first: names of network namespaces lie in /run/netns, which it may not write.
INSIDE = """
if [ ! -d /run/netns ]; then
  run=$(mktemp -d)
  mount --rbind /run "$run"
  mount -t tmpfs tmpfs /run
  for one in "$run"/*; do ln -s "$one" /run/; done
  mkdir /run/netns
fi
mount -t tmpfs tmpfs /run/netns
"""


def as_own_root(*command: str) -> list[str]:
    """A command as root of a user namespace, where no root is needed for network namespaces; an error says why not."""
    if (why := no_spaces(root=False)) is not None:
        raise UsageError(why)
    words = ["unshare", "--user", "--map-root-user", "--mount", "--net", "sh", "-euc"]
    done = subprocess.run([*words, INSIDE], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit {done.returncode}"
        raise UsageError(f"the laboratory needs root or user namespaces, and this machine refuses these: {said}")
    return ["env", f"{OWN}=1", *words, f'{INSIDE}exec "$@"', "sh", *command]


def no_spaces(*, root: bool = True) -> str | None:
    """Why there can be no network namespaces here, if there can be none."""
    if platform.system() != "Linux":
        return "the laboratory needs Linux"
    if root and os.geteuid() != 0:
        return "the laboratory needs root, for network namespaces and eBPF"
    for tool in ("unshare", "nsenter", "setpriv", "ip", "tc"):
        if shutil.which(tool) is None:
            return f"the laboratory needs {tool} (packages util-linux and iproute2)"
    return None


def find_tools(midpathd: str | None = None) -> Tools:
    """The programs that the laboratory starts, or an error that says how to get them."""
    lab = str(Path(midpathd).with_name("midpath-lab")) if midpathd else None
    return Tools(
        program("midpathd", midpathd), program("midpath-lab", lab if lab and os.access(lab, os.X_OK) else None)
    )


def check(tools: Tools) -> None:
    """Raises `UsageError` unless the programs were compiled and this kernel runs them."""
    done = subprocess.run([tools.midpath_lab, "check"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(done.stderr.strip().removeprefix("midpath-lab: "))


def describe(tools: Tools) -> dict[str, str]:
    """What was measured on: versions and load."""
    return describe_kernel() | {"midpathd": version(tools.midpathd)}


def describe_kernel() -> dict[str, str]:
    """The kernel, and the load."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": str(os.cpu_count()),
        "load_average": " ".join(f"{value:.1f}" for value in os.getloadavg()),
    }


def version(binary: str) -> str:
    """What a program says of itself."""
    return subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
