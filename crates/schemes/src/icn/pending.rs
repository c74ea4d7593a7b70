//! What a consumer has asked for and not got, and how long to wait for it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::path::PathId;

/// A segment that has been asked for.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    path: Option<PathId>,
    /// Whether the Interest was steered there.
    steered: bool,
    /// How often it was asked for.
    times: u32,
    /// It waits to be asked for again.
    back: bool,
}

/// A segment that has come.
#[derive(Debug, Clone, Copy)]
pub struct Answered(Sent);

impl Answered {
    /// The round trip, if it is sure which Interest was answered (Karn's rule).
    pub fn round_trip(&self, now: Time) -> Option<Time> {
        (self.0.times == 1).then(|| now.saturating_sub(self.0.at))
    }

    /// Whether it was on its way, and did not wait to be asked for again.
    pub fn flew(&self) -> bool {
        !self.0.back
    }

    /// Whether its Interest was steered onto another path than this.
    pub fn strayed(&self, path: PathId) -> bool {
        self.0.steered && self.0.path != Some(path)
    }
}

/// Timeouts double with each repeat of a segment, at most this often. Ours.
const MAX_DOUBLINGS: u32 = 4;

/// The segments on their way.
#[derive(Debug, Default)]
pub struct Pending {
    interests: FxHashMap<u32, Sent>,
    /// Those asked for once, with the times of their Interests, in order; and repeats by their
    /// deadlines. What is answered stays until it is first.
    first: VecDeque<(u32, Time)>,
    repeats: BinaryHeap<Reverse<(Time, u32, u32)>>,
}

impl Pending {
    /// Called when an Interest has been sent for a path, perhaps steered there; `timeout` is that
    /// of a first one.
    pub fn sent(&mut self, segment: u32, now: Time, path: Option<PathId>, steered: bool, timeout: Time) {
        let sent = self.interests.entry(segment).or_insert(Sent { at: now, path, steered, times: 0, back: false });
        let times = sent.times + 1;
        *sent = Sent { at: now, path, steered, times, back: false };
        if times == 1 {
            self.first.push_back((segment, now));
        } else {
            let wait = Time(timeout.0 << (times - 1).min(MAX_DOUBLINGS));
            self.repeats.push(Reverse((now.saturating_add(wait), segment, times)));
        }
    }

    /// Called when Data have come. `None`: they were not asked for, or have come already.
    pub fn answered(&mut self, segment: u32) -> Option<Answered> {
        let sent = self.interests.remove(&segment)?;
        match self.first.front().is_some_and(|first| first.0 == segment) {
            true => drop(self.first.pop_front()),
            false => self.forget(),
        }
        Some(Answered(sent))
    }

    /// Called with a Nack: the path of its Interest, which is to be sent again. The outer `None`:
    /// nothing waits for it.
    pub fn refused(&mut self, segment: u32) -> Option<Option<PathId>> {
        let sent = self.interests.get_mut(&segment).filter(|a| !a.back)?;
        sent.back = true;
        Some(sent.path)
    }

    /// Whether a segment is to be sent again.
    pub fn waits_to_be_sent(&self, segment: u32) -> bool {
        self.interests.get(&segment).is_some_and(|a| a.back)
    }

    /// The next segment that is late, and its path; it is to be sent again. Ask again.
    pub fn late(&mut self, now: Time, timeout: Time) -> Option<(u32, Option<PathId>)> {
        if self.earliest(timeout) > now {
            return None;
        }
        self.forget();
        let head = self.first.front().filter(|first| first.1.saturating_add(timeout) <= now).copied();
        let segment = match head {
            Some((segment, _)) => segment,
            None => self.repeats.peek().filter(|r| r.0.0 <= now)?.0.1,
        };
        let sent = self.interests.get_mut(&segment)?;
        sent.back = true;
        Some((segment, sent.path))
    }

    /// When the next one will be late.
    pub fn next_timeout(&mut self, timeout: Time) -> Time {
        self.forget();
        self.earliest(timeout)
    }

    /// What comes first: `other`, or when the next one will be late.
    pub fn first_of(&mut self, other: Time, timeout: Time) -> Time {
        // What counts no more is only sought for when it matters.
        if self.earliest(timeout) >= other { other } else { self.next_timeout(timeout).min(other) }
    }

    /// When the heads of both lists will be late, or would have been: none is earlier.
    fn earliest(&self, timeout: Time) -> Time {
        let first = self.first.front().map_or(Time::MAX, |first| first.1.saturating_add(timeout));
        self.repeats.peek().map_or(first, |r| first.min(r.0.0))
    }

    /// Drops entries at the heads of both lists that count no more.
    fn forget(&mut self) {
        while let Some((segment, _)) = self.first.front() {
            if self.interests.get(segment).is_some_and(|a| a.times == 1 && !a.back) {
                break;
            }
            self.first.pop_front();
        }
        while let Some(Reverse((_, segment, times))) = self.repeats.peek() {
            if self.interests.get(segment).is_some_and(|a| a.times == *times && !a.back) {
                break;
            }
            self.repeats.pop();
        }
    }
}

/// How long the least RTT is remembered, at least. Ours: as BBR does.
const WINDOW: Time = Time::from_secs(10);

/// Longest timeout of a first Interest. RFC 6298, §2.5: at least 60 s; ours is shorter, for an
/// Interest costs little.
const MAX_TIMEOUT: Time = Time::from_secs(10);

/// Round trips: the least of late for the links, the smoothed one for the timeout (RFC 6298).
#[derive(Debug, Clone, Copy)]
pub struct RoundTrips {
    smoothed: Option<(Time, Time)>,
    least: [Time; 2],
    window: Time,
    min_timeout: Time,
    /// RFC 6298's K.
    k: u32,
}

impl RoundTrips {
    /// None so far.
    pub fn new(min_timeout: Time, k: u32) -> RoundTrips {
        RoundTrips { smoothed: None, least: [Time::MAX; 2], window: Time::ZERO, min_timeout, k }
    }

    /// Called with each sample. RFC 6298, §2.2 and §2.3.
    pub fn add(&mut self, now: Time, rtt: Time) {
        self.smoothed = Some(match self.smoothed {
            None => (rtt, Time(rtt.0 / 2)),
            Some((mean, var)) => {
                let away = Time(mean.0.abs_diff(rtt.0));
                (Time((mean.0 / 8) * 7 + rtt.0 / 8), Time((var.0 / 4) * 3 + away.0 / 4))
            }
        });
        if now.saturating_sub(self.window) >= WINDOW {
            (self.least, self.window) = ([Time::MAX, self.least[0]], now);
        }
        self.least[0] = self.least[0].min(rtt);
    }

    /// The smoothed one.
    pub fn smoothed(&self) -> Option<Time> {
        self.smoothed.map(|s| s.0)
    }

    /// The least of the last 10 to 20 s.
    pub fn least(&self, now: Time) -> Option<Time> {
        let old = now.saturating_sub(self.window) >= WINDOW;
        let least = if old { self.least[0] } else { self.least[0].min(self.least[1]) };
        (least < Time::MAX).then_some(least)
    }

    /// RFC 6298, §2.3 and §2.4; before the first sample the least timeout.
    pub fn timeout(&self) -> Time {
        let wait = self
            .smoothed
            .map_or(Time::ZERO, |(mean, var)| mean.saturating_add(Time(var.0.saturating_mul(u64::from(self.k)))));
        wait.max(self.min_timeout).min(MAX_TIMEOUT.max(self.min_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const S: fn(u64) -> Time = Time::from_secs;

    #[test]
    fn what_does_not_come_is_asked_for_again_ever_later() {
        let (mut pending, second) = (Pending::default(), S(1));
        pending.sent(7, Time::ZERO, Some(PathId(1)), true, second);
        assert_eq!(pending.next_timeout(second), S(1));
        assert_eq!((pending.late(MS(999), second), pending.late(S(1), second)), (None, Some((7, Some(PathId(1))))));
        assert!(pending.late(S(1), second).is_none() && pending.waits_to_be_sent(7));
        assert_eq!(pending.next_timeout(second), Time::MAX);
        pending.sent(7, S(1), None, false, second);
        assert_eq!(pending.next_timeout(second), S(3));
        assert_eq!(pending.refused(7), Some(None));
        assert_eq!(pending.refused(7), None, "once");
        // Late Data count, and tell no round trip.
        assert!(pending.answered(7).is_some_and(|a| a.round_trip(S(2)).is_none()) && pending.answered(7).is_none());
        assert!(!pending.waits_to_be_sent(7));
    }

    #[test]
    fn round_trips_are_smoothed_and_the_least_is_forgotten_in_time() {
        let mut rtts = RoundTrips::new(MS(10), 4);
        assert_eq!((rtts.timeout(), rtts.least(S(0)), rtts.smoothed()), (MS(10), None, None));
        rtts.add(S(0), MS(80));
        // RFC 6298: 80 + 4 · 40.
        assert_eq!((rtts.timeout(), rtts.least(S(1))), (MS(240), Some(MS(80))));
        rtts.add(S(1), MS(160));
        assert_eq!((rtts.smoothed(), rtts.timeout()), (Some(MS(90)), MS(90 + 4 * 50)));
        rtts.add(S(12), MS(100));
        rtts.add(S(23), MS(100));
        assert_eq!(rtts.least(S(24)), Some(MS(100)));
    }
}
