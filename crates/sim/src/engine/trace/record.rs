//! The first events by time, up to the limit.

use super::event::{Event, Key};
use midpath_core::units::Time;

/// Events that were recorded. Unsorted while a run goes on.
#[derive(Debug, Default)]
pub struct Record {
    /// The events that fit.
    pub events: Vec<Event>,
    /// All events.
    pub all: u64,
    room: usize,
    /// From here on there is no room.
    end: Option<(Time, Key)>,
}

impl Record {
    /// Room for so many.
    pub(super) fn new(room: usize) -> Record {
        Record { events: Vec::new(), all: 0, room, end: None }
    }

    /// Whether there is no room for events of this time, and will be none.
    pub(super) fn is_full_at(&self, at: Time) -> bool {
        self.end.is_some_and(|(end, _)| at > end)
    }

    /// Counts an event that does not fit.
    pub(super) fn count(&mut self, is_chosen: bool) {
        self.all += u64::from(is_chosen);
    }

    pub(super) fn add(&mut self, event: Event) {
        self.all += 1;
        if self.end.is_some_and(|end| (event.at, event.key) >= end) {
            return;
        }
        self.events.push(event);
        // A quarter more than what fits: each sort pays for many events.
        if self.events.len() > self.room + self.room / 4 + 1024 {
            self.keep_first();
        }
    }

    /// Keeps the first ones. A part's nodes take turns, so its events come in any order.
    fn keep_first(&mut self) {
        if self.events.len() > self.room {
            let (_, first_out, _) = self.events.select_nth_unstable_by_key(self.room, |e| (e.at, e.key));
            self.end = Some((first_out.at, first_out.key));
            self.events.truncate(self.room);
        }
    }

    /// Joins another part's record of the same run.
    pub fn merge(&mut self, other: Record) {
        self.all += other.all;
        self.room = self.room.max(other.room);
        self.events.extend(other.events);
        self.keep_first();
    }

    /// The events that fit, in order.
    pub fn sorted(mut self) -> Vec<Event> {
        self.keep_first();
        // Events are large: their names are sorted, and each is moved once.
        let mut order: Vec<(Time, Key, u32)> = self.events.iter().zip(0..).map(|(e, i)| (e.at, e.key, i)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, i)| self.events[i as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::NodeId;

    fn event(at: u64, number: u32) -> Event {
        Event { at: Time(at), key: Key::of(NodeId(0), number), ..Event::NOTHING }
    }

    /// Whatever the order in which they come, and in however many parts.
    #[test]
    fn the_first_events_are_kept() {
        let (room, all) = (10, 20_000u32);
        let times: Vec<u64> = (0..all).map(|i| u64::from(i) * 7_919 % 5_003).collect();
        let mut wanted: Vec<(u64, u32)> = times.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        for parts in [1, 2, 3] {
            let mut records: Vec<Record> = (0..parts).map(|_| Record::new(room)).collect();
            for (i, at) in times.iter().enumerate() {
                records[i % parts].add(event(*at, i as u32));
            }
            let joined = records.into_iter().reduce(|mut a, b| {
                a.merge(b);
                a
            });
            let joined = joined.expect("a part");
            assert_eq!(joined.all, u64::from(all));
            let kept: Vec<(u64, Key)> = joined.sorted().iter().map(|e| (e.at.0, e.key)).collect();
            let first: Vec<(u64, Key)> = wanted[..room].iter().map(|(t, i)| (*t, Key::of(NodeId(0), *i))).collect();
            assert_eq!(kept, first);
        }
    }
}
