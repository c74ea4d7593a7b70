"""`midpath add` and `midpath remove`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.added.build import add as add_crates
from midpath.added.build import remove as remove_crates
from midpath.console.options import Json, print_json


def add(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CRATE...", help="Crate folders.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Compile external schemes into this environment's simulator.

    Several crates are possible. Without CRATE, rebuild the added ones, e.g. after an update.
    """
    _print(add_crates(directories or [], _silent if json else typer.echo), json)


def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of crates.", show_default=False)],
    json: Json = False,
) -> None:
    """Remove external schemes from this environment's simulator."""
    _print(remove_crates(names, _silent if json else typer.echo), json)


def _print(crates: list[str], json: bool) -> None:
    if json:
        print_json({"crates": crates})
    else:
        typer.echo(f"in this environment: {', '.join(crates) or 'no external schemes'}")


def _silent(_text: str) -> None:
    pass
