"""The choices that the paper leaves to its reader, and its variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interval = float | Literal["mean", "largest"]
Gain = Literal["printed", "scaled"]
Rtt = Literal["least", "average", "upstream"]
Reading = Literal["printed", "corrected"]


@dataclass(frozen=True)
class Params:
    """Defaults: the paper's text, and where it is silent the choice of `evidence/papers/mircc/ERRATA.md`."""

    eta: float = 0.95
    update: Literal["mircc", "rcp"] = "mircc"
    weight: float = 0.5
    """α of footnote 3's EWMA."""
    gain: Gain = "printed"
    """Scaled: α min(1, T/d) in place of α, in both averages. Ours."""
    beta: float = 0.1
    """β' of MIRCC, β of RCP."""
    alpha: float = 0.4
    """RCP's α."""
    interval: Interval = "mean"
    """T in seconds, or the mean or largest RTT of the link's traffic, as `rtt` has it."""
    rtt: Rtt = "least"
    """Whose RTT d(t) is. Least and average: the consumers', told in their Interests, without and with what waits in
    shapers; where it divides q, the link adds the wait in its own shaper to the least one. Upstream: what a forwarder
    can measure by itself, from the Interest's leaving the shaper to its Data."""
    largest: float | None = 1.0
    """Cap of R, as a share of ηC; None for none."""
    floor: float = 1e-4
    """Least R_p, as a share of C; 0 for none."""
    secondary_floor: float = 1e-6
    """Least R_s, as a share of C; 0 for none."""
    initial: float = 1.0
    """R(0), as a share of ηC."""
    residual: Reading = "corrected"
    """C_s: equation (11), or with C − y_p/η."""
    secondary_count: Reading = "corrected"
    """Equation (12): R_p(t−T), or R_s(t−T)."""
    strategy: Literal["dual", "best", "total"] = "dual"
    """Consumers: dual class, or (without a secondary class) the best subflow only or the total of the subflows."""
    capacity: Literal["link", "left"] = "link"
    """C of the equations: the link's, or what opposite Interests leave of it."""
    opposite: float = 0.0
    """Share of each link that opposite Interests take."""
    queue: float = 0.1
    """Longest queue of a shaper, in seconds of the link's rate."""
    packet: float = 0.0
    """Size of Data in bits: y counts whole Interests. 0: y is the fluid."""
