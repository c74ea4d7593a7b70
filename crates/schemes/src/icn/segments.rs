//! State of an object's segments at its consumer: not requested, pending, to retransmit, received. An application's
//! Interests are also such segments, in an unbounded sequence.

use midpath_core::fifo::Fifo;
use midpath_core::units::Time;

use super::lines::{InOrderPath, REORDERING};
use super::path::PathId;
use super::pending::{Answered, Course, Late, Pending};
use super::round_trips::RoundTrips;

/// What is left of an object to fetch.
#[derive(Debug)]
pub struct Segments {
    /// How many segments that is.
    count: u64,
    /// Whether there come more.
    open: bool,
    /// The segment that nobody has asked for yet.
    next: u64,
    /// Segments to be asked for again.
    again: Fifo<u32>,
    pending: Pending,
    received: u64,
}

impl Segments {
    /// So many, of which nothing is here.
    pub fn of(count: u64) -> Segments {
        Segments { count, open: false, next: 0, again: Fifo::default(), pending: Pending::default(), received: 0 }
    }

    /// The same where forwarders keep an Interest for so long.
    #[must_use]
    pub fn kept_for(self, lifetime: Time) -> Segments {
        Segments { pending: Pending::kept_for(lifetime), ..self }
    }

    /// Called when there is another one: its number.
    pub fn more(&mut self) -> u32 {
        (self.count, self.open) = (self.count + 1, true);
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
            if self.pending.waits_to_be_sent(segment) {
                return Some(segment);
            }
            self.again.skip(1);
        }
        (self.next < self.count).then_some(self.next as u32)
    }

    /// Takes the segment that was wanted off the list. Whether it is asked for again.
    pub fn take(&mut self, segment: u32) -> bool {
        let again = self.again.front() == Some(segment);
        match again {
            true => self.again.skip(1),
            false => self.next += 1,
        }
        again
    }

    /// Called when an Interest has been sent; `timeout` is that of a first one.
    pub fn on_interest_sent(&mut self, segment: u32, now: Time, course: Course, timeout: Time) {
        self.pending.on_interest_sent(segment, now, course, timeout);
    }

    /// Whether all that there will be has been asked for.
    pub fn is_ending(&mut self) -> bool {
        !self.open && self.wanted().is_none()
    }

    /// How many Interests after it tell that one is lost: at an object's end too few are left for three.
    fn reordering(&mut self) -> u64 {
        if self.wanted().is_some() { REORDERING } else { 1 }
    }

    /// Called with Data that came over a path: puts what they show to be lost there on the list again. That
    /// is lost after its path's time, or this one while it has none.
    pub fn find_lost(&mut self, by: &Answered, path: PathId, now: Time, usual: Time) {
        let reordering = self.reordering();
        if let Some(line) = self.pending.tells(by, path, now) {
            while let Some(segment) = self.pending.overtaken(line, reordering, now, usual) {
                self.again.push(segment);
            }
        }
    }

    /// Whether something is in no line that others have overtaken.
    pub fn has_stray(&mut self) -> bool {
        self.pending.oldest_presumed_lost().is_some()
    }

    /// Puts what is in no line and lost after this time on the list again: how many.
    pub fn find_strays(&mut self, now: Time, long: Time) -> u32 {
        let before = self.again.len();
        while let Some(segment) = self.pending.strays(now.saturating_sub(long)) {
            self.again.push(segment);
        }
        (self.again.len() - before) as u32
    }

    /// Called where nothing is left to ask for, so that no more Data tell: puts on the list again what
    /// those of before have shown to be lost, of which the same times are over now.
    pub fn find_doubted(&mut self, now: Time, [usual, long]: [Time; 2]) {
        let reordering = self.reordering();
        while let Some(segment) = self.pending.overtaken_anywhere(reordering, now, usual) {
            self.again.push(segment);
        }
        self.find_strays(now, long);
    }

    /// When there is something to find for [`Segments::find_doubted`], if these times are waited.
    pub fn next_doubted(&mut self, [usual, long]: [Time; 2]) -> Time {
        let reordering = self.reordering();
        let overtaken = self.pending.first_doubted(reordering, usual);
        // It was to be sent before.
        let stray = self.pending.oldest_presumed_lost().map(|at| at.saturating_add(long).saturating_add(Time(1)));
        overtaken.into_iter().chain(stray).min().unwrap_or(Time::MAX)
    }

    /// Called when nothing has come for long and nothing is left to ask for: puts the last one of each
    /// path on the list again.
    pub fn probe(&mut self) {
        self.pending.probe().into_iter().for_each(|segment| self.again.push(segment));
    }

    /// The round trips of a line, once it has some.
    pub fn trips(&self, line: InOrderPath) -> Option<&RoundTrips> {
        self.pending.trips(line)
    }

    /// How long to wait for the last Interest of each path, if one has a round trip.
    pub fn patience(&self) -> Option<Time> {
        self.pending.patience()
    }

    /// Whether some are on their way, or wait to be asked for again.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next segment that is late, or is to be kept pending; it is on the list again. Ask again.
    pub fn late(&mut self, now: Time, timeout: Time) -> Option<Late> {
        let late = self.pending.late(now, timeout)?;
        self.again.push(late.segment);
        Some(late)
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
        self.again.push(segment);
        Some(path)
    }

    /// Called with Data. `None`: they were not asked for, or have come already.
    pub fn answered(&mut self, segment: u32) -> Option<Answered> {
        let answered = self.pending.answered(segment)?;
        self.received += 1;
        debug_assert!(self.received <= self.next, "{} came of {} that were asked for", self.received, self.next);
        Some(answered)
    }

    /// Whether all of it is here.
    pub fn complete(&self) -> bool {
        self.received == self.count
    }
}
