"""An external scheme's crate, made from one of our examples and the files in `files`.

The example (`examples/outside-scheme`, `outside-controller` or `outside-aqm`) is compiled and tested with Midpath,
so a new scheme starts with working code. The compiled simulator contains its sources.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import zlib
from importlib.machinery import PathFinder
from importlib.resources import files
from pathlib import Path

from midpath.errors import UsageError
from midpath.extension import _midpath

# Where each file beside the Rust sources goes. A wheel leaves out what a `.gitignore` in it names, hence other names.
BESIDE = {
    "Cargo.toml.in": "Cargo.toml",
    "gitignore": ".gitignore",
    "README.md.in": "README.md",
    "scenario.toml.in": "scenario.toml",
    "test_scheme.py.in": "tests/test_scheme.py",
}
# The examples, by what the command calls them. An AQM has a scenario, a test and a README of its own.
SCHEME, CONTROLLER, AQM = KINDS = ("scheme", "controller", "aqm")
OF_AQM = {
    "README.aqm.md.in": "README.md",
    "scenario.aqm.toml.in": "scenario.toml",
    "test_aqm.py.in": "tests/test_scheme.py",
}
# What stands for the new scheme's name in the examples: as a package, in Rust, in scenarios, as a type; and a tag.
TOKENS = re.compile(
    r"\b(?:outside-(?:scheme|controller|aqm)|outside_(?:scheme|controller|aqm)|aimd|pacer|blue"
    r"|(?:Aimd|Pacer|Blue)(?=Params\b|\b)|TAG: u8 = 64)"
)
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 40
# Words that a scenario has in a scheme's place.
NO_SCHEMES = {"ideal", "none"}
# Names that Rust or Cargo keep for themselves, where Python does not.
WORDS = """
abstract alloc become box build const core crate debug deps do doc dyn enum examples extern final fn impl incremental
let loop macro match midpath mod move mut override priv proc-macro pub ref release self static std struct super test
trait true false type typeof unsafe unsized use virtual where
"""
RUST = set(WORDS.split())


def new_scheme(directory: Path, name: str | None = None, *, kind: str = SCHEME) -> str:
    """Writes the crate into `directory`, which must be new or empty, and returns the scheme's name.

    A `controller` is a congestion controller and nothing else, an `aqm` an AQM: no header, no other end."""
    name = _checked(name or directory.resolve().name)
    _require_empty(directory)
    for path, text in crate(name, kind=kind).items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return name


def crate(name: str, *, kind: str = SCHEME) -> dict[str, str]:
    """The files of the crate: paths in it, and what they hold."""
    beside = files("midpath.new") / "files"
    texts = BESIDE | (OF_AQM if kind == AQM else {})
    found = _example(kind) | {path: (beside / own).read_text(encoding="utf-8") for own, path in texts.items()}
    return {path: _renamed(text, name) for path, text in found.items()}


def _example(kind: str) -> dict[str, str]:
    sources = _midpath.sources()
    example = f"examples/outside-{kind}/"
    return {path.removeprefix(example): text for path, text in sources.items() if path.startswith(example)}


def _renamed(text: str, name: str) -> str:
    stand_for = {
        "outside-": name,
        "outside_": _module(name),
        "aimd": name,
        "pacer": name,
        "blue": name,
        "Aimd": _type(name),
        "Pacer": _type(name),
        "Blue": _type(name),
        "TAG: u8 = 64": f"TAG: u8 = {_tag(name)}",
    }
    return TOKENS.sub(lambda found: stand_for[found[0] if found[0] in stand_for else found[0][:8]], text)


def _tag(name: str) -> int:
    """A header's tag, one of those that outside schemes have, so that two new schemes rarely have the same."""
    return 64 + zlib.crc32(name.encode()) % 64


def _module(name: str) -> str:
    return name.replace("-", "_")


def _type(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _checked(name: str) -> str:
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UsageError(
            f"{name!r} is not a scheme name: write lower-case letters and digits, with single dashes between "
            f"them, at most {LONGEST}, such as my-scheme; choose one with --name"
        )
    if name in _schemes():
        raise UsageError(f"there is a scheme `{name}` already; choose another name with --name")
    if name in RUST or keyword.iskeyword(name):
        raise UsageError(f"`{name}` is a reserved word of Rust, Cargo or Python; choose another name with --name")
    if _module(name) in sys.stdlib_module_names or PathFinder.find_spec(_module(name)):
        raise UsageError(f"there is a Python module `{_module(name)}` already; choose another name with --name")
    if {_module(name), _type(name), f"{_type(name)}Params"} & _words():
        raise UsageError(f"`{name}` is already used in a new scheme's code; choose another name with --name")
    return name


def _schemes() -> set[str]:
    tables = json.loads(_midpath.schema())["properties"]["schemes"]["properties"]
    return {*tables, *NO_SCHEMES}


def _words() -> set[str]:
    """The words of the examples' code, without their own names; the names of packages that they use are among them."""
    texts = [text for kind in KINDS for text in _example(kind).values()]
    text = TOKENS.sub("", "\n".join(texts))
    return {*re.findall(r"\w+", text), *re.findall(r"[\w-]+", text)}


def _require_empty(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; name a new or empty folder")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty; name a new or empty folder")
