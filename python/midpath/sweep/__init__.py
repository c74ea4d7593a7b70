"""Sweeps: one scenario at many points, in a store that knows what has been run.

plan      which points, under which schemes and seeds
key       what tells one run from another
store     where runs are kept
work      what is missing of a plan, and how it gets done: by `workers` here, `dask` or `slurm`
task      one run, as a worker does it; `bundle` is a run whose files came along
table     parameters and figures, a row per run
facets    the same, grouped for a figure; `plot` draws it with matplotlib, `midpath.report` as a page
"""

from midpath.sweep.result import Sweep, load_sweep
from midpath.sweep.run import sweep
from midpath.sweep.slurm import Slurm
from midpath.sweep.work import Progress

__all__ = ["Progress", "Slurm", "Sweep", "load_sweep", "sweep"]
