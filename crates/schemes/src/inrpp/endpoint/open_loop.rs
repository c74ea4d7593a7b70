//! Open loop (§III-C): at the processor-sharing share of the host's port, with at most the promised plus the
//! acknowledged data in flight.

use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Rate, Time};

use super::control::{Control, OPEN};
use super::host::{HostFlows, line, poke_others};
use crate::inrpp::cache::START;
use crate::transport::cc::{View, Window};

/// The growth of what may be on its way in the first round trip after a cancellation. Ours: the port
/// has just had too little, so there is not much more to be had than what was acknowledged.
const CAUTIOUS: f64 = 1.0 / 16.0;

impl Control {
    /// "It switches back to open-loop mode and sends at the rate available through its outgoing
    /// interface."
    ///
    /// With steering the rate doubles each round trip until it is that: many flows that are let go
    /// at once would send what all their hosts can before they hear of it.
    pub(super) fn open(&mut self, window: &mut Window, view: &View, now: Time) {
        self.forget_slowed();
        self.halvings = 0;
        self.ramp = self.additions().steer.then(|| Box::new((2.0 * ack_rate(window.cwnd, view), now)));
        // No more than what a round trip has brought, whatever is thought to be on its way.
        self.room = self.additions().promises.then(|| view.pipe.min(self.trip.bytes()).max(2 * self.mss()));
        self.growth = if self.additions().promises { CAUTIOUS } else { 1.0 };
        window.set(self.room.unwrap_or(OPEN));
    }

    /// The ten packets that a TCP begins with.
    pub(super) fn start(&self) -> u64 {
        u64::from(START) * self.mss()
    }

    /// What of these bytes on the wire is payload: a packet at least. Without promises at least the
    /// ten that a TCP begins with.
    pub(super) fn payload_of(&self, bytes: u64, view: &View) -> u64 {
        if self.additions().promises {
            return (bytes / (self.mss() + view.overhead)).max(1) * self.mss();
        }
        bytes.max(self.start())
    }

    /// The rate on the way to the share doubles in a round trip in which ACKs come.
    pub(super) fn climb(&mut self, now: Time) {
        if let Some((bps, last)) = self.ramp.as_deref_mut() {
            let trips = now.saturating_sub(*last).as_secs_f64() / self.round_trip.as_secs_f64().max(1e-6);
            *bps *= 2.0_f64.powf(trips.min(1.0));
            *last = now;
        }
    }

    /// The flow's line among the host's, and its rate.
    pub(super) fn claim(&mut self, view: &View, cwnd: u64, ctx: &mut EndpointCtx<'_>) {
        let line = line(ctx);
        let closed = self.closed().then(|| ack_rate(cwnd, view).min(line.as_f64()));
        let flows = ctx.shared.get::<HostFlows>();
        if !self.sending || !flows.set((ctx.flow, self.to), closed) {
            return self.read_share_of(flows, line, view, ctx.now);
        }
        poke_others((ctx.flow, self.to), ctx);
        self.read_share(view, ctx);
    }

    /// The rate in open loop: the share of the port. Once an interface that this flow goes through
    /// (its nonce has come with an ACK, now or earlier) has asked another flow of the host to slow
    /// down, no more than the ACKs' rate, until this flow's own ACK closes or opens the loop: with
    /// many flows that takes many round trips' worth of the host's rate.
    pub(super) fn read_share(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        let line = line(ctx);
        self.read_share_of(ctx.shared.get::<HostFlows>(), line, view, ctx.now);
    }

    /// The same of these flows on a port of this rate.
    #[inline]
    fn read_share_of(&mut self, flows: &HostFlows, line: Rate, view: &View, now: Time) {
        let mut rate = flows.share(line, now);
        if !self.closed() && flows.presses(self.passed.iter(), now.saturating_sub(self.common.expiry)) {
            rate = rate.min(Rate(ack_rate(view.pipe + self.mss(), view) as u64)).max(Rate(1));
        }
        if self.halvings > 0 {
            rate = rate.min(Rate((ack_rate(self.mss(), view) / f64::from(1 << self.halvings)) as u64)).max(Rate(1));
        }
        if let Some((bps, _)) = self.ramp.as_deref().copied() {
            if bps >= rate.as_f64() {
                self.ramp = None;
            }
            rate = rate.min(Rate(bps as u64)).max(Rate(1));
        }
        (self.rate, self.version) = (rate, flows.version);
    }

    /// A flow whose application is silent shares in nothing, until it speaks again.
    pub(super) fn heed_application(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        match (self.sending, view.at_hand > 0) {
            (true, false) => self.leave(ctx),
            (false, true) => {
                self.sending = true;
                self.claim(view, view.pipe, ctx);
            }
            _ => {}
        }
    }

    pub(super) fn leave(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.sending = false;
        if ctx.shared.get::<HostFlows>().remove((ctx.flow, self.to)).is_some() {
            poke_others((ctx.flow, self.to), ctx);
        }
    }
}

/// What `window` bytes per round trip are in bits per second.
pub(super) fn ack_rate(window: u64, view: &View) -> f64 {
    window as f64 * 8.0 / view.srtt.as_secs_f64().max(1e-6)
}
