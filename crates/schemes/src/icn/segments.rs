//! The segments of an object, as its consumer knows them: not asked for yet, on their way, to be
//! asked for again, here. An application's Interests are such segments, too; there come ever more.

use std::collections::VecDeque;

use midpath_core::units::Time;

use super::lines::REORDERING;
use super::path::PathId;
use super::pending::{Answered, Course, Pending};

/// What is left of an object to fetch.
#[derive(Debug)]
pub struct Segments {
    /// How many segments that is.
    count: u64,
    /// The segment that nobody has asked for yet.
    next: u64,
    /// Segments to be asked for again.
    again: VecDeque<u32>,
    pending: Pending,
    received: u64,
}

impl Segments {
    /// So many, of which nothing is here.
    pub fn of(count: u64) -> Segments {
        Segments { count, next: 0, again: VecDeque::new(), pending: Pending::default(), received: 0 }
    }

    /// Called when there is another one: its number.
    pub fn more(&mut self) -> u32 {
        self.count += 1;
        (self.count - 1) as u32
    }

    /// The first segment that nobody has asked for yet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The segment to ask for next: one that did not come, before new ones.
    #[inline]
    pub fn wanted(&mut self) -> Option<u32> {
        while let Some(segment) = self.again.front() {
            if self.pending.waits_to_be_sent(*segment) {
                return Some(*segment);
            }
            self.again.pop_front();
        }
        (self.next < self.count).then_some(self.next as u32)
    }

    /// Takes the segment that was wanted off the list. Whether it is asked for again.
    pub fn take(&mut self, segment: u32) -> bool {
        let again = self.again.front() == Some(&segment);
        match again {
            true => drop(self.again.pop_front()),
            false => self.next += 1,
        }
        again
    }

    /// Called when an Interest has been sent; `timeout` is that of a first one.
    pub fn sent(&mut self, segment: u32, now: Time, course: Course, timeout: Time) {
        self.pending.sent(segment, now, course, timeout);
    }

    /// Called with Data that came over a path: puts what they show to be lost on the list again. Those
    /// count that were asked for before the first time; what is in no line, before the second. The
    /// number of the latter.
    pub fn find_lost(&mut self, by: &Answered, path: PathId, [then, long]: [Time; 2]) -> u32 {
        // At an object's end too few Interests are left for three to follow.
        let reordering = if self.wanted().is_some() { REORDERING } else { 1 };
        while let Some(segment) = self.pending.overtaken(by, path, reordering, then) {
            self.again.push_back(segment);
        }
        let before = self.again.len();
        while let Some(segment) = self.pending.strays(by, long) {
            self.again.push_back(segment);
        }
        (self.again.len() - before) as u32
    }

    /// Called when nothing has come for long and nothing is left to ask for: puts the last one of each
    /// path on the list again.
    pub fn probe(&mut self) {
        self.again.extend(self.pending.probe());
    }

    /// Whether some are on their way, or wait to be asked for again.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next segment that is late, and its path; it is on the list again. Ask again.
    pub fn late(&mut self, now: Time, timeout: Time) -> Option<(u32, Option<PathId>)> {
        let (segment, path) = self.pending.late(now, timeout)?;
        self.again.push_back(segment);
        Some((segment, path))
    }

    /// What comes first: `other`, or when the next one will be late.
    pub fn first_of(&mut self, other: Time, timeout: Time) -> Time {
        self.pending.first_of(other, timeout)
    }

    /// When the next one will be late.
    pub fn next_timeout(&mut self, timeout: Time) -> Time {
        self.pending.next_timeout(timeout)
    }

    /// Called with a Nack: the path of its Interest, which is on the list again. The outer `None`:
    /// nothing waits for it.
    pub fn refused(&mut self, segment: u32) -> Option<Option<PathId>> {
        let path = self.pending.refused(segment)?;
        self.again.push_back(segment);
        Some(path)
    }

    /// Called with Data. `None`: they were not asked for, or have come already.
    pub fn answered(&mut self, segment: u32) -> Option<Answered> {
        let answered = self.pending.answered(segment)?;
        self.received += 1;
        Some(answered)
    }

    /// Whether all of it is here.
    pub fn complete(&self) -> bool {
        self.received == self.count
    }
}
