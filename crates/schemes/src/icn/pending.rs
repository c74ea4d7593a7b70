//! A consumer's pending Interests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::fifo::Fifo;
use midpath_core::units::Time;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::lines::{InOrderPath, Lines};
use super::path::PathId;
use super::round_trips::RoundTrips;
use crate::transport::lazy_box::{Initial, LazyBox};

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

/// A segment that has been asked for. There is one for each Interest on its way: what few need is in [`Repeated`].
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    /// When it was asked for last, for which path (that counts with `has_path`), and as which number in its line.
    at: Time,
    path: PathId,
    number: u64,
    segment: u32,
    has_path: bool,
    steered: bool,
    in_line: bool,
    state: State,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Sent>() == 32);

/// How a segment stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// It is on its way.
    #[default]
    Flies,
    /// It is lost, or refused, and waits to be asked for again.
    Lost,
    /// It is on its way, forwarders are about to forget it, and it waits to be asked for again.
    Kept,
    /// It is here.
    Come,
}

/// What counts of a segment that is late, or was asked for again.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    /// Where it stood in its line when it was first asked for, if it was in one.
    first: Option<(InOrderPath, u64)>,
    /// When it was asked for before anything was late; [`Time::MAX`] if nothing was.
    late_since: Time,
    /// How often it was asked for, and how often it was sent, with those that only keep it pending.
    times: u32,
    sends: u32,
}

/// A segment that has come.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    sent: Sent,
    again: Option<Repeated>,
}

impl Answered {
    /// The round trip, if it is sure which Interest was answered (Karn's rule).
    pub fn round_trip(&self, now: Time) -> Option<Time> {
        self.is_sure().then(|| now.saturating_sub(self.sent.at))
    }

    /// At most the round trip, of what was asked for again because nothing had come in time: from its first
    /// Interest on, which may be the one that was answered; and from its last one on.
    pub fn longest(&self, now: Time) -> Option<(Time, Time)> {
        let late_since = self.again.map_or(Time::MAX, |again| again.late_since);
        (late_since < Time::MAX).then(|| (now.saturating_sub(late_since), now.saturating_sub(self.sent.at)))
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
        self.again.is_none_or(|again| again.times == 1)
    }

    /// Whether it was on its way, and did not wait to be asked for again.
    pub fn flew(&self) -> bool {
        self.sent.state == State::Flies
    }

    /// Whether its Interest was in no line.
    pub fn wandered(&self) -> bool {
        self.is_sure() && !self.sent.in_line
    }

    /// The path that its Interest was steered onto, if it is another than this, and sure which one was
    /// answered.
    pub fn strayed(&self, path: PathId) -> Option<PathId> {
        self.sent.path().filter(|steered| self.is_sure() && self.sent.steered && *steered != path)
    }

    /// The path whose turn it was, if its Interest had no hint, Data came over another, and it is sure which one was
    /// answered.
    pub fn instead_of(&self, path: PathId) -> Option<PathId> {
        self.sent.path().filter(|turn| self.is_sure() && !self.sent.steered && *turn != path)
    }

    /// Where it stood in its line when it was first asked for, if the Data came over that path.
    /// Whichever Interest was answered, those before that one are overtaken.
    fn place(&self, path: PathId) -> Option<(InOrderPath, u64)> {
        let first = self.again.map_or(self.sent.place(), |again| again.first);
        first.filter(|first| first.0 == path)
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
    /// Asked for now, in its line as the `number`th.
    fn new(segment: u32, at: Time, course: Course, number: u64) -> Sent {
        Sent {
            at,
            path: course.path.unwrap_or_default(),
            number,
            segment,
            has_path: course.path.is_some(),
            steered: course.steered,
            in_line: course.line().is_some(),
            state: State::Flies,
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

    /// The same, and its number there.
    fn place(&self) -> Option<(InOrderPath, u64)> {
        self.in_line.then_some((self.path, self.number))
    }

    /// What there is of it before it is late, or asked for again.
    fn once(&self) -> Repeated {
        Repeated { first: self.place(), late_since: Time::MAX, times: 1, sends: 1 }
    }
}

/// The segments that have been asked for, in that order, which is their numbers'. Those that have come stay until they are
/// first, or most.
#[derive(Debug, Default)]
struct Interests {
    ring: Fifo<Sent>,
    /// How many have not come.
    waiting: u32,
    /// The place of the first that may be late by its first Interest. Those before it have come, or stand among the repeats,
    /// or are to be sent again.
    first: u32,
}

impl Interests {
    /// How many have not come.
    fn len(&self) -> usize {
        self.waiting as usize
    }

    /// Those that have not come.
    fn iter(&self) -> impl Iterator<Item = Sent> + '_ {
        self.ring.iter().filter(|sent| sent.state != State::Come)
    }

    /// Where a segment stands: so many places behind the first one, if none is left out between them.
    #[inline]
    fn place(&self, segment: u32) -> Option<usize> {
        let (first, last) = (self.ring.front()?.segment, self.ring.back()?.segment);
        let behind = segment.wrapping_sub(first);
        if behind > last.wrapping_sub(first) {
            return None; // it has come
        }
        let place = (behind as usize).min(self.ring.len() - 1);
        if self.ring.get(place)?.segment == segment { Some(place) } else { self.search(segment) }
    }

    #[cold]
    fn search(&self, segment: u32) -> Option<usize> {
        let first = self.ring.front()?.segment;
        let place = self.ring.partition_point(|s| s.segment.wrapping_sub(first) < segment.wrapping_sub(first));
        self.ring.get(place).filter(|s| s.segment == segment).map(|_| place)
    }

    #[inline]
    fn get(&self, segment: u32) -> Option<Sent> {
        self.ring.get(self.place(segment)?).filter(|sent| sent.state != State::Come)
    }

    #[inline]
    fn get_mut(&mut self, segment: u32) -> Option<&mut Sent> {
        let place = self.place(segment)?;
        self.ring.get_mut(place).filter(|sent| sent.state != State::Come)
    }

    fn set_state(&mut self, segment: u32, state: State) {
        if let Some(sent) = self.get_mut(segment) {
            sent.state = state;
        }
    }

    /// Another one, that was never asked for.
    #[inline]
    fn push(&mut self, sent: Sent) {
        debug_assert!(
            self.ring.back().is_none_or(|last| sent.segment.wrapping_sub(last.segment) < 1 << 31),
            "in order"
        );
        if self.ring.len() > 2 * self.len() + SLACK {
            self.tidy();
        }
        self.ring.push(sent);
        self.waiting += 1;
    }

    /// Drops those that have come.
    #[cold]
    fn tidy(&mut self) {
        let before = self.ring.iter().take(self.first as usize);
        self.first = before.filter(|sent| sent.state != State::Come).count() as u32;
        self.ring.retain(|sent| sent.state != State::Come);
    }

    /// One has come.
    #[inline]
    fn remove(&mut self, segment: u32) -> Option<Sent> {
        let place = self.place(segment)?;
        let sent = self.ring.get(place).filter(|sent| sent.state != State::Come)?;
        self.waiting -= 1;
        if let Some(come) = self.ring.get_mut(place) {
            come.state = State::Come;
        }
        while self.ring.front().is_some_and(|first| first.state == State::Come) {
            self.ring.skip(1);
            self.first = self.first.saturating_sub(1);
        }
        Some(sent)
    }

    /// The first that may be late by its first Interest.
    #[inline]
    fn first(&self) -> Option<Sent> {
        self.ring.get(self.first as usize)
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

/// What was asked for again.
#[derive(Debug, Clone)]
struct Repeats {
    /// By their deadlines; with how often each was sent. What is answered stays until it is first.
    queue: BinaryHeap<Reverse<(Time, u32, u32)>>,
    records: FxHashMap<u32, Repeated>,
}

impl Initial for Repeats {
    const INITIAL: &'static Repeats =
        &Repeats { queue: BinaryHeap::new(), records: FxHashMap::with_hasher(FxBuildHasher) };
}

/// The segments on their way.
#[derive(Debug)]
pub struct Pending {
    /// How long forwarders keep an Interest, if it is to be sent again before; else [`Time::MAX`].
    kept: Time,
    interests: Interests,
    repeats: LazyBox<Repeats>,
    lines: Lines,
    /// Interests outside of lines.
    wandering: Fifo<(u32, Time)>,
    /// When the last of those was sent that are answered.
    newest: Time,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending {
            kept: Time::MAX,
            interests: Interests::default(),
            repeats: LazyBox::default(),
            lines: Lines::default(),
            wandering: Fifo::default(),
            newest: Time::ZERO,
        }
    }
}

impl Pending {
    /// The same where forwarders keep an Interest for so long: one for which Data come later is sent again in
    /// time.
    pub fn kept_for(lifetime: Time) -> Pending {
        Pending { kept: lifetime.mul_f64(KEEPING), ..Pending::default() }
    }

    /// When to send an Interest again that was sent now and is lost after `wait`.
    fn again_after(&self, wait: Time) -> Time {
        self.kept.min(wait)
    }

    /// After which time a first Interest is lost: `all`, which is by all round trips, or longer where those of its line
    /// are.
    fn timeout(&self, line: Option<InOrderPath>, all: Time) -> Time {
        line.and_then(|line| self.lines.trips(line)).map_or(all, |trips| trips.timeout().max(all))
    }

    /// What counts of a segment that may have been late, or asked for again.
    fn record(&self, sent: &Sent) -> Repeated {
        self.repeats.get().and_then(|r| r.records.get(&sent.segment).copied()).unwrap_or_else(|| sent.once())
    }

    /// Whether it was sent so often, and is on its way.
    fn flies(&self, sent: &Sent, sends: u32) -> bool {
        sent.state == State::Flies && self.record(sent).sends == sends
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
        if let Some(Repeats { queue, records }) = self.repeats.get_mut().filter(|repeats| repeats.queue.len() > most) {
            queue.retain(|Reverse((_, segment, sends))| {
                let sent = || records.get(segment).map_or(1, |again| again.sends);
                interests.get(*segment).is_some_and(|a| a.state == State::Flies && sent() == *sends)
            });
        }
        if self.wandering.len() > most {
            self.wandering.retain(|(segment, at)| {
                interests.get(*segment).is_some_and(|a| a.state != State::Lost && !a.in_line && a.at == *at)
            });
        }
        if let Some(line) = line {
            self.lines.tidy(line, most, |segment, number| {
                let counts = |a: Sent| a.state != State::Lost && a.place() == Some((line, number));
                interests.get(segment).is_some_and(counts)
            });
        }
    }

    fn note(&mut self, segment: u32, now: Time, course: Course, timeout: Time) {
        let before = self.interests.get(segment);
        if let Some(sent) = before.filter(|sent| sent.state == State::Kept) {
            return self.keep(sent, now, self.timeout(course.line(), timeout));
        }
        let number = course.line().map_or(0, |line| self.lines.sent(line, segment));
        if !course.in_line && course.path.is_some() {
            self.wandering.push((segment, now));
        }
        let new = Sent::new(segment, now, course, number);
        match before {
            None => self.interests.push(new),
            Some(before) => self.repeat(before, new, self.timeout(course.line(), timeout)),
        }
    }

    /// A segment is asked for again that forwarders are about to forget.
    #[cold]
    fn keep(&mut self, sent: Sent, now: Time, timeout: Time) {
        let again = self.record(&sent);
        let again = Repeated { sends: again.sends + 1, ..again };
        let lost = sent.at.saturating_add(wait_of(timeout, again.times));
        let at = now.saturating_add(self.again_after(lost.saturating_sub(now)));
        self.interests.set_state(sent.segment, State::Flies);
        self.repeats.records.insert(sent.segment, again);
        self.repeats.queue.push(Reverse((at, sent.segment, again.sends)));
        self.forget();
    }

    /// A segment is asked for again that did not come.
    #[cold]
    fn repeat(&mut self, before: Sent, new: Sent, timeout: Time) {
        let again = self.record(&before);
        let again = Repeated { times: again.times + 1, sends: again.sends + 1, ..again };
        if let Some(sent) = self.interests.get_mut(new.segment) {
            *sent = new;
        }
        let at = new.at.saturating_add(self.again_after(wait_of(timeout, again.times)));
        self.repeats.records.insert(new.segment, again);
        self.repeats.queue.push(Reverse((at, new.segment, again.sends)));
        // Its time is another one now.
        self.forget();
    }

    /// Called when Data have come. `None`: they were not asked for, or have come already.
    #[inline]
    pub fn answered(&mut self, segment: u32) -> Option<Answered> {
        let sent = self.interests.remove(segment)?;
        let again = match self.repeats.get_mut() {
            Some(repeats) => repeats.records.remove(&segment),
            None => None,
        };
        self.newest = self.newest.max(sent.at);
        Some(Answered { sent, again })
    }

    /// Called with Data that came over this path: the line that they tell of.
    #[inline]
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
            let waits = |s: &Sent| s.state == State::Flies && s.place() == Some((line, number));
            if let Some(sent) = self.interests.get(segment).filter(waits) {
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
        self.interests.set_state(segment, State::Lost);
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
        while let Some((segment, at)) = self.wandering.front().filter(|w| w.1 < self.newest) {
            let waits = |s: Sent| s.state == State::Flies && !s.in_line && s.at == at;
            if self.interests.get(segment).is_some_and(waits) {
                return Some((segment, at));
            }
            self.wandering.skip(1);
        }
        None
    }

    /// A segment that was asked for before others that have come, before `then`, and outside of lines.
    /// It is to be sent again. Ask again.
    pub fn strays(&mut self, then: Time) -> Option<u32> {
        let (segment, _) = self.first_wanderer().filter(|stray| stray.1 < then)?;
        self.wandering.skip(1);
        self.interests.set_state(segment, State::Lost);
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
        for sent in self.interests.iter().filter(|sent| sent.state == State::Flies) {
            let new = (sent.path(), sent.at, sent.segment);
            match last.iter_mut().find(|known| known.0 == new.0) {
                Some(known) if (known.1, known.2) < (new.1, new.2) => *known = new,
                Some(_) => {}
                None => last.push(new),
            }
        }
        let mut segments: Vec<u32> = last.into_iter().map(|(_, _, segment)| segment).collect();
        segments.sort_unstable();
        for segment in &segments {
            self.interests.set_state(*segment, State::Lost);
        }
        segments
    }

    /// Called with a Nack: the path of its Interest, which is to be sent again. The outer `None`:
    /// nothing waits for it.
    pub fn refused(&mut self, segment: u32) -> Option<Option<PathId>> {
        let sent = self.interests.get_mut(segment).filter(|sent| sent.state == State::Flies)?;
        sent.state = State::Lost;
        let path = sent.path();
        if let Some(again) = self.repeats.get_mut().and_then(|repeats| repeats.records.get_mut(&segment)) {
            again.late_since = Time::MAX;
        }
        Some(path)
    }

    /// Whether nothing is missing of what was asked for.
    pub fn is_empty(&self) -> bool {
        self.interests.len() == 0
    }

    /// Whether a segment is to be sent again.
    pub fn waits_to_be_sent(&self, segment: u32) -> bool {
        self.interests.get(segment).is_some_and(|sent| sent.state != State::Flies)
    }

    /// The next segment that is late, or is to be kept pending; it is to be sent again. Ask again.
    #[inline]
    pub fn late(&mut self, now: Time, timeout: Time) -> Option<Late> {
        if self.earliest(timeout) > now { None } else { self.next_late(now, timeout) }
    }

    #[cold]
    fn next_late(&mut self, now: Time, timeout: Time) -> Option<Late> {
        let segment = match self.first_late(now, timeout) {
            Some(segment) => segment,
            None => self.repeats.get()?.queue.peek().filter(|r| r.0.0 <= now)?.0.1,
        };
        let sent = self.interests.get(segment)?;
        let timeout = self.timeout(sent.line(), timeout);
        let again = self.record(&sent);
        let lost = sent.at.saturating_add(wait_of(timeout, again.times)) <= now || self.kept == Time::MAX;
        if lost {
            let late_since = again.late_since.min(sent.at);
            self.repeats.records.insert(segment, Repeated { late_since, ..again });
        }
        self.interests.set_state(segment, if lost { State::Lost } else { State::Kept });
        Some(Late { segment, path: sent.path(), lost })
    }

    /// The first of those asked for once, if it is late. Those before it whose line takes longer wait among the repeats.
    fn first_late(&mut self, now: Time, timeout: Time) -> Option<u32> {
        let wait = self.again_after(timeout);
        loop {
            self.forget();
            let sent = self.interests.first().filter(|first| first.at.saturating_add(wait) <= now)?;
            let late = sent.at.saturating_add(self.again_after(self.timeout(sent.line(), timeout)));
            if late <= now {
                return Some(sent.segment);
            }
            self.interests.first += 1;
            self.repeats.queue.push(Reverse((late, sent.segment, 1)));
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
    #[inline]
    fn earliest(&self, timeout: Time) -> Time {
        let wait = self.again_after(timeout);
        let first = self.interests.first().map_or(Time::MAX, |first| first.at.saturating_add(wait));
        match self.repeats.get() {
            None => first,
            Some(repeats) => repeats.queue.peek().map_or(first, |r| first.min(r.0.0)),
        }
    }

    /// Passes over entries at the heads of both lists that count no more.
    fn forget(&mut self) {
        while let Some(first) = self.interests.first() {
            if self.flies(&first, 1) {
                break;
            }
            self.interests.first += 1;
        }
        while let Some(Reverse((_, segment, sends))) = self.repeats.get().and_then(|r| r.queue.peek().copied()) {
            if self.interests.get(segment).is_some_and(|sent| self.flies(&sent, sends)) {
                break;
            }
            self.repeats.queue.pop();
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
            assert!(pending.repeats.queue.len().max(pending.wandering.len()).max(flying) <= most, "{pending:?}");
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
