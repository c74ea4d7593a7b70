"""The HTML report of a run, a comparison, variants or a sweep: one offline file."""

from __future__ import annotations

from pathlib import Path

from midpath.compare.comparison import Comparison
from midpath.compare.variants import Variants
from midpath.report.failures import failures_page
from midpath.report.faults import faults_of, marked
from midpath.report.flows import by_size, completion
from midpath.report.gauges import gauges
from midpath.report.model import model_of
from midpath.report.network import drawn
from midpath.report.page import page
from midpath.report.path import state_timeline
from midpath.report.sweep import sweep_page
from midpath.report.time import goodput, queues
from midpath.report.variants import variants_page
from midpath.result import Result
from midpath.storage import write_text
from midpath.sweep.failures import Failures
from midpath.sweep.result import Sweep

FIGURES = (completion, by_size, goodput, queues, state_timeline, drawn, gauges)


Source = Result | Comparison | Variants | Sweep | Failures


def html(source: Source, replays: dict[str, str] | None = None) -> str:
    """The report as text; `replays` are files beside it, by what is said of each."""
    if isinstance(source, Sweep):
        return sweep_page(source)
    if isinstance(source, Failures):
        return failures_page(source)
    if isinstance(source, Variants):
        return variants_page(source)
    model = model_of(source)
    faults = faults_of(model)
    figures = [draw(model) for draw in FIGURES]
    return page(model, [marked(figure, faults) for figure in figures if figure is not None], replays or {})


def write_report(source: Source, path: str | Path, replays: dict[str, str] | None = None) -> Path:
    """Writes the report, whole or not at all; `replays` are files beside it, by what is said of each."""
    target = Path(path)
    write_text(target, html(source, replays))
    return target


__all__ = ["html", "write_report"]
