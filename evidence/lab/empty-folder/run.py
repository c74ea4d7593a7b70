"""Follows the pages to the letter as a reader does who has Midpath's wheel, an empty folder, and no checkout.

    python evidence/lab/empty-folder/run.py > evidence/lab/empty-folder/RESULTS.md
    python evidence/lab/empty-folder/run.py --keep DIR     also keeps the reports that the pages led to, in DIR

Builds the wheel, installs it into a new environment in an empty folder, and follows each page there. Takes as long as
compiling the simulator twice: once for the wheel, if it is not built, and once for the new scheme.
"""

import argparse
import datetime
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import built

ROOT = Path(__file__).parents[3]
# The last one compiles and tests a crate of the reader's.
PAGES = ["docs/tutorial.md", "docs/operator.md", "docs/what-if.md", "docs/add-a-scheme.md"]
LIMIT_S = 3600
# Commands of a page that take as long have a row of their own.
LONG_S = 20
HEAD = """# From an empty folder

`python evidence/lab/empty-folder/run.py` installs the wheel into a new environment, where no checkout is in reach, and
follows each page to the letter: it writes the files that the page shows, gives its commands, and compares what they
print.

Version {version} of commit {commit}, {date}, Python {python}, {cores} cores.

| step | time (s) | CPU time (s) | outcome |
|---|---|---|---|"""


def main() -> int:
    """Prints a row for each step, and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path)
    keep = parser.parse_args().keep
    wrong: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="midpath-empty-") as name:
        folder = Path(name)
        environment = os.environ | {"HOME": str(folder), **_toolchains()}
        environment.pop("PYTHONPATH", None)
        start = _start()
        wheel = built.wheel(folder / "wheel")
        print(_head(wheel), flush=True)
        _row("the wheel is built", start, f"{wheel.stat().st_size / 1e6:.1f} MB")
        start = _start()
        python = _install(wheel, folder, environment)
        _row("it is installed into a new environment", start, "with `[plots]`")
        # The pages and their follower are copied: what they name of the checkout is not there.
        shutil.copy(ROOT / "scripts" / "follow.py", folder)
        for page in PAGES:
            start = _start()
            done = _followed(python, folder, page, environment)
            _row(f"{page} is followed", start, "something else was printed" if done.returncode else "to the letter")
            for seconds, command in (line.split("\t") for line in done.stdout.splitlines() if "\t" in line):
                if float(seconds) >= LONG_S:
                    print(f"| – of that `{command}` | {float(seconds):.0f} | | |", flush=True)
            if done.returncode:
                wrong[page] = done.stdout + done.stderr
            if keep:
                _keep(folder / Path(page).stem, keep)
    print(f"\n{len(PAGES) - len(wrong)} of {len(PAGES)} pages were followed to the letter.")
    for page, text in wrong.items():
        print(f"\n{page}:\n\n```text\n{text}```")
    return 1 if wrong else 0


def _head(wheel: Path) -> str:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return HEAD.format(
        version=wheel.name.split("-")[1],
        commit=commit.stdout.strip(),
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        python=platform.python_version(),
        cores=os.cpu_count(),
    )


def _toolchains() -> dict[str, str]:
    """Where Rust is, whose tools look for it at home."""
    usual = {"CARGO_HOME": Path.home() / ".cargo", "RUSTUP_HOME": Path.home() / ".rustup"}
    return {name: os.environ.get(name, str(folder)) for name, folder in usual.items()}


def _start() -> tuple[float, float]:
    return time.monotonic(), _cpu_s()


def _row(says: str, start: tuple[float, float], outcome: str) -> None:
    since, before = start
    print(f"| {says} | {time.monotonic() - since:.0f} | {_cpu_s() - before:.0f} | {outcome} |", flush=True)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _install(wheel: Path, folder: Path, environment: dict[str, str]) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    # The tutorial draws a figure with matplotlib.
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[plots]"]
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=sys.stderr)
    return python


def _followed(python: Path, folder: Path, page: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    copy, own = folder / Path(page).name, folder / Path(page).stem
    shutil.copy(ROOT / page, copy)
    own.mkdir()
    command = [python, folder / "follow.py", copy, "--limit", str(LIMIT_S), "--times", "--folder", own]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _keep(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    for report in folder.rglob("report.html"):
        name = "-".join((folder.name, *report.relative_to(folder).parent.parts))
        shutil.copy(report, keep / f"{name}.html")


if __name__ == "__main__":
    sys.exit(main())
