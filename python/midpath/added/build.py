"""`midpath add` and `midpath remove`: compile the simulator with the added crates."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from midpath.added.choose import ADDED, InstalledCrates, build, extension, folder
from midpath.added.crates import LINK, Crate, workspace
from midpath.errors import UsageError
from midpath.extension import _midpath

# Cargo lets a library that Python loads leave Python's own symbols open; on macOS the linker must be told, too.
OPEN_SYMBOLS = "-C link-arg=-undefined -C link-arg=dynamic_lookup"
# Set where a command was started again with the crates that it asks for.
AGAIN = "MIDPATH_STARTED_AGAIN"
# Loads a simulator in a process of its own, for a process keeps what it has loaded.
TRY = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("{ADDED}", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


def add(directories: Iterable[Path], say: Callable[[str], None]) -> list[str]:
    """Adds crates' schemes to this environment, or builds those again that are in it. Returns all crates' names."""
    known = {name: Path(path) for name, path in InstalledCrates.read().crates.items()}
    new = [Crate.read(path) for path in directories]
    for crate in new:
        if known.get(crate.name, crate.path) != crate.path:
            raise UsageError(
                f"{crate.name} is already added from {known[crate.name]}: midpath remove {crate.name} first"
            )
    crates = {crate.name: crate for crate in new}
    crates |= {name: Crate.read(path) for name, path in known.items() if name not in crates}
    if not crates:
        raise UsageError("nothing added yet: name the folder of a crate with a scheme")
    _install([crates[name] for name in sorted(crates)], say)
    return sorted(crates)


def run_with(directories: Iterable[Path], say: Callable[[str], None]) -> None:
    """Adds crates, and starts this command again if the simulator that it runs is not the one that has them."""
    runs, before = _midpath.__file__ == str(extension()), digest(extension())
    # Cargo looks at what has changed, most of the time in a moment.
    add(directories, (lambda _: None) if runs else say)
    if runs and digest(extension()) == before:
        return
    if os.environ.get(AGAIN):
        raise UsageError("the simulator with these crates was built, but this command cannot run it: see above")
    os.execve(sys.executable, [sys.executable, "-m", "midpath", *sys.argv[1:]], os.environ | {AGAIN: "1"})


def digest(file: Path) -> str | None:
    """The hash of a file, if there is one."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def remove(names: Iterable[str], say: Callable[[str], None]) -> list[str]:
    """Takes crates' schemes out of this environment. Returns the names of those that are left."""
    left = dict(InstalledCrates.read().crates)
    for name in names:
        if name not in left:
            raise UsageError(f"{name} was not added; {', '.join(left) or 'nothing'} was")
        link = Path(left.pop(name)) / LINK
        if link.is_symlink():
            link.unlink()
    if left:
        _install([Crate.read(Path(path)) for path in left.values()], say)
    else:
        shutil.rmtree(folder())
    return sorted(left)


def _install(crates: list[Crate], say: Callable[[str], None]) -> None:
    # Midpath itself may change while Cargo works.
    sources, midpath = folder().absolute(), build()
    _write(workspace(crates, sources), sources)
    for crate in crates:
        _link(crate.path / LINK, sources)
    names = " and ".join(crate.name for crate in crates)
    say(f"building the simulator with {names} (minutes the first time)")
    built = _compile(sources, names)
    tried = subprocess.run([sys.executable, "-I", "-S", "-c", TRY, built], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise UsageError(tried.stderr.strip().splitlines()[-1].removeprefix("ImportError: "))
    # Whoever runs the one of before keeps it.
    new = extension().with_suffix(".new")
    shutil.copyfile(built, new)
    new.replace(extension())
    InstalledCrates({crate.name: str(crate.path) for crate in crates}, midpath).write()


def _compile(sources: Path, names: str) -> Path:
    if shutil.which("cargo") is None:
        raise UsageError("cargo not found: your own schemes need Rust 1.88 or newer, https://rustup.rs")
    environment = os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": sys.executable}
    if sys.platform == "darwin":
        environment["RUSTFLAGS"] = f"{environment.get('RUSTFLAGS', '')} {OPEN_SYMBOLS}"
    target = sources / "target"
    command: list[str | Path] = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        ADDED.replace("_", "-"),
        "--target-dir",
        target,
    ]
    if subprocess.run(command, cwd=sources, env=environment, check=False).returncode:
        raise UsageError(f"{names}: does not compile, see above; the previous simulator stays in place")
    return target / "release" / f"lib{ADDED}.{'dylib' if sys.platform == 'darwin' else 'so'}"


def _write(files: dict[str, str], sources: Path) -> None:
    """Writes what has changed, for Cargo builds that again, and removes crates that are no longer there."""
    members = {path.split("/")[1] for path in files if path.startswith("added/")}
    for old in sources.glob("added/*"):
        if old.name not in members:
            shutil.rmtree(old)
    for path, text in files.items():
        target = sources / path
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def _link(link: Path, sources: Path) -> None:
    if link.is_symlink():
        link.unlink()
    if link.exists():
        raise UsageError(f"{link} exists but must be a link to Midpath's sources")
    link.symlink_to(sources, target_is_directory=True)
