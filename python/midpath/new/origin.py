"""What a scheme's crate has of the Midpath that made it: its Rust sources, and its Python package in `.venv`.

`python -m midpath.new DIRECTORY` sets both up, or brings them up to date. The crate's `make setup` runs it.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import tomli_w

import midpath
from midpath import _midpath
from midpath.errors import UsageError

FOLDER = ".midpath"
# Says which Python has the Midpath that a crate belongs to: in the crate, and in the crate's environment.
ORIGIN = f"{FOLDER}/python"
IN_ENVIRONMENT = "midpath-python"
# Changes when the sources do, so that `make` knows.
STAMP = f"{FOLDER}/stamp"

COMMAND = """#!{python}
import sys

from midpath.cli import run_main

sys.exit(run_main())
"""


def origin() -> str:
    """The Python that has Midpath; in the environment of another scheme, the one that this had it from."""
    note = Path(sys.prefix) / IN_ENVIRONMENT
    return note.read_text(encoding="utf-8").strip() if note.is_file() else sys.executable


def connect(directory: Path) -> None:
    """Gives a scheme's crate the Rust sources of this Midpath, and an environment that sees its Python package."""
    environment = directory / ".venv"
    if Path(sys.prefix).resolve() == environment.resolve():
        raise UsageError("this is the crate's own Python; name Midpath's: make setup MIDPATH=PATH/bin/python")
    if write_sources(directory / FOLDER):
        (directory / STAMP).touch()
    (directory / ORIGIN).write_text(f"{origin()}\n", encoding="utf-8")
    _make_environment(environment)


def write_sources(directory: Path) -> bool:
    """Writes the Rust sources, as a workspace; returns whether any file has changed. Cargo builds again what has."""
    wanted = _midpath.sources()
    wanted["Cargo.toml"] = _workspace(wanted["Cargo.toml"])
    changed = [path for path, text in wanted.items() if _held(directory / path) != text]
    for path in changed:
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(wanted[path], encoding="utf-8")
    return bool(changed)


def _workspace(text: str) -> str:
    """Midpath's workspace with the crates alone that a scheme needs."""
    manifest = tomllib.loads(text)
    workspace = {key: value for key, value in manifest["workspace"].items() if key != "exclude"}
    return tomli_w.dumps(manifest | {"workspace": workspace | {"members": ["crates/*"]}})


def _held(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _make_environment(environment: Path) -> None:
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (environment / IN_ENVIRONMENT).write_text(f"{origin()}\n", encoding="utf-8")
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [f"import site; site.addsitedir({folder!r})" for folder in _package_folders()]
    (Path(found.stdout.strip()) / "midpath-origin.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = environment / "bin" / "midpath"
    command.write_text(COMMAND.format(python=python.absolute()), encoding="utf-8")
    command.chmod(0o755)


def _package_folders() -> list[str]:
    """Where Midpath and the packages that it needs are."""
    here = Path(midpath.__file__).parent.parent
    packages = (Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages"))
    return list(dict.fromkeys(str(folder.absolute()) for folder in (here, *packages)))
