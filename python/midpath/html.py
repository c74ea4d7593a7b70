"""Parts of pages: tables as notebooks show them, the data of reports, and who writes these."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Data of more characters than these are compressed: with series they were half of the page.
READABLE = 200_000

Writer = Callable[[Any, str | Path], Path]
# Reports are of everything, so what they are of cannot import what writes them: `midpath` itself puts that here.
writers: list[Writer] = []


@dataclass(frozen=True)
class Shown:
    """A report as notebooks show it: a page of its own, in a frame that has no right but to run its scripts."""

    page: str

    def __repr__(self) -> str:
        """Not the whole page."""
        return f"<Report, {len(self.page) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        """The frame."""
        style = "width: 100%; height: 720px; border: 0; resize: vertical; overflow: auto"
        return f'<iframe title="Report" sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.page)}"></iframe>'


class Reported:
    """A result of any kind has a report."""

    def report(self, path: str | Path) -> Path:
        """Writes the HTML report."""
        return writers[-1](self, path)

    def show(self) -> Shown:
        """The report in a notebook: `result.show()` at the end of a cell."""
        with TemporaryDirectory() as folder:
            return Shown(self.report(Path(folder) / "report.html").read_text(encoding="utf-8"))


def to_html(columns: Mapping[str, Sequence[str]]) -> str:
    """An HTML table of these columns, all of the same length."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in columns)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in zip(*columns.values(), strict=True))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def embedded(data: dict[str, Any]) -> str:
    """The element with the data for report.js: as text that can be read, or compressed where it is long."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if len(text) > READABLE:
        packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
        return f'<script type="application/gzip;base64" id="report-data">{packed}</script>'
    # "</script>" inside a string would end the element, and after "<!--" an end would not.
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="report-data">{text}</script>'
