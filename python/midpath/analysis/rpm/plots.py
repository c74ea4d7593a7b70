"""Figures of the analysis: the stability region, and the models beside a run. Needs matplotlib, the extra `plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from midpath.analysis.rpm.limit import region
from midpath.analysis.rpm.model import Model, Path, Trajectory
from midpath.errors import UsageError
from midpath.palette import BLUE, GREEN, GREY, PURPLE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES = tuple(np.geomspace(0.05, 1.0, 30).tolist())
HUES = tuple(look.light for look in (BLUE, RED, GREEN, PURPLE))
MEASURED = GREY.light


def plot_region(
    path: Path,
    windows: Sequence[float] = (20.0, 100.0, 1000.0),
    *,
    shares: Sequence[float] = SHARES,
    model: Model = "paper",
) -> Figure:
    """The stability region over d_s/d and η for several windows c·d/N; the window is changed by the path's capacity.

    Left: the limit N·η, with lemma 1's largest gain below it. Right: how much more gain a short loop tolerates than
    forward marking on the same path, with the line d/d_s.
    """
    figure = _figure(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    for window, hue in zip(windows, HUES, strict=False):
        sized = replace(path, packets_per_s=path.packets_per_s * window / path.window)
        found = region(sized, shares, model)
        forward = region(sized, [1.0], model).true[0]
        left.loglog(found.shares, path.flows * found.true, color=hue, label=f"limit, $cd/N$ = {window:g}")
        left.loglog(found.shares, path.flows * found.mended, color=hue, linestyle=":")
        left.fill_between(found.shares, path.flows * found.mended, path.flows * found.true, color=hue, alpha=0.12)
        right.loglog(found.shares, found.true / forward, color=hue, label=f"$cd/N$ = {window:g}")
    left.plot([], [], color=MEASURED, linestyle=":", label="lemma 1, corrected: largest")
    right.loglog(shares, [1 / share for share in shares], color=MEASURED, linestyle="--", label="$d/d_s$")
    _label(left, "$d_s/d$", "gain $N\\eta$ per packet", "Stable below the solid line")
    _label(right, "$d_s/d$", "limit / limit of forward marking", "Gains that RPM tolerates")
    for axes in (left, right):
        axes.legend(fontsize=8)
    return figure


def plot_beside(models: Mapping[str, Trajectory], run: Trajectory, *, run_name: str = "packet simulator") -> Figure:
    """Trajectories of models beside a run's, which `measured` makes: the queue above, the window below.

    All times count from the same moment: cut and shift the run to the moment at which the models begin. Runs of RPM's
    port in the simulator plug in here as `run`. If the run has no window, rates are drawn instead.
    """
    rates = bool(np.isnan(run.window).all())
    figure = _figure(8.0, 5.0)
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(run.time_s, run.queue, color=MEASURED, linewidth=1.0, label=run_name)
    below.plot(run.time_s, run.rate if rates else run.window, color=MEASURED, linewidth=1.0, label=run_name)
    for (name, found), hue in zip(models.items(), HUES, strict=False):
        above.plot(found.time_s, found.queue, color=hue, label=name)
        below.plot(found.time_s, found.rate if rates else found.window, color=hue, label=name)
    _label(above, "", "queue (packets)", "")
    _label(below, "time (s)", "rate per flow (packets/s)" if rates else "window per flow (packets)", "")
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
    return figure


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'midpath[plots]'") from None
    # Without pyplot: no window, no global state.
    return Figure(figsize=(width, height), layout="constrained")


def _label(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.grid(visible=True, alpha=0.3)
