//! When subflows come and go.

use midpath_core::roles::{Endpoint, EndpointCtx, FlowSpec};
use midpath_core::units::Time;

use super::{Connection, Subflow};
use crate::mptcp::MAX_SUBFLOWS;
use crate::mptcp::address::{self, Pair};
use crate::mptcp::header::Hello;

impl Connection {
    /// Opens a subflow: RFC 8684, §3.1 for the first, §3.2 for the others.
    pub(super) fn open(&mut self, pair: Pair, ctx: &mut EndpointCtx<'_>) {
        let mtu = ctx.links.get(usize::from(pair.source().0)).map_or(self.flow.mtu, |l| l.mtu.min(self.flow.mtu));
        let spec = FlowSpec { size: None, stop: None, mtu, ..self.flow };
        let mine = address::count(ctx.links.len());
        // Until somebody has answered, each may be the first.
        let joins = self.subflows.iter().any(Subflow::is_open);
        let hello = if joins { Hello::Join } else { Hello::Capable(mine) };
        let mut subflow = Subflow::new(pair, self.scheme.sender(&spec), hello);
        subflow.call(ctx, self.data.end(), Endpoint::on_start);
        self.subflows.push(subflow);
    }

    /// Opens as many subflows as there are to be, once the first is there (RFC 8684, §3.2). Ours: also when a SYN has gone
    /// unanswered, so that a dead path does not keep the connection from starting.
    pub(super) fn open_more(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mine = address::count(ctx.links.len());
        if self.subflows.len() >= usize::from(mine) * usize::from(self.addresses) {
            return;
        }
        let most = self.params.subflows.map_or(MAX_SUBFLOWS, usize::from);
        let alive = self.subflows.iter().filter(|s| s.is_alive()).count();
        if alive >= most || self.subflows.len() >= MAX_SUBFLOWS || ctx.now >= self.stop_at {
            return;
        }
        if !self.subflows.iter().any(|s| !s.is_opening() || s.is_silent()) {
            return;
        }
        for _ in 0..(most - alive).min(MAX_SUBFLOWS - self.subflows.len()) {
            let Some(pair) = self.next_pair(mine) else { return };
            self.open(pair, ctx);
        }
    }

    /// The pair that shares the fewest addresses with those that there are: so few subflows share few links. Ours.
    fn next_pair(&self, mine: u8) -> Option<Pair> {
        let unused = address::pairs(mine, self.addresses).filter(|p| self.subflows.iter().all(|s| s.pair != *p));
        let shared = |p: &Pair| {
            let each = |s: &Subflow| {
                usize::from(s.pair.source() == p.source()) + usize::from(s.pair.destination() == p.destination())
            };
            self.subflows.iter().map(each).sum::<usize>()
        };
        unused.min_by_key(shared)
    }

    /// RFC 8684, §3.3.6: what a subflow that has timed out or died has outstanding is to go out on another. When it is heard of again,
    /// it repairs the rest by itself.
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

    /// All data are acknowledged: each subflow sends its FIN (RFC 8684, §3.3.3), which carries the DATA_FIN once more.
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
                // RFC 8684, §3.3.3: when all is acknowledged, a subflow that does not answer may be reset.
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
