"""MIRCC's equilibrium rates, and fair or optimal rates, computed without running its equations.

Each allocation has a certificate that measures how far rates are from it and shares no code with the solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from midpath.analysis.mircc.network import Floats, Network

# Shares of a capacity below this are rounding.
EXACT = 1e-9


def max_min(network: Network, capacity: Floats | None = None) -> Floats:
    """The max-min fair rate of each path, where each path is a flow of its own (water-filling).

    With one path per flow this is plain max-min fairness between flows, else per-subflow max-min.
    """
    left = np.array(network.capacity if capacity is None else capacity, dtype=float)
    rates = np.zeros(len(network.paths))
    rising = np.ones(len(network.paths), dtype=bool)
    while rising.any():
        count = network.link_load(rising.astype(float))
        used = count > 0
        step = float((left[used] / count[used]).min())
        rates[rising] += step
        left -= step * count
        full = used & (left <= EXACT * network.capacity)
        rising &= ~_crosses(network, full)
    return rates


def _crosses(network: Network, links: np.ndarray) -> np.ndarray:
    """Which paths cross at least one of the links."""
    return np.asarray(np.logical_or.reduceat(links[network.hop_link], network.path_start))


def max_min_error(network: Network, rates: Floats, capacity: Floats | None = None) -> float:
    """How far the paths' rates are from max-min fairness, relative to the capacities.

    Bertsekas and Gallager, Data Networks, §6.5.2: rates are max-min fair if and only if every flow crosses a
    bottleneck: a full link on which no flow is faster.
    """
    caps = network.capacity if capacity is None else capacity
    load = network.link_load(rates)
    fastest = np.zeros(len(caps))
    np.maximum.at(fastest, network.hop_link, rates[network.hop_path])
    hop_rate = rates[network.hop_path]
    slack = (caps - load) / network.capacity
    lead = (fastest[network.hop_link] - hop_rate) / network.capacity[network.hop_link]
    to_bottleneck = np.minimum.reduceat(np.maximum(slack[network.hop_link], lead), network.path_start)
    return float(max(to_bottleneck.max(), (-slack).max(), 0.0))


@dataclass(frozen=True)
class Stamps:
    """A fixed point of the stamping rates and what consumers make of it."""

    link: Floats
    """R_p of each link."""
    path: Floats
    """Primary rate of each path."""


def stamps_fixed_point(network: Network, eta: float = 1.0, cap: Floats | None = None, start: float = 1.0) -> Stamps:
    """Stamping rates R_p under which every link carries ηC of primary traffic, or offers its cap and carries less.

    Consumers send at their best path's stamp, split in proportion to the stamps. Solved link by link: the load of a
    link does not fall when its own R_p rises, so that a bisection finds the R_p that fills it while the others stand
    still. `cap` is ηC unless given. `start` is where the search begins, as a share of the cap.
    """
    target = eta * network.capacity
    top = target if cap is None else cap
    rates = start * top
    for _ in range(2_000):
        before = rates.copy()
        for i in range(len(rates)):
            rates[i] = _filling_rate(network, rates, i, target[i], top[i])
        if np.abs(rates - before).max() <= 1e-12 * top.max():
            break
    return Stamps(rates, network.best_subflow(network.path_minimum(rates)))


def _filling_rate(network: Network, rates: Floats, i: int, target: float, top: float) -> float:
    """The R_p with which link `i` carries its target, or its cap."""

    def load(rate: float) -> float:
        tried = rates.copy()
        tried[i] = rate
        return float(network.link_load(network.best_subflow(network.path_minimum(tried)))[i])

    if load(top) <= target:
        return top
    low, high = 0.0, top
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if load(middle) <= target else (low, middle)
    return low


def stamps_error(network: Network, stamps: Floats, eta: float = 1.0, cap: Floats | None = None) -> float:
    """How far stamping rates are from a fixed point, as a share of the links' targets: 0 at one."""
    target = eta * network.capacity
    top = target if cap is None else cap
    load = network.link_load(network.best_subflow(network.path_minimum(stamps)))
    spare = (target - load) / target
    to_cap = (top - stamps) / target
    return float(max((-spare).max(), np.minimum(spare, to_cap).max(), 0.0))


def secondary_max_min(network: Network, primary: Floats, eta: float = 1.0) -> Floats:
    """Per-subflow max-min rates of the secondary class on what the primary rates leave of ηC (§4.2, footnote 4)."""
    left = np.maximum(eta * network.capacity - network.link_load(primary), 0.0)
    return max_min(network, left)


def most_throughput(network: Network, capacity: Floats | None = None) -> float:
    """The largest sum of all flows' rates that the links allow: a linear program."""
    caps = network.capacity if capacity is None else capacity
    found = linprog(-np.ones(len(network.paths)), A_ub=_incidence(network), b_ub=caps, method="highs")
    return float(-found.fun)


def max_min_flows(network: Network, capacity: Floats | None = None, most: Floats | None = None) -> Floats:
    """Max-min fair rates between flows that may split over their paths at will: a sequence of linear programs.

    Each raises the smallest rate of the flows that can still grow, then fixes those that cannot. No flow gets more than
    its entry in `most`.
    """
    caps = network.capacity if capacity is None else capacity
    n, flows = len(network.paths), len(network.flows)
    unit = float(caps.max())
    sums = (network.path_flow[None, :] == np.arange(flows)[:, None]).astype(float)
    fixed = np.full(flows, np.nan)
    uses = _incidence(network)
    if most is not None:
        # A flow's limit is a link that all its paths cross.
        uses, caps = np.vstack([uses, sums]), np.concatenate([caps, most])
    a_ub = np.hstack([uses, np.zeros((len(caps), 1))])
    while np.isnan(fixed).any():
        open_flows = np.isnan(fixed)
        level = _raise_least(a_ub, caps / unit, sums, fixed / unit)
        for flow in np.flatnonzero(open_flows):
            if _most_of(a_ub[:, :n], caps / unit, sums, fixed / unit, level, int(flow)) <= level + 1e-7:
                fixed[flow] = level * unit
        if not (open_flows & ~np.isnan(fixed)).any():
            message = "no flow is at its limit: the linear programs' tolerance is too small for these capacities"
            raise ArithmeticError(message)
    return fixed


def _raise_least(a_ub: Floats, caps: Floats, sums: Floats, fixed: Floats) -> float:
    """The largest rate that all open flows can have at once while the fixed ones keep theirs."""
    n = a_ub.shape[1] - 1
    known = ~np.isnan(fixed)
    grow = np.hstack([-sums[~known], np.ones((int((~known).sum()), 1))])
    keep = np.hstack([-sums[known], np.zeros((int(known.sum()), 1))])
    below = np.concatenate([caps, np.zeros(len(grow)), -fixed[known] * (1 - 1e-9)])
    found = linprog(-np.eye(n + 1)[n], A_ub=np.vstack([a_ub, grow, keep]), b_ub=below, method="highs")
    return float(found.x[n])


def _most_of(incidence: Floats, caps: Floats, sums: Floats, fixed: Floats, level: float, flow: int) -> float:
    """The largest rate of one flow while all others keep theirs, or at least `level` where they are open."""
    least = np.where(np.isnan(fixed), level, fixed) * (1 - 1e-9)
    bounds = np.concatenate([caps, -least])
    found = linprog(-sums[flow], A_ub=np.vstack([incidence, -sums]), b_ub=bounds, method="highs")
    return float(-found.fun)


def _incidence(network: Network) -> Floats:
    """Rows are links, columns are paths."""
    table = np.zeros((len(network.links), len(network.paths)))
    np.add.at(table, (network.hop_link, network.hop_path), 1.0)
    return table
