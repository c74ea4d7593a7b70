"""Builds what a release has: the sdist, wheels, packages of the crates, the daemon, sums and an inventory.

`make dist` calls it.

    python scripts/dist.py                     every target that this machine has Rust's library for
    python scripts/dist.py TARGET...           these, by rustc's names
    python scripts/dist.py --no-crates --no-daemon --out DIR

Wheels are of the stable ABI: one for Python 3.11 and all later ones. Zig links those for Linux, against old C
libraries. A target without Rust's library is left out by name: `rustup target add TARGET` brings it. Inside a wheel,
maturin writes an SBOM (CycloneDX) beside the licences. The daemon is a package for Debian (needs dpkg-deb), and one
static program (needs clang and Rust's library for musl), each with its symbols beside it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import deb
import symbols

ROOT = Path(__file__).parents[1]
# What each needs of a system: the C library that it is linked against, as maturin says it.
WHEELS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_28",
    "aarch64-unknown-linux-gnu": "manylinux_2_28",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
# The daemon as a program that needs no library.
STATIC = "x86_64-unknown-linux-musl"
MATURIN = (sys.executable, "-m", "maturin")
# A crate of ours in an SBOM, by where it lay: path+file:///…/crates/core#midpath-core@0.1.0.
PLACE = re.compile(rb"path\+file://[^\"#]*#([^\"]*)")
SUMS, INVENTORY = "SHA256SUMS", "inventory.json"


def main() -> int:
    """Builds, and says what was left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--no-crates", action="store_true")
    parser.add_argument("--no-daemon", action="store_true")
    given = parser.parse_args()
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    for old in artifacts(out):
        old.unlink()
    here = installed_targets()
    wanted = given.targets or list(WHEELS)
    missing = [target for target in wanted if target not in here]
    run(*MATURIN, "sdist", "--out", out)
    for target in wanted:
        if target not in missing:
            wheel(target, out)
    if not given.no_crates:
        crates(out)
    left_out = {target: f"Rust's library for it is not here (rustup target add {target})" for target in missing}
    if not given.no_daemon:
        left_out |= daemon(out, here)
    write_sums(out)
    write_inventory(out, left_out)
    for what, why in left_out.items():
        print(f"left out: {what}: {why}", file=sys.stderr)
    return 1 if set(missing) & set(given.targets) else 0


def run(*command: str | Path, also: Mapping[str, str] = MappingProxyType({})) -> None:
    """A step, in the repository. Maturin finds zig by the Python that comes first. `also`: for its environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(remaps())}
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, env=os.environ | own | dict(also))


def remaps() -> list[str]:
    """What keeps this machine's folders out of what is built."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    return [f"--remap-path-prefix={ROOT}=midpath", f"--remap-path-prefix={cargo}=cargo"]


def without_places(wheel: Path) -> None:
    """Rewrites a wheel whose SBOM names this machine's folders: a crate of ours is known by its name."""
    with zipfile.ZipFile(wheel) as opened:
        members = [(entry, opened.read(entry)) for entry in opened.infolist()]
    names = {
        entry.filename: PLACE.sub(rb"pkg:cargo/\1", data) for entry, data in members if "/sboms/" in entry.filename
    }
    rows = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as written:
        for entry, data in members:
            if entry.filename.endswith(".dist-info/RECORD"):
                record = entry
                rows = data.decode().splitlines()
                continue
            written.writestr(entry, names.get(entry.filename, data))
        for name, data in names.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            rows = [f"{name},sha256={digest},{len(data)}" if row.startswith(f"{name},") else row for row in rows]
        written.writestr(record, "\n".join(rows) + "\n")


def wheel(target: str, out: Path) -> None:
    """One wheel. What is not for Linux is built as that system does."""
    command: list[str | Path] = [
        *MATURIN,
        "build",
        "--release",
        "--quiet",
        "--locked",
        "--target",
        target,
        "--out",
        out,
    ]
    if target in WHEELS:
        command += ["--zig", "--compatibility", WHEELS[target]]
    before = set(artifacts(out))
    run(*command)
    for made in set(artifacts(out)) - before:
        without_places(made)


def daemon(out: Path, here: set[str]) -> dict[str, str]:
    """`midpathd` as a package and as one static program; what could not be built, and why."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return {"midpathd": "it is built on Linux on x86-64"}
    left_out = {}
    if shutil.which("dpkg-deb") is None:
        left_out["midpathd.deb"] = "dpkg-deb is not here"
    else:
        deb.deb(midpathd(), out)
    if STATIC not in here:
        left_out["midpathd, static"] = f"Rust's library for it is not here (rustup target add {STATIC})"
    elif shutil.which("clang") is None:
        left_out["midpathd, static"] = "clang is not here"
    else:
        symbols.split(midpathd(STATIC), out / f"midpathd-{version()}-{STATIC}")
    return left_out


def midpathd(target: str | None = None) -> Path:
    """Builds it; where it is. For musl its C is compiled by clang, with the headers of this machine's C library."""
    where = [*(["--target", target] if target else [])]
    name = str(target).upper().replace("-", "_")
    compiler = {
        f"CARGO_TARGET_{name}_LINKER": "rust-lld",
        f"CC_{target}": "clang",
        f"CFLAGS_{target}": f"-idirafter /usr/include/{platform.machine()}-linux-gnu",
    }
    command = ["cargo", "build", "--profile", "dist", "--quiet", "--locked", "-p", "midpathd", *where]
    run(*command, also=compiler if target else {})
    return Path(metadata()["target_directory"], *([target] if target else []), "dist", "midpathd")


def installed_targets() -> set[str]:
    """The targets that Rust's library is here for."""
    root = said("rustc", "--print", "sysroot")
    return {path.parent.name for path in Path(root, "lib", "rustlib").glob("*/lib") if any(path.glob("libstd-*"))}


@cache
def metadata() -> dict[str, Any]:
    """What cargo says of the workspace."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return found


def published() -> list[str]:
    """The crates that may be published."""
    return [package["name"] for package in metadata()["packages"] if package["publish"] is None]


def crates(out: Path) -> None:
    """The crates as they would be published; each is compiled from its package."""
    names, number = published(), version()
    run("cargo", "package", "--allow-dirty", *(part for name in names for part in ("-p", name)))
    for name in names:
        file = Path(metadata()["target_directory"], "package", f"{name}-{number}.crate")
        (out / file.name).write_bytes(file.read_bytes())


version = deb.version


def artifacts(out: Path) -> list[Path]:
    """What is given to others, by name."""
    patterns = ("*.whl", "*.tar.gz", "*.crate", "midpathd[-_]*")
    return sorted(file for pattern in patterns for file in out.glob(pattern))


def write_sums(out: Path) -> None:
    """As `sha256sum --check` reads them."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in artifacts(out)]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")


def write_inventory(out: Path, left_out: Iterable[str]) -> None:
    """What was built, of what, with what: for those who want to build the same."""
    about = {
        "version": version(),
        "commit": said("git", "rev-parse", "HEAD"),
        "rustc": said("rustc", "--version"),
        "maturin": said(*MATURIN, "--version"),
        "python": platform.python_version(),
        "left_out": list(left_out),
        "files": [dict(described(file)) for file in artifacts(out)],
    }
    (out / INVENTORY).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def described(file: Path) -> Iterator[tuple[str, Any]]:
    """A file's size; of a wheel also what it takes when it is installed."""
    yield "name", file.name
    yield "bytes", file.stat().st_size
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as opened:
            yield "installed_bytes", sum(entry.file_size for entry in opened.infolist())


def said(*command: str) -> str:
    """The first line of what a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip().splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
