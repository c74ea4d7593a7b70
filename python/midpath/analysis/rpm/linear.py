"""The models linearised at their equilibrium: equation (4), and its characteristic function (5)."""

from __future__ import annotations

from dataclasses import dataclass

from midpath.analysis.quasipolynomial import QuasiPolynomial
from midpath.analysis.rpm.model import Model, Path, known


@dataclass(frozen=True)
class Linear:
    """The coefficients of (4) for any gain η: γ in 1/s, and α = η·`additive`, Ω = η·`multiplicative` in 1/s².

    With N flows, (4) is that of one flow with capacity c/N and gain N·η.
    """

    round_trip_s: float
    short_s: float
    gamma: float
    additive: float
    multiplicative: float

    @classmethod
    def of(cls, path: Path) -> Linear:
        """γ = abc/(a + bc²d²), α = ηa/d², Ω = ηbc² (appendix, after (4)), with c/N for c and Nη for η."""
        a, b, c, d = path.increase, path.decrease, path.share, path.round_trip_s
        return cls(
            round_trip_s=d,
            short_s=path.short_s,
            gamma=a * b * c / (a + b * c * c * d * d),
            additive=path.flows * a / (d * d),
            multiplicative=path.flows * b * c * c,
        )

    def undriven(self, model: Model = "paper") -> QuasiPolynomial:
        """The part of (5) without η: s² + (2 − e^(−sd) + e^(−s·d_s))·γ·s.

        The self-clocked model adds (s + 2γ)/d: a longer queue makes the round trip longer and the rates lower.
        """
        d, gamma = self.round_trip_s, self.gamma
        clock = 1 / d if known(model) == "self-clocked" else 0.0
        alone = {0.0: [2 * gamma * clock, 2 * gamma + clock, 1.0]}
        if self.short_s == d:
            return QuasiPolynomial(alone)
        return QuasiPolynomial(alone | {d: [0.0, -gamma], self.short_s: [0.0, gamma]})

    def driven(self) -> dict[float, list[float]]:
        """The part of (5) that η multiplies, by delay: (a/d²)·e^(−sd) + b·c²·e^(−s·d_s)."""
        if self.short_s == self.round_trip_s:
            return {self.short_s: [self.additive + self.multiplicative]}
        return {self.round_trip_s: [self.additive], self.short_s: [self.multiplicative]}

    def characteristic(self, gain: float, model: Model = "paper") -> QuasiPolynomial:
        """Equation (5); the system is stable if all its roots have negative real parts."""
        scaled = {delay: [gain * one for one in row] for delay, row in self.driven().items()}
        return self.undriven(model).plus(scaled)

    def is_stable(self, gain: float, model: Model = "paper") -> bool:
        """Whether all roots of (5), complex ones too, have negative real parts."""
        found = self.characteristic(gain, model)
        # Not above zero at s = 0 and without bound for large s: there is a real root that is not negative.
        return bool(found(0.0).real > 0) and found.count() == 0
