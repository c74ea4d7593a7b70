"""Stability of reverse path congestion marking: §IV of the RPM paper, checked and corrected.

The paper: N. Baganal-Krishna, T.-D. Tran, R. Kundel, A. Rizk, "Accelerating End-host Congestion Response using P4
Programmable Switches". `python/midpath/analysis/rpm/README.md` has the equations, the errata and what they mean.

model    the path, the fluid models (1)/(3) and their trajectories
linear   the linearisation (4) and the characteristic function (5)
lemma    lemma 1 as printed, (2) and (6), and with corrected signs
limit    the exact stability limit, and a proven lower bound
beside   trajectories from the simulator's results
plots    figures (needs matplotlib: the extra `plots`)
"""

from midpath.analysis.rpm.beside import measured
from midpath.analysis.rpm.lemma import eta_mended, eta_paper, s_star_exact, s_star_mended, s_star_paper
from midpath.analysis.rpm.limit import Limit, Region, eta_guaranteed, eta_true, region
from midpath.analysis.rpm.linear import Linear
from midpath.analysis.rpm.model import Equilibrium, Model, Path, Start, Trajectory, trajectory

__all__ = [
    "Equilibrium",
    "Limit",
    "Linear",
    "Model",
    "Path",
    "Region",
    "Start",
    "Trajectory",
    "eta_guaranteed",
    "eta_mended",
    "eta_paper",
    "eta_true",
    "measured",
    "region",
    "s_star_exact",
    "s_star_mended",
    "s_star_paper",
    "trajectory",
]
