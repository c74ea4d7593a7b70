"""`midpath cite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.citing import Citation
from midpath.console.options import Json, print_json


def cite(
    directory: Annotated[Path, typer.Argument(help="A result of run, compare or sweep.", show_default=False)],
    json: Json = False,
) -> None:
    """Print a result's BibTeX: software, schemes, topology, traffic, queues."""
    found = Citation(directory)
    print_json(found.to_json()) if json else typer.echo(found.bibtex())
