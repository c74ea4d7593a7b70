"""The three houses of crates: nothing in the first depends on the others.

    python scripts/houses.py              # exit 1 if a crate depends on another house, or is in none
    python scripts/houses.py midpath      # a house's crates, as Cargo's options name them

Dependencies of tests and of builds count. Python's modules are in `[tool.importlinter]`; the third house, evidence, has
no crate.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIRST = "midpath"
# Folders of crates. Examples of crates outside are built on the first house, extensions for Python stand above both.
FOLDERS = {"crates": FIRST, "net": "net", "examples": FIRST, "python": "wheel"}
ABOVE = {"outside-both": "wheel"}


def members() -> list[dict[str, Any]]:
    """The workspace's packages, as Cargo describes them."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return found


def house(package: dict[str, Any]) -> str | None:
    """Where a package is."""
    folder = Path(package["manifest_path"]).parent
    return ABOVE.get(folder.name) or FOLDERS.get(folder.parent.name)


def wrong(packages: list[dict[str, Any]]) -> Iterator[str]:
    """Crates without a house, and dependencies that lead out of the first."""
    houses = {package["name"]: house(package) for package in packages}
    yield from (f"{name} is in no house: see FOLDERS in scripts/houses.py" for name, at in houses.items() if at is None)
    arrows = {(one["name"], need["name"]) for one in packages for need in one["dependencies"]}
    out = {(name, need) for name, need in arrows if houses[name] == FIRST and houses.get(need, FIRST) != FIRST}
    yield from (f"{name} depends on {need}, which is of another house" for name, need in sorted(out))


def main() -> None:
    """Checks the houses, or prints one."""
    packages = members()
    for name in sys.argv[1:]:
        print(" ".join(f"-p {package['name']}" for package in packages if house(package) == name))
        return
    found = list(wrong(packages))
    print("\n".join(found) or "no crate of the first house depends on another house")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
