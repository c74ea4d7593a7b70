"""Runs a GitHub Action's steps as a runner would."""

import os
import re
import subprocess
import sys

import yaml


def steps(file, inputs, folder, programs=()):
    """Runs them in a folder, with the `midpath` that is tested and other `programs`, by name. Gives the last one's exit
    code, what was said, the summary and the outputs.
    """
    action = yaml.safe_load(file.read_text())
    values = {name: one.get("default", "") for name, one in action["inputs"].items()} | inputs
    assert inputs.keys() <= action["inputs"].keys()

    def fill(text):
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)

    bin_ = folder / "bin"
    bin_.mkdir()
    (bin_ / "midpath").write_text(f'#!/bin/sh\nexec {sys.executable} -m midpath "$@"\n')
    (bin_ / "midpath").chmod(0o755)
    for name, program in dict(programs).items():
        (bin_ / name).symlink_to(program)
    files = {f"GITHUB_{name}": str(folder / name) for name in ("STEP_SUMMARY", "OUTPUT", "PATH")}
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    given = os.environ | files | {"GITHUB_ACTION_PATH": str(file.parent), "PATH": path}
    said = ""
    for step in action["runs"]["steps"]:
        own = {name: fill(text) for name, text in step.get("env", {}).items()}
        command = ["bash", "-euo", "pipefail", "-c", fill(step["run"])]
        done = subprocess.run(command, env=given | own, cwd=folder, capture_output=True, text=True, check=False)
        said += done.stdout + done.stderr
        if done.returncode != 0:
            break
    summary, output = (folder / name for name in ("STEP_SUMMARY", "OUTPUT"))
    read = {path.name: path.read_text() if path.exists() else "" for path in (summary, output)}
    return done.returncode, said, read["STEP_SUMMARY"], read["OUTPUT"]
