"""What mathematics says about a scheme, beside what the simulator measures.

`rpm` is the stability analysis of reverse path congestion marking; `dde` and `quasipolynomial` are the numerical
methods under it, good for any system with constant delays. `mircc` has MIRCC's equations as a fluid model and
solvers for where its rates rest. None of them shares code with the simulator.
"""
