"""Axes of figures: labels that do not lie on each other, and bars that end where they end."""

import itertools

import numpy as np
import pytest

from midpath.plot.draw import BELOW_ZERO, CARETDOWN, Style, _overlaps, draw
from midpath.plot.panels import Line, Panel, Panels, What
from midpath.report.figure import linear_axis

AXES = pytest.mark.nightly("python/midpath/plot/", "python/midpath/report/")


def panels(x, y, low=None, high=None, count=1, kind="seconds"):
    line = Line("cubic", {"scheme": "cubic"}, np.array(x), np.array(y), low, high)
    shown = [Panel(f"p{index}", [line]) for index in range(count)]
    return Panels(
        what=What("fct_s", "size_bytes"), panels=shown, x_kind="seconds", x_label="x", y_kind=kind, y_label="y"
    )


# Where an axis begins and how many decades it spans; half a column to a page.
SPANS = [*itertools.product((2e-3, 1e-6, 0.7, 300.0), (1.3, 2.0, 3.0, 4.5, 7.0))]


@AXES
@pytest.mark.parametrize(("start", "decades"), SPANS)
@pytest.mark.parametrize(("columns", "count"), [(1, 1), (2, 3)])
def test_labels_of_a_logarithmic_axis_do_not_overlap(start, decades, columns, count):
    x = start * np.logspace(0, decades, 20)
    found = panels(x, x, count=count)
    figure = draw(found, Style(log=("x", "y"), columns=columns))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert _overlaps(axis) == []
            low, high = axis.get_view_interval()
            named = [
                label
                for at, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
                if low <= at <= high and label.get_visible() and label.get_text()
            ]
            assert len(named) >= 2 or axes is not figure.axes[0]


def test_a_bar_below_zero_ends_where_it_ends():
    low, high = np.array([-2.0, 1.0]), np.array([4.0, 3.0])
    figure = draw(panels([1.0, 2.0], [1.0, 2.0], low, high), Style())
    (axes,) = figure.axes
    assert axes.get_ylim()[0] < -2.0
    # Without a bar below zero the axis begins there.
    (axes,) = draw(panels([1.0, 2.0], [1.0, 2.0], low + 3, high + 3), Style()).axes
    assert axes.get_ylim()[0] == 0


def test_a_bar_that_reaches_zero_is_an_arrow_on_a_logarithmic_axis():
    low, high = np.array([-2.0, 1.0]), np.array([4.0, 3.0])
    figure = draw(panels([1.0, 2.0], [1.0, 2.0], low, high), Style(log=("y",)))
    (axes,) = figure.axes
    arrows = [line for line in axes.lines if line.get_marker() == CARETDOWN]
    assert [list(line.get_xdata()) for line in arrows] == [[1.0]]
    ends = [segment[:, 1] for bars in axes.collections for segment in bars.get_segments()]
    assert [list(end) for end in ends] == [[1.0, 4.0], [1.0, 3.0]]
    assert BELOW_ZERO in figure.get_supxlabel()
    assert BELOW_ZERO not in draw(panels([1.0], [1.0], low[1:], high[1:]), Style(log=("y",))).get_supxlabel()


def test_an_axis_of_a_report_has_room_for_a_bar_below_zero():
    assert linear_axis("seconds", 2.0, "t")[1]["range"][0] == 0
    assert linear_axis("seconds", 2.0, "t", -1.0)[1]["range"][0] < -1.0
    assert linear_axis("seconds", 2.0, "t", 0.5)[1]["range"][0] == 0
