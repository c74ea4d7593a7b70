"""`midpath topo`, `bench`, `schema` and `version`."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from midpath import _midpath
from midpath.benchmark import measure, ns3_programs, suite
from midpath.cli import text
from midpath.cli.options import Json, print_json
from midpath.errors import ScenarioError, UsageError
from midpath.scenario import Scenario


def topo(
    topology: Annotated[
        str,
        typer.Argument(help="A scenario, a topology file, or the name of a topology that ships.", show_default=False),
    ],
    json: Json = False,
) -> None:
    """Describe a topology: sizes, degrees, diameter, capacities, detours."""
    scenario = topology_scenario(topology)
    try:
        found = json_module.loads(_midpath.describe_topology(scenario.text, scenario.base_dir))
    except ScenarioError as error:
        raise scenario.locate(error) from None
    if json:
        print_json(found)
    else:
        text.print_mapping(flat(found), topology)


def topology_scenario(topology: str) -> Scenario:
    """A scenario that has this topology."""
    path = Path(topology)
    if path.suffix == ".toml":
        return Scenario.from_toml(path)
    if path.is_file():
        scenario = Scenario.from_dict({"topology": {"file": path.name}}, path.parent)
    else:
        scenario = Scenario.from_dict({"topology": {"builtin": topology}})
    return Scenario(scenario.text, scenario.base_dir, topology)


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested values as one list of labels."""
    found: dict[str, str] = {}
    for key, value in values.items():
        label = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, dict):
            found |= flat(value, f"{label}, ")
        elif isinstance(value, list):
            found[label] = ", ".join(str(item) for item in value)
        else:
            found[label] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return found


def bench(
    only: Annotated[str | None, typer.Option(help="Those whose name begins so.", show_default=False)] = None,
    full: Annotated[bool, typer.Option("--full", help="Also the large ones.")] = False,
    ns3: Annotated[bool, typer.Option("--ns3", help="Also ns-3, if it is installed; it needs minutes.")] = False,
    repeat: Annotated[int, typer.Option(help="Repetitions, of which the median counts.", min=1)] = 3,
    threads: Annotated[int, typer.Option(help="Threads; the goal is stated for one.", min=1)] = 1,
    json: Json = False,
) -> None:
    """Measure the simulator's speed on this machine."""
    chosen = [bench for bench in suite(full) if bench.id.startswith(only or "")]
    if not chosen:
        raise UsageError(f"no benchmark begins with {only!r}; there are: {', '.join(b.id for b in suite(True))}")
    programs = ns3_programs() if ns3 else None
    if ns3 and programs is None:
        raise UsageError("ns-3's programs are in checks/ns3 of a checkout of midpath, which this is not")
    found = [measure(bench, repeat=repeat, threads=threads, ns3=programs) for bench in chosen]
    if json:
        print_json([measurement.to_json() for measurement in found])
    else:
        text.print_benchmarks(found)


def schema() -> None:
    """Print the JSON Schema of a scenario."""
    typer.echo(_midpath.schema())


def version(json: Json = False) -> None:
    """Print the version."""
    if json:
        print_json({"midpath": _midpath.version()})
    else:
        typer.echo(f"midpath {_midpath.version()}")
