"""`midpath check`: files without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.check import ERROR, WARNING, Checked, load_for
from midpath.check import check as check_file
from midpath.console.options import Json, With, loaded, print_json


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Scenarios (TOML), topologies, traffic matrices, flow lists, sizes, schedules, controllers (Python).",
            show_default=False,
        ),
    ],
    code: With = None,
    json: Json = False,
) -> None:
    """Check files without a run: errors and warnings, each with file and line where that is known.

    Exit code 1 if a file has an error. A file of Python is loaded, which runs it.
    """
    loaded([path for path in code or [] if path.is_dir()])
    own = [path for path in code or [] if not path.is_dir()]
    controllers = load_for(own)
    checked = [check_file(path, controllers) for path in dict.fromkeys([*files, *own])]
    if json:
        print_json([one.to_json() for one in checked])
    else:
        _print(checked)
    if not all(one.ok for one in checked):
        raise typer.Exit(1)


def _print(checked: list[Checked]) -> None:
    findings = [found for one in checked for found in one.findings]
    for found in findings:
        typer.echo(" ".join(str(found).split()))
    count = {severity: sum(found.severity == severity for found in findings) for severity in (ERROR, WARNING)}
    typer.echo(", ".join(_counted(n, what) for what, n in {"file": len(checked), **count}.items()))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
