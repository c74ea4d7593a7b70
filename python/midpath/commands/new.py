"""`midpath new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.console.options import Json, print_json
from midpath.errors import UsageError
from midpath.new import new_scheme
from midpath.new.scheme import AQM, CONTROLLER, SCHEME

app = typer.Typer(help="Create a starting point.", rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def new() -> None:
    """Create a starting point."""


@app.command()
def scheme(
    directory: Annotated[Path, typer.Argument(help="New or empty folder.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Scheme name; default: the folder's.", show_default=False)] = None,
    controller: Annotated[bool, typer.Option("--controller", help="Congestion controller only.")] = False,
    aqm: Annotated[bool, typer.Option("--aqm", help="AQM only, for any transport.")] = False,
    json: Json = False,
) -> None:
    """Create a crate for your own scheme.

    A working template: header, port, sender, scenario, tests.
    """
    if controller and aqm:
        raise UsageError("--controller and --aqm: a crate has one of them alone, or both and a header without either")
    written = new_scheme(directory, name, kind=CONTROLLER if controller else AQM if aqm else SCHEME)
    if json:
        print_json({"scheme": written, "directory": str(directory)})
        return
    typer.echo(f"{written} is in {directory}: start with its README.md and src/lib.rs")
    typer.echo(f"midpath add {directory}    compiles it into this environment's simulator (minutes the first time)")
