//! A node's timers, in total order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::Driver;
use crate::packet::{FlowId, PortId};
use crate::table::more;
use crate::units::Time;

/// What to do at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// A flow starts here.
    Start(FlowId),
    /// The timer of the endpoint in this seat has come up.
    Endpoint(u32),
    /// A transmitter becomes idle.
    Idle(PortId),
    /// A driver that gathers packets into frames may send one.
    Frame(PortId),
    /// A held port's timer.
    Port(PortId),
    /// A held port's background timer.
    PortBackground(PortId),
    /// The timer of the forwarder with this place in the chain.
    Forwarder(u8),
    /// Its background timer.
    ForwarderBackground(u8),
    /// The host has taken in a packet.
    Host,
    /// The driver's own (faults, samples).
    Driver(u32),
    /// Of what the driver's applications wait for.
    Alarm(u32),
    /// An end might have wanted to be told of something.
    Nothing,
}

/// What happens at a node because of flows that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// A flow starts.
    Start(FlowId),
    /// The driver is called ([`Driver::alarm`](super::Driver::alarm)).
    Alarm(u32),
}

/// When, which in the order of asking, and for what.
type Wish = (Time, u64, Wake);

/// The first of the ends' timers, which are in a tree of their own (`endpoints/tree.rs`).
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstEnd {
    /// [`Time::MAX`] if no end has one.
    pub at: Time,
    /// Which of the wishes it is.
    pub asked: u32,
    pub seat: u32,
}

/// Wishes ordered by time, then by the order in which they were made.
#[repr(C)]
pub(super) struct Timers {
    /// When the first of them is due: asked before each hop, when the heap itself may not be in the
    /// cache.
    next: Time,
    end: FirstEnd,
    /// The latest time for which the timer of an end was set that is gone; [`Time::MAX`] if that is over. The node is
    /// woken then: a run goes on for as long as an end may have wanted to be told of something.
    lingers: Time,
    /// The first wish of all but the ends'; the others are in the heap. Few nodes have more than two or three, and a
    /// heap costs 80 instructions a wish.
    first: Option<Wish>,
    /// None before the second.
    others: Option<Box<Others>>,
    made: u64,
    /// Flows that are still to start. None without any.
    starts: Option<Box<Starts>>,
}

/// All wishes but the first.
#[derive(Default)]
struct Others {
    heap: BinaryHeap<Reverse<Wish>>,
    /// How many of all wishes keep no run from ending.
    background: usize,
}

impl Others {
    #[inline]
    fn push(&mut self, wish: Wish) {
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact(more(self.heap.len()));
        }
        self.heap.push(Reverse(wish));
    }
}

/// Starts of flows: those in order of time, of which the first has been asked for, and those that have waited
/// for other flows, with alarms. The latter are ordered by time and number, not by when they were asked for: a flow that
/// ended in another part of the network is heard of earlier or later.
struct Starts {
    first: Option<(Time, FlowId)>,
    others: Box<dyn Iterator<Item = (Time, FlowId)> + Send>,
    released: BTreeSet<(Time, Release)>,
}

impl Starts {
    fn of(mut all: Box<dyn Iterator<Item = (Time, FlowId)> + Send>) -> Option<Starts> {
        let first = all.next()?;
        Some(Starts { first: Some(first), others: all, released: BTreeSet::new() })
    }

    /// When the first is due.
    fn first(&self) -> Option<Time> {
        let released = self.released.first().map(|release| release.0);
        let fixed = self.first.map(|start| start.0);
        fixed.into_iter().chain(released).min()
    }

    fn pop(&mut self) -> Option<(Time, Wake)> {
        let due = self.first()?;
        // Of two for one time the one without a condition goes first.
        if let Some((at, flow)) = self.first.filter(|start| start.0 == due) {
            self.first = self.others.next();
            debug_assert!(self.first.is_none_or(|next| next.0 >= at), "starts are in order");
            return Some((at, Wake::Start(flow)));
        }
        let (at, release) = self.released.pop_first()?;
        let wake = match release {
            Release::Start(flow) => Wake::Start(flow),
            Release::Alarm(token) => Wake::Alarm(token),
        };
        Some((at, wake))
    }
}

impl Default for Timers {
    fn default() -> Timers {
        let end = FirstEnd { at: Time::MAX, asked: 0, seat: 0 };
        Timers { next: Time::MAX, end, lingers: Time::MAX, first: None, others: None, made: 0, starts: None }
    }
}

impl Timers {
    /// A wish that keeps no run from ending.
    pub fn push_background(&mut self, at: Time, wake: Wake) {
        self.others.get_or_insert_default().background += 1;
        self.push(at, wake);
    }

    /// Called when such a wish has come up.
    pub fn background_done(&mut self) {
        self.others.get_or_insert_default().background -= 1;
    }

    /// Whether all wishes are of that kind.
    pub fn is_resting(&self) -> bool {
        let (others, background) = self.others.as_ref().map_or((0, 0), |all| (all.heap.len(), all.background));
        let wishes = others + usize::from(self.first.is_some());
        wishes == background && self.end.at == Time::MAX && self.lingers == Time::MAX && self.starts.is_none()
    }

    /// The number of a wish that an end makes now.
    #[inline]
    pub fn number(&mut self) -> u32 {
        self.made += 1;
        self.made as u32
    }

    /// Called when an end is gone whose timer was to come up at `at`.
    #[inline]
    pub fn linger(&mut self, at: Time) {
        if at < Time::MAX && (self.lingers == Time::MAX || self.lingers < at) {
            let was_next = self.lingers == self.next;
            self.lingers = at;
            if was_next {
                self.next = self.first_start().min(self.first_wish());
            }
        }
    }

    /// Called when the first of the ends' timers is another one, or comes up earlier.
    #[inline]
    pub fn bring_end_forward(&mut self, first: FirstEnd) {
        self.end = first;
        self.next = self.next.min(first.at);
    }

    /// The same if it may come up later.
    #[inline]
    pub fn set_first_end(&mut self, first: FirstEnd) {
        self.end = first;
        self.next = self.first_start().min(self.first_wish());
    }

    /// Has flows start in this order, each before other wishes for its time.
    pub fn start(&mut self, flows: Box<dyn Iterator<Item = (Time, FlowId)> + Send>) {
        debug_assert!(self.starts.is_none(), "starts are given once");
        self.starts = Starts::of(flows).map(Box::new);
        self.next = self.first_start().min(self.next);
    }

    /// Has a flow start that has waited for others, or the driver called.
    pub fn release(&mut self, at: Time, what: Release) {
        let none = || Box::new(Starts { first: None, others: Box::new(std::iter::empty()), released: BTreeSet::new() });
        self.starts.get_or_insert_with(none).released.insert((at, what));
        self.next = self.next.min(at);
    }

    /// Takes a release back that has become needless.
    pub fn cancel(&mut self, at: Time, what: Release) {
        let Some(starts) = &mut self.starts else { return };
        starts.released.remove(&(at, what));
        if starts.first().is_none() {
            self.starts = None;
        }
        self.next = self.first_start().min(self.first_wish());
    }

    /// Carries out what the driver's applications ask for.
    pub fn take_releases<D: Driver>(&mut self, driver: &mut D) {
        while let Some((at, what)) = driver.released() {
            self.release(at, what);
        }
        while let Some((at, what)) = driver.cancelled() {
            self.cancel(at, what);
        }
    }

    fn first_start(&self) -> Time {
        self.starts.as_ref().and_then(|starts| starts.first()).unwrap_or(Time::MAX)
    }

    pub fn push(&mut self, at: Time, wake: Wake) {
        self.made += 1;
        self.next = self.next.min(at);
        let wish = (at, self.made, wake);
        match &mut self.first {
            None => self.first = Some(wish),
            // Of two for one time the one that was made before goes first.
            Some(first) => {
                let later = if first.0 <= at { wish } else { std::mem::replace(first, wish) };
                self.others.get_or_insert_default().push(later);
            }
        }
    }

    /// Takes the first wish. An end's stays until it has fired ([`Endpoints::fire`](super::endpoints::Endpoints::fire)).
    #[inline]
    fn pop(&mut self) -> Option<(Time, Wake)> {
        if self.lingers == self.next {
            return Some((std::mem::replace(&mut self.lingers, Time::MAX), Wake::Nothing));
        }
        if self.end_is_first() {
            return Some((self.end.at, Wake::Endpoint(self.end.seat)));
        }
        let (at, _, wake) = self.first.take()?;
        self.first = self.others.as_mut().and_then(|others| others.heap.pop()).map(|wish| wish.0);
        Some((at, wake))
    }

    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The first wish, if it is due, and the time that it was for. A driver may come late.
    pub fn pop_due(&mut self, now: Time) -> Option<(Time, Wake)> {
        if self.next() > now {
            return None;
        }
        if self.starts.is_some() {
            return self.pop_with_starts();
        }
        if self.lingers != self.next && self.end_is_first() {
            // What comes next is known when it has fired.
            return Some((self.end.at, Wake::Endpoint(self.end.seat)));
        }
        let due = self.pop();
        self.next = self.first_wish();
        due
    }

    /// The same while flows are still to start.
    fn pop_with_starts(&mut self) -> Option<(Time, Wake)> {
        let starts = self.starts.as_mut()?;
        let due = if starts.first() == Some(self.next) {
            let start = starts.pop();
            if starts.first().is_none() {
                self.starts = None;
            }
            start
        } else {
            self.pop()
        };
        self.next = self.first_start().min(self.first_wish());
        due
    }

    /// Whether an end's timer comes up before all other wishes.
    #[inline]
    fn end_is_first(&self) -> bool {
        let FirstEnd { at, asked, .. } = self.end;
        at < Time::MAX
            && self.first.is_none_or(|(wish, made, _)| {
                at < wish || at == wish && (asked.wrapping_sub(made as u32) as i32).is_negative()
            })
    }

    #[inline]
    fn first_wish(&self) -> Time {
        self.first.map_or(Time::MAX, |wish| wish.0).min(self.end.at).min(self.lingers)
    }

    pub fn memory(&self) -> usize {
        self.others.as_ref().map_or(0, |others| size_of::<Others>() + others.heap.capacity() * size_of::<Wish>())
    }
}

/// What a port or forwarder can ask to be woken for: to go on with its work, and, beside it, in the
/// background.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    pub work: Lazy,
    pub background: Lazy,
}

impl Pair {
    /// Withdraws both wishes. Their entries in the heap find out when they come up.
    pub fn withdraw(&mut self) {
        (self.work.deadline, self.background.deadline) = (Time::MAX, Time::MAX);
    }
}

/// One lazily re-armed timer: moving the deadline later costs nothing, the entry in the heap finds
/// out when it comes up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lazy {
    pub deadline: Time,
    /// The first of its entries in the heap.
    armed: Time,
    /// A later one. Who waits for a pace and for a timeout by turns would leave an entry for each timeout.
    parked: Time,
}

impl Default for Lazy {
    fn default() -> Lazy {
        Lazy { deadline: Time::MAX, armed: Time::MAX, parked: Time::MAX }
    }
}

impl Lazy {
    /// Called after the owner may have moved the deadline: whether the heap needs a new entry, and
    /// when.
    #[inline]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        if self.deadline >= self.armed {
            return None;
        }
        if self.parked == Time::MAX {
            self.parked = self.armed;
        }
        self.deadline = self.deadline.max(now);
        self.armed = self.deadline;
        Some(self.deadline)
    }

    /// Called at `now` when the entry for `at` of this timer comes up: whether it is the one that
    /// counts and the deadline has come.
    #[inline]
    pub fn fire(&mut self, at: Time, now: Time) -> bool {
        if at != self.armed {
            return false; // superseded by an earlier one
        }
        self.armed = std::mem::replace(&mut self.parked, Time::MAX);
        if self.deadline > now {
            return false; // moved later: the caller re-arms
        }
        self.deadline = Time::MAX;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Held to a list that is sorted: by time, then in the order of asking.
        #[test]
        fn wishes_come_up_in_order(steps in prop::collection::vec((0u64..20, 0usize..4), 1..200)) {
            let (mut timers, mut truth, mut now) = (Timers::default(), Vec::new(), 0);
            for (i, (later, pops)) in steps.into_iter().enumerate() {
                timers.push(Time(now + later), Wake::Driver(i as u32));
                truth.push((Time(now + later), Wake::Driver(i as u32)));
                truth.sort_by_key(|wish| wish.0);
                now += later / 4;
                for _ in 0..pops {
                    let due = truth.first().is_some_and(|wish| wish.0 <= Time(now));
                    let expected = if due { Some(truth.remove(0)) } else { None };
                    prop_assert_eq!(timers.pop_due(Time(now)), expected);
                }
                prop_assert_eq!(timers.next(), truth.first().map_or(Time::MAX, |wish| wish.0));
                prop_assert_eq!(timers.is_resting(), truth.is_empty());
            }
        }
    }

    proptest! {
        /// A timer that is moved to and fro fires when it is due, whatever entries it has; by turns soon and late, it has
        /// three at most.
        #[test]
        fn a_timer_fires_when_due_and_leaves_few_entries(moves in prop::collection::vec((1u64..8, 1u64..60), 1..300), turns: bool) {
            let (mut timer, mut heap, mut now) = (Lazy::default(), Vec::new(), 0);
            for (i, (passed, later)) in moves.into_iter().enumerate() {
                let until = now + passed;
                while let Some(first) = (now..=until).find(|at| heap.contains(at)) {
                    heap.remove(heap.iter().position(|at| *at == first).expect("found"));
                    let due = timer.deadline;
                    prop_assert!(due >= Time(first), "none is missed");
                    prop_assert_eq!(timer.fire(Time(first), Time(first)), due == Time(first));
                    heap.extend(timer.arm(Time(first)).map(|at| at.0));
                }
                now = until;
                timer.deadline = Time(now + if turns && i % 2 == 0 { 1 } else if turns { 1000 } else { later });
                heap.extend(timer.arm(Time(now)).map(|at| at.0));
                prop_assert!(!turns || heap.len() <= 3, "{heap:?}");
            }
        }
    }

    #[test]
    fn flows_start_in_order_and_before_what_else_is_due_then() {
        let mut timers = Timers::default();
        let starts = [(3, 7), (5, 8), (5, 9)].map(|(at, flow)| (Time(at), FlowId(flow)));
        timers.start(Box::new(starts.into_iter()));
        [(5, 1), (2, 2), (9, 3)].iter().for_each(|(at, token)| timers.push(Time(*at), Wake::Driver(*token)));
        timers.push_background(Time(4), Wake::PortBackground(PortId(0)));
        assert!(timers.pop_due(Time(1)).is_none());
        let mut found = Vec::new();
        while let Some((at, wake)) = timers.pop_due(Time(5)) {
            assert!(!timers.is_resting());
            if wake == Wake::PortBackground(PortId(0)) {
                timers.background_done();
            }
            found.push((at.0, wake));
        }
        let start = |flow| Wake::Start(FlowId(flow));
        let background = Wake::PortBackground(PortId(0));
        let due =
            [(2, Wake::Driver(2)), (3, start(7)), (4, background), (5, start(8)), (5, start(9)), (5, Wake::Driver(1))];
        assert_eq!(found, due);
        assert_eq!(timers.next(), Time(9));
        assert!(timers.pop_due(Time(9)).is_some() && timers.is_resting() && timers.next() == Time::MAX);
    }

    /// Flows that waited start in the order of time and number, whenever they were asked for, behind those whose
    /// time was known and before what else is due then.
    #[test]
    fn released_flows_start_in_an_order_that_does_not_depend_on_when_they_were_released() {
        for order in [[4, 2, 3], [2, 3, 4], [3, 4, 2]] {
            let mut timers = Timers::default();
            timers.start(Box::new([(Time(5), FlowId(9))].into_iter()));
            timers.push(Time(5), Wake::Driver(1));
            timers.release(Time(5), Release::Alarm(0));
            order
                .iter()
                .for_each(|flow| timers.release(Time(if *flow == 4 { 4 } else { 5 }), Release::Start(FlowId(*flow))));
            assert_eq!(timers.next(), Time(4));
            let found: Vec<_> = std::iter::from_fn(|| timers.pop_due(Time(5))).map(|(_, wake)| wake).collect();
            let start = |flow| Wake::Start(FlowId(flow));
            assert_eq!(found, [start(4), start(9), start(2), start(3), Wake::Alarm(0), Wake::Driver(1)]);
            assert!(timers.is_resting() && timers.next() == Time::MAX);
        }
    }

    proptest! {
        /// What is taken back neither comes up nor keeps a run from ending.
        #[test]
        fn cancelled_releases_leave_nothing(
            releases in prop::collection::btree_map((0u64..40, 0u32..40), any::<bool>(), 0..40), pushed in prop::option::of(0u64..40),
        ) {
            let mut timers = Timers::default();
            pushed.into_iter().for_each(|at| timers.push(Time(at), Wake::Driver(0)));
            releases.keys().for_each(|(at, token)| timers.release(Time(*at), Release::Alarm(*token)));
            releases.iter().filter(|(_, stays)| !**stays).for_each(|((at, token), _)| timers.cancel(Time(*at), Release::Alarm(*token)));
            let staying = releases.iter().filter(|(_, stays)| **stays).map(|((at, token), _)| (Time(*at), Wake::Alarm(*token)));
            let mut wanted: Vec<_> = staying.chain(pushed.map(|at| (Time(at), Wake::Driver(0)))).collect();
            wanted.sort_by_key(|(at, wake)| (*at, matches!(wake, Wake::Driver(_))));
            prop_assert_eq!(timers.next(), wanted.first().map_or(Time::MAX, |wish| wish.0));
            prop_assert_eq!(timers.is_resting(), wanted.is_empty());
            let found: Vec<_> = std::iter::from_fn(|| timers.pop_due(Time(50))).collect();
            prop_assert_eq!(found, wanted);
            prop_assert!(timers.is_resting());
        }
    }

    #[test]
    fn a_run_does_not_end_before_its_last_flow_has_begun() {
        let mut timers = Timers::default();
        timers.start(Box::new(std::iter::once((Time(3), FlowId(1)))));
        assert!(!timers.is_resting());
        assert_eq!(timers.pop_due(Time(3)), Some((Time(3), Wake::Start(FlowId(1)))));
        assert!(timers.is_resting());
        timers.start(Box::new(std::iter::empty()));
        assert!(timers.is_resting() && timers.next() == Time::MAX);
    }
}
