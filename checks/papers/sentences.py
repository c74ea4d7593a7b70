"""Each sentence of the four papers that says what the system does, with our file, or why it is not built.

    python checks/papers/sentences.py > checks/papers/SENTENCES.md

`sentences.toml` beside a paper's claims has them. A file that is not there is an error.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "python/midpath/papers"
TITLES = {"fcp": "FCP", "inrpp": "INRPP", "mircc": "MIRCC", "rpm": "RPM"}
SCHEMES = "crates/schemes/src/"


def sentences(paper: str) -> list[dict[str, Any]]:
    """What is written down for a paper."""
    return tomllib.loads((PAPERS / paper / "sentences.toml").read_text(encoding="utf-8"))["sentence"]


def wrong(paper: str, root: Path = ROOT) -> Iterator[str]:
    """What a paper's table gets wrong, a line each: a file that is not there, or a line without a file or a reason."""
    for one in sentences(paper):
        if bool(one.get("files")) == bool(one.get("not_built")):
            yield f"{paper}, {one['at']}: has either files or a reason: {one['says']}"
        for name in one.get("files", []):
            if not (root / name).is_file():
                yield f"{paper}, {one['at']}: there is no {name}"


def page() -> str:
    """The whole page."""
    parts = [
        "# What the papers' systems do, sentence by sentence\n\n"
        "Written by `python checks/papers/sentences.py > checks/papers/SENTENCES.md` from the papers'\n"
        "`sentences.toml`.\n"
        f"Files without a folder's name in front are in `{SCHEMES}`.\n"
    ]
    for paper, title in TITLES.items():
        found = sentences(paper)
        built = sum("files" in one for one in found)
        head = "| where | the paper | here |\n|---|---|---|\n"
        parts.append(f"\n## {title}\n\n{built} of {len(found)} are built.\n\n{head}")
        parts.extend(f"| {one['at']} | {one['says'].replace('|', chr(92) + '|')} | {_here(one)} |\n" for one in found)
    return "".join(parts)


def _here(one: dict[str, Any]) -> str:
    if "not_built" in one:
        return f"not built, because {one['not_built']}"
    return ", ".join(f"`{name.removeprefix(SCHEMES)}`" for name in one["files"])


def main() -> None:
    """Prints the page."""
    errors = [line for paper in TITLES for line in wrong(paper)]
    if errors:
        sys.exit("\n".join(errors))
    print(page(), end="")


if __name__ == "__main__":
    main()
