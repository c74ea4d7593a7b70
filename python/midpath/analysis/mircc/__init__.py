"""MIRCC's equations as a fluid model, and solvers for their equilibrium.

`equations` holds the paper's formulas, `model` runs them with delays on a `network`, `solvers` computes the
equilibrium rates by other means. `cases` has the paper's topologies and random networks. `stability` and `errata`
print the tables of `evidence/papers/mircc/STABILITY.md` and `evidence/papers/mircc/ERRATA.md`.

Rates are in bits/s, queues in bits, times in seconds. A link is one direction: the one that carries Data.
"""
