"""`midpath topo`, `schema` and `version`."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from midpath.console import text
from midpath.console.options import Json, Set, Variant, changes, print_json
from midpath.errors import ScenarioError, UsageError
from midpath.extension import _midpath
from midpath.scenario import Scenario
from midpath.topology import network_of


def topo(
    topology: Annotated[
        str, typer.Argument(help="A scenario, a topology file, or a built-in network.", show_default=False)
    ],
    file_format: Annotated[
        str | None, typer.Option("--format", help="File format, if not detected.", show_default=False)
    ] = None,
    radius: Annotated[int, typer.Option(help="Rocketfuel: distance from the ISP's routers.", min=0)] = 0,
    hosts: Annotated[bool, typer.Option("--hosts", help="List a scenario's hosts.")] = False,
    variant: Variant = None,
    settings: Set = None,
    json: Json = False,
) -> None:
    """Describe a topology: sizes, degrees, diameter, capacities, detours; with --hosts, host positions."""
    if hosts or variant is not None or settings:
        _require_scenario(topology)
    if hosts:
        places = list(network_of(_scenario(topology, variant, settings)).hosts())
        if json:
            print_json([place.to_json() for place in places])
        else:
            text.print_hosts(places, topology)
        return
    if variant is not None or settings:
        scenario = _scenario(topology, variant, settings)
        try:
            found = json_module.loads(_midpath.describe_scenario(scenario.effective_text(), scenario.base_dir))
        except ScenarioError as error:
            raise scenario.locate(error) from None
        print_json(found) if json else text.print_topology(found, topology)
        return
    found = describe(topology, file_format, radius)
    if json:
        print_json(found)
    else:
        text.print_topology(found, topology)


def _require_scenario(topology: str) -> None:
    if Path(topology).suffix != ".toml":
        raise UsageError(f"{topology} is no scenario (a TOML file): only these have hosts at places, variants and keys")


def _scenario(topology: str, variant: str | None, settings: list[str] | None) -> Scenario:
    given = Scenario.from_toml(Path(topology))
    chosen = given if variant is None else given.with_variant(variant)
    return chosen.with_(changes=changes(settings))


def describe(topology: str, file_format: str | None, radius: int) -> dict[str, Any]:
    """A topology in numbers."""
    path = Path(topology)
    try:
        if path.suffix == ".toml":
            scenario = Scenario.from_toml(path)
            found = _midpath.describe_scenario(scenario.text, scenario.base_dir)
        elif path.exists():
            found = _midpath.describe_file(path, format=file_format, radius=radius)
        else:
            found = _midpath.describe_builtin(topology)
    except ScenarioError as error:
        raise ScenarioError(error.key, error.line, error.message, topology) from None
    values: dict[str, Any] = json_module.loads(found)
    return values


def schema() -> None:
    """Print the JSON Schema of a scenario."""
    typer.echo(_midpath.schema())


def version(json: Json = False) -> None:
    """Print the version."""
    if json:
        print_json({"midpath": _midpath.version()})
    else:
        typer.echo(f"midpath {_midpath.version()}")
