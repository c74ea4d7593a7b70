"""Tables in Markdown, and pages with parts that are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

# What ends a cell.
BAR = re.compile(r"(?<!\\)\|")


def head(cells: Sequence[str], *, numbers: bool = False) -> str:
    """A table's head. With `numbers` all columns but the first stand to the right."""
    rule = "|".join(["| --- ", *[" ---: "] * (len(cells) - 1), ""]) if numbers else f"|{'---|' * len(cells)}"
    return f"{line(cells)}\n{rule}"


def line(cells: Iterable[str]) -> str:
    """A table's line."""
    escaped = (BAR.sub(r"\|", cell) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def table(heads: Sequence[str], rows: Iterable[Iterable[str]], *, numbers: bool = False) -> str:
    """A table, without the end of its last line."""
    return "\n".join([head(heads, numbers=numbers), *map(line, rows)])


def filled(page: str, kind: str, part: Callable[[str], str]) -> str:
    """A page with what `part` gives of NAME between `<!-- kind: NAME -->`, or `<!-- NAME -->`, and `<!-- end -->`."""
    place = re.compile(rf"(<!-- {f'{kind}: ' if kind else ''}(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return place.sub(lambda found: found[1] + part(found[2]) + found[3], page)
