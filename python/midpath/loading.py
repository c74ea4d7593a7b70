"""Loads any kind of result from disk."""

from __future__ import annotations

from pathlib import Path

from midpath.compare import MARKER as COMPARISON_MARKER
from midpath.compare import Comparison, load_comparison
from midpath.errors import OutputError
from midpath.failures import Failures, load_failures
from midpath.result import MARKER as RUN_MARKER
from midpath.result import Result
from midpath.result import load as load_result
from midpath.run.store import PLAN
from midpath.run.whole import RUNS
from midpath.sweep.result import Sweep
from midpath.variants import FOLDER, Variants, load_variants
from midpath.variants import MARKER as VARIANTS_MARKER


def load(directory: str | Path) -> Result | Comparison | Variants | Sweep | Failures:
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
