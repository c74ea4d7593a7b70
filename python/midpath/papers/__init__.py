"""Reproduction of papers' claims: claims, scenarios, and results.

A paper is a folder here, each of its tables and figures a folder in it: `claim.toml` has the paper's claims and
tolerances, TOML files the scenarios, `measure.py` the measurement.
"""

from midpath.papers.lab import Lab
from midpath.papers.registry import Claim, Figure, figures
from midpath.papers.runner import Verdict, run_figure

__all__ = ["Claim", "Figure", "Lab", "Verdict", "figures", "run_figure"]
