"""Lemma 1 and the proof around it: nothing is simulated; the analysis in `midpath.analysis.rpm`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from midpath.analysis.rpm import (
    Equilibrium,
    Linear,
    Model,
    Path,
    Start,
    eta_guaranteed,
    eta_mended,
    eta_paper,
    eta_true,
    s_star_exact,
    s_star_mended,
    s_star_paper,
    trajectory,
)
from midpath.analysis.rpm.model import paper_rhs
from midpath.papers.lab import Lab, Measured

# Windows c·d in packets and places d_s/d: all that (5) depends on besides the gain, for the round trip is the unit of
# time. From two packets, the least that TCP halves, to 10 Gbps over 120 ms.
WINDOWS = (2.0, 5.0, 20.0, 100.0, 1000.0, 100_000.0)
SHARES = (0.05, 0.2, 0.5, 0.8, 1.0)
# From here on a/(bc²d²), the share of packets that are marked, is below 0.02 %.
LARGE = 100.0
PATHS = [Path(1.0, share, window) for window, share in product(WINDOWS, SHARES)]
LARGE_PATHS = [path for path in PATHS if path.window >= LARGE]
# s in the half-line that the lemma names, in multiples of s*; and between s* and zero, in shares of it.
BEYOND = (1.001, 1.5, 4.0)
BETWEEN = (0.01, 0.25, 0.5, 0.75, 0.99)
# What rounding may leave of (5), relative to its largest term.
ROUNDING = 1e-12
# §V's testbed: 10 flows over 10 Gbps in packets of 1500 bytes; experiment 1.
TESTBED = Path(0.04, 0.02, 10e9 / 8 / 1500, forward_s=0.01, flows=10)


def measure(lab: Lab) -> Iterator[Measured]:
    """The claims of lemma 1."""
    del lab
    yield from _model()
    yield from _printed()
    yield from _mended()
    yield from _limits()
    yield from _meaning()


def _model() -> Iterator[Measured]:
    yield Measured("linearised", [max(_derivative_error(path) for path in PATHS)])
    yield Measured("solved", [_share([_residue(path) < ROUNDING for path in PATHS])])
    yield Measured("swing", [_swing(Path(1.0, 0.25, 20.0))])


def _printed() -> Iterator[Measured]:
    """What the lemma says, to the letter. For d_s = d its s* divides by zero, and there is nothing to test."""
    paths = [path for path in PATHS if path.short_s < path.round_trip_s]
    points = [(path, eta_paper(path, s_star_paper(path) * more)) for path, more in product(paths, BEYOND)]
    yield Measured("printed.positive", [_share([gain > 0 for _, gain in points])])
    yield Measured("printed.stable", [_share([Linear.of(path).is_stable(gain) for path, gain in points])])
    yield Measured("printed.root", [min(s_star_paper(path) / s_star_exact(path) for path in paths)])
    yield Measured("printed.other", [max((s_star_paper(path) / -_positive_root(path) for path in paths), key=_off)])


def _mended() -> Iterator[Measured]:
    points = [(path, eta_paper(path, s_star_exact(path) * part)) for path, part in product(PATHS, BETWEEN)]
    yield Measured("mended.positive", [_share([gain > 0 for _, gain in points])])
    yield Measured("mended.stable", [_share([Linear.of(path).is_stable(gain) for path, gain in points])])
    yield Measured("mended.root", [max(s_star_mended(path) / s_star_exact(path) for path in PATHS)])
    yield Measured("small", [eta_mended(TESTBED)])
    spreads = []
    for window in WINDOWS:
        gains = [eta_mended(Path(1.0, share, window)) for share in SHARES]
        spreads.append(max(gains) / min(gains))
    yield Measured("constant", [max(spreads)])
    kept = [Linear.of(path).is_stable(eta_mended(path.forward_marking())) for path in PATHS]
    yield Measured("location", [_share(kept)])


def _limits() -> Iterator[Measured]:
    yield Measured("limit.guaranteed", [_share([eta_guaranteed(path) < eta_true(path).gain for path in PATHS])])
    yield Measured("limit.lemma", [min(eta_true(path).gain / eta_mended(path) for path in PATHS)])
    yield Measured("limit.testbed", [eta_true(TESTBED).gain / eta_mended(TESTBED)])
    yield Measured("limit.form", [max((_form(path) for path in LARGE_PATHS), key=_off)])
    models: tuple[Model, ...] = ("paper", "self-clocked")
    for model in models:
        worst = max((_tolerance(path, model) for path in LARGE_PATHS), key=_off)
        yield Measured(f"tolerates.{model}", [worst])
    few = [_tolerance(path, "paper") for path in PATHS if path.window <= 5]
    yield Measured("tolerates.few", [max(few, key=_off)])


def _meaning() -> Iterator[Measured]:
    yield Measured("queue.lemma", [min(_queue(path, eta_mended(path)) / path.window for path in PATHS)])
    bound = [_queue(path, eta_true(path).gain) / (path.share * path.short_s) for path in LARGE_PATHS]
    yield Measured("queue.limit", [max(bound, key=lambda found: abs(found - 0.5))])
    clocked = Path(1.0, 1.0, 20.0)
    yield Measured("self-clocked", [eta_true(clocked, "self-clocked").gain / eta_true(clocked).gain])


def _derivative_error(path: Path) -> float:
    """How far the derivatives of (3), by differences, are from the coefficients of (4), relative to the largest."""
    found, gain = Linear.of(path), eta_true(path).gain / 2
    rest = Start.at_rest(path, gain)
    point = np.tile([rest.rate, rest.queue], (6, 1))
    rhs = paper_rhs(path, gain, 0.0)

    def slope(row: int, column: int) -> float:
        step = np.zeros_like(point)
        step[row, column] = 1e-4 * point[row, column]
        up, down = (np.asarray(rhs(0.0, *_split(point + sign * step)))[0] for sign in (1, -1))
        return float((up - down) / (2 * step[row, column]))

    gamma = found.gamma
    # Now, a round trip ago, a short one ago: rates; then queues as packets saw them that are acknowledged now.
    rates = ([slope(0, 0), slope(1, 0), slope(2, 0)], [-2 * gamma, gamma, -gamma])
    queues = ([slope(4, 1), slope(5, 1)], [-gain * found.additive, -gain * found.multiplicative])
    return max(
        max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / max(map(abs, theirs))
        for ours, theirs in (rates, queues)
    )


def _split(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return point[0], point[1:]


def _residue(path: Path) -> float:
    """What is left of (5) at a real s between s* and 0 with the gain of (2), relative to its largest term."""
    s = s_star_exact(path) / 2
    gain = eta_paper(path, s)
    driven = gain * (Linear.of(path).additive + Linear.of(path).multiplicative)
    return float(abs(Linear.of(path).characteristic(gain)(s))) / max(s * s, driven)


def _swing(path: Path) -> float:
    """How fast a trajectory of (3) dies out near its equilibrium, over the rightmost root's real part."""
    gain = 0.8 * eta_true(path).gain
    rest = Start.at_rest(path, gain)
    start = Start(rest.rate, rest.window, rest.queue * 1.001)
    found = trajectory(path, gain, duration_s=200.0, start=start)
    away = found.queue - rest.queue
    peaks = np.flatnonzero((away[1:-1] > away[:-2]) & (away[1:-1] > away[2:])) + 1
    # The first swings still hold faster modes.
    first, last = peaks[2], peaks[-1]
    rate = np.log(away[last] / away[first]) / (found.time_s[last] - found.time_s[first])
    return float(rate / Linear.of(path).characteristic(gain).rightmost().real)


def _positive_root(path: Path) -> float:
    """The positive root of the quadratic that (6) solves, γ(d² − d_s²)/2·s² − (1 + γ(d − d_s))·s − 2γ, by NumPy."""
    d, short, gamma = path.round_trip_s, path.short_s, Linear.of(path).gamma
    return float(max(np.roots([gamma * (d * d - short * short) / 2, -(1 + gamma * (d - short)), -2 * gamma]).real))


def _form(path: Path) -> float:
    """The true limit over 2γ/(A·d + B·d_s)."""
    found = Linear.of(path)
    reach = found.additive * found.round_trip_s + found.multiplicative * found.short_s
    return eta_true(path).gain * reach / (2 * found.gamma)


def _tolerance(path: Path, model: Model) -> float:
    """RPM's limit over forward marking's, in multiples of d/d_s."""
    more = eta_true(path, model).gain / eta_true(path.forward_marking(), model).gain
    return more * path.short_s / path.round_trip_s


def _queue(path: Path, gain: float) -> float:
    return Equilibrium.of(path, gain).excess


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _off(found: float) -> float:
    return abs(math.log(found))
