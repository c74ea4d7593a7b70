//! Flows in closed loop at a port: gated by a nonce on their data, with a timeout for missing ACKs.

use midpath_core::packet::Packet;
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::cache::Key;
use crate::inrpp::header::{Direction, InrppHeader};
use crate::inrpp::state::State;

/// Packets that a flow may send which is closed by a nonce on its data before an ACK of it was
/// heard. Most of such a flow is on its way below and will be acknowledged; if nothing is, two
/// packets begin a loop (two for receivers that delay ACKs). Ours.
const UNHEARD: u32 = 2;

impl InrppPort {
    /// A packet of a closed-loop flow that has not been heard of here yet carries a stored nonce:
    /// "downstream nodes cache packets with the nonce".
    pub(super) fn gate_by_nonce(&mut self, key: Key, packet: &Packet, now: Time) {
        if self.host || self.store.is_empty() || packet.payload == 0 || self.cache.is_closed_loop(key) {
            return;
        }
        // ACKs of what is on a detour don't come back this way: nothing would open the gate.
        let gates = |o: &InrppHeader| o.direction == Direction::Data && o.via.is_none();
        let Some(option) = packet.header::<InrppHeader>().filter(gates) else { return };
        if let Some(nonce) = option.nonces.iter().find(|n| self.store.contains(*n)) {
            self.cache.gate(key, nonce, now);
            self.cache.grant(key, 1, UNHEARD);
            self.revive_at = self.revive_at.min(now.saturating_add(self.config.expiry));
        }
    }

    /// Whether a flow sends on although it was asked to slow down, and a packet of it is refused: in
    /// backpressure it has more than its part of S_high, and than a packet.
    pub(super) fn is_overdue(&mut self, key: Key, packet: &Packet, now: Time) -> bool {
        if self.host || packet.payload == 0 || self.machine.state() != State::Backpressure {
            return false;
        }
        let (has, part) = self.cache.part(key, self.limits.cache.high);
        has + u64::from(packet.size) > part.max(self.cache.quantum()) && self.overdue.refuses(key, now)
    }

    /// An ACK of a flow asks to slow down and releases `release` packets for each that it stands for.
    pub(super) fn note_released(&mut self, key: Key, release: u16, ack: &Packet) {
        if self.config.enforcement {
            let each = ack.header::<InrppHeader>().map_or(1, |option| option.releases.max(1));
            self.overdue.release(key, u32::from(release) * u32::from(each));
        }
    }

    /// Begins loops anew whose ACKs are lost, and forgets flows that have gone.
    pub(super) fn revive(&mut self, now: Time) {
        self.cache.revive(self.config.expiry, now);
        self.slowed = self.slowed.filter(|at| at.saturating_add(self.config.expiry) > now);
        let again = self.cache.closed() || self.slowed.is_some();
        self.revive_at = if again { now.saturating_add(self.config.expiry) } else { Time::MAX };
    }
}
