"""Builds what a release has: the sdist, wheels, packages of the crates, sums and an inventory. `make dist` calls it.

    python scripts/dist.py                     every target that this machine has Rust's library for
    python scripts/dist.py TARGET...           these, by rustc's names
    python scripts/dist.py --no-crates --out DIR

Wheels are of the stable ABI: one for Python 3.11 and all later ones. Zig links those for Linux, against old C
libraries. A target without Rust's library is left out by name: `rustup target add TARGET` brings it. Inside a wheel,
maturin writes an SBOM (CycloneDX) beside the licences.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What each needs of a system: the C library that it is linked against, as maturin says it.
WHEELS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_28",
    "aarch64-unknown-linux-gnu": "manylinux_2_28",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
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
    write_sums(out)
    write_inventory(out, missing)
    for target in missing:
        print(f"left out: {target}: Rust's library for it is not here (rustup target add {target})", file=sys.stderr)
    return 1 if set(missing) & set(given.targets) else 0


def run(*command: str | Path) -> None:
    """A step, in the repository. Maturin finds zig by the Python that comes first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(remaps())}
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, env=os.environ | own)


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


def version() -> str:
    """The workspace's."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def artifacts(out: Path) -> list[Path]:
    """What is given to others, by name."""
    return sorted(file for pattern in ("*.whl", "*.tar.gz", "*.crate") for file in out.glob(pattern))


def write_sums(out: Path) -> None:
    """As `sha256sum --check` reads them."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in artifacts(out)]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")


def write_inventory(out: Path, missing: Iterable[str]) -> None:
    """What was built, of what, with what: for those who want to build the same."""
    about = {
        "version": version(),
        "commit": said("git", "rev-parse", "HEAD"),
        "rustc": said("rustc", "--version"),
        "maturin": said(*MATURIN, "--version"),
        "python": platform.python_version(),
        "left_out": list(missing),
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
