"""Sweeps: one scenario at many points, with a store of finished runs.

plan      which points, under which schemes and seeds
run       what the store lacks of them is run (`midpath.run`)
table     parameters and figures, a row per run
facets    the same, grouped for a figure; `plot` draws it with matplotlib, `midpath.report` as a page
"""

from midpath.run.slurm import Slurm
from midpath.run.work import Progress
from midpath.sweep.result import Sweep, load_sweep
from midpath.sweep.run import sweep

__all__ = ["Progress", "Slurm", "Sweep", "load_sweep", "sweep"]
