"""How far estimates of a run's first quarter are from whole packet runs, on random scenarios: what `draw.py` says.

The fluid has the first quarter of the flows, pilots an eighth and a quarter of those. Fixed before the first run: of
what is answered (a band above 30 % is refused) 90 % lies in its 95 % band; 50 % of figures are answered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from estimate import measure

PARTS = 4

SUITE = replace(
    measure.SUITE,
    title="Estimates from a run's first quarter beside packet runs of the whole",
    judge=partial(measure.judge, parts=PARTS),
    scenarios=60,
)
