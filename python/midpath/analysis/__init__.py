"""What mathematics says about a scheme, beside what the simulator measures.

`rpm` is the stability analysis of reverse path congestion marking; `dde` and `quasipolynomial` are the numerical
methods under it, good for any system with constant delays.
"""
