"""Copies a program without its symbols, and these beside it: a debugger and a panic's backtrace find them there.

    python scripts/symbols.py target/dist/midpathd .venv/bin/midpathd     also writes .venv/bin/midpathd.debug

Line tables are nine tenths of what the linker writes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def objcopy() -> str:
    """The system's, or the one that comes with Rust."""
    root = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    found = shutil.which("objcopy") or next(map(str, Path(root).glob("lib/rustlib/*/bin/rust-objcopy")), None)
    if found is None:
        raise SystemExit("programs are copied without symbols by objcopy: apt-get install binutils")
    return found


def split(program: Path, copy: Path, tool: str | None = None) -> Path:
    """Writes `copy` and its symbols, and says where these are. A copy that runs meanwhile goes on running."""
    symbols, fresh = copy.with_name(f"{copy.name}.debug"), copy.with_name(f".{copy.name}.new")
    tool = tool or objcopy()
    subprocess.run([tool, "--only-keep-debug", program, symbols], check=True)
    symbols.chmod(0o644)
    # Where it is run from says by its name where the symbols are: beside it.
    subprocess.run([tool, "--strip-all", f"--add-gnu-debuglink={symbols}", program, fresh], check=True)
    fresh.replace(copy)
    return symbols


if __name__ == "__main__":
    split(*map(Path, sys.argv[1:]))
