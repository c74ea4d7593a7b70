//! Shared state of a host's flows: its port's rate, and active slow-downs.

use std::collections::BTreeMap;

use midpath_core::packet::{FlowKey, Packet};
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Rate, Time};

use crate::inrpp::header::Nonce;
use crate::inrpp::intervals::Intervals;

/// With more open flows than this on a host they are not woken when their share changes: each reads
/// its share with its next packet anyway, and waking all for each that comes would cost the square
/// of their number. Ours.
const MAX_POKES: usize = 32;

/// Nonces that a host remembers to have been slowed down by.
const MAX_HOST_NONCES: usize = 256;

/// How long a host counts ACKs until it knows their rate. Ours.
const ACK_INTERVAL: Time = Time::from_ms(100);

/// Bytes that the ACKs of a host's receivers take of its link.
#[derive(Debug, Clone, Copy)]
struct AckLoad(Intervals<3>);

impl Default for AckLoad {
    fn default() -> AckLoad {
        AckLoad(Intervals::new(ACK_INTERVAL))
    }
}

impl AckLoad {
    /// In bits per second: the more of the two intervals before this one, so that what has come too
    /// much goes again.
    #[inline]
    fn bps(self, now: Time) -> f64 {
        if self.0.is_empty() {
            return 0.0; // a host without receivers
        }
        let [_, last, before] = self.0.at(now);
        last.max(before) as f64 * 8.0 / ACK_INTERVAL.as_secs_f64()
    }
}

/// The flows of a host that have something to send, and what else it sends.
#[derive(Debug, Default)]
pub struct HostFlows {
    /// Each flow's rate in closed loop in bits per second; `None` in open loop.
    claims: BTreeMap<FlowKey, Option<f64>>,
    open: usize,
    /// Sum of the closed-loop rates.
    closed_bps: f64,
    /// Interfaces that have asked one of the flows to slow down, and when they last did.
    pressed: BTreeMap<Nonce, Time>,
    acks: AckLoad,
    /// Rises with every change that others' rates depend on.
    pub(super) version: u64,
}

impl HostFlows {
    pub(super) fn set(&mut self, flow: FlowKey, claim: Option<f64>) -> bool {
        let mut changed = true;
        if let Some(place) = self.claims.get_mut(&flow) {
            let before = std::mem::replace(place, claim);
            let others = self.claims.len() - 1;
            self.take_away(before, others);
            changed = before.is_some() != claim.is_some();
        } else {
            self.claims.insert(flow, claim);
        }
        match claim {
            Some(bps) => self.closed_bps += bps,
            None => self.open += 1,
        }
        self.version += u64::from(changed);
        changed
    }

    pub(super) fn remove(&mut self, flow: FlowKey) -> Option<Option<f64>> {
        let claim = self.claims.remove(&flow)?;
        self.take_away(claim, self.claims.len());
        Some(claim)
    }

    /// A flow's claim no longer counts beside those of so many `others`.
    fn take_away(&mut self, claim: Option<f64>, others: usize) {
        self.version += 1;
        match claim {
            Some(bps) => self.closed_bps -= bps,
            None => self.open -= 1,
        }
        if others == self.open {
            self.closed_bps = 0.0; // no error is left behind by adding and taking away
        }
    }

    /// An ACK leaves.
    pub(super) fn acknowledged(&mut self, ack: &Packet, now: Time) {
        self.version += u64::from(self.acks.0.add(now, ack.size.into()));
    }

    /// The share of a flow in open loop of "the rate available through its outgoing interface":
    /// what ACKs and closed-loop flows leave, in equal parts, and never less than an equal part of
    /// what ACKs leave. Data get half of the link at least.
    pub(super) fn share(&self, line: Rate, now: Time) -> Rate {
        let line = (line.as_f64() - self.acks.bps(now)).max(line.as_f64() / 2.0);
        let all = self.claims.len().max(1) as f64;
        let free = (line - self.closed_bps).max(0.0) / self.open.max(1) as f64;
        Rate((free.max(line / all)) as u64)
    }

    /// An interface asks to slow down. Whether that is news.
    pub(super) fn press(&mut self, nonce: Nonce, now: Time) -> bool {
        if self.pressed.len() >= MAX_HOST_NONCES && !self.pressed.contains_key(&nonce) {
            self.pressed.pop_first();
        }
        let changed = self.pressed.insert(nonce, now).is_none();
        self.version += u64::from(changed);
        changed
    }

    /// An interface cancels. Whether that is news.
    pub(super) fn release(&mut self, nonce: Nonce) -> bool {
        let changed = self.pressed.remove(&nonce).is_some();
        self.version += u64::from(changed);
        changed
    }

    /// Whether one of these interfaces has asked to slow down since `after`.
    pub(super) fn presses(&self, mut nonces: impl Iterator<Item = Nonce>, after: Time) -> bool {
        !self.pressed.is_empty() && nonces.any(|n| self.pressed.get(&n).is_some_and(|at| *at >= after))
    }

    /// The flows whose rate has changed because `me`'s has; none where there are too many to wake.
    pub(super) fn others(&self, me: FlowKey) -> Vec<FlowKey> {
        if self.claims.len() > MAX_POKES {
            return Vec::new();
        }
        self.claims.iter().filter(|(f, c)| **f != me && c.is_none()).map(|(f, _)| *f).collect()
    }
}

/// Wakes the host's other flows in open loop, because their share has changed.
pub(super) fn poke_others(me: FlowKey, ctx: &mut EndpointCtx<'_>) {
    let others = ctx.shared.get::<HostFlows>().others(me);
    others.into_iter().for_each(|f| ctx.poke(f));
}

/// The rate of the host's port. With several, flows share the slowest: which one a flow takes is
/// the forwarder's choice.
pub(super) fn line(ctx: &EndpointCtx<'_>) -> Rate {
    ctx.links.iter().map(|l| l.rate).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A claim that is written over, beside one that is taken away first.
        #[test]
        fn a_claim_in_place_is_as_one_that_was_taken_away_before(
            steps in prop::collection::vec((0u32..4, prop::option::of(prop::option::of(1e3..1e9f64))), 0..60),
        ) {
            let (mut host, mut plain) = (HostFlows::default(), HostFlows::default());
            for (flow, claim) in steps {
                let flow = (FlowId(flow), NodeId(1));
                let before = plain.remove(flow);
                if let Some(claim) = claim {
                    plain.set(flow, claim);
                    let changed = before.is_none_or(|b| b.is_some() != claim.is_some());
                    plain.version -= u64::from(!changed); // a new one is always news
                    prop_assert_eq!(host.set(flow, claim), changed);
                } else {
                    prop_assert_eq!(host.remove(flow), before);
                }
                let all = |h: &HostFlows| (h.claims.clone(), h.open, h.closed_bps.to_bits(), h.version);
                prop_assert_eq!(all(&host), all(&plain));
            }
        }
    }

    #[test]
    fn open_flows_share_what_acks_leave() {
        let mut host = HostFlows::default();
        let (line, ack) = (Rate::from_mbps(10), Packet::new(FlowId(3), NodeId(0), NodeId(1), 100));
        host.set((FlowId(0), NodeId(1)), None);
        host.set((FlowId(1), NodeId(1)), None);
        assert_eq!(host.share(line, Time::ZERO), Rate::from_mbps(5));
        // 1,000 ACKs of 100 bytes a second are 800 kbps.
        (0..500).for_each(|i| host.acknowledged(&ack, Time::from_ms(i)));
        assert_eq!(host.share(line, Time::from_ms(500)), Rate(4_600_000));
        // The last two intervals count: after the ACKs have ended the link is the flows' again.
        assert_eq!(host.share(line, Time::from_ms(650)), Rate(4_600_000));
        assert_eq!(host.share(line, Time::from_ms(700)), Rate::from_mbps(5));
        // However many ACKs there are, half of the link is for data.
        (0..50_000).for_each(|i| host.acknowledged(&ack, Time::from_us(1_000_000 + 10 * i)));
        assert_eq!(host.share(line, Time::from_ms(1_500)), Rate(2_500_000));
    }
}
