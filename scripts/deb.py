"""A package for Debian and its kin of `midpathd`: the program, its units for systemd and its manuals.

    python scripts/deb.py target/dist/midpathd dist

The program's symbols are written beside the package; /usr/lib/debug/usr/sbin/midpathd.debug is where debuggers look.
`make dist` calls it. It needs dpkg-deb.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import symbols

ROOT = Path(__file__).parents[1]
FROM = ROOT / "net" / "midpathd" / "dist"
# Where the units look for the program when somebody has built it, and where the package has it.
BUILT, INSTALLED = "/usr/local/sbin/midpathd", "/usr/sbin/midpathd"
MAINTAINER = "The Midpath authors <midpath@localhost>"
# Whatever runs goes on: RPM stays in the kernel while the program is replaced, and is then told again.
SCRIPTS = {
    "postinst": """\
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ -n "$2" ]; then
        systemctl try-restart 'midpathd-node@*' 'midpathd-ndn@*' midpathd-rpm-metrics || true
        systemctl reload 'midpathd-rpm@*' || true
    fi
fi
""",
    "prerm": """\
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl stop 'midpathd-*' || true
fi
""",
    "postrm": """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
""",
}


def version() -> str:
    """The workspace's."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def files(program: bytes) -> Iterator[tuple[str, int, bytes]]:
    """What is installed: where, its mode, its bytes."""
    yield INSTALLED, 0o755, program
    for unit in sorted(FROM.glob("*.service")):
        text = unit.read_text(encoding="utf-8").replace(BUILT, INSTALLED)
        yield f"/usr/lib/systemd/system/{unit.name}", 0o644, text.encode()
    for manual in sorted(FROM.glob("*.8")):
        yield f"/usr/share/man/man8/{manual.name}.gz", 0o644, gzip.compress(manual.read_bytes(), mtime=0)
    for example in sorted(FROM.glob("*.conf")):
        yield f"/usr/share/doc/midpathd/examples/{example.name}", 0o644, example.read_bytes()
    yield "/usr/share/doc/midpathd/copyright", 0o644, (ROOT / "LICENSE").read_bytes()


def needs(program: bytes) -> str:
    """The system's libraries, in the versions that it was linked against; a static one needs none."""
    versions = [tuple(map(int, found.split(b"."))) for found in re.findall(rb"\0GLIBC_([\d.]+)(?=\0)", program)]
    libc = [f"libc6 (>= {'.'.join(map(str, max(versions)))})"] if versions else []
    return ", ".join(libc + (["libgcc-s1"] if b"\0libgcc_s.so.1\0" in program else []))


def control(program: bytes, number: str, installed: int) -> str:
    """The package's description."""
    lines = {
        "Package": "midpathd",
        "Version": number,
        "Architecture": "amd64",
        "Maintainer": MAINTAINER,
        "Installed-Size": -(-installed // 1024),
        "Depends": needs(program),
        "Section": "net",
        "Priority": "optional",
        "Description": "Congestion control mid-path: RPM on routers, nodes of overlays, an NDN forwarder",
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value != "")


def deb(program: Path, out: Path, number: str | None = None) -> list[Path]:
    """Builds it, and says what was written: the package, and the program's symbols."""
    number = number or version()
    name = out / f"midpathd_{number}_amd64"
    package, debug = name.with_name(f"{name.name}.deb"), name.with_name(f"{name.name}.debug")
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "midpathd")
        symbols.split(program, stripped).replace(debug)
        tree = Path(folder, "tree")
        write(tree, stripped.read_bytes(), number)
        # Root's, whoever builds it; dates of the last commit, so that it is the same wherever it is built.
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package]
        dated = subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        epoch = {"SOURCE_DATE_EPOCH": dated.stdout.strip()} if dated.stdout.strip() else {}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | epoch)
    return [package, debug]


def write(tree: Path, program: bytes, number: str) -> None:
    """All of the package as files."""
    sums, size = [], 0
    for path, mode, content in files(program):
        file = tree / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)
        size += len(content)
        sums.append(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {path.lstrip('/')}\n")
    (tree / "etc" / "midpath").mkdir(parents=True)
    about = tree / "DEBIAN"
    about.mkdir()
    (about / "control").write_text(control(program, number, size), encoding="utf-8")
    (about / "md5sums").write_text("".join(sums), encoding="utf-8")
    for name, text in SCRIPTS.items():
        (about / name).write_text(f"#!/bin/sh\nset -e\n{text}", encoding="utf-8")
        (about / name).chmod(0o755)


if __name__ == "__main__":
    print(*deb(Path(sys.argv[1]), Path(sys.argv[2])), sep="\n")
