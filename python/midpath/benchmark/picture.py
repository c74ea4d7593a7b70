"""The curves as a figure, by matplotlib: the extra `plots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from midpath.benchmark.curves import Curve, Found
from midpath.errors import UsageError
from midpath.palette import ENTITIES, name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.1, 2.5  # of a panel, in inches
COLOURS = [look.light for look in ENTITIES.values()]
# What grows, in the figure's rows.
ROWS: list[tuple[str, Callable[[Found, Curve], float | None]]] = [
    ("ns per packet-hop", lambda found, curve: found.wall_ns_per_hop if curve.wall else found.cpu_ns_per_hop),
    ("set-up, s of CPU", lambda found, _: found.set_up_cpu_s),
    ("peak memory, MB", lambda found, _: found.peak_bytes / 1e6 if found.peak_bytes else None),
]


def require() -> None:
    """Says what is missing before minutes of measuring, not after."""
    try:
        import matplotlib  # noqa: F401, PLC0415 - an optional dependency
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'midpath[plots]'") from None


def draw(every: Sequence[Curve], found: Sequence[Found], note: str) -> Figure:
    """A column for each curve; time, set-up and memory below each other."""
    require()
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure((WIDTH * max(len(every), 1.5), HEIGHT * len(ROWS) + 0.6), layout="constrained")
    grid = figure.subplots(len(ROWS), len(every), squeeze=False, sharex="col", sharey="row")
    for (label, value), row in zip(ROWS, grid, strict=True):
        row[0].set_ylabel(label, fontsize=9)
        for curve, axes in zip(every, row, strict=True):
            _panel(axes, curve, [one for one in found if one.curve == curve.id], value)
    for axes in grid.flat:
        # Only now: the axes of a row or column share their limits.
        _plain(axes.yaxis)
        if axes.get_xscale() == "log":
            _plain(axes.xaxis)
    for curve, top, bottom in zip(every, grid[0], grid[-1], strict=True):
        top.set_title(f"with {curve.id}" if curve.id != "schemes" else "from scheme to scheme", fontsize=10)
        bottom.set_xlabel(curve.label, fontsize=9)
        if top.get_legend_handles_labels()[0]:
            top.legend(fontsize=7, frameon=False)
    figure.suptitle("How the simulator's cost grows", fontsize=12)
    figure.supxlabel(note, fontsize=8, color="#5d6976")
    return figure


def write(figure: Figure, path: Path) -> None:
    """Writes the figure."""
    figure.savefig(path, dpi=130)


def _panel(axes: Axes, curve: Curve, found: Sequence[Found], value: Callable[[Found, Curve], float | None]) -> None:
    names = list(dict.fromkeys(one.x for one in found if isinstance(one.x, str)))
    for colour, line in zip(COLOURS, dict.fromkeys(one.line for one in found), strict=False):
        places = [(one.x, figure) for one in found if one.line == line and (figure := value(one, curve)) is not None]
        at = [names.index(x) if isinstance(x, str) else x for x, _ in places]
        # Between names there is nothing for a line to pass through.
        style = "o" if names else "o-"
        axes.plot(at, [figure for _, figure in places], style, color=colour, markersize=4, linewidth=1.3, label=line)
    axes.set_yscale("log")
    axes.grid(True, which="major", color="#e2e7ec", linewidth=0.7)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if names:
        axes.set_xticks(range(len(names)), [name(scheme) for scheme in names], rotation=60, ha="right")
    elif curve.id == "threads":
        axes.set_xticks([1, 2])
        axes.set_xlim(0.8, 2.2)
    else:
        axes.set_xscale("log")


def _plain(axis: Axis) -> None:
    """Numbers as people say them, 20k and not 2 × 10⁴, also where an axis spans less than a decade."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator  # noqa: PLC0415

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(EngFormatter(sep=""))
