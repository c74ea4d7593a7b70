//! One flow's path through one next hop: response times, and the window of pending Interests.
//!
//! The window is LEDBAT's (RFC 6817), counted in Interests: it grows while answers wait in queues for
//! less than [`TARGET`], and shrinks while they wait longer. So pending Data fit into the queue of a small router,
//! and delay other traffic little.

use std::collections::BTreeMap;

use midpath_core::units::Time;
use midpath_schemes::rated::RoundTrips;

use crate::pit::EntryId;

/// How long Data may wait in queues on their way. RFC 6817 allows up to 100 ms; ours, because NDN's
/// routers have queues of 64 packets and more, 40 ms at 20 Mbit/s.
const TARGET: Time = Time::from_ms(25);
/// Interests under way: to begin with (RFC 6928's ten packets are about one Data of 8,000 bytes and
/// a half), at least, and at most, which bounds the work of a path.
const FIRST: f64 = 4.0;
const LEAST: f64 = 2.0;
const MOST: f64 = 1024.0;
/// The least of so many round trips says how long the queue is (RFC 6817, current filter).
const RECENT: usize = 4;
/// Answers to so many later Interests say that one is lost (RFC 5681's duplicate ACKs).
const REORDER: u64 = 3;
/// The least timer, and that before a round trip is known. Ours: a scheduler's delay is not to be
/// taken for a loss, and an Interest too many costs one packet.
const SHORTEST: Time = Time::from_ms(100);
const UNKNOWN: Time = Time::from_ms(250);
/// Timers that run out one after the other before a path is taken for dead, and how long until
/// another Interest tries it. Ours.
const STRIKES: u32 = 3;
const TRIED_AGAIN: Time = Time::from_secs(1);

/// The path.
#[derive(Debug)]
pub struct Path {
    window_interests: f64,
    threshold_interests: f64,
    /// What is under way, by the number that it was sent with.
    under_way: BTreeMap<u64, EntryId>,
    next: u64,
    /// Losses of what was sent before this one belong to the same congestion.
    recovered: u64,
    /// Means, and the least of the last ten seconds and more (RFC 6817 keeps minutes).
    trips: RoundTrips,
    recent: [Time; RECENT],
    strikes: u32,
    try_at: Time,
}

impl Default for Path {
    fn default() -> Path {
        Path {
            window_interests: FIRST,
            threshold_interests: MOST,
            under_way: BTreeMap::new(),
            next: 0,
            recovered: 0,
            trips: RoundTrips::new(SHORTEST, 4),
            recent: [Time::MAX; RECENT],
            strikes: 0,
            try_at: Time::ZERO,
        }
    }
}

impl Path {
    /// Whether another Interest may go.
    pub fn has_room(&self) -> bool {
        (self.under_way.len() as f64) < self.window_interests.floor()
    }

    /// Whether it answers, as far as is known; now and then one Interest finds out.
    pub fn is_up(&self, now: Time) -> bool {
        self.strikes < STRIKES || now >= self.try_at
    }

    /// Called when an Interest is sent. Returns its number.
    pub fn on_sent(&mut self, now: Time, id: EntryId) -> u64 {
        if self.strikes >= STRIKES {
            self.try_at = now.saturating_add(TRIED_AGAIN);
        }
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, id);
        number
    }

    /// How long to wait for an answer that is asked for the n-th time.
    pub fn timer(&self, times: u32) -> Time {
        let once = self.trips.with_deviation().map_or(UNKNOWN, |time| time.max(SHORTEST));
        Time(once.0.saturating_mul(1 << times.min(6)))
    }

    /// Called when the answer to an Interest came, so long after it was sent. Returns those that were
    /// sent before and are lost.
    pub fn on_answer(&mut self, now: Time, number: u64, took: Time) -> Vec<EntryId> {
        let was_full = self.under_way.len() as f64 + 1.0 >= self.window_interests.floor();
        self.under_way.remove(&number);
        self.strikes = 0;
        self.measure(now, took);
        if was_full {
            self.adjust(now);
        }
        let mut lost = Vec::new();
        while let Some(first) = self.under_way.first_entry().filter(|first| first.key() + REORDER < number) {
            let first_number = *first.key();
            lost.push(first.remove());
            self.on_loss(first_number);
        }
        lost
    }

    /// Called when the timer of an Interest has run out.
    pub fn on_timer(&mut self, now: Time, number: u64) {
        if self.under_way.remove(&number).is_some() {
            self.strikes = self.strikes.saturating_add(1);
            if self.strikes == STRIKES {
                self.try_at = now.saturating_add(TRIED_AGAIN);
            }
            self.on_loss(number);
        }
    }

    /// Called when nobody waits for an Interest any more, or it was refused.
    pub fn on_end(&mut self, number: u64) {
        self.under_way.remove(&number);
    }

    fn measure(&mut self, now: Time, took: Time) {
        self.trips.add(now, took);
        self.recent.rotate_right(1);
        self.recent[0] = took;
    }

    /// RFC 6817, §2.4.2, with slow start until half of the target is there.
    fn adjust(&mut self, now: Time) {
        let least = self.recent.iter().min().copied().unwrap_or_default();
        let waits = least.saturating_sub(self.trips.least(now).unwrap_or(least)).as_secs_f64() / TARGET.as_secs_f64();
        if self.window_interests < self.threshold_interests && waits < 0.5 {
            self.window_interests += 1.0;
        } else {
            self.threshold_interests = self.threshold_interests.min(self.window_interests);
            self.window_interests += (1.0 - waits).max(-1.0) / self.window_interests;
        }
        self.window_interests = self.window_interests.clamp(LEAST, MOST);
    }

    /// Halves the window, once for all that was under way.
    fn on_loss(&mut self, number: u64) {
        if number >= self.recovered {
            self.window_interests = (self.window_interests / 2.0).max(LEAST);
            self.threshold_interests = self.window_interests;
            self.recovered = self.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn id() -> EntryId {
        EntryId::default()
    }

    /// Sends what it may, and answers in order: each waits for those before it at 3 ms each, above 5.
    fn link(path: &mut Path, queue: usize, packets: usize) -> (usize, Time) {
        let (mut now, mut waiting, mut lost) = (MS(1), std::collections::VecDeque::new(), 0);
        for _ in 0..packets {
            while path.has_room() {
                let number = path.on_sent(now, id());
                if waiting.len() < queue {
                    waiting.push_back((number, now));
                }
            }
            now = now.saturating_add(MS(3));
            let Some((number, sent)) = waiting.pop_front() else { break };
            let took = now.saturating_sub(sent).saturating_add(MS(2));
            lost += path.on_answer(now, number, took).len();
        }
        (lost, Time((waiting.len() as u64) * MS(3).0))
    }

    #[test]
    fn the_queue_is_as_long_as_the_target() {
        let mut path = Path::default();
        let (lost, waits) = link(&mut path, 100, 2000);
        assert_eq!(lost, 0);
        assert!((MS(12)..MS(36)).contains(&waits), "{waits:?}");
    }

    #[test]
    fn a_short_queue_loses_some_and_goes_on() {
        let mut path = Path::default();
        let (lost, _) = link(&mut path, 4, 2000);
        assert!(lost > 0 && lost < 200, "{lost}");
        assert!(path.window_interests < 8.0, "{path:?}");
    }

    #[test]
    fn later_answers_say_what_is_lost() {
        let mut path = Path::default();
        let numbers: Vec<u64> = (0..5).map(|_| path.on_sent(MS(1), id())).collect();
        path.window_interests = 8.0;
        assert!(path.on_answer(MS(6), numbers[1], MS(5)).is_empty());
        assert!(path.on_answer(MS(6), numbers[3], MS(5)).is_empty());
        assert_eq!(path.on_answer(MS(6), numbers[4], MS(5)).len(), 1);
        assert_eq!(path.under_way.len(), 1);
        assert_eq!(path.window_interests, 4.0, "it was not full, so it did not grow");
    }

    #[test]
    fn a_path_that_does_not_answer_is_down_until_it_is_tried() {
        let mut path = Path::default();
        assert_eq!(path.timer(0), UNKNOWN);
        for _ in 0..STRIKES {
            assert!(path.is_up(MS(10)));
            let number = path.on_sent(MS(10), id());
            path.on_timer(MS(10), number);
        }
        assert!(!path.is_up(MS(1009)) && path.is_up(MS(1010)));
        let number = path.on_sent(MS(1010), id());
        assert!(!path.is_up(MS(1011)), "one tries");
        path.on_answer(MS(1020), number, MS(10));
        assert!(path.is_up(MS(1021)));
        assert_eq!(path.timer(0), SHORTEST);
        assert_eq!(path.timer(2), MS(400));
    }
}
