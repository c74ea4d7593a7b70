"""Prints the requirements of this package and of the extras named as arguments, one per line, for pip.

With `--least` before the extras: each at the least version that pyproject.toml allows.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

names = sys.argv[1:]
least = names[:1] == ["--least"]
if least:
    names = names[1:]
project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def extra(name: str) -> Iterator[str]:
    """An extra's requirements, with those of extras that it takes along."""
    for requirement in project["optional-dependencies"][name]:
        if found := re.fullmatch(r"midpath\[(\w+)\]", requirement):
            yield from extra(found[1])
        else:
            yield requirement


found = "\n".join(dict.fromkeys([*project["dependencies"], *(need for name in names for need in extra(name))]))
print(found.replace(">=", "==") if least else found)
