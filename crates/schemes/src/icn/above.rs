//! Round trips above a port: from an Interest that goes out to the Data that come in, by path.
//!
//! Both tables are bounded. Each has a young and an old half; when the young one is full, or old
//! enough, it takes the old one's place. What is in use moves along.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use midpath_core::packet::Name;
use midpath_core::rng::mix;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::header::Way;
use super::path::PathId;

/// A path from a port upwards, as far as an Interest or Data say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Via(u64);

impl Via {
    /// That of Data that come in with this pathId.
    pub fn path(path: PathId) -> Via {
        Via(path.0)
    }

    /// Any path to whoever has this object.
    pub fn towards(name: Name) -> Via {
        Via::of_number(u64::from(name.prefix.0))
    }

    /// Any path to whoever has what is known by this number.
    pub fn of_number(number: u64) -> Via {
        Via(mix(!number))
    }

    /// The ways that Data in an object tell of, which came in with this pathId.
    pub fn of_data(path: PathId, name: Name) -> [Via; 2] {
        [Via::path(path), Via::towards(name)]
    }

    /// That of an Interest.
    pub fn of(way: Way, name: Name) -> Via {
        match way {
            Way::Path(path) => Via::path(path),
            Way::Any { .. } | Way::Filter(_) | Way::Value { .. } => Via::towards(name),
        }
    }
}

/// A table in two halves.
#[derive(Debug)]
struct Halves<K, V> {
    young: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
    /// Entries of the young half at most, how long it is young, and since when.
    limit: usize,
    period: Time,
    since: Time,
}

impl<K: Hash + Eq, V: Copy> Halves<K, V> {
    fn new(limit: usize, period: Time) -> Halves<K, V> {
        let (young, old) = Default::default();
        Halves { young, old, limit: (limit / 2).max(1), period, since: Time::ZERO }
    }

    /// Puts what `new` makes of the value that there is: one look at the young half, where it mostly is.
    #[inline]
    fn put(&mut self, now: Time, key: K, new: impl FnOnce(Option<V>) -> V) {
        if self.young.len() >= self.limit || now.saturating_sub(self.since) >= self.period {
            return self.put_in_turn(now, key, new);
        }
        match self.young.entry(key) {
            Entry::Occupied(mut known) => {
                let value = new(Some(*known.get()));
                known.insert(value);
            }
            Entry::Vacant(place) => {
                let value = new(self.old.get(place.key()).copied());
                place.insert(value);
            }
        }
    }

    /// The same where the young half is to take the old one's place.
    #[cold]
    fn put_in_turn(&mut self, now: Time, key: K, new: impl FnOnce(Option<V>) -> V) {
        let value = new(self.get(&key));
        self.old = std::mem::take(&mut self.young);
        self.since = now;
        self.young.insert(key, value);
    }

    fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }
}

/// An Interest that has left and is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// When it left first.
    at: Time,
    /// When its Data are due, if that was known.
    pub due: Option<Time>,
    /// Their size.
    pub size: u32,
    /// It was asked for before: which Interest is answered is not known (Karn's rule).
    again: bool,
}

/// How long a round trip that no Data confirm is remembered, at least. Ours: as long as the least
/// one at a consumer.
const REMEMBERED: Time = Time::from_secs(10);

/// What goes out of a port and comes back. `K` is what Data are known by.
#[derive(Debug)]
pub struct Above<K> {
    /// Means, and whether it was sure which Interests were answered.
    trips: Halves<Via, (Time, bool)>,
    flights: Halves<K, Flight>,
}

impl<K: Hash + Eq> Above<K> {
    /// Nothing is known. So many paths and Interests are remembered at most, and an Interest for
    /// `lifetime` at least.
    pub fn new(paths: usize, interests: usize, lifetime: Time) -> Above<K> {
        Above { trips: Halves::new(paths, REMEMBERED), flights: Halves::new(interests, lifetime) }
    }

    /// The round trip of a path.
    #[inline]
    pub fn trip(&self, via: Via) -> Option<Time> {
        self.trips.get(&via).map(|trip| trip.0)
    }

    /// Called when an Interest leaves, whose Data of `size` are due then.
    pub fn left(&mut self, now: Time, key: K, due: Option<Time>, size: u32) {
        self.flights.put(now, key, |before| {
            let (at, again) = (before.map_or(now, |flight| flight.at), before.is_some());
            Flight { at, due, size, again }
        });
    }

    /// Called when Data have come in that tell of these ways: the Interest that they answer.
    pub fn came(&mut self, now: Time, key: &K, ways: [Via; 2]) -> Option<Flight> {
        let flight = self.flights.take(key)?;
        let trip = now.saturating_sub(flight.at);
        for via in ways {
            // Of what was asked for twice, mostly too soon, the first time counts until it is sure.
            if flight.again && self.trips.get(&via).is_some() {
                continue;
            }
            let mean = |before| match before {
                // A quarter of the way: what a single one waited counts little.
                Some((Time(mean), true)) => Time((mean / 4) * 3 + trip.0 / 4),
                Some((_, false)) | None => trip,
            };
            self.trips.put(now, via, |before| (mean(before), !flight.again));
        }
        Some(flight)
    }

    /// Called when an Interest has been refused: it will not be answered.
    pub fn refused(&mut self, key: &K) -> Option<Flight> {
        self.flights.take(key)
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::NodeId;

    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const NAME: Name = Name { prefix: NodeId(1), object: 2 };

    #[test]
    fn data_tell_the_round_trip_of_their_path_and_of_their_producer() {
        let mut above = Above::new(16, 16, MS(4000));
        assert_eq!(above.trip(Via::path(PathId(7))), None);
        above.left(MS(0), (NAME, 0), None, 1500);
        let flight = above.came(MS(40), &(NAME, 0), Via::of_data(PathId(7), NAME)).expect("asked for");
        assert_eq!((flight.due, flight.size), (None, 1500));
        assert_eq!(above.trip(Via::of(Way::Path(PathId(7)), NAME)), Some(MS(40)));
        assert_eq!(above.trip(Via::of(Way::Any { spare: 0 }, NAME)), Some(MS(40)));
        above.left(MS(50), (NAME, 1), Some(MS(90)), 1500);
        assert_eq!(above.came(MS(130), &(NAME, 1), Via::of_data(PathId(7), NAME)).and_then(|f| f.due), Some(MS(90)));
        assert_eq!(above.trip(Via::path(PathId(7))), Some(MS(50)));
        assert_eq!(above.came(MS(131), &(NAME, 1), Via::of_data(PathId(7), NAME)), None, "once");
    }

    #[test]
    fn what_was_asked_for_twice_counts_until_it_is_sure() {
        let mut above = Above::new(16, 16, MS(4000));
        for (segment, first, again, trip) in [(0, 0, Some(9), 10), (1, 20, None, 8), (2, 30, Some(31), 8)] {
            above.left(MS(first), (NAME, segment), None, 1500);
            again.into_iter().for_each(|at| above.left(MS(at), (NAME, segment), None, 1500));
            assert!(
                above
                    .came(
                        MS(first + if again.is_some() { 10 } else { 8 }),
                        &(NAME, segment),
                        Via::of_data(PathId(7), NAME)
                    )
                    .is_some()
            );
            assert_eq!(above.trip(Via::path(PathId(7))), Some(MS(trip)), "{segment}");
        }
    }

    #[test]
    fn both_tables_are_bounded() {
        let mut above = Above::new(16, 64, MS(4000));
        for i in 0..1000u32 {
            above.left(MS(0), (NAME, i), None, 1500);
            above.left(MS(0), (NAME, i + 5000), None, 1500);
            above.came(MS(1), &(NAME, i), Via::of_data(PathId(u64::from(i)), NAME));
        }
        assert!(above.flights.young.len() + above.flights.old.len() <= 64);
        assert!(above.trips.young.len() + above.trips.old.len() <= 17);
    }

    #[test]
    fn what_is_in_use_is_remembered() {
        let mut above = Above::new(1000, 1000, MS(4000));
        for i in 0..40 {
            above.left(MS(1000 * i), (NAME, i as u32), None, 1500);
            above.came(MS(1000 * i + 5), &(NAME, i as u32), Via::of_data(PathId(7), NAME));
            assert_eq!(above.trip(Via::path(PathId(7))), Some(MS(5)));
        }
    }
}
