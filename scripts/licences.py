"""Writes THIRD_PARTY.txt: what is in a wheel that is not ours, under which licence, with its text.

    python scripts/licences.py            writes THIRD_PARTY.txt
    python scripts/licences.py --check    fails if that would change it, or if a licence is not among those that we take

Crates are those that the extension links, on any platform that wheels are for. Build scripts and macros are not in it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "THIRD_PARTY.txt"
CRATE = "midpath-wheel"
# What may be shipped in a wheel under Apache-2.0. Of a choice, one of them is enough.
TAKEN = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
TEXTS = ("LICENSE-MIT", "LICENSE", "LICENSE.txt", "LICENSE.md", "LICENSE-APACHE", "license-mit", "COPYING", "UNLICENSE")
# What is no crate: where it is, and where its licence stands.
OTHERS = [
    ("plotly.js, basic bundle 3.7.0 (MIT)", "python/midpath/report/assets", "in the bundle's head"),
    ("GEANT and Nobel Germany of topohub 1.5.1 (MIT)", "crates/topo/data", "crates/topo/data/README.md"),
]


def linked() -> list[dict[str, Any]]:
    """The crates of others that the extension links, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [name for name, package in packages.items() if package["name"] == CRATE]
    reached: set[str] = set()
    while waiting:
        one = waiting.pop()
        if one in reached or is_macro(packages[one]):
            continue
        reached.add(one)
        for dep in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in dep["dep_kinds"]):
                waiting.append(dep["pkg"])
    found_here = (packages[name] for name in reached if packages[name]["source"])
    return sorted(found_here, key=lambda one: (one["name"], one["version"]))


def is_macro(package: dict[str, Any]) -> bool:
    """Whether it runs in the compiler only."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def taken(expression: str | None) -> bool:
    """Whether an SPDX expression lets us ship it: each part of an AND, one of an OR."""
    if not expression:
        return False
    bare = expression.replace("/", " OR ").replace("(", " ").replace(")", " ")
    return all(any(choice.strip() in TAKEN for choice in part.split(" OR ")) for part in bare.split(" AND "))


def text_of(package: dict[str, Any]) -> str:
    """The text of its licence, as it is in the crate."""
    folder = Path(package["manifest_path"]).parent
    files = [folder / name for name in TEXTS if (folder / name).is_file()] or sorted(folder.glob("[Ll][Ii][Cc]*"))
    text = next((file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()), "")
    return re.sub(r"[ \t]+$", "", text.strip(), flags=re.MULTILINE)


def page() -> str:
    """The list first, then each text once with the crates that it is of."""
    crates = linked()
    lines = ["What is in Midpath's wheels that is not ours. scripts/licences.py wrote this.", ""]
    lines += [f"{one['name']} {one['version']}: {one['license']}" for one in crates]
    lines += [f"{name}, in {place}: its licence is {where}" for name, place, where in OTHERS]
    texts: dict[str, list[str]] = {}
    for one in crates:
        texts.setdefault(text_of(one), []).append(one["name"])
    for text, names in sorted(texts.items(), key=lambda entry: entry[1]):
        lines += ["", "-" * 100, ", ".join(names), "", text or "(the crate has no text of its licence)"]
    return "\n".join(lines) + "\n"


def refused() -> Iterator[str]:
    """Crates whose licence is not among those that we take."""
    for one in linked():
        if not taken(one["license"]):
            yield f"{one['name']}: {one['license']}"


def main() -> int:
    """Writes the page, or checks it."""
    if wrong := list(refused()):
        print("not among the licences that we take: " + "; ".join(wrong), file=sys.stderr)
        return 1
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
