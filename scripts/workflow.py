"""Runs what a workflow runs, step by step, in this checkout; what comes from actions (a checkout, Python) is here.

python scripts/workflow.py site
"""

import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github/workflows"


def steps(name: str) -> list[str]:
    """The commands of a workflow, in order."""
    jobs = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def main() -> None:
    """Runs them as GitHub's runners do; ends with the first that fails."""
    for command in steps(sys.argv[1]):
        print(f"$ {command}", flush=True)
        began = time.monotonic()
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", command], cwd=ROOT, check=False)
        print(f"{done.returncode} after {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode:
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
