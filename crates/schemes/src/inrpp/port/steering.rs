//! Steering: how many packets an ACK releases upstream, and a flow's initial allowance. Ours; with `steer` off it is
//! always one.
//!
//! In closed loop each ACK releases one packet upstream. So the cache's occupancy never falls, each new flow adds
//! what it sends before its first slow-down, and a flow with few packets in its loop keeps few. With `steer` a port
//! in backpressure says with each slow-down how many packets the ACK releases: none for flows that have more than
//! their part of a cache above S_high, two for flows that have less than half of it. The part shrinks as the cache
//! fills. It also requests closed loop from the handshake on. A port that is not in backpressure states in the
//! handshake how much its cache can take until the flow gets its next feedback.
//!
//! With `promises` these allowances are reserved in the cache.

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
    pub(super) fn release(&mut self, key: Key, now: Time) -> u16 {
        if !self.config.additions.steer {
            return 1;
        }
        let (stored, t) = (self.occupancy(), self.limits.cache);
        if stored <= t.high {
            let (has, part) = self.part(key, t.low.midpoint(t.high));
            return 1 + u16::from(has < part && self.lets_more(t.high, now));
        }
        let (has, part) = self.cache.part(key, shrink(&t, stored));
        let least = self.cache.quantum();
        let most = if self.config.additions.sparse { part } else { part.max(least) };
        let full = t.high.midpoint(t.size);
        let scarce = self.config.additions.sparse && self.cache.part(key, t.high).1 < least;
        match has {
            _ if has > most && self.cuts(stored - t.high, now) => 0,
            0 if scarce && stored >= full + least && self.cuts(stored - full - least + 1, now) => 0,
            _ if has < part.max(least) / 2 && self.lets_more(full, now) => 2,
            _ => 1,
        }
    }

    /// What a flow has here, and its equal part of `bytes`: at least the packet without which its loop
    /// would end.
    fn part(&self, key: Key, bytes: u64) -> (u64, u64) {
        let (has, part) = self.cache.part(key, bytes);
        (has, part.max(self.cache.quantum()))
    }

    /// Whether one packet more than what leaves may come. With promises each is one: all that are
    /// let in, in the round trip or two before they can be seen, have room below `aim`.
    fn lets_more(&mut self, aim: u64, now: Time) -> bool {
        if !self.config.additions.promises {
            return true;
        }
        let quantum = self.cache.quantum();
        let lets = self.in_custody() + self.unseen(now) + quantum <= aim;
        if lets {
            self.more.add(now, quantum);
        }
        lets
    }

    /// Whether one packet less than what leaves may come, with so much above S_high. Those that were
    /// taken out within a round trip could not be missed yet.
    fn cuts(&mut self, above: u64, now: Time) -> bool {
        if !self.config.additions.count_cuts {
            return true;
        }
        let cuts = self.cuts.at(now).iter().sum::<u64>() < above;
        if cuts {
            self.cuts.add(now, self.cache.quantum());
        }
        cuts
    }

    /// What was promised, or let in beside what leaves, and has not come yet.
    fn unseen(&mut self, now: Time) -> u64 {
        self.promises.total(now) + self.more.at(now).iter().sum::<u64>()
    }

    /// What the cache has room for.
    pub(super) fn room(&self) -> u64 {
        self.limits.cache.size.saturating_sub(self.in_custody())
    }

    /// How many packets a flow begins its loop with that starts in backpressure: its part of the
    /// cache, as far as half of the room that is left has it, for others may start at the same
    /// time.
    pub(super) fn start(&mut self, key: Key, now: Time) -> u16 {
        let part = self.part(key, self.limits.cache.high).1;
        if self.config.additions.promises {
            return u16::try_from(self.promise(key, part, now)).unwrap_or(u16::MAX).max(1);
        }
        let packets = part.min(self.room() / 2) / self.cache.quantum();
        u16::try_from(packets).unwrap_or(u16::MAX).max(START)
    }

    /// Promises a flow that starts `wanted` bytes, ten packets at least, and at most half of the
    /// room that is not promised yet. In packets.
    fn promise(&mut self, key: Key, wanted: u64, now: Time) -> u64 {
        let quantum = self.cache.quantum();
        let free = self.room().saturating_sub(self.unseen(now));
        let packets = wanted.max(u64::from(START) * quantum).min(free / 2) / quantum;
        self.promises.make(key, packets * quantum, now);
        packets
    }

    /// How much a flow that starts may have on its way, until it hears more: what the cache has
    /// room for, in equal parts for those that start now. A quarter of the room, for what is
    /// acknowledged lets as much again in until this port presses, and others will start. S_high at
    /// most: what one flow has above that takes it long to drain, for it has its equal part of the
    /// link alone. Nothing
    /// is said where S_high leaves what the rule for it asks for, and where the scenario says what
    /// S_high is.
    pub(super) fn advertise_room(&mut self, key: Key, option: &mut InrppHeader, now: Time) {
        if self.host || !self.limits.tight || !self.config.additions.steer || !self.config.backpressure {
            return;
        }
        let mut part = (self.room() / 4).min(self.limits.cache.high) / self.starts.recent(now);
        if self.config.additions.promises {
            part = self.promise(key, part, now).max(1) * self.cache.quantum();
        }
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        option.begin = Some(option.begin.map_or(part, |least| least.min(part)));
    }
}
