"""Selects the compiled simulator: Midpath's own, or the one with added schemes."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

NAME = "midpath._midpath"
# The extension that `midpath add` builds.
ADDED = "midpath_added"
# Names another folder than the environment's for what was added.
VARIABLE = "MIDPATH_SCHEMES"


def folder() -> Path:
    """Where the sources, the record and the simulator with added schemes are."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(sys.prefix) / "midpath-schemes"


def extension() -> Path:
    """The simulator with added schemes."""
    return folder() / f"{ADDED}.abi3.so"


@dataclass(frozen=True)
class InstalledCrates:
    """What was added: crates by name with their folders, and the build of Midpath that they were compiled with."""

    crates: dict[str, str] = field(default_factory=dict)
    midpath: list[int] = field(default_factory=list)

    @staticmethod
    def read() -> InstalledCrates:
        """The record of this environment; an empty one where nothing was added."""
        file = folder() / "added.json"
        try:
            return InstalledCrates(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return InstalledCrates()
        except (ValueError, TypeError):
            _say(f"cannot read {file}: add your crates again, with `midpath add CRATE...`")
            return InstalledCrates()

    def write(self) -> None:
        """Keeps the record in this environment."""
        new = folder() / "added.json.new"
        new.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        new.replace(folder() / "added.json")


@cache
def build() -> list[int]:
    """What tells builds of Midpath's own simulator apart; asked before another stands in its place."""
    spec = importlib.util.find_spec(NAME)
    if spec is None or spec.origin is None:
        return []
    file = Path(spec.origin).stat()
    return [file.st_size, file.st_mtime_ns]


def load_simulator(path: Path) -> ModuleType:
    """The simulator in a file that `midpath add` has built."""
    spec = importlib.util.spec_from_file_location(ADDED, path)
    assert spec is not None and spec.loader is not None
    outer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(outer)
    module: ModuleType = outer._midpath
    # A module inside another has no file of its own; sweeps tell builds apart by it.
    module.__file__ = str(path)
    return module


def choose() -> None:
    """Puts the simulator where all of Midpath imports it from. To be called before anything does."""
    record = InstalledCrates.read()
    if not record.crates:
        return
    names = ", ".join(record.crates)
    if record.midpath != build():
        _say(f"the simulator with {names} is from another build of Midpath: `midpath add` rebuilds it")
        return
    try:
        sys.modules[NAME] = load_simulator(extension())
    except ImportError as error:
        _say(f"cannot load the simulator with {names} ({error}): `midpath add` rebuilds it")


def _say(sentence: str) -> None:
    """Says why Midpath's own simulator runs: what needs no added scheme goes on."""
    print(f"midpath: {sentence}", file=sys.stderr)
