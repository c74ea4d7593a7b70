//! Calendar of due Data, which tells when the inbound direction is free.
//!
//! Time is divided into slots in which the link carries at least one full packet. Data are booked from the slot in
//! which they are due; if a slot is full, into the next ones, as they would wait in the neighbour's queue. Booking
//! is allowed while they wait no longer than the burst takes. So the queue never exceeds the burst, however
//! different the round trips are, if all Data arrive when due.
//!
//! The calendar is bounded: it reaches at least a second ahead; later Data are booked at its end.

use midpath_core::units::{Bytes, Rate, Time};

/// Slots at most. Ours: 256 kB per port where round trips are that long.
const SLOTS: u64 = 1 << 16;

/// How far ahead the calendar reaches at least. Ours: as long as RTTs are believed by default.
const REACH: Time = Time::from_secs(1);

/// A slot carries at least this. Ours: a full packet of most links.
const LEAST: u64 = 1500;

/// Slots that one search looks at; who asks comes back. Ours.
const SEARCH: u64 = 64;

/// So many slots are emptied one by one: a call that fills costs as much as ten.
const FEW: u64 = 8;

/// Bookings of one direction of a link, by slot.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    rate: Rate,
    /// How long a slot is, and what it carries.
    width: Time,
    carries: u32,
    /// Slots after the one in which Data are due that they may be booked into.
    wait: u64,
    /// Bytes in each slot, in a ring of 2ⁿ places: that of slot `n` is at [`Calendar::place`].
    used: Vec<u32>,
    /// The slots that count are `first..end`.
    first: u64,
    end: u64,
    /// When the first one is over.
    over: Time,
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
            over: Time::ZERO,
        }
    }

    #[inline]
    fn slot(&self, at: Time) -> u64 {
        at.0 / self.width.0
    }

    /// Where a slot's bytes are, of those that count.
    #[inline]
    fn place(&self, slot: u64) -> usize {
        slot as usize & self.used.len().wrapping_sub(1)
    }

    /// Forgets the slots that are over.
    #[inline]
    fn advance(&mut self, now: Time) {
        if now < self.over {
            return;
        }
        self.first = self.slot(now);
        self.end = self.end.max(self.first);
        self.over = Time(self.first.saturating_add(1).saturating_mul(self.width.0));
    }

    #[inline]
    fn free(&self, slot: u64) -> u32 {
        if slot >= self.end {
            return self.carries;
        }
        self.carries.saturating_sub(self.used[self.place(slot)])
    }

    /// Has room for so many slots.
    #[cold]
    fn grow(&mut self, wanted: u64) {
        let len = wanted.next_power_of_two().max(64);
        let mut grown = vec![0; len as usize];
        for old in self.first..self.end {
            grown[(old % len) as usize] = self.used[self.place(old)];
        }
        self.used = grown;
    }

    /// Makes the slots up to this one count, which is beyond those that do.
    #[inline]
    fn reach(&mut self, slot: u64) {
        let wanted = slot + 1 - self.first;
        if wanted > self.used.len() as u64 {
            self.grow(wanted);
        }
        if slot - self.end < FEW {
            for new in self.end..=slot {
                let place = self.place(new);
                self.used[place] = 0;
            }
        } else {
            // No more than all of them, which may be two pieces of the ring.
            let (from, to) = (self.place(self.end), self.place(slot));
            if from <= to {
                self.used[from..=to].fill(0);
            } else {
                self.used[from..].fill(0);
                self.used[..=to].fill(0);
            }
        }
        self.end = slot + 1;
    }

    /// The slot of Data that are due at that time.
    #[inline]
    fn due(&self, at: Time) -> u64 {
        if at < self.over {
            return self.first;
        }
        self.slot(at).clamp(self.first, self.first + SLOTS - 1)
    }

    /// Whether Data of this size that are due then have room.
    #[inline]
    pub(super) fn has_room(&mut self, now: Time, due: Time, size: u32) -> bool {
        self.advance(now);
        let slot = self.due(due);
        size <= self.free(slot) || self.fits(slot, size)
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
        u64::from(size) > self.most() && (slot..=slot + self.wait).all(|slot| self.free(slot) == self.carries)
    }

    /// From when on, at the earliest, such Data would have room if they were due then; or when to
    /// ask again.
    pub(super) fn next_room(&mut self, now: Time, due: Time, size: u32) -> Time {
        self.advance(now);
        let from = self.due(due);
        let found = match u64::from(size) > self.most() {
            true => (from..from + SEARCH).find(|slot| self.fits(*slot, size)),
            false => self.first_with(from, size),
        };
        Time(found.unwrap_or(from + SEARCH).saturating_mul(self.width.0)).max(due)
    }

    /// What a slot and those that Data may wait for carry.
    #[inline]
    fn most(&self) -> u64 {
        u64::from(self.carries) * (self.wait + 1)
    }

    /// The first slot from which on, with those that Data may wait for, so much is free: what
    /// [`Calendar::fits`] says of each, with a sum that moves along.
    fn first_with(&self, from: u64, size: u32) -> Option<u64> {
        let mut free: u64 = (from..=from + self.wait).map(|slot| u64::from(self.free(slot))).sum();
        for slot in from..from + SEARCH {
            if free >= u64::from(size) {
                return Some(slot);
            }
            free = free + u64::from(self.free(slot + self.wait + 1)) - u64::from(self.free(slot));
        }
        None
    }

    /// Books Data that are due then, whether they have room or not.
    #[inline]
    pub(super) fn book(&mut self, now: Time, due: Time, size: u32) {
        self.advance(now);
        self.book_at(self.due(due), size);
    }

    /// The same if they have room.
    #[inline]
    pub(super) fn book_if_room(&mut self, now: Time, due: Time, size: u32) -> bool {
        self.advance(now);
        let slot = self.due(due);
        let room = size <= self.free(slot) || self.fits(slot, size);
        if room {
            self.book_at(slot, size);
        }
        room
    }

    #[inline]
    fn book_at(&mut self, slot: u64, size: u32) {
        // Most find nothing booked from there on.
        if slot < self.end || size == 0 || size > self.carries {
            return self.book_from(slot, size);
        }
        self.reach(slot);
        let place = self.place(slot);
        self.used[place] = size;
    }

    /// The same from this slot on.
    fn book_from(&mut self, mut slot: u64, size: u32) {
        let (mut left, last) = (size, self.first + SLOTS - 1);
        while left > 0 && slot <= last {
            if slot >= self.end {
                self.reach(slot);
            }
            let place = self.place(slot);
            let used = &mut self.used[place];
            let part = self.carries.saturating_sub(*used).min(left);
            *used += part;
            left -= part;
            slot += 1;
        }
    }

    /// Gives back what was booked for Data that were due then.
    pub(super) fn release(&mut self, now: Time, due: Time, size: u32) {
        self.advance(now);
        let (mut slot, mut left) = (self.due(due), size);
        while left > 0 && slot < self.end {
            let place = self.place(slot);
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
            let used = self.used[self.place(slot)];
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
    use std::collections::BTreeMap;

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
        /// The ring against a map of all slots, and the search against a look at each slot.
        #[test]
        fn the_ring_and_the_search_are_those_of_a_plain_list(
            steps in prop::collection::vec((0..4u8, 0..2000u64, 0..900u64, 0..9000u32), 1..100), burst in 0..20_000u64,
        ) {
            let mut calendar = Calendar::new(LINK, Bytes(burst));
            let (mut plain, mut now) = (BTreeMap::new(), MS(0));
            let free = |plain: &BTreeMap<u64, u32>, slot| 1500 - plain.get(&slot).copied().unwrap_or(0);
            for (what, later, above, size) in steps {
                now += Time::from_us(later * 100);
                let due = now + MS(above);
                let mut slot = due.0 / calendar.width.0;
                match what {
                    0 | 1 => {
                        calendar.book(now, due, size);
                        let mut left = size;
                        while left > 0 {
                            let part = free(&plain, slot).min(left);
                            *plain.entry(slot).or_default() += part;
                            (left, slot) = (left - part, slot + 1);
                        }
                    }
                    2 => {
                        calendar.release(now, due, size);
                        let (mut left, end) = (size, plain.keys().last().map_or(0, |last| last + 1));
                        while left > 0 && slot < end {
                            let used = plain.entry(slot).or_default();
                            let part = (*used).min(left);
                            *used -= part;
                            (left, slot) = (left - part, slot + 1);
                        }
                    }
                    _ => {
                        let found = (slot..slot + SEARCH).find(|slot| calendar.fits(*slot, size));
                        let at = Time(found.unwrap_or(slot + SEARCH) * calendar.width.0).max(due);
                        prop_assert_eq!(calendar.next_room(now, due, size), at);
                    }
                }
            }
            let first = now.0 / calendar.width.0;
            for slot in first..first + 2000 {
                prop_assert_eq!(calendar.free(slot), free(&plain, slot), "slot {} from {}", slot, first);
            }
        }

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
