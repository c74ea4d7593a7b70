"""A sweep's figure, drawn as `midpath plot` draws: a row of panels per figure, a column per value of a key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from midpath.plot.draw import Style
from midpath.plot.panels import Line, Panels, What
from midpath.plot.panels import Panel as Drawn
from midpath.plot.words import words
from midpath.run.plan import shown
from midpath.sweep.facets import Facets, Mean, Panel


def rows_of(facets: Facets) -> list[Panels]:
    """What is drawn, and over what."""
    categories = None if facets.amounts else [shown(value) for value in facets.values]
    return [
        Panels(
            what=What(row[0].figure.key, facets.x, facet=facets.facet),
            panels=[Drawn(_heading(facets, panel) if place == 0 else "", _lines(facets, panel)) for panel in row],
            x_kind="count",
            x_label=words(facets.x),
            y_kind=row[0].figure.kind,
            y_label=row[0].figure.label,
            categories=categories,
            ticks=facets.ticks() if facets.amounts else None,
            joined=categories is None,
        )
        for place, row in enumerate(facets.rows)
    ]


def style_of(facets: Facets, title: str, note: str = "") -> Style:
    """Its words, and whether decades are drawn."""
    hollow = "Hollow: some flows did not end; times cover those that did." if facets.unfinished else ""
    return Style(
        title=title,
        note="  ".join(filter(None, (note, hollow))),
        columns=1 if len(facets.rows[0]) == 1 else 2,
        log=("x",) if facets.logarithmic else (),
    )


def _heading(facets: Facets, panel: Panel) -> str:
    return facets.heading(panel) if facets.facet else ""


def _lines(facets: Facets, panel: Panel) -> list[Line]:
    return [_line(facets, scheme, means) for scheme, means in panel.lines.items()]


def _line(facets: Facets, scheme: str, means: Sequence[Mean]) -> Line:
    x, y, half = (
        np.array(values, dtype=float)
        for values in (
            [facets.place(mean.at) for mean in means],
            [mean.value.mean for mean in means],
            [mean.value.ci95 or 0.0 for mean in means],
        )
    )
    hollow = np.array([bool(mean.unfinished) for mean in means])
    return Line(scheme, {"scheme": scheme}, x, y, y - half, y + half, hollow)
