"""Finds and removes leftovers of killed laboratories."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

SPACES = Path("/run/netns")
NAME = re.compile(r"midpath-(\d+)\.(\d+)-")
# In /proc/PID/stat behind the name: when the process started, in ticks since boot (proc(5), field 22).
START = 19


def stem() -> str:
    """What the names of this process's namespaces begin with. A process that has only its number is another one."""
    return f"midpath-{os.getpid()}.{started(os.getpid())}"


def started(process: int) -> int | None:
    """When a process started; `None` if there is none."""
    try:
        said = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    return int(said.rpartition(")")[2].split()[START])


def left() -> list[Path]:
    """Namespaces of laboratories whose process is gone."""
    return _of_the_gone(SPACES)


def left_folders() -> list[Path]:
    """Directories of guests whose laboratory is gone."""
    return _of_the_gone(Path(tempfile.gettempdir()))


def _of_the_gone(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    found = []
    for path in sorted(place.iterdir()):
        match = NAME.match(path.name)
        if match and started(int(match[1])) != int(match[2]):
            found.append(path)
    return found


def clean() -> list[str]:
    """Takes them away, and ends what runs in them; the names of what was there."""
    spaces, folders = left(), left_folders()
    inodes = set()
    for path in spaces:
        with contextlib.suppress(OSError):
            inodes.add(path.stat().st_ino)
    for process in _inside(inodes):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    for path in spaces:
        subprocess.run(["ip", "netns", "delete", path.name], check=False, capture_output=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return [path.name for path in [*spaces, *folders]]


def _inside(inodes: set[int]) -> list[int]:
    """Processes that have a thread in one of these namespaces."""
    found = []
    for tasks in Path("/proc").glob("[0-9]*/task"):
        with contextlib.suppress(OSError):
            if any((task / "ns" / "net").stat().st_ino in inodes for task in tasks.iterdir()):
                found.append(int(tasks.parent.name))
    return [process for process in found if process != os.getpid()]
