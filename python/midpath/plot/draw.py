"""Panels as a file, by matplotlib: the extra `plots`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from midpath.errors import UsageError
from midpath.palette import in_order, looks
from midpath.plot.panels import Line, Panel, Panels
from midpath.storage import write_bytes, write_text
from midpath.units import plain, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

Floats = NDArray[np.float64]
# Inches: of a column of a page with two, of the whole page.
COLUMN, PAGE = 3.4, 7.0
PANEL_HEIGHT = 2.3
POINT = 3.5
# Plotly's markers, which looks have, as Matplotlib's.
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "cross": "P", "x": "X",
    "star": "*", "triangle-left": "<", "triangle-right": ">", "pentagon": "p",
}  # fmt: skip
# Of a curve of more points than this, as many as MARKED have a marker: enough to know it by.
MANY, MARKED = 30, 7
# As LaTeX's own fonts are, without LaTeX; text stays text in PDF and SVG.
FONTS: dict[Any, Any] = {"font.family": "serif", "mathtext.fontset": "cm", "font.serif": ["cmr10", "DejaVu Serif"]}
FONTS |= {"axes.formatter.use_mathtext": True, "axes.unicode_minus": False}
TEXT_STAYS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "midpath"}
# What part of the room between two categories their points take.
SPREAD = 0.5
# Pixels between two labels, at least.
GAP = 3.0
# Matplotlib's caret that points down.
CARETDOWN = 7
# What is said of it.
BELOW_ZERO = "Arrow: the interval reaches zero or below, outside this axis."


@dataclass(frozen=True)
class Style:
    """How a figure looks: its size in columns of a page, its words, its axes."""

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    columns: int = 1
    height: float | None = None
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    log: Sequence[str] = ()
    latex: bool = False
    # Below the figure.
    note: str = ""


def draw(found: Panels | Sequence[Panels], style: Style) -> Figure:
    """The figure. Panels stand beside each other, as many as the width has room for; of several, a row for each."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional dependency
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'midpath[plots]'") from None
    rows = [found] if isinstance(found, Panels) else list(found)
    across, down, width = _grid(rows, style)
    with mpl.rc_context({**TEXT_STAYS, "font.size": 8, **(FONTS if style.latex else {})}):
        figure = Figure((width, style.height or PANEL_HEIGHT * down + 0.3), layout="constrained")
        share: Literal["row", "all"] = "row" if len(rows) > 1 else "all"
        grid = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=share).flat)
        painted = _looks(rows)
        places = [(row, panel) for row in rows for panel in row.panels]
        for axes, (row, panel) in zip(grid, places, strict=False):
            _panel(axes, row, panel, painted, style)
        for row, axes in zip(rows, grid[:: len(rows[0].panels)], strict=False):
            _limits(axes, row, style)
        for axes in grid[len(places) :]:
            axes.set_axis_off()
        _around(figure, rows, painted, style)
        figure.canvas.draw()
        _spread(figure)
    return figure


def _grid(rows: Sequence[Panels], style: Style) -> tuple[int, int, float]:
    """How many panels stand side by side and below each other, and the figure's width in inches."""
    most = len(rows[0].panels)
    if len(rows) > 1:
        return most, len(rows), COLUMN * max(1, most)
    across = min(most, 1 if style.columns == 1 else 3)
    return across, -(-most // across), COLUMN if style.columns == 1 else PAGE


def write(figure: Figure, path: Path) -> None:
    """Writes a figure in the format that its name says."""
    known = figure.canvas.get_supported_filetypes()
    ending = path.suffix.lower().lstrip(".")
    if ending not in known:
        raise UsageError(
            f"{path}: a figure's name must end with one of {', '.join(f'.{end}' for end in sorted(known))}"
        )
    import matplotlib as mpl  # noqa: PLC0415

    held = io.BytesIO()
    with mpl.rc_context(TEXT_STAYS):
        # Nothing that differs from day to day, so that the same figure is the same file.
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(held, format=ending, dpi=200, metadata=dated.get(ending))
    write_bytes(path, held.getvalue())


def write_data(found: Panels, path: Path) -> None:
    """What is drawn, as CSV."""
    rows = list(found.rows())
    heads = list(dict.fromkeys(key for row in rows for key in row))
    held = io.StringIO()
    writer = csv.DictWriter(held, heads, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, held.getvalue())


def strokes(dash: str) -> Any:
    """A look's dash as Matplotlib has it, which multiplies it by the width of the line."""
    if dash == "solid":
        return "-"
    return 0, tuple(float(part.removesuffix("px")) / 2.5 for part in dash.split(","))


def _looks(rows: Sequence[Panels]) -> dict[str, dict[str, str]]:
    """The look of each line: that of its scheme, where that tells lines apart."""
    lines = {line.name: line.of for found in rows for panel in found.panels for line in panel.lines}
    schemes = [of.get("scheme", "") for of in lines.values()]
    if all(schemes) and len(set(schemes)) == len(lines):
        of = looks(schemes)
        return {title: of[scheme] for title, scheme in zip(lines, schemes, strict=True)}
    return {title: asdict(look) for title, look in zip(lines, in_order(len(lines)), strict=True)}


def _panel(axes: Axes, found: Panels, panel: Panel, painted: dict[str, dict[str, str]], style: Style) -> None:
    factors = _factors(found)
    names = list(painted)
    for line in panel.lines:
        look = painted[line.name]
        colour, shape = look["light"], MARKERS[look["shape"]]
        aside = (names.index(line.name) - (len(names) - 1) / 2) * SPREAD / len(names) if found.categories else 0.0
        x, y = line.x / factors[0] + aside, line.y / factors[1]
        # Markers of lines that lie on each other are not at the same points.
        step = max(1, line.x.size // MARKED)
        many = (names.index(line.name) * step // len(names), step)
        axes.plot(
            x,
            y,
            color=colour,
            # Between categories there is nothing for a line to pass through.
            linestyle=strokes(look["dash"]) if found.joined else "none",
            marker=shape,
            markevery=many if line.x.size > MANY else None,
            markersize=POINT,
            linewidth=1.3,
            drawstyle="steps-post" if found.what.x is None else "default",
        )
        if line.hollow is not None and line.hollow.any():
            at = line.hollow
            axes.plot(x[at], y[at], shape, color=colour, markersize=POINT, markerfacecolor="white")
        _bars(axes, x, y, line, factors[1], colour, "y" in style.log)
    axes.grid(True, color="#e2e7ec", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.heading:
        axes.set_title(panel.heading, fontsize=8)
    _scales(axes, found, style)


def _bars(axes: Axes, x: Floats, y: Floats, line: Line, factor: float, colour: str, logarithmic: bool) -> None:
    """The intervals. A logarithmic axis has no place for zero: an arrow stands for a bar that reaches it."""
    if line.low is None or line.high is None:
        return
    low, high = line.low / factor, line.high / factor
    beyond = (low <= 0) & logarithmic
    axes.vlines(x, np.where(beyond, y, low), high, color=colour, linewidth=0.9)
    if beyond.any():
        axes.plot(x[beyond], y[beyond], linestyle="none", marker=CARETDOWN, color=colour, markersize=2 * POINT)


def _reaches_zero(rows: Sequence[Panels], style: Style) -> bool:
    """Whether an interval has its lower end where a logarithmic axis has none."""
    lines = [line for found in rows for panel in found.panels for line in panel.lines]
    return "y" in style.log and any(line.low is not None and bool((line.low <= 0).any()) for line in lines)


def _scales(axes: Axes, found: Panels, style: Style) -> None:
    for axis, set_scale in (("x", axes.set_xscale), ("y", axes.set_yscale)):
        if axis in style.log:
            set_scale("log")
            _decades(axes.xaxis if axis == "x" else axes.yaxis)
    if found.categories:
        axes.set_xticks(range(len(found.categories)), found.categories)
    if found.ticks is not None:
        axes.set_xticks(list(found.ticks), list(found.ticks.values()))
        axes.minorticks_off()


def _limits(axes: Axes, found: Panels, style: Style) -> None:
    """The ends of the axes. Only when all is drawn: a limit that is set ends the search for the others."""
    if "y" not in style.log and style.y_limits is None:
        lows = [
            line.low.min() for panel in found.panels for line in panel.lines if line.low is not None and line.low.size
        ]
        # A bar below zero ends where it ends, not on the floor.
        floor = min([0.0, *lows]) / _factors(found)[1] * 1.05
        axes.set_ylim(bottom=floor, top=1.02 if found.what.x is None else None)
    factors = _factors(found)
    for limits, set_limits, factor in (
        (style.x_limits, axes.set_xlim, factors[0]),
        (style.y_limits, axes.set_ylim, factors[1]),
    ):
        if limits is not None:
            set_limits(limits[0] / factor, limits[1] / factor)


def _decades(axis: Axis) -> None:
    """Plain numbers along a logarithmic axis: decades, their halves and fifths."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _spread(figure: Figure) -> None:
    """Labels of axes that do not overlap: fewer steps of a decade first, then fewer labels."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for steps in ((1.0, 3.0), (1.0,)):
                if not isinstance(axis.get_major_locator(), LogLocator) or not _overlaps(axis):
                    break
                axis.set_major_locator(LogLocator(subs=steps, numticks=8))
                figure.canvas.draw()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            lost = _overlaps(axis)
            if lost:
                ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
                kept = {float(at): label.get_text() for at, label in ticks if label not in lost}
                # Limits stay: ticks of one's own would widen them.
                low, high = axis.get_view_interval()
                axis.set_ticks(list(kept), labels=list(kept.values()))
                axis.set_view_interval(low, high, ignore=True)
                figure.canvas.draw()


def _overlaps(axis: Axis) -> list[Text]:
    """The labels that lie on one before them."""
    low, high = sorted(axis.get_view_interval())
    places = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    shown = [label for at, label in places if low <= at <= high and label.get_text() and label.get_visible()]
    boxes = [(label, label.get_window_extent()) for label in shown]
    found, last = [], None
    for label, box in sorted(boxes, key=lambda one: (one[1].x0, one[1].y0)):
        # A label and the next have room for half a digit between them.
        if last is not None and last.padded(GAP).overlaps(box):
            found.append(label)
        else:
            last = box
    return found


def _factors(found: Panels) -> tuple[float, float]:
    """What values are divided by, so that they are in the units of the axes."""
    return _scale(found, "x")[0], _scale(found, "y")[0]


def _scale(found: Panels, axis: str) -> tuple[float, str]:
    if axis == "x" and (found.categories or found.ticks):
        return 1.0, ""
    if axis == "y" and found.what.x is None:
        return 1.0, ""
    kind = found.x_kind if axis == "x" else found.y_kind
    values = [abs(float(getattr(line, axis).max())) for panel in found.panels for line in panel.lines if line.x.size]
    return scale(kind, max(values, default=0.0))


def _around(figure: Figure, rows: Sequence[Panels], painted: dict[str, dict[str, str]], style: Style) -> None:
    """Title, names of axes, legend: outside the axes, so that none covers what is drawn."""
    below = [_labelled(style.x_label or rows[0].x_label, _scale(rows[0], "x")[1]), style.note]
    below += [BELOW_ZERO] if _reaches_zero(rows, style) else []
    figure.supxlabel("\n".join(filter(None, below)), fontsize=8)
    names = [_labelled(style.y_label or found.y_label, _scale(found, "y")[1]) for found in rows]
    if len(rows) == 1:
        figure.supylabel(names[0], fontsize=8)
    else:
        for axes, label in zip(figure.axes[:: len(figure.axes) // len(rows)], names, strict=True):
            axes.set_ylabel(label, fontsize=8)
    titles = {line.name: line.title for found in rows for panel in found.panels for line in panel.lines}
    wide = style.columns > 1
    if style.title and (wide or len(painted) < 2):
        figure.suptitle(style.title, fontsize=9)
    if len(painted) < 2:
        return
    figure.legend(
        _handles(painted.values()),
        [titles[line] for line in painted],
        loc="outside right upper" if wide else "outside upper center",
        ncols=1 if wide else min(len(painted), 3),
        frameon=False,
        handlelength=3.4,
        fontsize=8,
        # Where the legend is above the axes the title is the legend's: the layout keeps no room for both.
        title=None if wide else style.title or None,
        title_fontsize=9,
    )


def _labelled(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit and unit != "×" else label


def _handles(painted: Iterable[dict[str, str]]) -> list[Line2D]:
    """What stands for lines in a legend: of each its colour and its dash."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    return [
        Line2D(
            [],
            [],
            color=look["light"],
            linestyle=strokes(look["dash"]),
            marker=MARKERS[look["shape"]],
            markersize=POINT,
            linewidth=1.3,
        )
        for look in painted
    ]


def described(found: Panels) -> str:
    """What is drawn, in a line."""
    points = sum(line.x.size for panel in found.panels for line in panel.lines)
    lines = sum(len(panel.lines) for panel in found.panels)
    notes = f"; {'; '.join(found.notes)}" if found.notes else ""
    return f"{lines} {'line' if lines == 1 else 'lines'}, {plain('count', points)} points{notes}"
