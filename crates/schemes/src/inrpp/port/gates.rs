//! Flows in closed loop at a port: gated by a nonce on their data, and looked after when no ACK of
//! theirs comes.

use midpath_core::packet::Packet;
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::cache::Key;
use crate::inrpp::header::{Direction, InrppHeader};

/// Packets that a flow may send which is closed by a nonce on its data before an ACK of it was
/// heard. Most of such a flow is on its way below and will be acknowledged; if nothing is, two
/// packets begin a loop (two for receivers that delay ACKs). Ours.
const UNHEARD: u32 = 2;

impl InrppPort {
    /// A packet of a closed-loop flow that has not been heard of here yet carries a stored nonce:
    /// "downstream nodes cache packets with the nonce".
    pub(super) fn gate_by_nonce(&mut self, key: Key, packet: &Packet, now: Time) {
        if self.host || self.store.is_empty() || packet.payload == 0 || self.cache.is_gated(key) {
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

    /// Begins loops anew whose ACKs are lost, and forgets flows that have gone.
    pub(super) fn revive(&mut self, now: Time) {
        self.cache.revive(self.config.expiry, now);
        self.slowed = self.slowed.filter(|at| at.saturating_add(self.config.expiry) > now);
        let again = self.cache.closed() || self.slowed.is_some();
        self.revive_at = if again { now.saturating_add(self.config.expiry) } else { Time::MAX };
    }
}
