//! Opening and closing of subflows.

use midpath_core::packet::Packet;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowSpec};
use midpath_core::units::Time;

use super::{Connection, Subflow, add};
use crate::mptcp::MAX_SUBFLOWS;
use crate::mptcp::address::{self, Pair};
use crate::mptcp::announce::number;
use crate::mptcp::hello::Hello;
use crate::mptcp::keys::{Key, Keys, nonce};

impl Connection {
    /// Opens a subflow: RFC 8684, §3.1 for the first, §3.2 for the others.
    pub(super) fn open(&mut self, pair: Pair, ctx: &mut EndpointCtx<'_>) {
        let mtu = ctx.links.get(usize::from(pair.source().0)).map_or(self.flow.mtu, |l| l.mtu.min(self.flow.mtu));
        let spec = FlowSpec { size: None, stop: None, mtu, ..self.flow };
        self.own.get_or_insert_with(|| Key::draw(ctx));
        // Until the peer has the keys, each may be the first.
        let hello = self.keys.map_or(Hello::Capable, |keys| {
            let address = number(pair.source(), self.first.source());
            Hello::Join { address, token: keys.peer.token, nonce: nonce(ctx, pair.interfaces()) }
        });
        let mut subflow =
            Subflow::new(pair, self.scheme.sender(&spec).supplied(pair.interfaces(), &spec), hello, self.keys);
        subflow.call(ctx, self.data.end(), Endpoint::on_start);
        self.subflows.push(subflow);
    }

    /// A SYN-ACK answers subflow `i`. Whether the subflow goes on; else it is gone.
    pub(super) fn greet(&mut self, i: usize, answer: &Packet) -> bool {
        let other = |s: &Subflow| s.is_open() && !s.is_silent();
        if !self.subflows[i].joins() && self.subflows.iter().any(other) {
            self.subflows[i].abandoned = true;
        } else if self.own.is_some_and(|own| self.subflows[i].greeted(own, answer)) {
            return true;
        }
        self.subflows[i].bury();
        false
    }

    /// The peer has shown that it has the keys that subflow `i` told it: this is the connection's
    /// first subflow. Others that were tried for that may join later.
    pub(super) fn establish(&mut self, i: usize, keys: Keys, ctx: &mut EndpointCtx<'_>) {
        (self.keys, self.first) = (Some(keys), self.subflows[i].pair);
        let end = self.data.end();
        let others = self.subflows.iter_mut().enumerate().filter(|(j, s)| *j != i && s.is_alive());
        others.for_each(|(_, s)| s.abandon(ctx, end));
    }

    /// Opens as many subflows as there are to be, once the peer has the keys (RFC 8684, §3.2).
    /// Ours: also, each to be the first, when the first goes unanswered, so that a dead path does
    /// not keep the connection from starting.
    pub(super) fn open_more(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mine = address::count(ctx.links.len());
        let taken = self.subflows.iter().filter(|s| !s.abandoned).count();
        if taken >= usize::from(mine) * self.addresses.count_ones() as usize {
            return;
        }
        let most = self.most();
        let alive = self.subflows.iter().filter(|s| s.is_alive()).count();
        if alive >= most || self.subflows.len() >= MAX_SUBFLOWS || ctx.now >= self.stop_at {
            return;
        }
        if self.keys.is_none() && self.subflows.iter().any(|s| s.is_alive() && !s.is_silent()) {
            return;
        }
        for _ in 0..(most - alive).min(MAX_SUBFLOWS - self.subflows.len()) {
            let Some(pair) = self.next_pair(mine) else { return };
            self.open(pair, ctx);
        }
    }

    /// The pair that shares the fewest addresses with those that there are: so few subflows share
    /// few links. Ours.
    fn next_pair(&self, mine: u8) -> Option<Pair> {
        let theirs = (u16::BITS - self.addresses.leading_zeros()) as u8;
        let taken = || self.subflows.iter().filter(|s| !s.abandoned);
        let unused = address::pairs(mine, theirs).filter(|p| self.is_free(*p));
        let shared = |p: &Pair| {
            let each = |s: &Subflow| {
                usize::from(s.pair.source() == p.source()) + usize::from(s.pair.destination() == p.destination())
            };
            taken().map(each).sum::<usize>()
        };
        unused.min_by_key(shared)
    }

    /// Takes subflows away that are dead, or of which nothing is heard; what the shortest path connects now goes on by itself.
    /// Where none is left and the peer has not the keys, the first is opened there. Nothing of what is over.
    pub(super) fn give_up_silent(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop_at || self.data.all_acknowledged() {
            return;
        }
        let (una, end) = (self.data.una(), self.data.end());
        let shortest = self.network.first_pair(self.flow.id, self.flow.src, self.flow.dst);
        let is_gone = |s: &mut Subflow| !s.is_alive() || (s.is_opening() || s.is_silent()) && s.pair != shortest;
        for mut s in self.subflows.extract_if(.., is_gone) {
            let own = s.tcp.pieces().map(|p| (p.label.max(una), p.label + (p.to - p.from)));
            let own: Vec<(u64, u64)> = own.filter(|(from, to)| from < to).chain(s.lost.iter()).collect();
            for (from, to) in own {
                self.orphaned.insert(from, to);
            }
            if s.is_open() {
                s.call(ctx, end, |tcp, ctx| tcp.abort(ctx));
            }
            let gone = self.gone.get_or_insert_default();
            **gone = add(**gone, s.tcp.report());
        }
        (self.blocked, self.last) = (self.blocked.afresh(), 0);
        if self.keys.is_none() && self.subflows.is_empty() {
            self.first = shortest;
            self.open(shortest, ctx);
        } else if self.keys.is_some() && self.is_free(shortest) && self.subflows.len() < self.most() {
            self.open(shortest, ctx);
        }
    }

    /// Whether these addresses are known, and no subflow is between them.
    fn is_free(&self, pair: Pair) -> bool {
        self.addresses >> pair.destination().0 & 1 == 1 && self.subflows.iter().all(|s| s.abandoned || s.pair != pair)
    }

    /// How many subflows there may be.
    fn most(&self) -> usize {
        self.params.subflows.map_or(MAX_SUBFLOWS, usize::from)
    }

    /// RFC 8684, §3.3.6: what a subflow that has timed out or died has outstanding is to go out on
    /// another. When it is heard of again, it repairs the rest by itself.
    pub(super) fn look_after_losses(&mut self) {
        let una = self.data.una();
        for s in &mut self.subflows {
            let gone = !s.is_alive() || s.is_silent();
            if gone && !s.given_up {
                let Subflow { tcp, lost, .. } = s;
                for p in tcp.pieces() {
                    lost.insert(p.label.max(una), p.label + (p.to - p.from));
                }
            } else if !gone && s.given_up {
                s.lost.clear();
            }
            s.given_up = gone;
        }
    }

    /// All data are acknowledged: each subflow sends its FIN (RFC 8684, §3.3.3), which carries the
    /// DATA_FIN once more.
    pub(super) fn close(&mut self, ctx: &mut EndpointCtx<'_>) {
        let end = self.data.end();
        let open = self.subflows.iter().any(|s| s.is_alive() && !s.is_opening());
        for s in self.subflows.iter_mut().filter(|s| s.is_alive()) {
            if s.is_opening() && open {
                // Nobody needs it any more; if its SYN-ACK comes, it is refused.
                s.bury();
            } else if !self.closing || s.is_opening() {
                s.tcp.close();
                s.call(ctx, end, |tcp, ctx| tcp.push(true, ctx));
            } else if s.is_open() && s.is_silent() {
                // RFC 8684, §3.3.3: when all is acknowledged, a subflow that does not answer may be
                // reset.
                s.call(ctx, end, |tcp, ctx| tcp.abort(ctx));
            }
        }
        self.closing |= open;
    }

    /// The flow's time is over: what was handed to subflows is still delivered.
    pub(super) fn stop(&mut self) {
        self.stop_at = Time::MAX;
        self.data.stop();
        if self.subflows.iter().all(|s| s.is_opening() || !s.is_alive()) {
            self.subflows.iter_mut().for_each(Subflow::bury);
        }
    }
}
