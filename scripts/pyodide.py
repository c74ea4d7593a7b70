"""Builds a wheel for Pyodide, Python in a browser: target/pyodide/midpath-….whl.

    rustup target add wasm32-unknown-emscripten
    python scripts/pyodide.py

An extension is a side module there: the main one has Emscripten's libraries, so none of them is linked. What rustc asks
of Emscripten's compiler, the linker that rustup ships can do (`--link`); Emscripten is not needed. The module has no
NDN: Python in a browser has no sockets.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import dist

TARGET = "wasm32-unknown-emscripten"
# Pyodide 314: Python 3.14 and the version of Emscripten that its ABI names.
# https://pyodide.org/en/stable/development/abi.html
PYODIDE, ABI, PYTHON, EMSCRIPTEN = "314.0.7", "2026_0", "3.14", "5.0.3"
OUT = dist.ROOT / "target/pyodide"


def link(asked: list[str]) -> int:
    """What rustc asks of `emcc`."""
    if asked == ["-dumpversion"]:
        print(EMSCRIPTEN)
        return 0
    exported: list[str] = []
    inputs: list[str] = []
    out = ""
    words = iter(asked)
    for word in words:
        if word == "-s":
            key, _, value = next(words).partition("=")
            exported += json.loads(value) if key == "EXPORTED_FUNCTIONS" else []
        elif word == "-o":
            out = next(words)
        elif word in ("-l", "-L"):
            next(words)
        elif word.endswith((".o", ".rlib", ".a")):
            inputs.append(word)
    lld = next(Path(dist.said("rustc", "--print", "sysroot")).glob("lib/rustlib/*/bin/rust-lld"))
    command = [lld, "-flavor", "wasm", "-shared", "--experimental-pic", "--unresolved-symbols=import-dynamic"]
    command += ["--gc-sections", "--strip-all", *(f"--export={name.removeprefix('_')}" for name in exported)]
    return subprocess.run([*command, *inputs, "-o", out], check=False).returncode


def build() -> Path:
    """The wheel."""
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.whl"):
        old.unlink()
    emcc = OUT / "bin/emcc"
    emcc.parent.mkdir(exist_ok=True)
    emcc.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} --link "$@"\n', encoding="utf-8")
    emcc.chmod(0o755)
    environment = {
        # libc's build asks `emcc` for its version.
        "PATH": f"{emcc.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": str(emcc),
        "PYO3_CROSS_PYTHON_VERSION": PYTHON,
        "MATURIN_PYEMSCRIPTEN_PLATFORM_VERSION": ABI,
    }
    command = [*dist.MATURIN, "build", "--profile", "web", "--quiet", "--locked", "--target", TARGET, "--out", OUT]
    dist.run(*command, also=environment)
    (made,) = OUT.glob("*.whl")
    return made


def main() -> None:
    """Builds, and says where the wheel is."""
    if sys.argv[1:2] == ["--link"]:
        sys.exit(link(sys.argv[2:]))
    if TARGET not in dist.installed_targets():
        print(f"no library of Rust's for {TARGET} here: rustup target add {TARGET}")
        sys.exit(2)
    print(build())


if __name__ == "__main__":
    main()
