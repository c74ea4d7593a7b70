"""Runs the Python tests with the oldest versions that pyproject.toml allows of what Midpath needs.

    python checks/floors/run.py [PYTEST ARGUMENTS] > checks/floors/RESULTS.txt

`make test` runs them with the newest. Here each `>=` of a package that users need is an `==`. Other tools are the newest.
Warnings are no errors here: old versions warn of what later ones have changed. The extension of this
checkout is used (`make setup`). Left out: the laboratory, and what only compiles or follows pages.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = ("plots", "cluster", "slurm")
TOOLS = ["pytest", "hypothesis", "jsonschema", "pyroute2", "python-ndn"]
LEFT_OUT = ["test_lab.py", "test_lab_router.py", "test_new.py", "test_follow.py"]
# Dask is distributed's other half, and of the same version.
TOGETHER = {"distributed": "dask"}


def main() -> int:
    """Prints the versions, and what pytest says at its end."""
    pinned = floors()
    print("with " + ", ".join(pinned))
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        python = Path(name) / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([*install, *pinned, *TOOLS], check=True, stdout=sys.stderr)
        ignored = [f"--ignore=tests/python/{file}" for file in LEFT_OUT]
        command = [python, "-m", "pytest", "-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider", *ignored]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(
            [*command, *sys.argv[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print("\n".join([*failed, *done.stdout.splitlines()[-1:]]))
    return done.returncode


def floors() -> list[str]:
    """The oldest versions that are allowed, as requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(w for extra in EXTRAS for w in project["optional-dependencies"][extra])]
    pinned = [requirement.replace(">=", "==") for requirement in wanted]
    split = (requirement.partition("==") for requirement in pinned)
    others = [f"{TOGETHER[name]}=={version}" for name, _, version in split if name in TOGETHER]
    return pinned + others


if __name__ == "__main__":
    sys.exit(main())
