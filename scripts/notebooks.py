"""Runs the notebooks, and writes what they show as pages of the site and as files that Colab opens.

    python scripts/notebooks.py                    runs all, and writes docs/notebooks
    python scripts/notebooks.py notebooks/1_first_run.py    runs one

A notebook is a text in jupytext's percent format: cells behind `# %%`, prose behind `# %% [markdown]`. A cell shows
what it prints, its last expression, and figures of Matplotlib. No kernel is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "notebooks"
PAGES = ROOT / "docs" / "notebooks"
CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
STYLE = re.compile(r"<style.*?</style>\s*", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """Prose, or code."""

    prose: bool
    text: str


@dataclass
class Shown:
    """What a cell shows: in Markdown; and figures as SVG."""

    parts: list[str] = field(default_factory=list)
    figures: list[bytes] = field(default_factory=list)


def cells(text: str) -> list[Cell]:
    """The cells of a notebook."""
    _, *rest = CELL.split(text)
    found = []
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        if "[markdown]" in head:
            prose = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            found.append(Cell(True, prose))
        else:
            found.append(Cell(False, body.strip()))
    return found


def run(source: Path) -> list[tuple[Cell, Shown]]:
    """Runs a notebook's code in an empty folder."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    done = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in cells(source.read_text(encoding="utf-8")):
                done.append((cell, Shown() if cell.prose else execute(cell.text, scope, source.name)))
        finally:
            os.chdir(here)
    return done


def execute(code: str, scope: dict[str, Any], name: str) -> Shown:
    """Runs one cell."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, shown, value = io.StringIO(), Shown(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
    if printed.getvalue():
        shown.parts.append(_preformatted(printed.getvalue()))
    # What a method of Matplotlib returns is nothing to see.
    if value is not None and not type(value).__module__.startswith("matplotlib"):
        shown.parts.append(_display(value))
    if "matplotlib" in sys.modules:
        shown.figures = _figures()
    return shown


def page(source: Path, done: list[tuple[Cell, Shown]]) -> tuple[str, dict[str, bytes]]:
    """The page, and its pictures by name."""
    parts, pictures = [], {}
    for cell, shown in done:
        parts.append(cell.text if cell.prose else f"```python fragment\n{cell.text}\n```")
        parts += shown.parts
        for figure in shown.figures:
            name = f"{source.stem}-{len(pictures) + 1}.svg"
            pictures[name] = figure
            parts.append(f"![The figure that the cell above draws]({name})")
    title, *rest = parts
    how = f"*Written by `scripts/notebooks.py` from [the notebook](../../notebooks/{source.name}).*"
    return "\n\n".join([title.split("\n\n")[0], how, *title.split("\n\n")[1:], *rest]) + "\n", pictures


def notebook(source: Path) -> str:
    """The notebook as Jupyter's JSON, without output."""
    found = []
    for number, cell in enumerate(cells(source.read_text(encoding="utf-8"))):
        own = {} if cell.prose else {"execution_count": None, "outputs": []}
        kind = "markdown" if cell.prose else "code"
        lines = cell.text.splitlines(keepends=True)
        found.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines, **own})
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": found, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _display(value: Any) -> str:
    html = getattr(value, "_repr_html_", None)
    if html is None:
        return _preformatted(repr(value))
    plain = STYLE.sub("", html()).replace(' border="1" class="dataframe"', "")
    # A blank line would end the block of HTML.
    return re.sub(r">\s+<", "><", plain).strip()


def _preformatted(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _figures() -> list[bytes]:
    import matplotlib as mpl  # noqa: PLC0415 - only where a notebook has loaded it
    import matplotlib.pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "midpath"
    found = []
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, format="svg", metadata={"Date": None})
        found.append(b"\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + b"\n")
        plt.close(number)
    return found


def main() -> None:
    """Runs notebooks and writes their pages."""
    os.environ.setdefault("MPLBACKEND", "agg")
    PAGES.mkdir(exist_ok=True)
    for source in [Path(name).resolve() for name in sys.argv[1:]] or sorted(SOURCES.glob("*.py")):
        text, pictures = page(source, run(source))
        (PAGES / f"{source.stem}.md").write_text(text, encoding="utf-8")
        (PAGES / f"{source.stem}.ipynb").write_text(notebook(source), encoding="utf-8")
        for old in PAGES.glob(f"{source.stem}-*.svg"):
            old.unlink()
        for name, picture in pictures.items():
            (PAGES / name).write_bytes(picture)
        print(source.name)


if __name__ == "__main__":
    main()
