"""Writes pages' lists of what the code has: schemes in docs/index.md, columns in docs/results.md, Python's layers in
crates/README.md.

python scripts/lists.py            writes them
python scripts/lists.py --check    fails if that would change one

A list begins after `<!-- NAME -->` and ends before `<!-- end -->`. The site's menu has the same pages of schemes.

The page of a folder or file of schemes is that of its name in docs/schemes, else the folder's README.md.
"""

import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from midpath import markdown
from midpath.schemes import shipped
from midpath.tables import columns

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / place for place in ("docs/index.md", "docs/results.md", "docs/workloads.md", "crates/README.md")]
FOLDERS = ROOT / "crates" / "schemes" / "src"
NAME = re.compile(r"`([^`]+)`")
# A layer of Python's modules, as pyproject.toml has it for import-linter.
LAYER = re.compile(r'^    # ([^\n]*)\n    "([a-z |]+)",$', re.MULTILINE)


def pages() -> list[Path]:
    """The pages of all folders and files that have one: TCP's, then in order of titles."""
    found = map(page_of, FOLDERS.iterdir())
    return sorted((page for page in found if page), key=lambda page: (page.stem != "tcp", title(page).lower()))


def page_of(place: Path) -> Path | None:
    """The page of a folder or file, if it has one."""
    both = (ROOT / "docs" / "schemes" / f"{place.stem}.md", place / "README.md")
    return next((page for page in both if page.is_file()), None)


def title(page: Path) -> str:
    """What the page is called, without the names that scenarios have for it."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(":")[0]


def line(page: Path) -> str:
    """A page's line: its link, and what its scheme does; if it is about several, their names."""
    heading = page.read_text(encoding="utf-8").partition("\n")[0]
    folder = page.parent.name if page.stem == "README" else page.stem
    about = [shipped()[name] for name in NAME.findall(heading) or [folder]]
    said = about[0].summary if len(about) == 1 else ", ".join(one.title for one in about)
    return f"- [{title(page)}]({Path(os.path.relpath(page, ROOT / 'docs')).as_posix()}): {said}"


def schemes() -> Iterator[str]:
    """A line for each page of schemes."""
    return map(line, pages())


def of_table(table: str) -> Iterator[str]:
    """A line for the columns that one meaning is about."""
    names: list[str] = []
    for name, _, meaning in columns(table):
        names.append(f"`{name}`")
        if meaning:
            yield f"- {', '.join(names)}: {meaning}"
            names = []


def layers() -> Iterator[str]:
    """A table of Python's layers, the topmost first."""
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("layers = [")[2].partition("\n]")[0]
    rows = ([about, ", ".join(f"`{one}`" for one in names.split(" | "))] for about, names in LAYER.findall(contract))
    yield markdown.table(["layer", "modules"], rows)


TABLES = ("flows", "ports", "requests", "pages", "resources", "videos", "segments", "iterations", "critical")
LISTS = {"schemes": schemes, "layers": layers} | {table: partial(of_table, table) for table in (*TABLES, "datagrams")}


def written(page: Path) -> str:
    """A page with its lists."""
    return markdown.filled(page.read_text(encoding="utf-8"), "", lambda name: "\n".join(["", *LISTS[name](), "", ""]))


def main() -> int:
    """Writes the lists, or checks them."""
    wanted = {page: written(page) for page in PAGES}
    if "--check" in sys.argv[1:]:
        return 0 if all(page.read_text(encoding="utf-8") == text for page, text in wanted.items()) else 1
    for page, text in wanted.items():
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
