"""Sweeps: one scenario at many points, with a store of finished runs.

plan      which points, under which schemes and seeds
key       a run's key
store     storage of runs
work      missing runs of a plan, and their execution by `workers` here, `dask` or `slurm`
task      one run, as a worker does it; `bundle` is a run whose files came along
table     parameters and figures, a row per run
facets    the same, grouped for a figure; `plot` draws it with matplotlib, `midpath.report` as a page
"""

from midpath.sweep.result import Sweep, load_sweep
from midpath.sweep.run import sweep
from midpath.sweep.slurm import Slurm
from midpath.sweep.work import Progress

__all__ = ["Progress", "Slurm", "Sweep", "load_sweep", "sweep"]
