"""`midpath paper`: claims of papers, run again."""

from __future__ import annotations

from typing import Annotated

import typer

from midpath.cli.options import Json, print_json
from midpath.errors import UsageError
from midpath.papers import Claim, claims

app = typer.Typer(help="Run what papers claim, and compare.")


@app.command("list")
def list_claims(json: Json = False) -> None:
    """List the tables and figures that can be run."""
    found = claims()
    if json:
        print_json([claim.to_json() for claim in found])
    elif not found:
        typer.echo("No paper is reproduced yet: papers/ holds no claim.")
    else:
        for claim in found:
            typer.echo(f"{claim.id}  {claim.title}")


@app.command("run")
def run_claims(
    name: Annotated[str, typer.Argument(metavar="ID", help="A claim from the list, or all.", show_default=False)],
    json: Json = False,
) -> None:
    """Run a claim, or all of them. Exit code 1 if one does not hold."""
    chosen = [claim for claim in claims() if name in ("all", claim.id)]
    if not chosen:
        known = ", ".join(claim.id for claim in claims()) or "none yet"
        raise UsageError(f"there is no claim {name!r} to run; there are: {known}")
    _refuse(chosen, json)


def _refuse(chosen: list[Claim], json: bool) -> None:
    message = f"{chosen[0].id} is described but this version cannot run claims yet"
    if json:
        print_json([claim.to_json() | {"holds": None, "why": message} for claim in chosen])
    typer.echo(f"midpath: {message}", err=True)
    raise typer.Exit(1)
