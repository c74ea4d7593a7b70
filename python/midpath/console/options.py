"""Shared options, and parsing of their values."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from midpath.added.build import run_with
from midpath.controller import Controller
from midpath.controller import load as load_controllers
from midpath.errors import UsageError
from midpath.palette import set_styles
from midpath.scenario import LARGEST_SEED, MOST_SEEDS, Scenario

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
File = Annotated[Path, typer.Argument(help="Scenario (TOML); -: standard input.", show_default=False)]
Seed = Annotated[
    int | None, typer.Option(help="Seed, over the scenario's.", min=0, max=LARGEST_SEED, show_default=False)
]
Seeds = Annotated[int, typer.Option(help="Number of seeds, from the scenario's.", min=1, max=MOST_SEEDS)]
Ideal = Annotated[bool, typer.Option(help="Add the fluid ideal.")]
Jobs = Annotated[int, typer.Option(help="Parallel runs; 0: one per core.", min=0)]
Cluster = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler address.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Output directory.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value: --set queue.limit='20 ms'.", show_default=False),
]
Variant = Annotated[str | None, typer.Option(metavar="NAME", help="A variant of the scenario.", show_default=False)]
Schemes = Annotated[
    list[str] | None,
    typer.Option(
        help="Comma-separated schemes: cubic,cubic+rpm,cubic@fq_codel; default: the scenario's.",
        show_default=False,
    ),
]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="CODE",
        help="Python file with controllers (executed), or a crate's folder.",
        show_default=False,
    ),
]

Looks = Annotated[
    str | None,
    typer.Option("--looks", metavar="SCHEME=LOOK,…", help="Line colours: cubic=blue,bbr=#804000.", show_default=False),
]


def use_looks(given: str | None) -> None:
    """The looks that the user chose; those of no earlier command."""
    set_styles({scheme: str(look) for scheme, look in changes(names_in([given or ""]), "--looks").items()})


def loaded(code: list[Path] | None) -> list[type[Controller]]:
    """The controllers of files in Python. Crates are compiled into the simulator, as by `midpath add`."""
    crates = [path for path in code or [] if path.is_dir()]
    if crates:
        run_with(crates, partial(typer.echo, err=True))
    return [cls for path in code or [] if path not in crates for cls in load_controllers(path)]


def read(file: Path, code: list[Path] | None = None, variant: str | None = None) -> Scenario:
    """The scenario that a command is about, or a variant of it, with the schemes of this code."""
    controllers = loaded(code)
    given = Scenario(sys.stdin.read(), Path(), "standard input") if str(file) == "-" else Scenario.from_toml(file)
    found = given.with_(controllers=controllers)
    return found if variant is None else found.with_variant(variant)


def names_in(given: Iterable[str]) -> list[str]:
    """Names with commas between them, in one text or several."""
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def changes(settings: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """`KEY=VALUE` pairs; a value is TOML where it can be, else text, so that quotes around `20 ms` are not needed."""
    found: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{option} {setting}: write KEY=VALUE")
        found[key.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def print_json(value: Any) -> None:
    """JSON on stdout."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
