//! Steering: how many packets an ACK releases upstream, and with how many a flow begins. Ours; with
//! `steer` off it is always one.
//!
//! In closed loop each ACK releases one packet upstream, so what a cache holds stays what it is,
//! each flow that starts later adds what it sends before its first ACK tells it to slow down, and a
//! flow with few packets in its loop keeps few. With `steer` a port in backpressure says with each
//! slow-down how many packets the ACK releases: none for flows that have more than their part of a
//! cache above S_high, two for flows that have less than half of it. The part shrinks as the cache
//! fills. And it asks for closed loop from the handshake on. A port that is not in backpressure
//! says in the handshake how much its cache has room for until the flow hears of it again.

use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::cache::{Key, START};
use crate::inrpp::header::InrppHeader;
use crate::inrpp::state::Thresholds;

/// What all flows together should have of a cache that is filled beyond S_high: S_high at S_high
/// and nothing when it is full, so that it drains the faster the less room is left.
fn shrink(t: &Thresholds, stored: u64) -> u64 {
    let (room, whole) = (t.size.saturating_sub(stored), (t.size - t.high).max(1));
    (u128::from(t.high) * u128::from(room) / u128::from(whole)) as u64
}

impl InrppPort {
    /// What an ACK of this flow releases upstream. With steering: none while the flow has more than
    /// its part of what the cache should hold; two while it has less than its part of what is
    /// halfway from S_low to S_high, so that a port cancels when there is too little to send, not
    /// when its flows have too few packets in their loops.
    pub(super) fn release(&self, key: Key) -> u16 {
        if !self.config.steer {
            return 1;
        }
        let (stored, t) = (self.cache.stored().custody, &self.limits.cache);
        if stored <= t.high {
            let (has, part) = self.cache.part(key, t.low.midpoint(t.high));
            return 1 + u16::from(has < part);
        }
        let (has, part) = self.cache.part(key, shrink(t, stored));
        match has {
            _ if has > part => 0,
            _ if has < part / 2 => 2,
            _ => 1,
        }
    }

    /// How many packets a flow begins its loop with that starts in backpressure: its part of the
    /// cache, as far as half of the room that is left has it, for others may start at the same
    /// time.
    pub(super) fn start(&self, key: Key) -> u16 {
        let t = &self.limits.cache;
        let room = t.size.saturating_sub(self.cache.stored().custody) / 2;
        let packets = self.cache.part(key, t.high).1.min(room) / self.cache.quantum();
        u16::try_from(packets).unwrap_or(u16::MAX).max(START)
    }

    /// How much a flow that starts may have on its way, until it hears more: what the cache has
    /// room for, in equal parts for those that start now. A quarter of the room, for what is
    /// acknowledged lets as much again in until this port presses, and others will start. Nothing
    /// is said where S_high leaves what the rule for it asks for, and where the scenario says what
    /// S_high is.
    pub(super) fn advertise_room(&self, option: &mut InrppHeader, now: Time) {
        if self.host || !self.limits.tight || !self.config.steer || !self.config.backpressure {
            return;
        }
        let room = self.limits.cache.size.saturating_sub(self.cache.stored().custody);
        let part = u32::try_from(room / 4 / self.starts.recent(now)).unwrap_or(u32::MAX);
        option.begin = Some(option.begin.map_or(part, |least| least.min(part)));
    }
}
