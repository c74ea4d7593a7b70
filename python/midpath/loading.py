"""Loads any kind of result from disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from midpath.compare.comparison import MARKER as COMPARISON_MARKER
from midpath.compare.comparison import Comparison
from midpath.compare.runs import load_comparison
from midpath.compare.variants import FOLDER, Variants, load_variants
from midpath.compare.variants import MARKER as VARIANTS_MARKER
from midpath.errors import OutputError
from midpath.provenance import require_alike
from midpath.result import MARKER as RUN_MARKER
from midpath.result import Result
from midpath.result import load as load_result
from midpath.run.store import PLAN
from midpath.run.whole import RUNS
from midpath.sweep.failures import Failures, load_failures
from midpath.sweep.result import Sweep

Source = Result | Comparison | Variants | Sweep | Failures


def load(directory: str | Path) -> Source:
    """What a directory holds: a run, a comparison (of variants, too), or a sweep; `OutputError` if none of them."""
    path = Path(directory)
    if (path / PLAN).is_file():
        sweep = Sweep(path)
        return load_failures(sweep) or sweep
    if (path / VARIANTS_MARKER).is_file():
        return load_variants(path)
    if (path / COMPARISON_MARKER).is_file():
        return load_comparison(path)
    begun = [folder for folder in (RUNS, FOLDER) if (path / folder).is_dir()]
    if begun and not (path / RUN_MARKER).is_file():
        done = len(list((path / begun[0]).glob(f"**/{RUN_MARKER}")))
        raise OutputError(
            f"{path} is an unfinished comparison ({done} {'run is' if done == 1 else 'runs are'} there): "
            "repeat its `midpath compare`, which continues"
        )
    return load_result(path)


def load_all(directories: Iterable[Path]) -> list[tuple[str, Source]]:
    """What these directories hold, by their names. Those that ran under unlike versions or defaults are refused."""
    found = [(directory, load(directory)) for directory in directories]
    require_alike((str(directory / name), kept) for directory, source in found for name, kept in _kept(source))
    return [(directory.name, source) for directory, source in found]


def _kept(source: Source) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """What a source's runs say of themselves, by their names within it."""
    if isinstance(source, Failures):
        source = source.sweep
    if isinstance(source, Sweep):
        return [("", source.about)]
    return [("", source.run)] if isinstance(source, Result) else source.kept()
