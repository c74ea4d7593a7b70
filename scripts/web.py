"""Builds the simulator for a browser tab: target/web/midpath.wasm.

    python scripts/web.py             # with rustup's target: rustup target add wasm32-unknown-unknown
    WASM_RUST=/folder python scripts/web.py

`WASM_RUST` names a folder with Debian's packages rustc-web, libstd-rust-web, libstd-rust-web-dev, rust-web-src,
libllvm22 and lld-22, unpacked (`dpkg -x`) rather than installed, where rustup has no such target. Its standard library
is compiled, too. Without either, this says so and exits with 2; the site is then built without the playground.
"""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = "wasm32-unknown-unknown"
OUT = ROOT / "target/web/midpath.wasm"
# Most memory of a run, in bytes: half of what browsers give a tab. crates/sim/src/memory.rs counts on it.
MEMORY = 1 << 30
# Names of functions are a quarter of the file; Cargo's `strip` leaves them.
LINKER = [f"-Clink-arg=--max-memory={MEMORY}", "-Clink-arg=--strip-all"]


def has_target() -> bool:
    """Whether the compiler here has the target's standard library."""
    printed = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=False)
    return printed.returncode == 0 and (Path(printed.stdout.strip()) / "lib/rustlib" / TARGET).is_dir()


def unpacked(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Environment and options for Debian's compiler in a folder."""
    usr = folder.resolve() / "usr"
    environment = {
        "LD_LIBRARY_PATH": str(usr / "lib/x86_64-linux-gnu"),
        "RUSTC": str(usr / "bin/rustc"),
        # `build-std` is not stable: Debian has no compiled standard library for a bare target.
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": str(next(usr.glob("lib/llvm-*/bin/wasm-ld"))),
    }
    return environment, ["-Zbuild-std=std,panic_abort"]


def build() -> Path | None:
    """Builds, and gives the file; None where there is no compiler for it."""
    folder = os.environ.get("WASM_RUST")
    if not folder and not has_target():
        return None
    environment, options = unpacked(Path(folder)) if folder else ({}, [])
    command = ["cargo", "rustc", "--package", "midpath-web", "--lib", "--crate-type", "cdylib", "--profile", "web"]
    command += ["--target", TARGET, *options, "--", *LINKER]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(target / TARGET / "web/midpath_web.wasm", OUT)
    return OUT


def main() -> None:
    """Builds, and says how large it is."""
    built = build()
    if built is None:
        print(f"no compiler for {TARGET} here: rustup target add {TARGET}, or see the head of scripts/web.py")
        sys.exit(2)
    bytes_ = built.read_bytes()
    print(
        f"{built.relative_to(ROOT)}: {len(bytes_) / 1e6:.2f} MB, {len(gzip.compress(bytes_, 9)) / 1e6:.2f} MB gzipped"
    )


if __name__ == "__main__":
    main()
