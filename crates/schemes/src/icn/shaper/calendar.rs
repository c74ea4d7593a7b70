//! When the way back is free: a calendar of the Data that are due.
//!
//! Time is cut into slots in which the link carries a full packet or more. Data are booked into the
//! slots from when they are due on; what finds a slot full takes room in the next ones, as it would
//! wait in the neighbour's queue. They may be booked as long as they wait no longer than the burst
//! takes. So at any time no more than that waits there, however different the round trips are, if
//! all come when they are due.
//!
//! The calendar is bounded: it reaches at least a second ahead, and what is due later is booked at
//! its end.

use midpath_core::units::{Bytes, Rate, Time};

/// Slots at most. Ours: 256 kB per port where round trips are that long.
const SLOTS: u64 = 1 << 16;

/// How far ahead the calendar reaches at least. Ours: as long as RTTs are believed by default.
const REACH: Time = Time::from_secs(1);

/// A slot carries at least this. Ours: a full packet of most links.
const LEAST: u64 = 1500;

/// Slots that one search looks at; who asks comes back. Ours.
const SEARCH: u64 = 64;

/// Bookings of one direction of a link, by slot.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    rate: Rate,
    /// How long a slot is, and what it carries.
    width: Time,
    carries: u32,
    /// Slots after the one in which Data are due that they may be booked into.
    wait: u64,
    /// Bytes in each slot, in a ring: that of slot `n` is at `n % used.len()`.
    used: Vec<u32>,
    /// The slots that count are `first..end`.
    first: u64,
    end: u64,
}

impl Calendar {
    /// Nothing is booked. The link carries `rate`, and as much as `burst` may wait.
    pub(super) fn new(rate: Rate, burst: Bytes) -> Calendar {
        let carries = LEAST.max(rate.bytes_in(REACH).0 / SLOTS).min(u64::from(u32::MAX));
        Calendar {
            rate,
            width: rate.time_for(Bytes(carries)).max(Time(1)),
            carries: carries as u32,
            wait: burst.0.div_ceil(carries),
            used: Vec::new(),
            first: 0,
            end: 0,
        }
    }

    fn slot(&self, at: Time) -> u64 {
        at.0 / self.width.0
    }

    /// Forgets the slots that are over.
    fn advance(&mut self, now: Time) {
        let first = self.slot(now);
        if first > self.first {
            self.first = first;
            self.end = self.end.max(first);
        }
    }

    fn free(&self, slot: u64) -> u32 {
        if slot >= self.end {
            return self.carries;
        }
        self.carries.saturating_sub(self.used[(slot % self.used.len() as u64) as usize])
    }

    /// Makes the slots up to this one count.
    fn reach(&mut self, slot: u64) {
        let wanted = slot + 1 - self.first;
        if wanted > self.used.len() as u64 {
            let (len, before) = (wanted.next_power_of_two().max(64), self.used.len() as u64);
            let mut grown = vec![0; len as usize];
            for old in self.first..self.end {
                grown[(old % len) as usize] = self.used[(old % before) as usize];
            }
            self.used = grown;
        }
        let len = self.used.len() as u64;
        while self.end <= slot {
            self.used[(self.end % len) as usize] = 0;
            self.end += 1;
        }
    }

    /// The slot of Data that are due at that time.
    fn due(&self, at: Time) -> u64 {
        self.slot(at).clamp(self.first, self.first + SLOTS - 1)
    }

    /// Whether Data of this size that are due then have room.
    pub(super) fn has_room(&mut self, now: Time, due: Time, size: u32) -> bool {
        self.advance(now);
        self.fits(self.due(due), size)
    }

    fn fits(&self, slot: u64, size: u32) -> bool {
        let mut left = u64::from(size);
        for slot in slot..=slot + self.wait {
            left = left.saturating_sub(u64::from(self.free(slot)));
            if left == 0 {
                return true;
            }
        }
        // What is larger than all of these slots would never go.
        let most = u64::from(self.carries) * (self.wait + 1);
        u64::from(size) > most && (slot..=slot + self.wait).all(|slot| self.free(slot) == self.carries)
    }

    /// From when on, at the earliest, such Data would have room if they were due then; or when to
    /// ask again.
    pub(super) fn next_room(&mut self, now: Time, due: Time, size: u32) -> Time {
        self.advance(now);
        let from = self.due(due);
        let found = (from..from + SEARCH).find(|slot| self.fits(*slot, size)).unwrap_or(from + SEARCH);
        Time(found.saturating_mul(self.width.0)).max(due)
    }

    /// Books Data that are due then, whether they have room or not.
    pub(super) fn book(&mut self, now: Time, due: Time, size: u32) {
        self.advance(now);
        let (mut slot, mut left, last) = (self.due(due), size, self.first + SLOTS - 1);
        while left > 0 && slot <= last {
            self.reach(slot);
            let part = self.free(slot).min(left);
            let place = (slot % self.used.len() as u64) as usize;
            self.used[place] += part;
            left -= part;
            slot += 1;
        }
    }

    /// Gives back what was booked for Data that were due then.
    pub(super) fn release(&mut self, now: Time, due: Time, size: u32) {
        self.advance(now);
        let (mut slot, mut left) = (self.due(due), size);
        while left > 0 && slot < self.end {
            let place = (slot % self.used.len() as u64) as usize;
            let part = self.used[place].min(left);
            self.used[place] -= part;
            left -= part;
            slot += 1;
        }
    }

    /// The same bookings on a link of another rate.
    pub(super) fn at_rate(&self, now: Time, rate: Rate, burst: Bytes) -> Calendar {
        let mut calendar = Calendar::new(rate, burst);
        if rate == self.rate {
            return self.clone();
        }
        for slot in self.first.max(self.slot(now))..self.end {
            let used = self.used[(slot % self.used.len() as u64) as usize];
            calendar.book(now, Time(slot.saturating_mul(self.width.0)), used);
        }
        calendar
    }

    /// What the link carries.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// How long Data wait at most.
    pub(super) fn patience(&self) -> Time {
        self.width * (self.wait + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1500 B take 1 ms.
    const LINK: Rate = Rate(12_000_000);
    const MS: fn(u64) -> Time = Time::from_ms;

    #[test]
    fn what_is_due_together_has_room_up_to_the_burst() {
        let mut calendar = Calendar::new(LINK, Bytes(3000));
        for _ in 0..3 {
            assert!(calendar.has_room(MS(0), MS(100), 1500));
            calendar.book(MS(0), MS(100), 1500);
        }
        assert!(!calendar.has_room(MS(0), MS(100), 1500));
        // One slot later there is room in the last of its three.
        assert_eq!(calendar.next_room(MS(0), MS(100), 1500), MS(101));
        assert!(calendar.has_room(MS(0), MS(0), 1500), "what is due now has the link to itself");
        calendar.release(MS(1), MS(100), 1500);
        assert!(calendar.has_room(MS(1), MS(100), 1500));
    }

    #[test]
    fn it_is_bounded() {
        let mut calendar = Calendar::new(Rate::from_gbps(100), Bytes(3000));
        calendar.book(MS(0), Time::MAX, 1500);
        assert!(calendar.used.len() as u64 <= SLOTS);
        let reach = calendar.width * SLOTS;
        assert!(reach >= REACH - calendar.width, "{reach:?}");
    }

    #[test]
    fn another_rate_keeps_the_bookings() {
        let mut calendar = Calendar::new(LINK, Bytes(0));
        calendar.book(MS(0), MS(10), 1500);
        let mut slower = calendar.at_rate(MS(0), Rate(LINK.0 / 2), Bytes(0));
        assert!(!slower.has_room(MS(0), MS(10), 1500) && slower.has_room(MS(0), MS(12), 1500));
    }

    proptest! {
        /// Whatever is booked where it has room, in any order and for any time: Data that come when
        /// they are due never wait for more than the burst and a packet and a slot.
        #[test]
        fn no_more_than_the_burst_waits(
            asked in prop::collection::vec((0..300u64, 0..400u64, 40..1500u32), 1..300), burst in 0..20_000u64,
        ) {
            let mut calendar = Calendar::new(LINK, Bytes(burst));
            let (mut now, mut due) = (MS(0), Vec::new());
            for (later, above, size) in asked {
                now += Time::from_us(later * 10);
                let at = now + MS(above);
                if calendar.has_room(now, at, size) {
                    calendar.book(now, at, size);
                    due.push((at, size));
                }
            }
            due.sort_unstable();
            let mut busy = MS(0);
            for (at, size) in due {
                let waits = busy.saturating_sub(at);
                prop_assert!(LINK.bytes_in(waits).0 <= burst + 2 * 1500 + 1500, "{waits:?}");
                busy = busy.max(at) + LINK.time_for(Bytes(u64::from(size)));
            }
        }
    }
}
