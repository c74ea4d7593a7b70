"""The files that a run's scenario names, sent to remote machines."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from midpath.run.task import Outcome, Task, perform
from midpath.scenario import parse

# Contents by hash.
Bundle = dict[str, bytes]


def bundle_of(task: Task) -> Bundle:
    """The contents of the files that a task names."""
    return {digest: (Path(task.base_dir) / name).read_bytes() for name, digest in task.files.items()}


def perform_away(task: Task, bundle: Bundle) -> Outcome:
    """Runs a task on another machine, in a folder of its own with the files that came along."""
    with tempfile.TemporaryDirectory(prefix="midpath-sweep-") as folder:
        places = {name: _place(name) for name in task.files}
        for name, digest in task.files.items():
            target = Path(folder) / places[name]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(bundle[digest])
        moved = {name: place for name, place in places.items() if place != name}
        text = tomli_w.dumps(_renamed(parse(task.text, task.source), moved)) if moved else task.text
        files = {places[name]: digest for name, digest in task.files.items()}
        return perform(replace(task, base_dir=folder, text=text, files=files, keep=None))


def _place(name: str) -> str:
    """Where a file goes: to the same place, but for one from outside the scenario's folder.

    Files of one folder outside stay together: of Rocketfuel's two files the simulator finds one beside the other.
    """
    path = Path(name)
    if not path.is_absolute() and ".." not in path.parts:
        return name
    folder = hashlib.sha256(str(path.parent).encode()).hexdigest()[:16]
    return f"outside-{folder}/{path.name}"


def _renamed(value: Any, moved: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(inner, moved) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, moved) for inner in value]
    return moved.get(value, value) if isinstance(value, str) else value
