"""`midpath plot`: plots of any column of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from midpath.compare.variants import Variants
from midpath.console.options import Json, Looks, names_in, print_json, use_looks
from midpath.errors import UsageError
from midpath.loading import load_all
from midpath.sweep.quantity import number

# The figures of the report, one by one: what is drawn over what.
FIGURES: dict[str, dict[str, Any]] = {
    "fct": {"y": "fct_s", "x": None, "log": ("x",)},
    "size": {"y": "slowdown", "x": "size_bytes", "log": ("x", "y")},
    "goodput": {"y": "goodput_bps", "x": "time_s", "log": ()},
    "queue": {"y": "queue_bytes", "x": "time_s", "log": ()},
}


def plot(
    directories: Annotated[list[Path], typer.Argument(help="Results of run, compare or sweep.", show_default=False)],
    y: Annotated[str | None, typer.Option(help="Column to plot.", show_default=False)] = None,
    x: Annotated[str | None, typer.Option(help="Column of the x axis; time_s for series.", show_default=False)] = None,
    cdf: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The distribution of a column.", show_default=False)
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help=f"One of the report's: {', '.join(FIGURES)}.", show_default=False)
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="runs, flows, ports or series; default: by column.", show_default=False)
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Comma-separated columns; a line per value.", show_default=False)
    ] = None,
    facet: Annotated[str | None, typer.Option(metavar="COLUMN", help="A panel per value.", show_default=False)] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="Only these rows: 'size_bytes<=100kB', port=r0>r1.", show_default=False),
    ] = None,
    stat: Annotated[str, typer.Option(help="mean, median, p95, p99, min, max, sum or count.")] = "mean",
    bins: Annotated[int | None, typer.Option(min=1, max=200, help="Bins of x.", show_default=False)] = None,
    log: Annotated[str, typer.Option(help="Logarithmic axes: x, y or x,y.", show_default=False)] = "",
    xlim: Annotated[str | None, typer.Option(metavar="LOW:HIGH", help="Range of x.", show_default=False)] = None,
    ylim: Annotated[str | None, typer.Option(metavar="LOW:HIGH", help="Range of y.", show_default=False)] = None,
    title: Annotated[str, typer.Option(help="Title.", show_default=False)] = "",
    xlabel: Annotated[str, typer.Option(help="Label of x.", show_default=False)] = "",
    ylabel: Annotated[str, typer.Option(help="Label of y.", show_default=False)] = "",
    columns: Annotated[int, typer.Option(min=1, max=2, help="Width in page columns.")] = 1,
    height: Annotated[float | None, typer.Option(min=1, max=20, help="Inches.", show_default=False)] = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX fonts.")] = False,
    looks: Looks = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the data as CSV.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The figure: .svg, .pdf or .png; else plot.svg.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Plot a column over another, over time, or as a distribution. Needs matplotlib.

    Points are means over the seeds with 95 % confidence intervals; time series are of one seed.
    """
    # Plotting libraries load only here: other commands need not wait for them.
    from midpath.plot import What, frame_of, panels, table_with  # noqa: PLC0415
    from midpath.plot.draw import Style, described, draw, write, write_data  # noqa: PLC0415

    use_looks(looks)
    y, x, axes = _columns(y, x, cdf, figure, names_in([log]))
    sources = load_all(directories)
    wanted = [column for column in (y, x) if column]
    chosen = table_with(sources, wanted, table or ("series" if x == "time_s" else None))
    lines = names_in([by]) if by is not None else _lines([source for _, source in sources])
    what = What(y, x, lines, facet, where or [], stat, bins, axes)
    found = panels(frame_of(sources, chosen), what)
    limits = [_limits(option, text) for option, text in (("--xlim", xlim), ("--ylim", ylim))]
    style = Style(title, xlabel, ylabel, columns, height, limits[0], limits[1], axes, latex)
    path = out or Path("plot.svg")
    write(draw(found, style), path)
    if data is not None:
        write_data(found, data)
    if json:
        print_json({"figure": str(path), "table": chosen, "data": list(found.rows()), "notes": found.notes})
    else:
        typer.echo(f"figure: {path} ({described(found)})")


def _columns(
    y: str | None, x: str | None, cdf: str | None, figure: str | None, log: list[str]
) -> tuple[str, str | None, list[str]]:
    """What is drawn over what, and which axes are logarithmic."""
    if unknown := [axis for axis in log if axis not in ("x", "y")]:
        raise UsageError(f"--log {unknown[0]}: write x, y or x,y")
    if sum(option is not None for option in (y, cdf, figure)) != 1:
        raise UsageError("say what to draw: one of --y, --cdf and --figure")
    if figure is not None:
        if figure not in FIGURES:
            raise UsageError(f"--figure {figure}: there are {', '.join(FIGURES)}")
        preset = FIGURES[figure]
        return preset["y"], x or preset["x"], log or list(preset["log"])
    if cdf is not None:
        if x is not None:
            raise UsageError("--cdf COLUMN needs no --x: the column is along the axis")
        return cdf, None, log
    if x is None:
        raise UsageError(f"--y {y}: over what? Give --x, or --cdf {y} for its distribution")
    return str(y), x, log


def _lines(sources: list[Any]) -> list[str]:
    """A line for each scheme, variant and result, where there are several."""
    several = ["result"] if len(sources) > 1 else []
    variants = ["variant"] if any(isinstance(source, Variants) for source in sources) else []
    return [*several, *variants, "scheme"]


def _limits(option: str, text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    ends = [number(part) for part in text.split(":")]
    if len(ends) != 2 or None in ends or ends[0][1] >= ends[1][1]:  # type: ignore[index]
        raise UsageError(f"{option} {text}: write LOW:HIGH, such as 0:50ms")
    return ends[0][1], ends[1][1]  # type: ignore[index]
