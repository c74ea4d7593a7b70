//! Closed loop (§III-C): one packet for each that leaves the network, or the number in the ACK.

use midpath_core::units::Time;

use super::control::Control;
use crate::inrpp::header::{Nonce, Nonces, Slow};
use crate::transport::cc::{View, Window};

/// Nonces that a sender is slowed down by at most; a path has fewer congested hops.
const MAX_SLOWED: usize = 16;

/// How often the rate of a flow with one packet in its loop is halved at most. Ours: with a round trip
/// of 50 ms that is a packet in three seconds, the wait of TCP's second timeout.
const MAX_HALVINGS: u32 = 6;

impl Control {
    /// Whether the flow is in closed loop.
    pub fn closed(&self) -> bool {
        !self.slowed.is_empty()
    }

    /// Enters closed loop: as many packets as are in the network now, and one more for each that
    /// leaves it.
    pub(super) fn slow_down(
        &mut self,
        slow: Slow,
        first: bool,
        begin: Option<u64>,
        window: &mut Window,
        view: &View,
        now: Time,
    ) {
        let entering = !self.closed();
        (self.last_request, self.ramp, self.room) = (now, None, None);
        if !self.slowed.contains(&slow.nonce) && self.slowed.len() < MAX_SLOWED {
            self.slowed.push(slow.nonce);
        }
        // "It adapts the sending rate of the specific flow to the rate of acknowledgement packets."
        // The ACK that brings the request releases packets, too, as many as it says; that of a
        // handshake begins the loop.
        if first {
            // Hops further on may have less room than the one that asks.
            let room = begin.filter(|_| self.additions().promises).unwrap_or(u64::MAX);
            return window.set((u64::from(slow.release) * self.mss()).min(room));
        }
        if self.additions().sparse && self.is_sparse(slow.release, view) {
            return window.set(self.mss());
        }
        let wanted = view.pipe + u64::from(slow.release) * self.mss();
        match slow.release {
            0 => window.set(wanted.max(self.mss()).min(window.cwnd)),
            _ if entering => window.set(wanted),
            1 => {}
            _ => window.set(wanted.max(window.cwnd)),
        }
    }

    /// Whether the flow has less than a packet in a round trip, after an ACK that releases so many. None
    /// halves the rate of a flow with nothing on its way, two double it again.
    pub(super) fn is_sparse(&mut self, release: u16, view: &View) -> bool {
        let before = self.halvings;
        match release {
            0 if view.pipe == 0 => self.halvings = (before + 1).min(MAX_HALVINGS),
            0 | 1 => {}
            _ => self.halvings = before.saturating_sub(1),
        }
        before > 0 || self.halvings > 0
    }

    /// "It stores the nonce and copies it to the future data packets of this flow" (§III-C).
    pub(super) fn store(&mut self, nonces: &Nonces) {
        for nonce in nonces.iter() {
            self.echo.add(nonce);
            self.passed.add(nonce);
        }
    }

    /// Who has cancelled asks for nothing more. Data that went on to bring its nonce would be
    /// cached upstream as soon as the interface presses anybody again.
    pub(super) fn cancel(&mut self, nonce: Nonce) {
        if let Some(slowed) = self.slowed.get_mut() {
            slowed.retain(|s| *s != nonce);
        }
        self.echo.remove(nonce);
    }
}
