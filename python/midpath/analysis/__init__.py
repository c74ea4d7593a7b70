"""Analytical models of schemes, for comparison with the simulator.

`rpm` is the stability analysis of reverse path congestion marking; `dde` and `quasipolynomial` are the numerical
methods under it, good for any system with constant delays. `mircc` has MIRCC's equations as a fluid model and
solvers for its equilibrium. None of them shares code with the simulator.
"""
