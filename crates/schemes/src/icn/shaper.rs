//! The Interest shaper of a port: Wang, Rozhnova, Narayanan, Oran and Rhee, "An improved hop-by-hop
//! Interest shaper for congestion control in named data networking", ICN 2013, as §3.1 and §4.2 use
//! it.
//!
//! A state machine without I/O. Each released Interest books both directions of the link: its own bytes outbound,
//! its Data's inbound. Each Interest that arrives over the link books the opposite. An Interest leaves only while
//! the inbound direction is booked no further ahead than the burst, and the outbound one no further than two bursts,
//! so over any time Data and Interests together stay within the link's capacity, plus the burst and one packet of
//! each kind. Other Interests are queued; if the queue is full, they are returned, to be Nacked.
//!
//! A rate alone is not enough if round trips differ: Data of near producers arrive together with earlier requests to
//! far ones. So the inbound direction is booked for when the Data are due (`outstanding = "due"`, ours; `calendar.rs`).
//!
//! Wang et al. is cited from its abstract and from the first author's public implementation for
//! ndnSIM: the text was not at hand.

use std::collections::{BTreeSet, VecDeque};

use midpath_core::units::{Bytes, Rate, Time, TxClock};

use super::above::Via;
use super::header::Class;
use super::mean::Mean;
use super::params::{Outstanding, Pacing, ShaperParams};
use calendar::Calendar;

mod calendar;

/// An Interest, as far as the shaper looks at it. `token` is the caller's: the packet, or its
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest<T> {
    /// The caller's.
    pub token: T,
    /// Its size.
    pub size: Bytes,
    /// The expected size of its Data.
    pub data: Bytes,
    /// Its class.
    pub class: Class,
    /// Its path, if it says one, and the round trip from here to its Data, if that is known.
    pub via: Option<Via>,
    /// The round trip.
    pub above: Option<Time>,
    /// A router passed it on, and not its consumer's host.
    pub passing: bool,
}

/// What became of an Interest that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer<T> {
    /// It waits its turn, which may be now: ask `Shaper::poll`.
    Queued,
    /// It waits, and this secondary one has made room for it (§4.2): to be Nacked.
    Displaced(Interest<T>),
    /// There is no room: to be Nacked.
    Refused(Interest<T>),
}

/// An Interest in a queue.
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    /// The number of its arrival, over both queues.
    number: u64,
    since: Time,
    interest: Interest<T>,
}

/// One direction of the link: until when it is booked.
#[derive(Debug, Clone, Copy)]
struct Direction {
    rate: Rate,
    clock: TxClock,
    /// How long the burst takes.
    ahead: Time,
    booked: Time,
}

impl Direction {
    fn new(rate: Rate, params: &ShaperParams) -> Direction {
        let share = booked(rate, params);
        Direction { rate: share, clock: TxClock::new(share), ahead: share.time_for(params.burst), booked: Time::ZERO }
    }

    #[inline]
    fn book(&mut self, now: Time, size: Bytes) {
        let size = u32::try_from(size.0).unwrap_or(u32::MAX);
        self.booked = self.booked.max(now).saturating_add(self.clock.time(size));
    }

    /// From when on it is booked no further ahead than so many bursts.
    #[inline]
    fn free(&self, bursts: u64) -> Time {
        self.booked.saturating_sub(self.ahead * bursts)
    }
}

/// What may be booked of a direction. The rest drains what waits there because Data came sooner or later than they
/// were due. A link that stands still has a bit per second: nothing is divided by zero.
fn booked(rate: Rate, params: &ShaperParams) -> Rate {
    Rate(((rate.as_f64() * params.headroom) as u64).max(1))
}

/// Whether the way back is booked for when Data are due. A calendar lets those of different round
/// trips go together, so something else has to pace them.
fn has_calendar(params: &ShaperParams) -> bool {
    params.outstanding == Outstanding::Due && params.pacing == Pacing::Wang
}

/// The way back.
#[derive(Debug, Clone)]
enum Back {
    /// Booked from now on, whenever the Data come.
    Now(Direction),
    /// Booked for when they are due.
    Due(Calendar),
}

impl Back {
    fn new(rate: Rate, params: &ShaperParams) -> Back {
        match has_calendar(params) {
            true => Back::Due(Calendar::new(booked(rate, params), params.burst)),
            false => Back::Now(Direction::new(rate, params)),
        }
    }

    fn set_rate(&mut self, now: Time, rate: Rate, params: &ShaperParams) {
        match self {
            Back::Now(before) => *before = Direction { booked: before.booked, ..Direction::new(rate, params) },
            Back::Due(before) => *before = before.at_rate(now, booked(rate, params), params.burst),
        }
    }

    /// What may be booked.
    fn rate(&self) -> Rate {
        match self {
            Back::Now(direction) => direction.rate,
            Back::Due(calendar) => calendar.rate(),
        }
    }

    /// Something of this size comes now.
    #[inline]
    fn book(&mut self, now: Time, size: Bytes) {
        match self {
            Back::Now(direction) => direction.book(now, size),
            Back::Due(calendar) => calendar.book(now, now, whole(size)),
        }
    }
}

/// A size that a slot can count.
fn whole(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

/// The shaper.
#[derive(Debug, Clone)]
pub struct Shaper<T> {
    params: ShaperParams,
    /// The way of this port's Interests, and that of their Data.
    out: Direction,
    back: Back,
    /// With a calendar: none of those that wait finds room before.
    full_until: Time,
    /// Queues of both classes.
    queues: [VecDeque<Waiting<T>>; 2],
    arrivals: u64,
    /// Those that wait and that a router passed on.
    passing: usize,
    /// What the queued Interests ask for.
    backlog: u64,
    /// Wang's pace: no Interest leaves before.
    paced: Time,
    /// The last gap, and what it was asked for: opposite Interests' rate and a size, while sizes and
    /// rates of the link are as they were.
    paced_by: (Option<(f64, Bytes)>, Time),
    /// Without it: half of the way out, which is all that Interests may book while others come the
    /// opposite way.
    half: Direction,
    sizes: Sizes,
    opposite: Opposite,
}

impl<T> Shaper<T> {
    /// The shaper of a port that sends at `out` and whose neighbour sends at `back`.
    pub fn new(params: &ShaperParams, out: Rate, back: Rate) -> Shaper<T> {
        Shaper {
            params: *params,
            out: Direction::new(out, params),
            back: Back::new(back, params),
            full_until: Time::ZERO,
            queues: [VecDeque::new(), VecDeque::new()],
            arrivals: 0,
            passing: 0,
            backlog: 0,
            paced: Time::ZERO,
            paced_by: (None, Time::ZERO),
            half: Direction::new(Rate(out.0 / 2), params),
            sizes: Sizes::default(),
            opposite: Opposite::default(),
        }
    }

    /// Takes out all that waits: the node restarts.
    pub fn reset(&mut self) -> impl Iterator<Item = Interest<T>> + use<T> {
        (self.backlog, self.passing) = (0, 0);
        let [primary, secondary] = std::mem::take(&mut self.queues);
        primary.into_iter().chain(secondary).map(|waiting| waiting.interest)
    }

    /// Called when the link has other rates. What is booked stays booked.
    pub fn set_rates(&mut self, now: Time, out: Rate, back: Rate) {
        for (direction, rate) in [(&mut self.out, out), (&mut self.half, Rate(out.0 / 2))] {
            *direction = Direction { booked: direction.booked, ..Direction::new(rate, &self.params) };
        }
        self.back.set_rate(now, back, &self.params);
        self.paced_by.0 = None;
        self.full_until = Time::ZERO;
    }

    /// Called when an Interest was routed to this port.
    #[inline]
    pub fn offer(&mut self, now: Time, interest: Interest<T>) -> Offer<T> {
        let crowded = interest.passing && self.crowds(&interest);
        if self.len() < self.params.interests && !crowded {
            self.push(now, interest);
            return Offer::Queued;
        }
        // §4.2: "drops queued secondary class Interests to make room for new primary class Interests". Ours: the last
        // one, which has waited least.
        let mut secondary = self.queues[Class::Secondary as usize].iter();
        let in_the_way = |waiting: &Waiting<T>| !crowded || waiting.interest.passing;
        let last = if interest.class == Class::Primary { secondary.rposition(in_the_way) } else { None };
        let displaced = last.and_then(|index| self.pop(Class::Secondary as usize, index));
        let Some(Waiting { interest: displaced, .. }) = displaced else { return Offer::Refused(interest) };
        self.push(now, interest);
        Offer::Displaced(displaced)
    }

    /// Whether a router's Interest finds as many waiting as may, and its path has its share of their places. Without
    /// shares near ones, which wait while far ones have booked the way back, would have all far ones refused.
    fn crowds(&self, interest: &Interest<T>) -> bool {
        if self.passing < self.params.passing {
            return false;
        }
        let waiting = || self.queues.iter().flatten().map(|w| &w.interest).filter(|i| i.passing);
        let own = waiting().filter(|i| i.via == interest.via).count();
        let others: BTreeSet<_> = waiting().map(|i| i.via).filter(|via| *via != interest.via).collect();
        own * (1 + others.len()) >= self.params.passing
    }

    #[inline]
    fn push(&mut self, since: Time, interest: Interest<T>) {
        // It may have another round trip than those that wait.
        self.full_until = Time::ZERO;
        self.arrivals += 1;
        self.backlog += interest.data.0;
        self.passing += usize::from(interest.passing);
        self.queues[interest.class as usize].push_back(Waiting { number: self.arrivals, since, interest });
    }

    /// Called when an Interest came in over the link: it used the way back, and its Data (`data`
    /// expected) will go out.
    #[inline]
    pub fn on_opposite_interest(&mut self, now: Time, size: Bytes, data: Bytes) {
        self.back.book(now, size);
        self.out.book(now, data);
        if self.sizes.opposite(size, data) {
            self.paced_by.0 = None;
        }
        self.opposite.count(now, size);
    }

    /// Called when Data came in over the link that are larger than was expected: the difference was
    /// not booked.
    pub fn on_larger_data(&mut self, now: Time, difference: Bytes) {
        self.back.book(now, difference);
    }

    /// Called when Data have come in that were due then. Those that are early are booked for now, and
    /// not for then. Those that are late took their time already: to book them again halved what is
    /// left where Interests wait above, and made them wait for longer.
    #[inline]
    pub fn on_data(&mut self, now: Time, due: Time, size: Bytes) {
        let Back::Due(calendar) = &mut self.back else { return };
        let patience = calendar.patience();
        if due > now.saturating_add(patience) {
            calendar.release(now, due, whole(size));
            calendar.book(now, now, whole(size));
        }
    }

    /// Called when Data that were due then will not come.
    pub fn on_refused(&mut self, now: Time, due: Time, size: Bytes) {
        let Back::Due(calendar) = &mut self.back else { return };
        if due > now {
            calendar.release(now, due, whole(size));
            self.full_until = Time::ZERO;
        }
    }

    /// When [`Shaper::poll`] has an Interest to give, if one waits: now or later.
    #[inline]
    pub fn next_release(&self, now: Time) -> Option<Time> {
        (!self.is_empty()).then(|| self.next_turn().max(self.full_until).max(now))
    }

    /// When the pace, and what is booked already, let the next one go.
    #[inline]
    fn next_turn(&self) -> Time {
        if self.params.outstanding == Outstanding::Paced {
            return self.paced;
        }
        // The way out is booked by two shapers. The neighbour's keeps its Data within a burst, this
        // one its Interests within another: with one for both, each burst of Data booked there
        // would stop the Interests here while their own way back is idle.
        let at = self.out.free(2).max(self.paced);
        self.within_half(match &self.back {
            Back::Now(direction) => at.max(direction.free(1)),
            Back::Due(_) => at,
        })
    }

    /// With bookings alone Interests would take all of a slow way out from the Data that others ask
    /// for: as long as such come, they have half of it.
    #[inline]
    fn within_half(&self, at: Time) -> Time {
        match self.params.pacing {
            Pacing::Wang => at,
            Pacing::Booked => at.max(self.half.free(1).min(self.opposite.until)),
        }
    }

    /// The Interest that goes next.
    pub fn first(&self) -> Option<&Interest<T>> {
        self.queues[self.next_class()].front().map(|waiting| &waiting.interest)
    }

    /// The next Interest, if one may leave now. It is booked; ask again.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Interest<T>> {
        self.next_release(now).filter(|at| *at <= now)?;
        let Waiting { since, interest, .. } = match self.back {
            Back::Now(_) => self.pop(self.next_class(), 0)?,
            Back::Due(_) => self.pop_with_room(now)?,
        };
        self.book_waiting(now, since, &interest);
        Some(interest)
    }

    /// Lets an Interest go that comes now, if none waits and it may leave at once: what
    /// [`Shaper::offer`] and [`Shaper::poll`] would do. Else nothing has changed. Whose it is does not
    /// matter.
    #[inline]
    pub fn pass<U>(&mut self, now: Time, interest: &Interest<U>) -> bool {
        let ready = self.is_empty() && self.params.interests > 0 && self.next_turn() <= now;
        if !ready {
            return false;
        }
        match (&mut self.back, interest.above) {
            (Back::Due(calendar), Some(_)) => {
                if !calendar.book_if_room(now, due(now, interest), whole(interest.data)) {
                    return false;
                }
            }
            (Back::Due(calendar), None) => calendar.book(now, now, whole(interest.data)),
            (Back::Now(direction), _) => direction.book(now, interest.data),
        }
        self.full_until = Time::ZERO;
        self.arrivals += 1;
        self.book_out(now, now, interest);
        true
    }

    /// Books an Interest that has waited. Inlined, what waits would be copied byte by byte.
    #[inline(never)]
    fn book_waiting(&mut self, now: Time, since: Time, interest: &Interest<T>) {
        self.book(now, since, interest);
    }

    /// Books an Interest that leaves now and came at `since`.
    #[inline]
    fn book<U>(&mut self, now: Time, since: Time, interest: &Interest<U>) {
        match &mut self.back {
            Back::Now(direction) => direction.book(now, interest.data),
            Back::Due(calendar) => calendar.book(now, due(now, interest), whole(interest.data)),
        }
        self.book_out(now, since, interest);
    }

    /// The same of the way out; the way back is booked.
    #[inline]
    fn book_out<U>(&mut self, now: Time, since: Time, interest: &Interest<U>) {
        self.out.book(now, interest.size);
        if self.sizes.own(interest.size, interest.data) {
            self.paced_by.0 = None;
        }
        if self.params.pacing == Pacing::Booked {
            self.half.book(now, interest.size);
        }
        if self.params.pacing == Pacing::Wang {
            // The pace goes on from when this one was due: from when it left, what each waits for
            // the wire would be lost to all. Wang's implementation hands Interests to the device's
            // queue and has the pace go on from then. Longer than the burst takes, none is due.
            let due = self.paced.max(since).max(now.saturating_sub(self.out.ahead));
            self.paced = due.saturating_add(self.gap(now, interest.size));
        }
    }

    #[inline]
    fn pop(&mut self, class: usize, index: usize) -> Option<Waiting<T>> {
        let queue = &mut self.queues[class];
        // Mostly the first.
        let waiting = if index == 0 { queue.pop_front()? } else { queue.remove(index)? };
        self.backlog -= waiting.interest.data.0;
        self.passing -= usize::from(waiting.interest.passing);
        Some(waiting)
    }

    /// The first of those that wait whose Data have room when they are due. None passes another of
    /// its path, or of about the same round trip: paths keep their order.
    fn pop_with_room(&mut self, now: Time) -> Option<Waiting<T>> {
        let Back::Due(calendar) = &mut self.back else { return None };
        let mut stopped = Stopped::new(calendar.patience());
        let [primary, secondary] = &self.queues;
        let found = if secondary.is_empty() || primary.is_empty() {
            let class = usize::from(primary.is_empty());
            let queue = &self.queues[class];
            let mut goes = |index: &usize| !stopped.holds(calendar, now, &queue[*index].interest);
            // Mostly the first.
            (0..queue.len()).find(&mut goes).map(|index| (class, index))
        } else {
            let mut at = [0; 2];
            loop {
                let Some(class) = next_class_from(&self.queues, at) else { break None };
                if !stopped.holds(calendar, now, &self.queues[class][at[class]].interest) {
                    break Some((class, at[class]));
                }
                at[class] += 1;
            }
        };
        if let Some((class, index)) = found {
            return self.pop(class, index);
        }
        self.full_until = stopped.until;
        None
    }

    /// The queue whose turn it is.
    #[inline]
    fn next_class(&self) -> usize {
        next_class_from(&self.queues, [0, 0]).unwrap_or(Class::Secondary as usize)
    }

    /// The time to the next Interest at Wang's shaping rate.
    #[inline]
    fn gap(&mut self, now: Time, size: Bytes) -> Time {
        let asked = (self.opposite.rate(now), size);
        if self.paced_by.0 != Some(asked) {
            self.paced_by = (Some(asked), self.gap_at(asked));
        }
        debug_assert_eq!(self.paced_by.1, self.gap_at(asked), "sizes and rates are as they were");
        self.paced_by.1
    }

    /// The same worked out, for a rate of opposite Interests.
    #[cold]
    fn gap_at(&self, (seen, size): (f64, Bytes)) -> Time {
        let link = Link {
            out: self.out.rate.as_f64(),
            back: self.back.rate().as_f64(),
            own: self.sizes.own_inflation(),
            opposite: self.sizes.opposite_inflation(),
        };
        Time((8e12 * size.as_f64() / link.shaping_rate(seen).max(1.0)) as u64)
    }

    /// Interests that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// q(t): what the waiting Interests ask for, both classes together (§3.1.1, §4.2).
    #[inline]
    pub fn backlog(&self) -> Bytes {
        Bytes(self.backlog)
    }
}

/// When the Data of an Interest that leaves now are due. What nobody knows may come at once.
fn due<T>(now: Time, interest: &Interest<T>) -> Time {
    interest.above.map_or(now, |above| now.saturating_add(above))
}

/// Round trips that are told apart at a time. Ours: what has others waits its turn.
const ROUND_TRIPS: usize = 8;

/// The queue whose turn it is if so many of each class are passed over; `None` if these are all.
#[inline]
fn next_class_from<T>(queues: &[VecDeque<Waiting<T>>; 2], at: [usize; 2]) -> Option<usize> {
    let heads = [0, 1].map(|class: usize| queues[class].get(at[class]).map(|waiting| waiting.number));
    match heads {
        [Some(primary), Some(secondary)] => Some(usize::from(secondary < primary)),
        [Some(_), None] => Some(0),
        [None, secondary] => secondary.map(|_| 1),
    }
}

/// Round trips whose Data find no room.
struct Stopped {
    trips: [(Option<Via>, Time); ROUND_TRIPS],
    count: usize,
    /// From when on one of them does.
    until: Time,
    /// Those that differ by no more are about the same.
    near: Time,
}

impl Stopped {
    fn new(near: Time) -> Stopped {
        Stopped { trips: [(None, Time::ZERO); ROUND_TRIPS], count: 0, until: Time::ZERO, near }
    }

    /// Whether an Interest waits: its Data have no room, or it would pass one that waits. The
    /// neighbour's queue has room for those of which nobody knows when they are due.
    #[inline]
    fn holds<T>(&mut self, calendar: &mut Calendar, now: Time, interest: &Interest<T>) -> bool {
        let Some(above) = interest.above else { return false };
        for (via, trip) in &self.trips[..self.count] {
            if trip.0.abs_diff(above.0) <= self.near.0 || (via.is_some() && *via == interest.via) {
                return true;
            }
        }
        self.count == ROUND_TRIPS || self.stops(calendar, now, interest, above)
    }

    /// The same of one that passes none.
    fn stops<T>(&mut self, calendar: &mut Calendar, now: Time, interest: &Interest<T>, above: Time) -> bool {
        let (due, size) = (due(now, interest), whole(interest.data));
        if calendar.has_room(now, due, size) {
            return false;
        }
        let next = calendar.next_room(now, due, size).saturating_sub(above);
        self.until = if self.count == 0 { next } else { self.until.min(next) };
        self.trips[self.count] = (interest.via, above);
        self.count += 1;
        true
    }
}

/// Weight of a packet in the mean sizes of Interests and Data. 1/8: the default of Wang's public implementation for
/// ndnSIM.
const SIZE_WEIGHT: f64 = 0.125;

/// Mean sizes of Interests and of their Data, for both directions' Interests.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    means: [[Mean; 2]; 2],
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { means: [[Mean::new(SIZE_WEIGHT); 2]; 2] }
    }
}

impl Sizes {
    /// Says whether a mean has changed.
    #[inline]
    fn add(&mut self, whose: usize, interest: Bytes, data: Bytes) -> bool {
        let [interests, datas] = &mut self.means[whose];
        interests.add_whole(interest.as_f64().max(1.0)) | datas.add_whole(data.as_f64().max(1.0))
    }

    #[inline]
    fn own(&mut self, interest: Bytes, data: Bytes) -> bool {
        self.add(0, interest, data)
    }

    #[inline]
    fn opposite(&mut self, interest: Bytes, data: Bytes) -> bool {
        self.add(1, interest, data)
    }

    fn inflation(&self, whose: usize) -> Option<f64> {
        let [interest, data] = self.means[whose].map(Mean::get);
        data.zip(interest).map(|(data, interest)| data / interest)
    }

    /// r₁. Asked when an Interest has been counted.
    fn own_inflation(&self) -> f64 {
        self.inflation(0).unwrap_or(1.0)
    }

    /// r₂; the same as r₁ while nothing came in.
    fn opposite_inflation(&self) -> f64 {
        self.inflation(1).unwrap_or(self.own_inflation())
    }
}

/// How long after an opposite Interest another is expected. Ours: two of a starved flow's longest
/// pauses (1 s).
const STILL: Time = Time::from_secs(2);

/// How long opposite Interests are counted for their rate. 100 ms: the default of Wang's public implementation for
/// ndnSIM.
const OBSERVE: Time = Time::from_ms(100);

/// The rate at which Interests come in over the link, counted over [`OBSERVE`].
#[derive(Debug, Clone, Copy, Default)]
struct Opposite {
    began: Time,
    bytes: u64,
    /// In bits per second, in the interval before.
    before: f64,
    /// Until then it counts as coming, though nothing more does.
    until: Time,
}

impl Opposite {
    fn count(&mut self, now: Time, size: Bytes) {
        if now.saturating_sub(self.began) >= OBSERVE {
            *self = Opposite { began: now, bytes: 0, before: self.rate(now), ..*self };
        }
        self.bytes = self.bytes.saturating_add(size.0);
        self.until = now.saturating_add(STILL);
    }

    /// That of the last whole interval; of the running one if that is over and nothing came since.
    #[inline]
    fn rate(&self, now: Time) -> f64 {
        let age = now.saturating_sub(self.began);
        match age >= OBSERVE {
            // Of most links none come in.
            true if self.bytes == 0 => 0.0,
            true => 8.0 * self.bytes as f64 / age.as_secs_f64(),
            false => self.before,
        }
    }
}

/// What Wang's shaping rate depends on: capacities in bits per second, and how much larger Data are
/// than Interests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// c₁: that of the direction that this port sends in.
    pub out: f64,
    /// c₂: that of the other one.
    pub back: f64,
    /// r₁: Data that come in, over Interests that go out.
    pub own: f64,
    /// r₂: Data that go out, over Interests that come in.
    pub opposite: f64,
}

impl Link {
    /// The shaping rate in bits of Interests per second, when opposite Interests were seen at
    /// `seen`.
    ///
    /// The whole of c₂ if there are none, min s₁ if there are as many as are to be expected, and
    /// between these min s₁ + (max s₁ − min s₁) (1 − seen/expected)².
    pub fn shaping_rate(self, seen: f64) -> f64 {
        let (least, expected) = self.shares();
        let idle = (1.0 - seen / expected).max(0.0);
        let most = (self.back / self.own).min(self.out);
        least + (most - least).max(0.0) * idle * idle
    }

    /// min s₁ and the expected rate of opposite Interests: both directions in demand, log s₁ + log
    /// s₂ largest under s₁ + r₂ s₂ ≤ c₁ and r₁ s₁ + s₂ ≤ c₂.
    fn shares(self) -> (f64, f64) {
        let Link { out: c1, back: c2, own: r1, opposite: r2 } = self;
        let both = r1 * r2;
        if c1 / c2 <= 2.0 * r2 / (both + 1.0) {
            // Only the first holds with equality.
            (c1 / 2.0, c1 / (2.0 * r2))
        } else if c1 / c2 >= (both + 1.0) / (2.0 * r1) {
            // Only the second.
            (c2 / (2.0 * r1), c2 / 2.0)
        } else {
            ((r2 * c2 - c1) / (both - 1.0), (r1 * c1 - c2) / (both - 1.0))
        }
    }
}

#[cfg(test)]
mod tests;
