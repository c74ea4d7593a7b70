"""Installs this checkout's package with the extension that `cargo build` has left, as `maturin develop` would.

    cargo build --workspace --lib && .venv/bin/python scripts/editable.py

`maturin develop` builds the extension without the rest of the workspace: dependencies then have other features, and the
simulator is compiled a second time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = {"linux": "lib_midpath.so", "darwin": "lib_midpath.dylib"}


def main() -> None:
    """Puts the extension in its place, and installs a wheel that points there (PEP 660)."""
    extension = ROOT / "python/midpath/_midpath.abi3.so"
    extension.unlink(missing_ok=True)  # a process may have the old one open
    shutil.copyfile(ROOT / "target/debug" / BUILT[sys.platform], extension)
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, "--no-deps", "--force-reinstall", wheel(Path(folder))], check=True)


def wheel(folder: Path) -> Path:
    """A wheel with the package's metadata, its man page and completions, and the path to its files."""
    write = [Path(sys.executable).parent / "maturin", "pep517", "write-dist-info", "--metadata-directory", folder]
    subprocess.run([*write, "--interpreter", sys.executable], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (info,) = folder.glob("*.dist-info")
    files = {f"{info.name}/{path.name}": path.read_text(encoding="utf-8") for path in info.iterdir() if path.is_file()}
    files["midpath.pth"] = f"{ROOT / 'python'}\n"
    shell = ROOT / "python/shell"
    for path in shell.rglob("*"):
        if path.is_file():
            files[f"{info.stem}.data/{path.relative_to(shell).as_posix()}"] = path.read_text(encoding="utf-8")
    files[f"{info.name}/RECORD"] = "".join(f"{name},,\n" for name in files)
    made = folder / f"{info.stem}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made


if __name__ == "__main__":
    main()
