"""What papers claim, run again: claims, their scenarios, and what came out.

A paper is a folder here, each of its tables and figures a folder in it: `claim.toml` says what the paper says and what
counts as the same, TOML scenarios say what is run, `measure.py` says how the numbers are taken.
"""

from midpath.papers.lab import Lab
from midpath.papers.registry import Claim, Figure, figures
from midpath.papers.runner import Verdict, run_figure

__all__ = ["Claim", "Figure", "Lab", "Verdict", "figures", "run_figure"]
