"""Prints the requirements of this package and of the extras named as arguments, one per line, for pip."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [requirement for extra in sys.argv[1:] for requirement in project["optional-dependencies"][extra]]
print("\n".join([*project["dependencies"], *extras]))
