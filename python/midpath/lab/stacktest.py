"""`midpath stack-test`: bounds from RFCs, for stacks in the simulator and for Linux's TCPs in virtual time."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from midpath.errors import UsageError
from midpath.lab import kernel, machine, real
from midpath.lab.congestion import KERNEL
from midpath.scenario import Scenario
from midpath.units import listed


def stack_test(
    schemes: Annotated[list[str], typer.Argument(metavar="SCHEME…", help="quinn, smoltcp, str0m, cubic, …")],
    linux: Annotated[
        bool, typer.Option("--linux", help="Linux's TCPs in virtual time (needs `midpath lab kernel`; minutes each).")
    ] = False,
    junit: Annotated[bool, typer.Option("--junit", help="JUnit's XML in place of TAP.")] = False,
    qlog: Annotated[Path | None, typer.Option(metavar="DIR", help="quinn's qlogs.", show_default=False)] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --linux: keeps results, and uses those there.", show_default=False),
    ] = None,
) -> None:
    """Hold stacks to bounds from RFCs: slow start, losses, ECN, reordering, path changes and others.

    Exits with 1 if one is not kept.
    """
    options = ["--junit"] if junit else []
    if not linux:
        if out:
            raise UsageError("--out applies to --linux")
        more = ["--qlog", str(qlog)] if qlog else []
        code = subprocess.run([runner(), "test", *options, *more, *schemes], check=False).returncode
        raise typer.Exit(code)
    if qlog:
        raise UsageError("--qlog: Linux's TCPs write none")
    if unknown := [scheme for scheme in schemes if scheme not in KERNEL]:
        raise UsageError(f"--linux {unknown[0]}: there are {listed(list(KERNEL))}")
    lines = measured(schemes, out)
    raise typer.Exit(subprocess.run([runner(), "judge", *options], input=lines, text=True, check=False).returncode)


def runner() -> str:
    """The program with the bounds, which are beside the stacks."""
    return machine.program("stacks", how="cd stacks && cargo build --release -p stack-runner")


def measured(schemes: list[str], out: Path | None) -> str:
    """Linux's figures, a line for each case, as `stacks judge` reads them."""
    laboratory = real.Laboratory(machine.program("midpath-lab"), None, linux=kernel.find())
    cases = _said("scenario").split()
    return "".join(_figures(case, scheme, laboratory, out) for scheme in schemes for case in cases)


def _said(*words: str) -> str:
    return subprocess.run([runner(), *words], capture_output=True, text=True, check=True).stdout


def _figures(case: str, scheme: str, laboratory: real.Laboratory, out: Path | None) -> str:
    scenario = Scenario.from_toml(_said("scenario", case, scheme))
    made = real.kept(out / f"{case}-{scheme}", scenario, laboratory) if out else real.run(scenario, laboratory)
    flow = made.flows.to_pylist()[0]
    counts = [flow[f"{what}_packets"] for what in ("sent", "retransmitted", "marked")]
    found = ("inf" if flow["fct_s"] is None else flow["fct_s"], *counts, made.summary["lost_packets"])
    return f"Linux-{scheme} {case} {' '.join(map(str, found))}\n"
