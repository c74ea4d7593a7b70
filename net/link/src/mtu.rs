//! The largest datagram that a path carries (RFC 8899, datagram packetization layer path MTU discovery):
//! the neighbour answers probes. Packets are never probes: larger packets are [fragmented](crate::fragments).
//!
//! | | RFC 8899 | here |
//! |---|---|---|
//! | search (§5.3.2) | any algorithm | a round of ten probes at once divides what is left by eleven |
//! | MIN_PLPMTU, BASE_PLPMTU (§5.1.2) | 68 or 1,280 B, 1,200 B | what every host takes: 576 B (IPv4), 1,280 B (IPv6) |
//! | PROBE_TIMER (§5.1.1) | not below 1 s | two round trips: a neighbour answers at once |
//! | CONFIRMATION_TIMER | – | 30 s, and whenever packets may be lost for their size ([`MtuSearch::suspect`]) |
//! | PMTU_RAISE_TIMER | 600 s | 10 s while packets go in parts, else 600 s: one byte more is tried |

use midpath_core::units::Time;

/// Probes of a round. Ours: as many as RFC 6928 lets anybody send at once; three rounds tell 1,331 sizes apart.
const SIZES: u16 = 10;
/// How often a size is tried (RFC 8899, §5.1.2: MAX_PROBES).
const TRIES: u32 = 3;
/// An answer is waited for so long before the first one has come: RFC 8899's PROBE_TIMER.
const FIRST: Time = Time::from_secs(1);
/// Bounds on it afterwards. Ours: a neighbour's thread may sleep, and no path takes longer.
const SHORTEST: Time = Time::from_ms(40);
const LONGEST: Time = Time::from_secs(10);
/// What has been found is confirmed so often. Ours.
const CONFIRM: Time = Time::from_secs(30);
/// A suspicion is not looked into more often. Ours.
const SUSPECT: Time = Time::from_ms(250);
/// Whether more comes through is tried so often (RFC 8899, §5.1.1: PMTU_RAISE_TIMER).
const RAISE: Time = Time::from_secs(600);
/// The same while packets go in parts, for then a larger size saves headers. Ours: three probes cost 4 kbps.
const RAISE_IN_USE: Time = Time::from_secs(10);
/// Probes whose answers are still known. Ours: those of all tries of two rounds.
const KNOWN: usize = 2 * (SIZES as usize) * (TRIES as usize);

/// A datagram to send: with this number, of this size outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Which one.
    pub number: u32,
    /// Bytes of the UDP payload.
    pub size: u16,
}

/// The search on one link.
#[derive(Debug, Clone)]
pub struct MtuSearch {
    least: u16,
    most: u16,
    /// This comes through.
    size: u16,
    /// This does not.
    fails: u16,
    /// The sizes of the round that nobody has answered, the smallest first, and which of them is sent next.
    round: Vec<u16>,
    next: usize,
    tries: u32,
    number: u32,
    /// What was sent last, and when.
    sent: Vec<(Probe, Time)>,
    /// How long answers take.
    round_trip: Option<Time>,
    due: Time,
    raise_at: Time,
    confirmed_at: Time,
}

impl MtuSearch {
    /// Looks for sizes from `least`, which every path carries, up to `most`.
    pub fn new(least: u16, most: u16, now: Time) -> MtuSearch {
        let least = least.min(most);
        MtuSearch {
            least,
            most,
            size: least,
            fails: most.saturating_add(1),
            round: Vec::new(),
            next: 0,
            tries: TRIES,
            number: 0,
            sent: Vec::new(),
            round_trip: None,
            due: now,
            raise_at: now.saturating_add(RAISE),
            confirmed_at: now,
        }
    }

    /// The largest UDP payload that is known to come through.
    pub const fn size(&self) -> u16 {
        self.size
    }

    /// The largest that every path carries.
    pub const fn least(&self) -> u16 {
        self.least
    }

    /// Whether the largest size is known to the byte.
    pub const fn is_found(&self) -> bool {
        self.fails - self.size <= 1
    }

    /// Called at [`MtuSearch::next_wake`] or at any time, until it gives none: the next probe to send.
    pub fn poll(&mut self, now: Time) -> Option<Probe> {
        if self.next == self.round.len() {
            if now < self.due {
                return None;
            }
            self.plan(now);
        }
        let size = self.round[self.next];
        self.next += 1;
        self.number = self.number.wrapping_add(1);
        let probe = Probe { number: self.number, size };
        if self.sent.len() == KNOWN {
            self.sent.remove(0);
        }
        self.sent.push((probe, now));
        Some(probe)
    }

    /// What is sent next: the round once more, or another one.
    fn plan(&mut self, now: Time) {
        if self.tries < TRIES && !self.round.is_empty() {
            self.tries += 1;
        } else {
            if let Some(smallest) = self.round.first() {
                self.on_failed(*smallest, now);
            }
            (self.round, self.tries) = (self.sizes(now), 1);
        }
        self.next = 0;
        self.due = now.saturating_add(self.wait());
    }

    /// How long an answer is waited for.
    fn wait(&self) -> Time {
        self.round_trip.map_or(FIRST, |took| Time(2 * took.0).clamp(SHORTEST, LONGEST))
    }

    /// The sizes of a new round: up to the largest that may come through, at equal distances. Where nothing is left
    /// to find, what has been found is confirmed, or one byte more is tried.
    fn sizes(&mut self, now: Time) -> Vec<u16> {
        let left = self.fails - 1 - self.size;
        if left == 0 {
            let raise = now >= self.raise_at && self.size < self.most;
            if raise {
                self.raise_at = now.saturating_add(RAISE);
            }
            return vec![self.size + u16::from(raise)];
        }
        let count = SIZES.min(left);
        let at = |n: u16| self.size + (u32::from(left) * u32::from(n) / u32::from(count)) as u16;
        // The first answer says how long answers take, so that there is one in any case.
        (u16::from(self.round_trip.is_some())..=count).map(at).collect()
    }

    /// No probe of this size was answered, in all tries.
    fn on_failed(&mut self, size: u16, now: Time) {
        if size > self.size {
            self.fails = size;
        } else {
            // What came through does no more: a black hole (RFC 8899, §4.3). Or nothing does, for a while.
            (self.size, self.fails) = (self.least, self.most.saturating_add(1));
            self.raise_at = now.saturating_add(RAISE);
        }
    }

    /// Called when the neighbour says that it got a probe, of this size: when that was sent, if it was.
    pub fn on_probed(&mut self, now: Time, number: u32, size: u16) -> Option<Time> {
        let at = self.sent.iter().position(|(probe, _)| *probe == Probe { number, size })?;
        let (_, sent_at) = self.sent.remove(at);
        self.round_trip = Some(now.saturating_sub(sent_at));
        // As the path was then.
        self.confirmed_at = self.confirmed_at.max(sent_at);
        self.size = self.size.max(size);
        if self.size >= self.fails {
            // It does after all, late or since now: what more does is not known.
            self.fails = self.most.saturating_add(1);
        }
        let unsent = self.round.split_off(self.next);
        self.round.retain(|tried| *tried > size);
        self.next = self.round.len();
        self.round.extend(unsent.into_iter().filter(|tried| *tried > size));
        if self.round.is_empty() {
            self.tries = TRIES;
            self.due = if self.is_found() { now.saturating_add(CONFIRM).min(self.raise_at) } else { now };
        }
        Some(sent_at)
    }

    /// Called when packets are missing, maybe for their size: what has been found is confirmed at once.
    pub fn suspect(&mut self, now: Time) {
        let confirms = self.round.first().is_some_and(|size| *size <= self.size);
        if !confirms && self.size > self.least && now >= self.confirmed_at.saturating_add(SUSPECT) {
            (self.round, self.next, self.tries) = (vec![self.size], 0, 1);
            (self.confirmed_at, self.due) = (now, now.saturating_add(self.wait()));
        }
    }

    /// Called when a packet goes in parts: a larger size would be used.
    pub fn on_fragmented(&mut self, now: Time) {
        if self.size < self.most {
            self.raise_at = self.raise_at.min(now.saturating_add(RAISE_IN_USE));
            if self.round.is_empty() {
                self.due = self.due.min(self.raise_at);
            }
        }
    }

    /// When it is to be polled.
    pub const fn next_wake(&self) -> Time {
        if self.next < self.round.len() { Time::ZERO } else { self.due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    /// A path whose answers take so long, of which this share of probes and answers is lost.
    struct Path {
        search: MtuSearch,
        carries: u16,
        round_trip: u64,
        loses: f64,
        answers: Vec<(u64, Probe)>,
        now: u64,
        sent: Vec<u16>,
        seed: u64,
    }

    impl Path {
        fn new(least: u16, most: u16, carries: u16, round_trip: u64) -> Path {
            let search = MtuSearch::new(least, most, Time::ZERO);
            Path { search, carries, round_trip, loses: 0.0, answers: Vec::new(), now: 0, sent: Vec::new(), seed: 1 }
        }

        fn lost(&mut self) -> bool {
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.seed >> 40) as f64) < self.loses * f64::from(1 << 24)
        }

        /// Runs for so many ms, with packets of `most` that are missed where they do not come through.
        fn run(&mut self, ms: u64) -> &mut Path {
            for _ in 0..ms {
                let now = MS(self.now);
                let (come, left) = self.answers.iter().partition(|(at, _)| *at <= self.now);
                self.answers = left;
                for (_, probe) in come {
                    self.search.on_probed(now, probe.number, probe.size);
                }
                if self.search.size() > self.carries {
                    self.search.suspect(now);
                } else if self.search.size() < self.search.most {
                    self.search.on_fragmented(now);
                }
                while let Some(probe) = self.search.poll(now) {
                    self.sent.push(probe.size);
                    if probe.size <= self.carries && !self.lost() {
                        self.answers.push((self.now + self.round_trip, probe));
                    }
                }
                self.now += 1;
            }
            self
        }

        fn finds(&self) -> bool {
            self.search.size() == self.carries.min(self.search.most) && self.search.is_found()
        }
    }

    #[test]
    fn a_full_path_is_used_after_a_round_trip() {
        let mut path = Path::new(548, 1472, 9000, 30);
        path.run(31);
        assert!(path.finds());
        let sent = path.sent.len();
        assert_eq!(sent, usize::from(SIZES) + 1);
        assert_eq!(path.run(9_000).sent.len(), sent, "nothing is left to find");
    }

    #[test]
    fn one_byte_more_is_all_that_is_tried_where_the_path_stays_as_it_is() {
        let mut path = Path::new(548, 1472, 1400, 30);
        path.run(5_000);
        assert!(path.finds());
        path.sent.clear();
        path.run(100_000);
        assert!(path.sent.iter().all(|size| [1400, 1401].contains(size)), "{:?}", path.sent);
        assert!((20..45).contains(&path.sent.len()), "{}", path.sent.len());
    }

    #[test]
    fn answers_that_nobody_asked_for_change_nothing() {
        let mut search = MtuSearch::new(548, 1472, Time::ZERO);
        let probe = search.poll(Time::ZERO).unwrap();
        search.on_probed(Time::ZERO, probe.number + 40, probe.size);
        search.on_probed(Time::ZERO, probe.number, probe.size + 1);
        assert_eq!(search.size(), 548);
    }

    proptest! {
        /// It ends within a byte: after at most three rounds and a half, each of three tries of two round trips, after
        /// a shrinkage or growth with 250 ms, or 10 s, until it is noticed.
        #[test]
        fn it_finds_what_comes_through(
            (six, most) in (any::<bool>(), 1300u16..9000),
            changes in prop::collection::vec(0u16..u16::MAX, 1..5),
            round_trip in 1u64..200,
        ) {
            let least = if six { 1232 } else { 548 };
            let carries = |draw: u16| least + draw % (9000 - least);
            let mut path = Path::new(least, most, carries(changes[0]), round_trip);
            let round = (2 * round_trip).max(40) * 3;
            path.run(1000 + 5 * round);
            prop_assert!(path.finds(), "at first: {} of {}", path.search.size(), path.carries);
            for change in &changes[1..] {
                path.carries = carries(*change);
                path.run(250 + round + 10);
                prop_assert!(path.search.size() <= path.carries, "{} of {}", path.search.size(), path.carries);
                path.run(10_000 + 6 * round);
                prop_assert!(path.finds(), "{} of {}", path.search.size(), path.carries);
            }
        }

        /// Losses make it slower, and it never stays above what comes through.
        #[test]
        fn it_is_right_over_paths_that_lose(carries in 548u16..1600, loses in 0.0..0.3, seed: u64) {
            let mut path = Path::new(548, 1472, carries, 50);
            (path.loses, path.seed) = (loses, seed);
            path.run(60_000);
            path.loses = 0.0;
            path.run(20_000);
            prop_assert!(path.finds(), "{} of {carries}", path.search.size());
        }
    }
}
