"""The HTML report of a run, a comparison or a sweep: one file, no network."""

from __future__ import annotations

from pathlib import Path

from midpath.compare import MARKER as COMPARISON_MARKER
from midpath.compare import Comparison, load_comparison
from midpath.errors import OutputError
from midpath.report.flows import by_size, completion
from midpath.report.gauges import gauges
from midpath.report.model import model_of
from midpath.report.network import drawn
from midpath.report.page import page
from midpath.report.path import along
from midpath.report.sweep import sweep_page
from midpath.report.time import goodput, queues
from midpath.result import MARKER as RUN_MARKER
from midpath.result import Result, load
from midpath.storage import write_text
from midpath.work import RUNS
from midpath.sweep.result import Sweep
from midpath.sweep.store import PLAN

FIGURES = (completion, by_size, goodput, queues, along, drawn, gauges)


Source = Result | Comparison | Sweep


def html(source: Source) -> str:
    """The report as text."""
    if isinstance(source, Sweep):
        return sweep_page(source)
    model = model_of(source)
    figures = [draw(model) for draw in FIGURES]
    return page(model, [figure for figure in figures if figure is not None])


def write_report(source: Source, path: str | Path) -> Path:
    """Writes the report, whole or not at all."""
    target = Path(path)
    write_text(target, html(source))
    return target


def load_any(directory: str | Path) -> Source:
    """What a result directory holds: a run, a comparison or a sweep."""
    path = Path(directory)
    unfinished = (path / RUNS).is_dir() and not (path / COMPARISON_MARKER).is_file()
    if unfinished and not (path / RUN_MARKER).is_file():
        done = len(list((path / RUNS).glob(f"*/{RUN_MARKER}")))
        raise OutputError(
            f"{path} is a comparison that has not finished ({done} {'run is' if done == 1 else 'runs are'} there): "
            "repeat its midpath compare, which goes on where it stopped"
        )
    if (path / PLAN).is_file():
        return Sweep(path)
    return load_comparison(path) if (path / COMPARISON_MARKER).is_file() else load(path)


__all__ = ["html", "load_any", "write_report"]
