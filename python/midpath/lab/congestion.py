"""Congestion controls of this kernel, and DCTCP as eBPF if the kernel lacks it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from midpath.errors import UsageError

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Which of them a namespace may make its default is decided for the whole machine.
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
# Our names and the kernel's.
KERNEL = {"cubic": "cubic", "newreno": "reno", "bbr": "bbr", "dctcp": "dctcp"}
# The name under which net/ebpf/bpf/dctcp.bpf.c registers.
OURS = "midpath_dctcp"


def available() -> set[str]:
    """What the kernel has now, by its own names."""
    return set(AVAILABLE.read_text().split()) if AVAILABLE.exists() else set()


@contextmanager
def allowed(control: str) -> Iterator[None]:
    """Lets namespaces take a congestion control for their own, if we may."""
    before = ALLOWED.read_text()
    try:
        ALLOWED.write_text(" ".join(dict.fromkeys([*before.split(), control])))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        ALLOWED.write_text(before)


@contextmanager
def controls(wanted: list[str], midpath_lab: str, key: str = "--cc") -> Iterator[dict[str, str]]:
    """The kernel's names for congestion controls, while the block runs; `key` is where they were asked for."""
    unknown = [name for name in wanted if name not in KERNEL]
    if unknown:
        raise UsageError(f"{key} {unknown[0]}: there are {', '.join(KERNEL)}")
    names = {name: KERNEL[name] for name in wanted}
    lacking = [name for name in wanted if names[name] not in available()]
    if lacking and lacking != ["dctcp"]:
        raise UsageError(f"{key} {lacking[0]}: this kernel has no {names[lacking[0]]}")
    if not lacking:
        yield names
        return
    number = register_dctcp(midpath_lab, key)
    try:
        yield names | {"dctcp": OURS}
    finally:
        if number is not None:
            subprocess.run(["bpftool", "struct_ops", "unregister", "id", number], check=False, capture_output=True)


def register_dctcp(midpath_lab: str, key: str) -> str | None:
    """Gives the kernel DCTCP by struct_ops; its number, or `None` if somebody else has done it."""
    if OURS in available():
        return None
    if shutil.which("bpftool") is None:
        raise UsageError(f"{key} dctcp: this kernel has none, and bpftool is not installed to load it")
    compiled = subprocess.run([midpath_lab, "dctcp"], check=False, capture_output=True)
    if compiled.returncode != 0:
        raise UsageError(f"{key} dctcp: {compiled.stderr.decode().strip()}")
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(compiled.stdout)
        file.flush()
        done = subprocess.run(
            ["bpftool", "struct_ops", "register", file.name], check=False, capture_output=True, text=True
        )
    # "Registered tcp_congestion_ops midpath_dctcp id 345", on one stream or the other.
    said = " ".join((done.stdout + done.stderr).split())
    number = re.search(rf"Registered .*{OURS} id (\d+)", said)
    if number is None or OURS not in available():
        raise UsageError(f"{key} dctcp: the kernel rejects it: {said}")
    return number[1]
