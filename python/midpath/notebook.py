"""Tables as notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape


def to_html(columns: Mapping[str, Sequence[str]]) -> str:
    """An HTML table of these columns, all of the same length."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in columns)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in zip(*columns.values(), strict=True))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
