"""A run's key.

Two runs with one key give the same result. So the key is a hash of all that a result depends on: the scenario with the
point's values in it, the contents of the files that it names, the code of its controllers in Python, scheme, seed, and
the build of the simulator.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from midpath.controller import Packed
from midpath.errors import ScenarioError
from midpath.extension import _midpath
from midpath.scenario import VARIANTS, Scenario, texts

# Of Rocketfuel's two files the simulator reads both, whichever is named (crates/topo/src/spec/source.rs).
TOGETHER = ("weights.intra", "latencies.intra")


@dataclass(frozen=True)
class Named:
    """A file that a scenario names: how it is written there, where it is, and the hash of its contents."""

    text: str
    path: Path
    digest: str


@cache
def build() -> str:
    """The simulator that runs here: its version, and a hash of the compiled extension."""
    extension = _midpath.__file__
    return f"{_midpath.version()} {file_digest(Path(extension))[:16]}" if extension else _midpath.version()


def point_key(scenario: Scenario, files: list[Named]) -> str:
    """A hash of the scenario with its values, and of its files. Comments, order and white space don't count."""
    values = {key: value for key, value in scenario.to_dict().items() if key not in ("scheme", "seed", VARIANTS)}
    return _hash({"scenario": values, "files": {file.text: file.digest for file in files}})


def run_key(point: str, scheme: str, seed: int, controllers: Packed = (), wanted: str = "") -> str:
    """The key of one run of a point, with the controllers in Python that it uses, and what it alone wants of it."""
    own = {name: [code.digests, qualname] for name, code, qualname in controllers}
    named = {"point": point, "scheme": scheme, "seed": seed, "build": build()}
    return _hash(named | ({"controllers": own} if own else {}) | ({"wanted": wanted} if wanted else {}))


def named_files(scenario: Scenario) -> list[Named]:
    """The files that a scenario names.

    A text anywhere in it that is the name of a file counts as one. A title that happens to be the name of a file costs
    at most a run that was not needed.
    """
    found = {}
    for text, key in texts(scenario.to_dict()):
        path = _file(scenario.base_dir, text)
        if path is None:
            continue
        found[text] = _named(text, path, key, scenario)
        for name in TOGETHER:
            beside = path.with_name(name)
            if key == "file" and beside.is_file():
                other = os.path.join(os.path.dirname(text), name)  # noqa: PTH118, PTH120 - as it is written
                found[other] = _named(other, beside, key, scenario)
    return [found[text] for text in sorted(found)]


def digests(scenario: Scenario) -> dict[str, str]:
    """The same as a result keeps it: the hash of each file's contents, by how the scenario writes it."""
    return {file.text: file.digest for file in named_files(scenario)}


def file_digest(path: Path) -> str:
    """The hash of a file's contents, read again only when the file has changed."""
    stat = path.stat()
    return _digest(str(path.absolute()), stat.st_ino, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=1024)
def _digest(path: str, inode: int, changed_ns: int, size: int) -> str:  # noqa: ARG001 - they tell contents apart
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _named(text: str, path: Path, key: str, scenario: Scenario) -> Named:
    try:
        return Named(text, path, file_digest(path))
    except OSError as error:
        raise ScenarioError(key, None, f"cannot read {text}: {error.strerror}", scenario.source) from None


def _file(base_dir: Path, text: str) -> Path | None:
    try:
        path = base_dir / text
        return path if text and path.is_file() else None
    except (OSError, ValueError):
        # Too long, or with a zero byte: no name of a file.
        return None


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
