//! A consumer's pending Interests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::lines::{InOrderPath, Lines};
use super::path::PathId;
use super::round_trips::RoundTrips;

/// How an Interest is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Course {
    /// For which path, if one is known.
    pub path: Option<PathId>,
    /// Whether it is steered there.
    pub steered: bool,
    /// Whether it stays in line with the others for that path.
    pub in_line: bool,
}

impl Course {
    /// The line in which it goes, if it stays in one.
    fn line(self) -> Option<InOrderPath> {
        self.path.filter(|_| self.in_line)
    }
}

/// A segment that has been asked for. There is one for each Interest on its way: what may be missing is said by flags.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    /// Its course: `path` counts with `has_path`.
    path: PathId,
    /// The number in its line, and where it stood when it was first asked for, which counts with `first_in_line`.
    number: u64,
    first: (InOrderPath, u64),
    /// When it was asked for before anything was late; [`Time::MAX`] if nothing was.
    late_since: Time,
    /// How often it was asked for, and how often it was sent, with those that only keep it pending.
    times: u32,
    sends: u32,
    has_path: bool,
    steered: bool,
    in_line: bool,
    first_in_line: bool,
    /// It waits to be asked for again.
    back: Back,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Sent>() == 64);

/// Whether a segment waits to be asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    /// It is on its way.
    No,
    /// It is lost, or refused.
    Lost,
    /// It is on its way, and forwarders are about to forget it.
    Kept,
}

/// A segment that has come.
#[derive(Debug, Clone, Copy)]
pub struct Answered(Sent);

impl Answered {
    /// The round trip, if it is sure which Interest was answered (Karn's rule).
    pub fn round_trip(&self, now: Time) -> Option<Time> {
        self.is_sure().then(|| now.saturating_sub(self.0.at))
    }

    /// At most the round trip, of what was asked for again because nothing had come in time: from its first
    /// Interest on, which may be the one that was answered; and from its last one on.
    pub fn longest(&self, now: Time) -> Option<(Time, Time)> {
        let Sent { at, late_since, .. } = self.0;
        (late_since < Time::MAX).then(|| (now.saturating_sub(late_since), now.saturating_sub(at)))
    }

    /// Tells how long the round trip was, or was at most. The first, if that is sure.
    pub fn tell(&self, trips: &mut RoundTrips, now: Time) -> Option<Time> {
        let trip = self.round_trip(now);
        match (trip, self.longest(now)) {
            (Some(trip), _) => trips.add(now, trip),
            (None, Some(longest)) => trips.add_longest(now, longest),
            (None, None) => {}
        }
        trip
    }

    /// Whether it is sure which Interest was answered.
    pub fn is_sure(&self) -> bool {
        self.0.times == 1
    }

    /// Whether it was on its way, and did not wait to be asked for again.
    pub fn flew(&self) -> bool {
        self.0.back == Back::No
    }

    /// Whether its Interest was in no line.
    pub fn wandered(&self) -> bool {
        self.is_sure() && !self.0.in_line
    }

    /// The path that its Interest was steered onto, if it is another than this, and sure which one was
    /// answered.
    pub fn strayed(&self, path: PathId) -> Option<PathId> {
        self.0.path().filter(|steered| self.is_sure() && self.0.steered && *steered != path)
    }

    /// The path whose turn it was, if its Interest had no hint, Data came over another, and it is sure which one was
    /// answered.
    pub fn instead_of(&self, path: PathId) -> Option<PathId> {
        self.0.path().filter(|turn| self.is_sure() && !self.0.steered && *turn != path)
    }

    /// Where it stood in its line when it was first asked for, if the Data came over that path.
    /// Whichever Interest was answered, those before that one are overtaken.
    fn place(&self, path: PathId) -> Option<(InOrderPath, u64)> {
        (self.0.first_in_line && self.0.first.0 == path).then_some(self.0.first)
    }
}

/// Timeouts double with each repeat of a segment, at most this often. Ours.
const MAX_DOUBLINGS: u32 = 4;

/// After which share of the time for which forwarders keep an Interest it is sent again. Ours: what it may wait
/// on its way.
const KEEPING: f64 = 0.75;

/// So many entries that count no more are no reason to look for them. Ours.
const SLACK: usize = 64;

/// How long to wait for what was asked for so often.
fn wait_of(timeout: Time, times: u32) -> Time {
    Time(timeout.0.saturating_mul(1 << times.saturating_sub(1).min(MAX_DOUBLINGS)))
}

impl Sent {
    /// Asked for now, in its line as the `number`th; how often is to be counted.
    fn new(at: Time, course: Course, number: u64) -> Sent {
        let (path, line) = (course.path.unwrap_or_default(), course.line());
        Sent {
            at,
            path,
            number,
            first: (path, number),
            late_since: Time::MAX,
            times: 0,
            sends: 0,
            has_path: course.path.is_some(),
            steered: course.steered,
            in_line: line.is_some(),
            first_in_line: line.is_some(),
            back: Back::No,
        }
    }

    /// For which path it was asked for, if one was known.
    fn path(&self) -> Option<PathId> {
        self.has_path.then_some(self.path)
    }

    /// The line in which it was asked for.
    fn line(&self) -> Option<InOrderPath> {
        self.in_line.then_some(self.path)
    }

    fn lost_at(&self, timeout: Time) -> Time {
        self.at.saturating_add(wait_of(timeout, self.times))
    }
}

/// What has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The segment.
    pub segment: u32,
    /// Its path.
    pub path: Option<PathId>,
    /// Its time is over. Else it is asked for again only for forwarders to keep it.
    pub lost: bool,
}

/// The segments on their way.
#[derive(Debug, Default)]
pub struct Pending {
    /// How long forwarders keep an Interest, if it is to be sent again before.
    kept: Option<Time>,
    interests: FxHashMap<u32, Sent>,
    /// Those asked for once, with the times of their Interests, in order; and repeats by their
    /// deadlines. What is answered stays until it is first.
    first: VecDeque<(u32, Time)>,
    repeats: BinaryHeap<Reverse<(Time, u32, u32)>>,
    lines: Lines,
    /// Interests outside of lines.
    wandering: VecDeque<(u32, Time)>,
    /// When the last of those was sent that are answered.
    newest: Time,
}

impl Pending {
    /// The same where forwarders keep an Interest for so long: one for which Data come later is sent again in
    /// time.
    pub fn kept_for(lifetime: Time) -> Pending {
        Pending { kept: Some(lifetime.mul_f64(KEEPING)), ..Pending::default() }
    }

    /// When to send an Interest again that was sent now and is lost after `wait`.
    fn again_after(&self, wait: Time) -> Time {
        self.kept.map_or(wait, |kept| kept.min(wait))
    }

    /// After which time a first Interest is lost: `all`, which is by all round trips, or longer where those of its line
    /// are.
    fn timeout(&self, line: Option<InOrderPath>, all: Time) -> Time {
        line.and_then(|line| self.lines.trips(line)).map_or(all, |trips| trips.timeout().max(all))
    }

    /// Called when an Interest has been sent; `timeout` is that of a first one, by all round trips.
    pub fn on_interest_sent(&mut self, segment: u32, now: Time, course: Course, timeout: Time) {
        self.note(segment, now, course, timeout);
        self.tidy(course.line());
    }

    /// Drops what counts no more from a list that has more of it than of what is on its way. A forwarder that refuses each
    /// Interest at once would fill memory within a timeout.
    fn tidy(&mut self, line: Option<InOrderPath>) {
        let (most, interests) = (2 * self.interests.len() + SLACK, &self.interests);
        if self.repeats.len() > most {
            self.repeats.retain(|Reverse((_, segment, sends))| {
                interests.get(segment).is_some_and(|a| a.sends == *sends && a.back == Back::No)
            });
        }
        if self.wandering.len() > most {
            self.wandering.retain(|(segment, at)| {
                interests.get(segment).is_some_and(|a| a.back != Back::Lost && !a.in_line && a.at == *at)
            });
        }
        if let Some(line) = line {
            self.lines.tidy(line, most, |segment, number| {
                let counts = |a: &Sent| a.back != Back::Lost && a.line() == Some(line) && a.number == number;
                interests.get(&segment).is_some_and(counts)
            });
        }
    }

    fn note(&mut self, segment: u32, now: Time, course: Course, timeout: Time) {
        let timeout = self.timeout(course.line(), timeout);
        if let Some(sent) = self.interests.get_mut(&segment).filter(|sent| sent.back == Back::Kept) {
            (sent.back, sent.sends) = (Back::No, sent.sends + 1);
            let (lost, sends) = (sent.lost_at(timeout), sent.sends);
            let at = now.saturating_add(self.again_after(lost.saturating_sub(now)));
            return self.repeats.push(Reverse((at, segment, sends)));
        }
        let number = course.line().map_or(0, |line| self.lines.sent(line, segment));
        if !course.in_line && course.path.is_some() {
            self.wandering.push_back((segment, now));
        }
        let new = Sent::new(now, course, number);
        let sent = self.interests.entry(segment).or_insert(new);
        let (times, sends) = (sent.times + 1, sent.sends + 1);
        let Sent { first, first_in_line, late_since, .. } = *sent;
        *sent = Sent { times, sends, first, first_in_line, late_since, ..new };
        if times == 1 {
            self.first.push_back((segment, now));
        } else {
            let at = now.saturating_add(self.again_after(wait_of(timeout, times)));
            self.repeats.push(Reverse((at, segment, sends)));
        }
    }

    /// Called when Data have come. `None`: they were not asked for, or have come already.
    pub fn answered(&mut self, segment: u32) -> Option<Answered> {
        let sent = self.interests.remove(&segment)?;
        match self.first.front().is_some_and(|first| first.0 == segment) {
            true => drop(self.first.pop_front()),
            false => self.forget(),
        }
        self.newest = self.newest.max(sent.at);
        Some(Answered(sent))
    }

    /// Called with Data that came over this path: the line that they tell of.
    pub fn tells(&mut self, by: &Answered, path: PathId, now: Time) -> Option<InOrderPath> {
        let (line, number) = by.place(path)?;
        self.lines.answered(line, number);
        if let Some(trips) = self.lines.trips_mut(line) {
            by.tell(trips, now);
        }
        Some(line)
    }

    /// The round trips of a line, once it has some.
    pub fn trips(&self, line: InOrderPath) -> Option<&RoundTrips> {
        self.lines.trips(line)
    }

    /// After which time an Interest is lost that others of its line have overtaken: RFC 6298's, without
    /// its least; `other` while the line has no round trip.
    fn usual(&self, line: InOrderPath, other: Time) -> Time {
        self.lines.trips(line).and_then(RoundTrips::with_deviation).unwrap_or(other)
    }

    /// How long to wait for the last Interest of each path.
    pub fn patience(&self) -> Option<Time> {
        self.lines.patience()
    }

    /// The first Interest of a line if it is not answered, but so many after it: its segment, and when
    /// it was sent.
    fn doubted(&mut self, line: InOrderPath, reordering: u64) -> Option<(u32, Time)> {
        while let Some((segment, number)) = self.lines.overtaken(line, reordering) {
            let waits = |s: &&Sent| s.back == Back::No && s.line() == Some(line) && s.number == number;
            if let Some(sent) = self.interests.get(&segment).filter(waits) {
                return Some((segment, sent.at));
            }
            self.lines.take_first(line);
        }
        None
    }

    /// A segment that was asked for in this line well before others that have come, and long ago. It is to
    /// be sent again. Ask again.
    pub fn overtaken(&mut self, line: InOrderPath, reordering: u64, now: Time, other: Time) -> Option<u32> {
        let (segment, at) = self.doubted(line, reordering)?;
        // A content store may have answered those after it.
        if at.saturating_add(self.usual(line, other)) > now {
            return None;
        }
        self.interests.entry(segment).and_modify(|sent| sent.back = Back::Lost);
        self.lines.take_first(line);
        Some(segment)
    }

    /// The same in any line. Ask again.
    pub fn overtaken_anywhere(&mut self, reordering: u64, now: Time, other: Time) -> Option<u32> {
        let mut index = 0;
        while let Some(line) = self.lines.get(index) {
            if let Some(segment) = self.overtaken(line, reordering, now, other) {
                return Some(segment);
            }
            index += 1;
        }
        None
    }

    /// When the first of those is lost that are overtaken.
    pub fn first_doubted(&mut self, reordering: u64, other: Time) -> Option<Time> {
        let (mut index, mut first) = (0, None);
        while let Some(line) = self.lines.get(index) {
            let doubted = self.doubted(line, reordering);
            let lost = doubted.map(|(_, at)| at.saturating_add(self.usual(line, other)));
            first = first.into_iter().chain(lost).min();
            index += 1;
        }
        first
    }

    /// The first Interest outside of lines that is not answered, but one after it: its segment, and when
    /// it was sent.
    fn first_wanderer(&mut self) -> Option<(u32, Time)> {
        while let Some((segment, at)) = self.wandering.front().copied().filter(|w| w.1 < self.newest) {
            let waits = |s: &Sent| s.back == Back::No && !s.in_line && s.at == at;
            if self.interests.get(&segment).is_some_and(waits) {
                return Some((segment, at));
            }
            self.wandering.pop_front();
        }
        None
    }

    /// A segment that was asked for before others that have come, before `then`, and outside of lines.
    /// It is to be sent again. Ask again.
    pub fn strays(&mut self, then: Time) -> Option<u32> {
        let (segment, _) = self.first_wanderer().filter(|stray| stray.1 < then)?;
        self.wandering.pop_front();
        self.interests.entry(segment).and_modify(|sent| sent.back = Back::Lost);
        Some(segment)
    }

    /// When the first of those was sent that may be strays.
    pub fn oldest_presumed_lost(&mut self) -> Option<Time> {
        self.first_wanderer().map(|stray| stray.1)
    }

    /// Called when nothing has come for long: the last Interest of each path is to be sent again, so
    /// that its Data tell of all before it.
    pub fn probe(&mut self) -> Vec<u32> {
        let mut last: Vec<(Option<PathId>, Time, u32)> = Vec::new();
        for (segment, sent) in self.interests.iter().filter(|(_, sent)| sent.back == Back::No) {
            let new = (sent.path(), sent.at, *segment);
            match last.iter_mut().find(|known| known.0 == new.0) {
                Some(known) if (known.1, known.2) < (new.1, new.2) => *known = new,
                Some(_) => {}
                None => last.push(new),
            }
        }
        let mut segments: Vec<u32> = last.into_iter().map(|(_, _, segment)| segment).collect();
        segments.sort_unstable();
        for segment in &segments {
            self.interests.entry(*segment).and_modify(|sent| sent.back = Back::Lost);
        }
        segments
    }

    /// Called with a Nack: the path of its Interest, which is to be sent again. The outer `None`:
    /// nothing waits for it.
    pub fn refused(&mut self, segment: u32) -> Option<Option<PathId>> {
        let sent = self.interests.get_mut(&segment).filter(|a| a.back == Back::No)?;
        (sent.back, sent.late_since) = (Back::Lost, Time::MAX);
        Some(sent.path())
    }

    /// Whether nothing is missing of what was asked for.
    pub fn is_empty(&self) -> bool {
        self.interests.is_empty()
    }

    /// Whether a segment is to be sent again.
    pub fn waits_to_be_sent(&self, segment: u32) -> bool {
        self.interests.get(&segment).is_some_and(|a| a.back != Back::No)
    }

    /// The next segment that is late, or is to be kept pending; it is to be sent again. Ask again.
    pub fn late(&mut self, now: Time, timeout: Time) -> Option<Late> {
        if self.earliest(timeout) > now {
            return None;
        }
        let segment = match self.first_late(now, timeout) {
            Some(segment) => segment,
            None => self.repeats.peek().filter(|r| r.0.0 <= now)?.0.1,
        };
        let line = self.interests.get(&segment)?.line();
        let timeout = self.timeout(line, timeout);
        let sent = self.interests.get_mut(&segment)?;
        let lost = sent.lost_at(timeout) <= now || self.kept.is_none();
        if lost {
            sent.late_since = sent.late_since.min(sent.at);
        }
        sent.back = if lost { Back::Lost } else { Back::Kept };
        Some(Late { segment, path: sent.path(), lost })
    }

    /// The first of those asked for once, if it is late. Those before it whose line takes longer wait among the repeats.
    fn first_late(&mut self, now: Time, timeout: Time) -> Option<u32> {
        let wait = self.again_after(timeout);
        loop {
            self.forget();
            let (segment, at) = self.first.front().filter(|first| first.1.saturating_add(wait) <= now).copied()?;
            let line = self.interests.get(&segment)?.line();
            let late = at.saturating_add(self.again_after(self.timeout(line, timeout)));
            if late <= now {
                return Some(segment);
            }
            self.first.pop_front();
            self.repeats.push(Reverse((late, segment, 1)));
        }
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
        let wait = self.again_after(timeout);
        let first = self.first.front().map_or(Time::MAX, |first| first.1.saturating_add(wait));
        self.repeats.peek().map_or(first, |r| first.min(r.0.0))
    }

    /// Drops entries at the heads of both lists that count no more.
    fn forget(&mut self) {
        while let Some((segment, _)) = self.first.front() {
            if self.interests.get(segment).is_some_and(|a| a.sends == 1 && a.back == Back::No) {
                break;
            }
            self.first.pop_front();
        }
        while let Some(Reverse((_, segment, sends))) = self.repeats.peek() {
            if self.interests.get(segment).is_some_and(|a| a.sends == *sends && a.back == Back::No) {
                break;
            }
            self.repeats.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const US: fn(u64) -> Time = Time::from_us;
    const S: fn(u64) -> Time = Time::from_secs;

    #[test]
    fn what_does_not_come_is_asked_for_again_ever_later() {
        let (mut pending, second) = (Pending::default(), S(1));
        let course = Course { path: Some(PathId(1)), steered: true, in_line: false };
        pending.on_interest_sent(7, Time::ZERO, course, second);
        assert_eq!(pending.next_timeout(second), S(1));
        let late = Late { segment: 7, path: Some(PathId(1)), lost: true };
        assert_eq!((pending.late(MS(999), second), pending.late(S(1), second)), (None, Some(late)));
        assert!(pending.late(S(1), second).is_none() && pending.waits_to_be_sent(7));
        assert_eq!(pending.next_timeout(second), Time::MAX);
        pending.on_interest_sent(7, S(1), Course::default(), second);
        assert_eq!(pending.next_timeout(second), S(3));
        assert_eq!(pending.refused(7), Some(None));
        assert_eq!(pending.refused(7), None, "once");
        // Late Data count, and tell no round trip.
        assert!(pending.answered(7).is_some_and(|a| a.round_trip(S(2)).is_none()) && pending.answered(7).is_none());
        assert!(!pending.waits_to_be_sent(7));
    }

    /// Ten segments, each refused a microsecond after it was asked for, in a line and outside of it; then all come.
    #[test]
    fn refusals_fill_no_memory() {
        for line in [None, Some(PathId(1))] {
            let (mut pending, course) =
                (Pending::default(), Course { path: Some(PathId(1)), steered: true, in_line: line.is_some() });
            for round in 0..100_000 {
                let segment = (round % 10) as u32;
                pending.on_interest_sent(segment, US(round), course, S(1));
                assert_eq!(pending.refused(segment), Some(Some(PathId(1))));
            }
            let flying = line.map_or(0, |line| pending.lines.flying(line));
            let most = 2 * 10 + SLACK;
            assert!(pending.repeats.len().max(pending.wandering.len()).max(flying) <= most, "{pending:?}");
            for segment in 0..10 {
                pending.on_interest_sent(segment, S(1), course, S(1));
            }
            // The sixteen-fold of a timeout, as after any number of repeats.
            assert_eq!(pending.next_timeout(S(1)), S(17));
            assert!((0..10).all(|segment| pending.answered(segment).is_some()) && pending.is_empty());
        }
    }

    /// One over which Data take 3 s, beside paths of which all together take a second at most.
    #[test]
    fn what_goes_over_a_long_path_is_late_by_that_paths_round_trips() {
        let (mut pending, second) = (Pending::default(), S(1));
        let long = Course { path: Some(PathId(1)), steered: true, in_line: true };
        pending.on_interest_sent(1, S(0), long, second);
        assert!(pending.late(S(1), second).is_some(), "nothing is known of it");
        pending.on_interest_sent(1, S(1), long, second);
        let first = pending.answered(1).expect("asked for");
        // Which one was answered is not sure: 3 s from the first one on, and as much again twice (RFC 6298, §2.2).
        assert_eq!(pending.tells(&first, PathId(1), S(3)), Some(PathId(1)));
        pending.on_interest_sent(2, S(3), long, second);
        pending.on_interest_sent(3, S(3), Course::default(), second);
        let late = |segment, path| Some(Late { segment, path, lost: true });
        assert_eq!(pending.late(S(4), second), late(3, None), "not that before it");
        assert_eq!(pending.late(MS(11_999), second), None);
        assert_eq!(pending.next_timeout(second), S(12));
        assert_eq!(pending.late(S(12), second), late(2, Some(PathId(1))));
    }

    #[test]
    fn what_was_late_tells_how_long_the_round_trip_is_at_most() {
        let (mut pending, second) = (Pending::default(), S(1));
        pending.on_interest_sent(7, MS(100), Course::default(), second);
        pending.late(S(2), second).expect("late");
        pending.on_interest_sent(7, S(2), Course::default(), second);
        let answered = pending.answered(7).expect("asked for");
        assert_eq!((answered.round_trip(S(3)), answered.longest(S(3))), (None, Some((MS(2900), S(1)))));
        // A Nack has answered the first one.
        pending.on_interest_sent(8, S(3), Course::default(), second);
        pending.late(S(4), second).expect("late");
        pending.on_interest_sent(8, S(4), Course::default(), second);
        assert_eq!(pending.refused(8), Some(None));
        pending.on_interest_sent(8, S(5), Course::default(), second);
        assert_eq!(pending.answered(8).and_then(|a| a.longest(S(6))), None);
    }

    #[test]
    fn what_forwarders_are_to_keep_is_sent_again_and_is_not_lost() {
        let (mut pending, timeout) = (Pending::kept_for(S(4)), S(8));
        pending.on_interest_sent(7, S(0), Course::default(), timeout);
        for at in [S(3), S(6)] {
            assert_eq!(pending.next_timeout(timeout), at);
            assert_eq!(pending.late(at, timeout), Some(Late { segment: 7, path: None, lost: false }));
            pending.on_interest_sent(7, at, Course::default(), timeout);
        }
        let answered = pending.answered(7).expect("asked for");
        assert_eq!((answered.round_trip(S(7)), answered.longest(S(7))), (Some(S(7)), None));
        // What does not come is lost all the same.
        pending.on_interest_sent(8, S(10), Course::default(), timeout);
        for (at, lost) in [(13, false), (16, false), (18, true)] {
            assert_eq!(pending.next_timeout(timeout), S(at));
            assert_eq!(pending.late(S(at), timeout).map(|late| late.lost), Some(lost));
            pending.on_interest_sent(8, S(at), Course::default(), timeout);
        }
    }

    #[test]
    fn later_data_of_a_path_say_what_is_lost() {
        let (mut pending, second) = (Pending::default(), S(1));
        let course = |path| Course { path: Some(PathId(path)), steered: true, in_line: true };
        // Segments 0 to 9 by turns over two paths; 4 and 5 on none.
        for segment in 0..10 {
            let free = (4..6).contains(&segment);
            let course = Course { in_line: !free, ..course(u64::from(segment) % 2) };
            pending.on_interest_sent(segment, MS(u64::from(segment)), course, second);
        }
        // All of the far path come first: that says nothing of the near one.
        for segment in [1, 3, 7, 9] {
            let answered = pending.answered(segment).expect("asked for");
            let line = pending.tells(&answered, PathId(1), S(9)).expect("in a line");
            assert_eq!(pending.overtaken(line, 3, S(99), S(1)), None, "{segment}");
            assert_eq!(pending.strays(MS(4)), None);
        }
        // 0, 2, 6 and 8 are the near path's.
        for (segment, lost) in [(6, None), (8, Some(0))] {
            let answered = pending.answered(segment).expect("asked for");
            let line = pending.tells(&answered, PathId(0), S(9)).expect("in a line");
            assert_eq!(pending.overtaken(line, 3, S(99), S(1)), lost);
            assert_eq!(pending.overtaken(line, 3, S(99), S(1)), None);
            assert_eq!(pending.strays(MS(5)), (segment == 6).then_some(4));
        }
        assert!(pending.waits_to_be_sent(0) && !pending.waits_to_be_sent(2));
        // What is left: 2 on the near path, 5 on the other.
        assert_eq!(pending.probe(), [2, 5]);
    }

    #[test]
    fn data_of_a_segment_that_was_asked_for_twice_tell_of_those_before_the_first_time() {
        let (mut pending, second) = (Pending::default(), S(1));
        let course = Course { path: Some(PathId(0)), steered: true, in_line: true };
        (0..5).for_each(|segment| pending.on_interest_sent(segment, MS(u64::from(segment)), course, second));
        assert_eq!(pending.probe(), [4]);
        pending.on_interest_sent(5, MS(9), course, second);
        pending.on_interest_sent(4, MS(10), course, second);
        let answered = pending.answered(4).expect("asked for");
        let line = pending.tells(&answered, PathId(0), S(9)).expect("in a line");
        let lost: Vec<u32> = std::iter::from_fn(|| pending.overtaken(line, 1, S(99), S(1))).collect();
        assert_eq!(lost, [0, 1, 2, 3], "and not 5");
    }
}
