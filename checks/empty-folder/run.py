"""Follows the pages to the letter as a reader does who has Midpath's wheel, an empty folder, and no checkout.

    python checks/empty-folder/run.py > checks/empty-folder/RESULTS.txt

Builds the wheel, installs it into a new environment in an empty folder, and follows each page there. Takes as long as
compiling the simulator twice: once for the wheel, if it is not built, and once for the new scheme.
"""

import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The last one compiles and tests a crate of the reader's.
PAGES = ["docs/tutorial.md", "docs/operator.md", "docs/what-if.md", "docs/add-a-scheme.md"]
LIMIT_S = 3600


def main() -> int:
    """Prints a line for each step, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="midpath-empty-") as name:
        folder = Path(name)
        environment = os.environ | {"HOME": str(folder), **_toolchains()}
        environment.pop("PYTHONPATH", None)
        wheel = _step("the wheel is built", lambda: _wheel(folder))
        print(f"    {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        python = _step("it is installed into a new environment", lambda: _install(wheel, folder, environment))
        # The pages and their follower are copied: what they name of the checkout is not there.
        shutil.copy(ROOT / "scripts" / "follow.py", folder)
        good = [_followed(python, folder, page, environment) for page in PAGES if (ROOT / page).is_file()]
    print(f"{sum(good)} of {len(good)} pages followed to the letter, with Python {platform.python_version()}")
    return 0 if all(good) else 1


def _toolchains() -> dict[str, str]:
    """Where Rust is, whose tools look for it at home."""
    usual = {"CARGO_HOME": Path.home() / ".cargo", "RUSTUP_HOME": Path.home() / ".rustup"}
    return {name: os.environ.get(name, str(folder)) for name, folder in usual.items()}


def _step(says, act):
    start, before = time.monotonic(), _cpu_s()
    found = act()
    print(f"{says}: {time.monotonic() - start:.0f} s, {_cpu_s() - before:.0f} s of CPU time", flush=True)
    return found


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wheel(folder: Path) -> Path:
    out = folder / "wheel"
    maturin = shutil.which("maturin", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    subprocess.run([maturin, "build", "--release", "--quiet", "--out", out], cwd=ROOT, check=True, stdout=sys.stderr)
    (wheel,) = out.glob("*.whl")
    return wheel


def _install(wheel: Path, folder: Path, environment: dict[str, str]) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    # The tutorial draws a figure with matplotlib.
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[plots]"]
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=sys.stderr)
    return python


def _followed(python: Path, folder: Path, page: str, environment: dict[str, str]) -> bool:
    copy = folder / Path(page).name
    shutil.copy(ROOT / page, copy)
    command = [python, folder / "follow.py", copy, "--limit", str(LIMIT_S)]
    done = _step(
        f"{page} is followed",
        lambda: subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False),
    )
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
