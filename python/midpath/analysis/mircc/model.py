"""A fluid model of MIRCC: links that update their rates every T, consumers that obey them, delays between.

Traffic is a fluid; time is discrete. Interests reach a link after the delays before it, queue in its shaper, and
continue; the link's rates reach the consumer after the same delays, on the Data. The delay beyond a link is not
part of its loop. Rates are those of the requested Data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from midpath.analysis.mircc import equations as eq
from midpath.analysis.mircc.network import Floats, Ints, Network
from midpath.analysis.mircc.params import Params

PRIMARY, SECONDARY = 0, 1
CLASSES = 2


@dataclass
class Trace:
    """Samples over time. Arrays have the time as their first axis."""

    time: Floats
    stamp: Floats
    """R_p and R_s of each link."""
    offered: Floats
    """Traffic offered to each link's shaper, by class."""
    queue: Floats
    """Of each shaper, in bits."""
    sent: Floats
    """What each path asks for, by class."""
    arrived: Floats
    """What each path gets through its last link, by class."""
    refused: Floats
    """Bits that each link has Nacked so far."""

    def after(self, start: float) -> Trace:
        """The part from `start` on."""
        late = self.time >= start
        parts = (self.time, self.stamp, self.offered, self.queue, self.sent, self.arrived, self.refused)
        return Trace(*(part[late] for part in parts))


class Routes:
    """A network's delays: those before each hop and of whole paths, in steps where they delay something."""

    def __init__(self, net: Network, dt: float) -> None:
        flows = list(net.flows.values())
        delay = np.array([link.delay for link in net.links.values()])[net.hop_link]
        access = np.array([flows[f].access for f in net.path_flow])
        wire = np.concatenate([[0.0], delay[:-1]])
        wire[net.path_start] = access
        ends = [*net.path_start[1:], len(delay)]
        ahead = np.concatenate([np.cumsum(wire[a:b]) for a, b in zip(net.path_start, ends, strict=True)])
        # From one shaper to the next takes at least a step, for hops are advanced together.
        self.wire: Ints = np.maximum(np.rint(wire / dt).astype(int), 1)
        self.wire[net.path_start] = np.rint(access / dt).astype(int)
        self.ahead: Ints = np.rint(ahead / dt).astype(int)
        self.path_rtt: Floats = 2 * (access + np.add.reduceat(delay, net.path_start))
        self.least: Floats = self.path_rtt[net.hop_path]
        self.upstream: Floats = self.least - 2 * ahead
        self.first_hop: Ints = net.path_start
        self.last_hop: Ints = np.array(ends) - 1
        self.inner: Ints = np.setdiff1d(np.arange(len(delay)), net.path_start)
        # Steps of history that anything looks back.
        self.depth = int(self.ahead.max(initial=0)) + int(self.wire.max(initial=0)) + 2


class Model:
    """A network under MIRCC or RCP's equation (1), advanced in steps of `dt` seconds.

    Links update at times of their own: with a `seed` each begins at a random part of its interval, without one they
    are spread evenly.
    """

    def __init__(self, network: Network, params: Params, dt: float, seed: int | None = None) -> None:
        self.network, self.params, self.dt = network, params, dt
        self.routes = Routes(network, dt)
        self.step = 0
        n, hops = len(network.links), len(network.hop_link)
        left = 1 - params.opposite
        self.service = network.capacity * left
        self.c = network.capacity * (left if params.capacity == "left" else 1.0)
        flows = network.flows.values()
        self.starts = np.array([flow.start for flow in flows])
        self.stops = np.array([flow.stop for flow in flows])
        self.demand = np.array([flow.demand for flow in flows])
        self.slots = (network.hop_link[:, None] * CLASSES + np.arange(CLASSES)).ravel()
        # Traffic.
        self.sent_history = np.zeros((self.routes.depth, len(network.paths), CLASSES))
        self.out = np.zeros((self.routes.depth, hops, CLASSES))
        self.waiting = np.zeros((hops, CLASSES))
        self.refused = np.zeros(n)
        rng = np.random.default_rng(seed)
        self.phase = rng.random((hops, CLASSES))
        self.counted = np.zeros((hops, CLASSES))
        # Rates: base and excess of (5), (10), (16).
        self.base = np.repeat((params.initial * params.eta * self.c)[:, None], CLASSES, axis=1)
        self.excess = np.zeros((n, CLASSES))
        self.offer_history = np.repeat(self.rates[None], self.routes.depth, axis=0)
        self.y_before = np.zeros((n, CLASSES))
        self.offered = np.zeros((n, CLASSES))
        self._start_clocks(None if seed is None else rng.random(n))

    def _start_clocks(self, phases: Floats | None) -> None:
        """d(t) before any traffic is that of the paths that may come; a forwarder would have a constant."""
        n = len(self.network.links)
        samples = self.routes.upstream if self.params.rtt == "upstream" else self.routes.least
        uses = np.bincount(self.network.hop_link, minlength=n)
        total = np.bincount(self.network.hop_link, samples, minlength=n)
        self.rtt: Floats = np.maximum(np.divide(total, uses, out=np.full(n, 0.1), where=uses > 0), self.dt)
        self.largest_rtt: Floats = self.rtt.copy()
        np.maximum.at(self.largest_rtt, self.network.hop_link, samples)
        self.told: npt.NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.last_tick = np.zeros(n)
        spread = np.arange(n) / n if phases is None else phases
        self.next_tick = self.interval * (1 + spread)

    @property
    def rates(self) -> Floats:
        """R_p and R_s of each link: (5), (10), (16)."""
        return np.asarray(self.base + self.excess)

    @property
    def interval(self) -> Floats:
        """T of each link."""
        if self.params.interval == "mean":
            return self.rtt
        if self.params.interval == "largest":
            return self.largest_rtt
        return np.full(len(self.rtt), self.params.interval)

    def run(self, until: float, sample: float | None = None) -> Trace:
        """Runs until a time and returns what happened, sampled every `sample` seconds (every step unless given)."""
        every = max(1, round((sample or self.dt) / self.dt))
        rows = []
        for _ in range(round(until / self.dt) - self.step):
            sent, offered, arrived = self._advance()
            if self.step % every == 0:
                queue = self._by_link(self.waiting).sum(axis=1)
                rows.append((self.step * self.dt, self.rates, offered, queue, sent, arrived, self.refused.copy()))
        return Trace(*(np.array(column) for column in zip(*rows, strict=True)))

    def _advance(self) -> tuple[Floats, Floats, Floats]:
        """One step: consumers, shapers, then the links whose interval has ended."""
        sent = self._consumers(self.step * self.dt)
        arriving = self._arriving(sent)
        offered = self._count(arriving)
        out = self._shape(arriving)
        self.out[self.step % self.routes.depth] = out
        self.step += 1
        self._tick(out)
        self.offer_history[self.step % self.routes.depth] = self.rates
        return sent, offered, out[self.routes.last_hop]

    def _consumers(self, now: float) -> Floats:
        """What each path is asked for, by class, from the rates that have come back (§3.1, §4.2, §4.3)."""
        net, p = self.network, self.params
        slot = (self.step - self.routes.ahead) % self.routes.depth
        stamps = np.minimum.reduceat(self.offer_history[slot, net.hop_link], net.path_start, axis=0)
        # A path is known when its first Data has come back.
        known = (now >= self.starts[net.path_flow] + self.routes.path_rtt) & (now < self.stops[net.path_flow])
        stamps *= known[:, None]
        sent = np.zeros_like(stamps)
        sent[:, PRIMARY] = stamps[:, PRIMARY] if p.strategy == "total" else net.best_subflow(stamps[:, PRIMARY])
        if p.strategy == "dual":
            sent[:, SECONDARY] = stamps[:, SECONDARY]
        if np.isfinite(self.demand).any():
            total = net.flow_sum(sent.sum(axis=1))
            share = np.divide(self.demand, total, out=np.ones_like(total), where=total > 0)
            sent *= np.minimum(share, 1.0)[net.path_flow, None]
        return sent

    def _arriving(self, sent: Floats) -> Floats:
        """Interests that reach each hop now: from the consumer, or out of the shaper before."""
        routes = self.routes
        slot = (self.step - routes.wire) % routes.depth
        self.sent_history[self.step % routes.depth] = sent
        arriving: Floats = np.empty_like(self.waiting)
        arriving[routes.inner] = self.out[slot[routes.inner], routes.inner - 1]
        arriving[routes.first_hop] = self.sent_history[slot[routes.first_hop], np.arange(len(sent))]
        return arriving

    def _count(self, arriving: Floats) -> Floats:
        """Adds to y of each link, refused Interests included; whole Interests if their Data have a size."""
        amount = arriving * self.dt
        if self.params.packet > 0:
            self.phase += amount / self.params.packet
            whole = np.floor(self.phase)
            amount, self.counted = (whole - self.counted) * self.params.packet, whole
        offered = self._by_link(amount)
        self.offered += offered
        return offered / self.dt

    def _by_link(self, amount: Floats) -> Floats:
        """Sums over the hops of each link, by class."""
        sums = np.bincount(self.slots, amount.ravel(), minlength=len(self.network.links) * CLASSES)
        return np.asarray(sums.reshape(-1, CLASSES))

    def _shape(self, arriving: Floats) -> Floats:
        """What the shapers let go, and what they keep or refuse. What waits in a shaper is taken for well mixed."""
        amount: Floats = self.waiting + arriving * self.dt
        total = self._by_link(amount).sum(axis=1)
        room = self.service * self.dt
        if (total <= room).all():
            self.waiting = np.zeros_like(amount)
            return np.asarray(amount / self.dt)
        share = np.divide(room, total, out=np.ones_like(total), where=total > room)
        gone: Floats = amount * share[self.network.hop_link, None]
        self.waiting = amount - gone
        self._refuse(np.maximum(total - room, 0.0))
        return gone / self.dt

    def _refuse(self, queue: Floats) -> None:
        """Nacks what is above a shaper's limit, secondary Interests first (§4.2)."""
        over = queue - self.params.queue * self.network.capacity
        if (over <= 0).all():
            return
        waiting = self._by_link(self.waiting)
        for k in (SECONDARY, PRIMARY):
            cut = np.clip(over, 0.0, waiting[:, k])
            keep = 1 - np.divide(cut, waiting[:, k], out=np.zeros_like(cut), where=waiting[:, k] > 0)
            self.waiting[:, k] *= keep[self.network.hop_link]
            self.refused += cut
            over = over - cut

    def _tick(self, out: Floats) -> None:
        """Updates the links whose interval has ended."""
        now = self.step * self.dt
        due = np.flatnonzero(now >= self.next_tick - self.dt / 2)
        if not due.size:
            return
        queue = self._by_link(self.waiting).sum(axis=1)
        self._average_rtt(due, out, queue / self.service)
        elapsed = now - self.last_tick[due]
        self._update(due, self.offered[due] / elapsed[:, None], queue[due], elapsed)
        self.offered[due] = 0.0
        self.last_tick[due] = now
        self.next_tick[due] += np.maximum(self.interval[due], self.dt)

    def _average_rtt(self, due: Ints, out: Floats, wait: Floats) -> None:
        """d(t): the mean of the RTTs of what passes, smoothed over about an RTT."""
        net, n = self.network, len(self.network.links)
        weight = out.sum(axis=1)
        samples = self._rtt_samples(wait)
        total = np.bincount(net.hop_link, weight, minlength=n)
        mean = np.bincount(net.hop_link, weight * samples, minlength=n) / np.maximum(total, 1e-12)
        largest = np.zeros(n)
        np.maximum.at(largest, net.hop_link, samples * (weight > 0))
        due = due[total[due] > 0]
        gain = np.where(self.told, np.minimum(1.0, self.interval / self.rtt), 1.0)[due]
        self.rtt[due] = np.maximum(self.rtt[due] + gain * (mean[due] - self.rtt[due]), self.dt)
        self.largest_rtt[due] = np.maximum(largest[due], self.dt)
        self.told[due] = True

    def _rtt_samples(self, wait: Floats) -> Floats:
        """What each hop's link hears of the RTT of the path, when Interests wait `wait` seconds at each link."""
        net, routes = self.network, self.routes
        if self.params.rtt == "least":
            return routes.least
        hop_wait = wait[net.hop_link]
        path_wait = np.add.reduceat(hop_wait, net.path_start)
        if self.params.rtt == "average":
            return np.asarray((routes.path_rtt + path_wait)[net.hop_path])
        before = np.cumsum(hop_wait) - np.repeat(np.cumsum(path_wait) - path_wait, np.bincount(net.hop_path))
        return np.asarray(routes.upstream + path_wait[net.hop_path] - before)

    def _update(self, due: Ints, y: Floats, queue: Floats, elapsed: Floats) -> None:
        """One step of the equations on the links that are due."""
        p, c = self.params, self.c[due]
        before = self.rates[due]
        if p.update == "rcp":
            self.base[due, PRIMARY] = eq.rcp(
                before[:, PRIMARY],
                eta=p.eta,
                c=c,
                y=y.sum(axis=1),
                q=queue,
                d=self.rtt[due],
                t=elapsed,
                alpha=p.alpha,
                beta=p.beta,
            )
        else:
            n = eq.full_rate_flows(c, y[:, PRIMARY], before[:, PRIMARY])
            self._blend(due, PRIMARY, c, y, queue, n, elapsed)
        if p.strategy == "dual":
            y_p, printed = y[:, PRIMARY], p.residual == "printed"
            c_s = eq.secondary_capacity(c, y_p) if printed else eq.secondary_capacity_derated(c, y_p, p.eta)
            r = before[:, SECONDARY if p.secondary_count == "corrected" else PRIMARY]
            n = eq.full_rate_flows_secondary(c_s, y[:, SECONDARY], r)
            self._blend(due, SECONDARY, c_s, y, queue, n, elapsed)
        self._bound(due)
        self.y_before[due] = y

    def _blend(self, due: Ints, k: int, c: eq.Number, y: Floats, queue: Floats, n: eq.Number, elapsed: Floats) -> None:
        """(3)–(5), (7)–(10), (13)–(16)."""
        p, least = self.params, self.rtt[due]
        d = least + queue / self.c[due] if p.rtt == "least" else least
        weight = p.weight * (np.minimum(1.0, elapsed / least) if p.gain == "scaled" else 1.0)
        beta = eq.self_tuned_beta(y[:, k], self.y_before[due, k], p.beta)
        base = eq.base_rate(p.eta, c, beta, queue, d, n)
        excess = eq.excess_rate(self.rates[due, k], y[:, k], n)
        self.base[due, k] = eq.ewma(self.base[due, k], base, weight)
        self.excess[due, k] = eq.ewma(self.excess[due, k], excess, weight)

    def _bound(self, due: Ints) -> None:
        """Caps and floors. The sum is what counts, so the base takes the difference."""
        p, c = self.params, self.c[due, None]
        high = p.largest * p.eta * c if p.largest is not None else np.inf
        rates = self.rates[due]
        low = np.array([p.floor, p.secondary_floor]) * c
        self.base[due] += np.clip(rates, low, high) - rates
