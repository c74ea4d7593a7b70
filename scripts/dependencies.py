"""Prints the requirements of this package and of the extras named as arguments, one per line, for pip.

With `--least` before the extras: each at the least version that pyproject.toml allows.
"""

import sys
import tomllib
from pathlib import Path

names = sys.argv[1:]
least = names[:1] == ["--least"]
if least:
    names = names[1:]
project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [requirement for extra in names for requirement in project["optional-dependencies"][extra]]
found = "\n".join([*project["dependencies"], *extras])
print(found.replace(">=", "==") if least else found)
