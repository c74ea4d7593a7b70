//! Upstream round trips of a port: from an outgoing Interest to its Data, by path.
//!
//! Both tables are bounded. Each has a young and an old half; when the young one is full or old enough, it replaces
//! the old one. Entries in use move along.

use std::hash::Hash;

use midpath_core::packet::Name;
use midpath_core::rng::mix;
use midpath_core::units::Time;

use super::header::Way;
use super::path::PathId;
use super::table::Table;

/// A path from a port upwards, as far as an Interest or Data say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    young: Table<K, V>,
    old: Table<K, V>,
    /// Entries of the young half at most, how long it is young, and since when.
    limit: usize,
    period: Time,
    since: Time,
}

impl<K: Hash + Eq + Copy, V: Copy> Halves<K, V> {
    fn new(limit: usize, period: Time) -> Halves<K, V> {
        let (young, old) = Default::default();
        Halves { young, old, limit: (limit / 2).max(1), period, since: Time::ZERO }
    }

    /// Whether the young half is to take the old one's place.
    #[inline]
    fn turns(&self, now: Time) -> bool {
        self.young.len() >= self.limit || now.saturating_sub(self.since) >= self.period
    }

    /// Puts what `new` makes of the value that there is: one look at the young half, where it mostly is.
    #[inline]
    fn put(&mut self, now: Time, key: K, new: impl FnOnce(Option<V>) -> V) {
        if self.turns(now) {
            return self.put_in_turn(now, key, new);
        }
        self.put_young(key, new);
    }

    /// The same where the young half stays; the value.
    #[inline]
    fn put_young(&mut self, key: K, new: impl FnOnce(Option<V>) -> V) -> V {
        let old = &self.old;
        let before = |young: Option<&V>| match young {
            None if old.is_empty() => None,
            None => old.get(&key).copied(),
            Some(young) => Some(*young),
        };
        self.young.put(key, |young| new(before(young)))
    }

    /// The same where the young half is to take the old one's place.
    #[cold]
    fn put_in_turn(&mut self, now: Time, key: K, new: impl FnOnce(Option<V>) -> V) {
        let value = new(self.get(&key));
        self.old = std::mem::take(&mut self.young);
        self.since = now;
        self.young.put(key, |_| value);
    }

    fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }
}

/// A mean round trip, and whether it was sure which Interests were answered.
type Trip = (Time, bool);

/// How many ways are looked at before the tables are. Ours: a port has a few in use.
const RECENT: usize = 32;

/// Round trips by way. What those in use are is not in the tables before they give way to others.
#[derive(Debug)]
struct Trips {
    halves: Halves<Via, Trip>,
    /// Of the young half.
    recent: [Option<(Via, Trip)>; RECENT],
}

impl Trips {
    fn new(limit: usize) -> Trips {
        Trips { halves: Halves::new(limit, REMEMBERED), recent: [None; RECENT] }
    }

    #[inline]
    fn get(&self, via: Via) -> Option<Trip> {
        match self.recent[via.0 as usize % RECENT] {
            Some((known, trip)) if known == via => Some(trip),
            _ => self.halves.get(&via),
        }
    }

    /// The one that is known of a way in use.
    #[inline]
    fn in_use(&mut self, via: Via) -> Option<&mut Trip> {
        match &mut self.recent[via.0 as usize % RECENT] {
            Some((known, trip)) if *known == via => Some(trip),
            _ => None,
        }
    }

    fn put(&mut self, now: Time, via: Via, new: impl FnOnce(Option<Trip>) -> Trip) {
        if self.halves.turns(now) {
            for (known, trip) in self.recent.iter_mut().filter_map(Option::take) {
                self.halves.young.put(known, |_| trip);
            }
            return self.halves.put_in_turn(now, via, new);
        }
        match &mut self.recent[via.0 as usize % RECENT] {
            Some((known, trip)) if *known == via => *trip = new(Some(*trip)),
            place => {
                if let Some((other, trip)) = place.take() {
                    self.halves.young.put(other, |_| trip);
                }
                *place = Some((via, self.halves.put_young(via, new)));
            }
        }
    }
}

/// A mean with one more round trip: a quarter of the way, for what a single one waited counts little.
#[inline]
fn averaged(mean: Time, trip: Time) -> Time {
    Time((mean.0 / 4) * 3 + trip.0 / 4)
}

/// An Interest that has left and is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutstandingInterest {
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
    trips: Trips,
    flights: Halves<K, OutstandingInterest>,
}

impl<K: Hash + Eq + Copy> Above<K> {
    /// Nothing is known. So many paths and Interests are remembered at most, and an Interest for
    /// `lifetime` at least.
    pub fn new(paths: usize, interests: usize, lifetime: Time) -> Above<K> {
        Above { trips: Trips::new(paths), flights: Halves::new(interests, lifetime) }
    }

    /// The round trip of a path.
    #[inline]
    pub fn trip(&self, via: Via) -> Option<Time> {
        self.trips.get(via).map(|trip| trip.0)
    }

    /// Called when an Interest leaves, whose Data of `size` are due then.
    pub fn left(&mut self, now: Time, key: K, due: Option<Time>, size: u32) {
        self.flights.put(now, key, |before| {
            let (at, again) = (before.map_or(now, |flight| flight.at), before.is_some());
            OutstandingInterest { at, due, size, again }
        });
    }

    /// Called when Data have come in that tell of these ways: the Interest that they answer.
    pub fn came(&mut self, now: Time, key: &K, ways: [Via; 2]) -> Option<OutstandingInterest> {
        let flight = self.flights.take(key)?;
        let trip = now.saturating_sub(flight.at);
        // Mostly both ways are in use.
        let mut stays = !flight.again && !self.trips.halves.turns(now);
        for via in &ways {
            let via = *via;
            if stays && let Some(known) = self.trips.in_use(via).filter(|known| known.1) {
                known.0 = averaged(known.0, trip);
                continue;
            }
            // Of what was asked for twice, mostly too soon, the first time counts until it is sure.
            if flight.again && self.trips.get(via).is_some() {
                continue;
            }
            let mean = |before| match before {
                Some((mean, true)) => averaged(mean, trip),
                Some((_, false)) | None => trip,
            };
            self.trips.put(now, via, |before| (mean(before), !flight.again));
            stays = false; // the young half has grown
        }
        Some(flight)
    }

    /// Called when an Interest has been refused: it will not be answered.
    pub fn refused(&mut self, key: &K) -> Option<OutstandingInterest> {
        self.flights.take(key)
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::NodeId;
    use midpath_core::rng::{Purpose, below, stream};

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
        assert_eq!(above.trip(Via::of(Way::ANY, NAME)), Some(MS(40)));
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
        assert!(above.trips.halves.young.len() + above.trips.halves.old.len() <= 17);
    }

    /// Ways that share a place, some of them given up, over several turns of the halves.
    #[test]
    fn round_trips_in_use_are_those_of_the_tables() {
        let mut rng = stream(7, Purpose::Fault, 0);
        let (mut trips, mut plain) = (Trips::new(80), Halves::new(80, REMEMBERED));
        for i in 0..20_000u64 {
            let (now, via) = (MS(5 * i), Via(below(&mut rng, 3) * RECENT as u64 + below(&mut rng, 30)));
            let new = |before: Option<Trip>| (Time(before.map_or(0, |trip| trip.0.0 / 2) + i), i % 3 == 0);
            trips.put(now, via, new);
            plain.put(now, via, new);
            let other = Via(below(&mut rng, 100));
            assert_eq!((trips.get(via), trips.get(other)), (plain.get(&via), plain.get(&other)));
        }
        assert_eq!(trips.halves.since, plain.since, "they turn together");
    }

    /// The same with nothing found before the tables, as it is meant.
    struct Plain {
        trips: Halves<Via, Trip>,
        flights: Halves<u32, OutstandingInterest>,
    }

    impl Plain {
        fn left(&mut self, now: Time, key: u32, due: Option<Time>, size: u32) {
            self.flights.put(now, key, |before| OutstandingInterest {
                at: before.map_or(now, |b| b.at),
                due,
                size,
                again: before.is_some(),
            });
        }

        fn came(&mut self, now: Time, key: u32, ways: [Via; 2]) -> Option<OutstandingInterest> {
            let flight = self.flights.take(&key)?;
            let trip = now.saturating_sub(flight.at);
            for via in ways {
                if flight.again && self.trips.get(&via).is_some() {
                    continue;
                }
                self.trips.put(now, via, |before| match before {
                    Some((mean, true)) => (Time(mean.0 / 4 * 3 + trip.0 / 4), !flight.again),
                    Some((_, false)) | None => (trip, !flight.again),
                });
            }
            Some(flight)
        }
    }

    /// Few Interests and many, some sent twice, some never answered, over ways that share a place.
    #[test]
    fn what_comes_back_tells_what_plain_tables_are_told() {
        for (seed, limit) in [(1, 8), (2, 80), (3, 1000)] {
            let mut rng = stream(seed, Purpose::Fault, 0);
            let mut above = Above::new(limit, limit, MS(400));
            let (trips, flights) = (Halves::new(limit, REMEMBERED), Halves::new(limit, MS(400)));
            let mut plain = Plain { trips, flights };
            for i in 0..20_000u64 {
                let (now, key) = (MS(i / 3), below(&mut rng, 50) as u32);
                let ways = [0; 2].map(|_| Via(below(&mut rng, 3) * RECENT as u64 + below(&mut rng, 4)));
                if below(&mut rng, 5) < 3 {
                    let due = above.trip(ways[0]).map(|trip| now + trip);
                    above.left(now, key, due, i as u32);
                    plain.left(now, key, due, i as u32);
                } else {
                    assert_eq!(above.came(now, &key, ways), plain.came(now, key, ways));
                }
                assert!(ways.iter().all(|via| above.trip(*via) == plain.trips.get(via).map(|trip| trip.0)));
            }
        }
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
