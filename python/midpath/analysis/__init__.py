"""Models and solvers that share nothing with the simulator: what its results are checked against."""
