"""Run congestion control on any topology: simulate, compare, report.

import midpath

result = midpath.run("examples/abilene.toml", scheme="cubic")
print(result.summary["afct_s"])
result.flows.to_pandas()
"""

from pathlib import Path as _Path
from typing import Any as _Any

from midpath.added import choose as _simulator

_simulator.choose()

# ruff: noqa: E402 - the simulator is chosen before anything imports it
from midpath._midpath import version as _version
from midpath.compare.comparison import Comparison
from midpath.compare.runs import compare
from midpath.compare.variants import Variants, compare_variants
from midpath.controller import Controller
from midpath.errors import ControllerError, OutputError, ScenarioError, UsageError
from midpath.html import writers as _writers
from midpath.loading import load
from midpath.result import Result
from midpath.run import run
from midpath.scenario import Scenario
from midpath.sweep import Sweep, load_sweep, sweep
from midpath.sweep.failures import Failures, failures

__version__ = _version()


def _write_report(found: _Any, path: str | _Path) -> _Path:
    from midpath.report import write_report  # noqa: PLC0415 - NetworkX is an extra, and slow to load

    return write_report(found, path)


_writers.append(_write_report)

__all__ = [
    "Comparison",
    "Controller",
    "ControllerError",
    "Failures",
    "OutputError",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "UsageError",
    "Variants",
    "__version__",
    "compare",
    "compare_variants",
    "failures",
    "load",
    "load_sweep",
    "run",
    "sweep",
]
