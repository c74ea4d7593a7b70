//! The sender's rate control, as TCP's sender calls it.

use std::sync::Arc;

use midpath_core::packet::{NodeId, Packet};
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Rate, Time};

use super::Common;
use super::host::{HostFlows, poke_others};
use super::trip::DeliveredPerRtt;
use crate::inrpp::cache::START;
use crate::inrpp::header::{Direction, InrppHeader, Nonce, Nonces, Slow};
use crate::inrpp::note::Plain;
use crate::inrpp::params::Additions;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, View, Window};
use crate::transport::lazy_box::{Initial, LazyBox};

/// A window that never limits.
pub(super) const OPEN: u64 = 1 << 40;

/// The sender's rate control.
#[derive(Debug, Clone)]
pub struct Control {
    pub(super) common: Arc<Common>,
    /// The host at the other end.
    pub(super) to: NodeId,
    /// Whether it does as it is told (§V-C).
    pub(super) heeds: bool,
    /// In closed loop with one packet: how often its rate has been halved.
    pub(super) halvings: u32,
    /// Whether what receivers echo counts. Nobody signs it, so it doesn't where the network has a
    /// better way.
    pub(super) echoed: bool,
    pub(super) mss: u32,
    /// Who has slowed this flow down; empty in open loop.
    pub(super) slowed: LazyBox<Vec<Nonce>>,
    /// When that was last asked for.
    pub(super) last_request: Time,
    /// When the last ACK came, and the round trip then in which the rate doubles.
    pub(super) last_ack: Time,
    pub(super) round_trip: Time,
    /// Nonces to copy to data packets: of interfaces that have asked to slow down and have not
    /// cancelled.
    pub(super) echo: Nonces,
    /// Nonces of interfaces that this flow goes through, as far as they have shown themselves.
    pub(super) passed: Nonces,
    /// The rate in open loop.
    pub(super) rate: Rate,
    /// What it was computed from.
    pub(super) version: u64,
    /// On the way from the rate of the closed loop to the share: the rate in bits per second, and
    /// when it last rose.
    pub(super) ramp: Option<Box<(f64, Time)>>,
    /// In open loop: what may be on its way. It begins with what the caches have room for, or with
    /// what was on its way when the loop was opened, and grows by what is acknowledged, as in slow
    /// start: "new flows enter the system in open-loop mode" (§II-B), but no cache gets more than
    /// it has room for before its port is heard. Without promises until the first slow-down only.
    pub(super) room: Option<u64>,
    pub(super) trip: DeliveredPerRtt,
    /// The part of what is acknowledged by which `room` grows beyond what a round trip has brought
    /// before. All of it at first; after a cancellation little, and twice as much in each round trip
    /// without a request to slow down.
    pub(super) growth: f64,
    /// Whether the flow is among the host's open flows.
    pub(super) sending: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Control>() == 160);

impl Initial for Vec<Nonce> {
    const INITIAL: &'static Vec<Nonce> = &Vec::new();
}

impl Control {
    /// What of ours is on.
    pub(super) fn additions(&self) -> &Additions {
        &self.common.additions
    }

    /// A full segment.
    pub(super) fn mss(&self) -> u64 {
        self.mss.into()
    }

    /// No port slows the flow down any more.
    pub(super) fn forget_slowed(&mut self) {
        if let Some(slowed) = self.slowed.get_mut() {
            slowed.clear();
        }
    }
}

impl CongestionController for Control {
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        if self.trip.add(ack.delivered, ack.srtt, ack.now) {
            self.growth = (2.0 * self.growth).min(1.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let (promises, mss) = (self.additions().promises, self.mss());
        if let Some(room) = &mut self.room {
            // As in slow start up to what the path has brought before, and with care beyond.
            let growth = if *room < self.trip.most { 1.0 } else { self.growth };
            *room = room.saturating_add((ack.delivered as f64 * growth) as u64);
            if promises {
                // What is not used does not grow (RFC 7661), nor what does not arrive.
                *room = (*room).min(2 * self.trip.bytes().max(u64::from(START) * mss));
            }
            window.set(*room);
        }
    }
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        // "No ACK arrivals for an entire RTO period: flows will automatically switch back to
        // open-loop mode" (§III-C). While ACKs arrive, one segment is missing, and the loop goes
        // on.
        if congestion.now < self.last_ack.saturating_add(self.common.silence) {
            return window.cwnd;
        }
        self.forget_slowed();
        self.halvings = 0;
        self.room = None;
        if !self.additions().steer || !self.heeds {
            return OPEN;
        }
        // Nobody knows what the network has room for: one packet asks, as in RFC 6298, and with the
        // first ACK the rate begins as a connection's.
        let window = self.start();
        self.room = self.additions().promises.then_some(window);
        self.growth = 1.0;
        let bps = window as f64 * 8.0 / self.round_trip.as_secs_f64().max(1e-6);
        self.ramp = Some(Box::new((bps, congestion.now)));
        self.version = 0; // the share is read again with the next packet
        self.mss()
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        (self.rate != Rate::ZERO).then_some(self.rate)
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("closed_loop", f64::from(u8::from(self.closed()))));
    }
}

impl NetworkAssisted for Control {
    fn on_overtaken(&mut self, window: &mut Window, pipe: u64) {
        // What was dropped had no room: its part of the loop is given up, and steering will say how
        // much there is. With promises all of it: it is repeated in place of something new.
        let left = if self.additions().promises { pipe.max(self.mss()) } else { pipe + self.mss() };
        if self.additions().steer && self.closed() {
            window.set(window.cwnd.min(left));
        }
        let promises = self.additions().promises;
        if let Some(room) = self.room.as_mut().filter(|_| promises) {
            *room = (*room).min(left);
            window.set(*room);
        }
    }

    fn on_send(&mut self, packet: &mut Packet, view: &View, ctx: &mut EndpointCtx<'_>) {
        packet.set_header(&Plain::new(Direction::Data, &self.echo));
        if view.unsent == u64::MAX {
            self.heed_application(view, ctx);
        }
        if self.rate == Rate::ZERO {
            self.claim(view, view.pipe, ctx);
        } else if self.version != ctx.shared.get::<HostFlows>().version {
            self.read_share(view, ctx);
        }
        if packet.payload > 0 && view.unsent == 0 && self.sending {
            self.leave(ctx); // all has been sent once: what is repeated is no claim to a share
        }
    }

    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(option) = packet.header::<InrppHeader>() else { return };
        if option.direction != Direction::Ack {
            return;
        }
        let first = !self.is_admitted();
        self.last_ack = ctx.now;
        if !self.heeds {
            window.set(OPEN);
            return self.claim(view, window.cwnd, ctx);
        }
        // What waits in custody makes round trips long, but an interface that stores answers with
        // the next ACK.
        self.round_trip = if self.additions().repair { view.base_rtt } else { view.srtt };
        self.climb(ctx.now);
        let (mut changed, was_closed) = (false, self.closed());
        let (far_slow, far_cancel) = if self.echoed { (option.far_slow, option.far_cancel) } else { (None, None) };
        if option.cancel.is_some() || far_cancel.is_some() {
            for nonce in [option.cancel, far_cancel].into_iter().flatten() {
                self.cancel(nonce);
                changed |= ctx.shared.get::<HostFlows>().release(nonce);
            }
        }
        self.store(&option.nonces);
        let begin = option.begin.filter(|bytes| *bytes < u32::MAX).map(|bytes| self.payload_of(bytes.into(), view));
        let slow = option.slow.or(far_slow.map(|nonce| Slow { nonce, release: 1 }));
        match slow {
            Some(slow) => {
                self.slow_down(slow, first, begin, window, view, ctx.now);
                changed |= ctx.shared.get::<HostFlows>().press(slow.nonce, ctx.now);
            }
            // The cancellation may have been lost: nobody asks any more.
            None if self.closed() && ctx.now >= self.last_request.saturating_add(self.common.expiry) => {
                self.open(window, view, ctx.now)
            }
            None if was_closed && !self.closed() => self.open(window, view, ctx.now),
            None => {}
        }
        if changed {
            poke_others((ctx.flow, self.to), ctx);
        }
        if first && !self.closed() {
            self.room = begin;
        }
        if !self.closed() {
            window.set(self.room.unwrap_or(OPEN));
        }
        self.claim(view, window.cwnd, ctx);
    }

    fn is_admitted(&self) -> bool {
        self.last_ack > Time::ZERO
    }

    fn on_close(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.leave(ctx);
    }

    fn on_poke(&mut self, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.read_share(view, ctx);
    }
}
