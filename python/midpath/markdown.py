"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def head(cells: Sequence[str]) -> str:
    """A table's head."""
    return f"{line(cells)}\n|{'---|' * len(cells)}"


def line(cells: Sequence[str]) -> str:
    """A table's line."""
    return f"| {' | '.join(cells)} |"
