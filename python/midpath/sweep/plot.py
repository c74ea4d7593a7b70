"""A sweep's figure as a file, by matplotlib: the extra `plots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from midpath.errors import UsageError
from midpath.palette import looks, name
from midpath.plot.draw import DASHES, SHAPES, dress, handles
from midpath.sweep.facets import Facets, Panel, row_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.4, 2.6  # of a panel, in inches
POINT = 4.5


def draw(facets: Facets, title: str, note: str = "") -> Figure:
    """A row of panels for each figure, a column for each value of the facet."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'midpath[plots]'") from None
    rows, columns = len(facets.rows), len(facets.rows[0])
    figure = Figure((WIDTH * max(columns, 1.4), HEIGHT * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey="row")
    for axes_row, panels in zip(grid, facets.rows, strict=True):
        factor, unit = row_scale(panels)
        for axes, panel in zip(axes_row, panels, strict=True):
            _panel(axes, facets, panel, factor)
        # Only now: a limit that is set ends the search for the other one, and the axes of a row share both.
        axes_row[0].set_ylim(bottom=0)
        axes_row[0].set_ylabel(f"{panels[0].figure.label}{f' ({unit})' if unit and unit != '×' else ''}", fontsize=9)
    for axes, panel in zip(grid[0], facets.rows[0], strict=True):
        if facets.facet:
            axes.set_title(facets.heading(panel), fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel(facets.x, fontsize=9)
    _around(figure, facets, title, note)
    return figure


def _panel(axes: Axes, facets: Facets, panel: Panel, factor: float) -> None:
    styles = looks(facets.schemes)
    for scheme, line in panel.lines.items():
        look = styles[scheme]
        at = facets.places(scheme, line)
        axes.errorbar(
            at,
            [mean.value.mean / factor for mean in line],
            yerr=[(mean.value.ci95 or 0.0) / factor for mean in line],
            color=look["light"],
            # Between categories there is nothing for a line to pass through.
            linestyle=DASHES[look["dash"]] if facets.amounts else "none",
            linewidth=1.4,
            capsize=2.5,
        )
        for x, mean in zip(at, line, strict=True):
            face = "white" if mean.unfinished else look["light"]
            axes.plot(
                x,
                mean.value.mean / factor,
                marker=SHAPES[look["dash"]],
                markersize=POINT,
                markerfacecolor=face,
                color=look["light"],
            )
    _axis(axes, facets)


def _axis(axes: Axes, facets: Facets) -> None:
    dress(axes)
    axes.tick_params(labelsize=8)
    if facets.logarithmic:
        axes.set_xscale("log")
    ticks = facets.ticks()
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()


def _around(figure: Figure, facets: Facets, title: str, note: str) -> None:
    """Title, legend, and what the marks mean."""
    styles = looks(facets.schemes)
    painted = [(styles[scheme]["light"], styles[scheme]["dash"]) for scheme in facets.schemes]
    figure.suptitle(title, fontsize=11)
    parts = [note] if note else []
    if facets.unfinished:
        parts.append("Hollow: some flows did not end; times are over those that did.")
    if parts:
        figure.supxlabel("  ".join(parts), fontsize=8, color="#5d6976")
    figure.legend(
        handles(painted, POINT),
        [name(scheme) for scheme in facets.schemes],
        loc="outside right upper",
        fontsize=9,
        frameon=False,
    )
