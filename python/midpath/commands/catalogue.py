"""`midpath schemes` and `midpath example`."""

from __future__ import annotations

import json as json_module
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from midpath.console.options import Json, print_json
from midpath.console.text import console, print_table
from midpath.errors import UsageError
from midpath.extension import _midpath
from midpath.schemes import Description, Gauge, shipped

# Among the sources that the extension carries.
_EXAMPLE = re.compile(r"examples/[^/]+\.toml")


def schemes(
    scheme: Annotated[str | None, typer.Argument(help="Show one scheme in full.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List schemes and what hosts and routers must run; for one, also costs, parameters, gauges."""
    if scheme is not None and scheme not in shipped():
        raise UsageError(f"there is no scheme {scheme!r}; there are {', '.join(shipped())}")
    if json:
        found = json_module.loads(_midpath.schemes())
        print_json(found if scheme is None else {scheme: found[scheme]})
    elif scheme is None:
        print_table(("Scheme", "", "Hosts run", "Routers run"), [_row(*each) for each in shipped().items()], words=True)
        console().print("midpath schemes NAME shows details.")
    else:
        _print(scheme, shipped()[scheme])


def example(
    name: Annotated[str | None, typer.Argument(help="Default: list all.", show_default=False)] = None,
) -> None:
    """Print an example scenario: midpath example abilene | midpath compare - --schemes cubic,fcp."""
    found = {Path(path).stem: text for path, text in _midpath.sources().items() if _EXAMPLE.fullmatch(path)}
    if name is None:
        titles = ((one, str(tomllib.loads(text).get("title", ""))) for one, text in found.items())
        print_table(("Scenario", ""), list(titles), words=True)
    elif name not in found:
        raise UsageError(f"there is no example {name!r}; there are {', '.join(found)}")
    else:
        typer.echo(found[name], nl=False)


def _row(name: str, about: Description) -> tuple[str, str, str, str]:
    return name, about.title, about.hosts or "any", about.routers or "any queues"


def _print(name: str, about: Description) -> None:
    """All that a scheme says of itself."""
    facts = {
        "published": about.source,
        "hosts run": about.hosts or "any",
        "routers run": about.routers or "any queues",
        "ECN": about.ecn,
        "stored at ports": _stored(about),
    }
    console().print(f"{name}: {about.title}", style="bold")
    console().print(about.summary, soft_wrap=True)
    for label, text in facts.items():
        if text:
            console().print(f"  {label}: {text}", soft_wrap=True)
    _list("costs", [(text,) for text in about.costs])
    defaults = {key: json_module.dumps(value["default"], ensure_ascii=False) for key, value in about.parameters.items()}
    _list("parameters and their defaults", list(defaults.items()))
    _list("gauges of ports", _gauges(about.ports))
    _list("gauges of flows", _gauges(about.flows))


def _stored(about: Description) -> str:
    """What ports store beside their queues."""
    if not about.store:
        return ""
    default = about.parameters[about.store]["default"]
    return f"{about.store}, if it is set" if default is None else f"{about.store} = {default}"


def _list(head: str, rows: list[tuple[str, ...]]) -> None:
    if rows:
        console().print(f"{head}:")
        for row in rows:
            console().print(f"  {'  '.join(row)}", soft_wrap=True)


def _gauges(gauges: Mapping[str, Gauge]) -> list[tuple[str, ...]]:
    return [(gauge.name, _meaning(gauge)) for gauge in gauges.values()]


def _meaning(gauge: Gauge) -> str:
    states = ", ".join(f"{number} {state.name}" for number, state in enumerate(gauge.states))
    unit = "" if states or gauge.unit == "count" else f" [{gauge.unit}]"
    return f"{gauge.meaning}{f': {states}' if states else ''}{unit}"
