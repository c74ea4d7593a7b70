"""Compiles RPM's P4 programs for bmv2: `python scripts/p4_compile.py`.

Needs p4c's `p4c-bm2-ss` on the path, or its name in MIDPATH_P4C, and p4c's `p4include` beside it, or in
MIDPATH_P4INCLUDE. What is written is p4c's JSON without the places in the source, with the sources' hashes, so that
tests can tell whether it is of these sources.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.parent / "net" / "p4"
PROGRAMS = ("rpm_events", "rpm_switch")


def sources(path: Path, found: dict[str, str] | None = None) -> dict[str, str]:
    """A program's files with their SHA-256, by their path from `p4/` on."""
    found = {} if found is None else found
    text = path.read_text(encoding="utf-8")
    found[path.relative_to(HERE / "p4").as_posix()] = hashlib.sha256(text.encode()).hexdigest()
    for included in re.findall(r'^#include "(.+)"', text, re.MULTILINE):
        file = (path.parent / included).resolve()
        if file.relative_to(HERE.resolve() / "p4").as_posix() not in found:
            sources(HERE / "p4" / file.relative_to(HERE.resolve() / "p4"), found)
    return dict(sorted(found.items()))


def without_places(value: object) -> object:
    """The same without `source_info`."""
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in value.items() if key != "source_info"}
    if isinstance(value, list):
        return [without_places(item) for item in value]
    return value


def compiled(name: str) -> dict:
    """What p4c makes of a program."""
    compiler = os.environ.get("MIDPATH_P4C", "p4c-bm2-ss")
    include = os.environ.get("MIDPATH_P4INCLUDE")
    path = HERE / "p4" / f"{name}.p4"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        flags = ["-I", include] if include else []
        subprocess.run([compiler, *flags, "-o", str(out), str(path)], check=True)
        program = json.loads(out.read_text(encoding="utf-8"))
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    release = re.search(r"Version (\d+(\.\d+)+)", version.stdout + version.stderr)
    program["program"] = f"{name}.p4"
    program["midpath"] = {"p4c": release.group(1) if release else "", "sources": sources(path)}
    return without_places(program)


def text(program: dict) -> str:
    """JSON with a line for each item of the program's lists."""
    lines = []
    for key, value in program.items():
        if isinstance(value, list) and value:
            items = ",\n".join(json.dumps(item, separators=(",", ":")) for item in value)
            lines.append(f"{json.dumps(key)}:[\n{items}\n]")
        else:
            lines.append(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Writes all programs, or into the folder that is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "compiled"
    for name in PROGRAMS:
        (folder / f"{name}.json").write_text(text(compiled(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
