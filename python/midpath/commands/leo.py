"""`midpath leo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath import leo as satellites
from midpath.errors import OutputError
from midpath.leo.orbits import grounds


def leo(
    source: Annotated[
        str,
        typer.Argument(help="Positions (CSV), two-line elements, or a shell such as 72x22:53:550.", show_default=False),
    ],
    ground: Annotated[
        list[str] | None,
        typer.Option(help="Not with a CSV: a node on the ground, NAME,LAT,LON; repeatable.", show_default=False),
    ] = None,
    start: Annotated[str, typer.Option(help="Not with a CSV: UTC.")] = "2026-01-01T00:00:00",
    seconds: Annotated[float, typer.Option(help="Not with a CSV: how long.")] = 60.0,
    step: Annotated[float, typer.Option(help="Not with a CSV: seconds between positions.")] = 1.0,
    gateway: Annotated[
        list[str] | None,
        typer.Option(help="A node on the ground that is linked with all it sees; repeatable.", show_default=False),
    ] = None,
    elevation: Annotated[float, typer.Option(help="Least elevation in degrees.")] = 25.0,
    isl: Annotated[float, typer.Option(help="Link satellites within so many km.")] = 0.0,
    decide: Annotated[float, typer.Option(help="Seconds after which terminals choose again.")] = 15.0,
    gap: Annotated[float, typer.Option(help="Seconds without a link at a handover.")] = 0.0,
    rate: Annotated[str, typer.Option(help="To terminals.")] = "100 Mbps",
    up_rate: Annotated[str, typer.Option(help="From terminals.")] = "20 Mbps",
    out: Annotated[Path | None, typer.Option(help="Scenario; default: printed.", show_default=False)] = None,
    positions: Annotated[Path | None, typer.Option(help="Write the positions, too (CSV).", show_default=False)] = None,
) -> None:
    """Write a scenario of satellites: links that come, go and change their delay as positions say."""
    flight = {"start": start, "seconds": seconds, "step": step}
    if Path(source).suffix == ".csv":
        found = satellites.read(source)
    elif Path(source).is_file():
        found = satellites.tle(source, grounds(ground or []), **flight)  # type: ignore[arg-type]
    else:
        found = satellites.shell(source, grounds(ground or []), **flight)  # type: ignore[arg-type]
    text = satellites.scenario(
        found, elevation=elevation, gateways=gateway or [], isl=isl, decide=decide, gap=gap, rate=rate, up_rate=up_rate
    )
    try:
        if positions is not None:
            satellites.write(found, positions)
        if out is not None:
            out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(error.errno, f"{error.strerror}: {error.filename}") from None
    if out is None:
        typer.echo(text, nl=False)
