"""Run congestion control on any topology: simulate, compare, report.

import midpath

result = midpath.run("examples/abilene.toml", scheme="cubic")
print(result.summary["afct_s"])
result.flows.to_pandas()
"""

from midpath.added import choose as _simulator

_simulator.choose()

# ruff: noqa: E402 - the simulator is chosen before anything imports it
from midpath._midpath import version as _version
from midpath.compare import Comparison, compare
from midpath.controller import Controller
from midpath.errors import ControllerError, OutputError, ScenarioError, UsageError
from midpath.failures import Failures, failures
from midpath.loading import load
from midpath.result import Result
from midpath.run import run
from midpath.scenario import Scenario
from midpath.sweep import Sweep, load_sweep, sweep
from midpath.variants import Variants, compare_variants

__version__ = _version()

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
