//! One port of a node: its link, its discipline and its counters.

use std::any::Any;
use std::num::NonZeroU8;

use super::timers::Lazy;
use crate::cache::fetch;
use crate::fifo::Fifo;
use crate::limit::Bound;
use crate::packet::Packet;
use crate::queue::drop_tail;
use crate::rng::Stream;
use crate::roles::{Backlog, Discipline, Drop, LinkInfo, Shortcuts, Transmitter, View};
use crate::stats::{DelayHistogram, PortCounters};
use crate::units::{Rate, Time, TxClock};

/// What a port has put onto its wire by some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begun {
    /// Packets whose transmission has begun.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bits of these that have left. The packet in transmission counts as far as it has got.
    pub bits: u64,
}

/// What waits at a held port: how much, and since when.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    bytes: u64,
    since: Time,
    /// Most that ever waited.
    most: u64,
}

impl Level {
    /// Counts that it has waited until `now`; returns the byte-picoseconds.
    #[inline]
    fn count(&mut self, now: Time) -> u128 {
        if self.bytes == 0 || now <= self.since {
            return 0;
        }
        self.most = self.most.max(self.bytes);
        u128::from((now - self.since).0) * u128::from(self.bytes)
    }
}

/// What a port wants of its node that most do not, in bits: there is little room.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wants(u8);

impl Wants {
    /// To be asked for packets, instead of having a timetable.
    const HELD: u8 = 1;
    /// To look at what comes in.
    const WATCHES: u8 = 2;
    /// Held: to be asked for a packet after each that came in.
    const FREES: u8 = 4;
    /// Held: packets may leave without being kept.
    const STRAIGHT: u8 = 8;
    /// To be called for packets that find nothing waiting, too: it is held, or a packet as large as
    /// the link's may be more than it admits.
    const CALLED: u8 = 16;
    /// Timetables: to decide on packets without a context.
    const DECIDES: u8 = 32;
    /// Held: to say of packets that leave without being kept without a context, if it can.
    const PASSES: u8 = 64;
    /// Held: to be shown packets, and asked whether they leave at once, without a context.
    const BARE: u8 = 128;

    fn of(discipline: &Discipline, link: &LinkInfo) -> Wants {
        let bit = |bit, wanted: fn(&dyn Shortcuts) -> bool| if discipline.port().is_some_and(wanted) { bit } else { 0 };
        let held = if matches!(discipline, Discipline::Held(_)) { Wants::HELD | Wants::CALLED } else { 0 };
        let admits_first = discipline.admits_within().admits(Backlog::default(), link.mtu);
        let called = if admits_first { 0 } else { Wants::CALLED };
        let decides =
            if held == 0 { bit(Wants::DECIDES, |p| p.decides()) } else { bit(Wants::BARE, |p| p.needs_no_context()) };
        let inbound = bit(Wants::WATCHES, |p| p.watches_inbound()) | bit(Wants::FREES, |p| p.inbound_frees());
        let straight = bit(Wants::STRAIGHT, |p| p.goes_straight()) | bit(Wants::PASSES, |p| p.passes());
        Wants(held | called | decides | inbound | straight)
    }

    #[inline]
    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// What is kept of a port that is held, was asked or has dropped something. In a large network few
/// are.
#[derive(Default)]
pub(super) struct Extra {
    pub marks: u64,
    pub timer: Lazy,
    /// Held ports: an [`Idle`](super::timers::Wake::Idle) wish is in the heap.
    pub idle_armed: bool,
    /// Held ports: it stands in the node's list of ports that a driver may pull from.
    pub listed: bool,
    /// Held ports: the size of the packet that was begun last, and its rate. With delivery
    /// opportunities it may wait longer than its bits take.
    last: u32,
    rate: Rate,
    level: Level,
    drops_queue: u64,
    drops_aqm: u64,
    drops_fault: u64,
    drops_policy: u64,
}

/// What a port that is called can leave behind.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// When it wants to be woken. A timetable has no timer.
    pub timer: Time,
    /// Packets that it has marked.
    pub marks: u64,
}

/// A port that is called.
pub(super) struct Called<'a> {
    pub port: &'a mut dyn Shortcuts,
    /// What waits on its timetable.
    pub booked: Backlog,
    /// The number of what it shares with the other ports of its instance.
    pub state: Option<usize>,
    pub timer: &'a mut Time,
    pub marks: &'a mut u64,
    waited: &'a mut u128,
    level: Option<&'a mut Level>,
}

impl Called<'_> {
    /// Held ports: what waits may have changed. What has waited since the last time is counted, up
    /// to `now`.
    #[inline]
    pub fn note_level(&mut self, now: Time) {
        if let Some(level) = &mut self.level {
            *self.waited += level.count(now);
            (level.bytes, level.since) = (self.port.backlog().bytes, now);
        }
    }
}

/// Laid out by use, in lines of 64 bytes: what says where a packet goes on the timetable, and what
/// is counted of each; what is counted of those that wait; the rest.
#[repr(C, align(64))]
pub(super) struct Slot {
    /// When all that has a place on the wire will have been sent.
    free_at: Time,
    clock: TxClock,
    /// Timetable ports: bytes that wait, and of those that have started since the timetable was
    /// last brought up to date.
    bytes: u64,
    /// Timetable ports: what is admitted without asking the discipline, in bytes and packets.
    admits_bytes: u64,
    admits_packets: u32,
    mtu: u16,
    wants: Wants,
    /// One more than the number of what it shares with the other ports of its instance.
    state: Option<NonZeroU8>,
    extra: Option<Box<Extra>>,
    /// Counted: packets and bytes that have a place on the wire.
    packets: u64,
    sent: u64,
    /// Timetable ports: when the packets that wait will start, and their sizes.
    waiting: Fifo<(Time, u32)>,
    /// Timetable ports: most bytes that ever waited.
    most: u64,
    delay: DelayHistogram,
    /// Byte-picoseconds waited.
    waited: u128,
    /// The discipline, unless it is plain drop-tail.
    rule: Option<Box<dyn Shortcuts>>,
}

// Three lines of the cache: a large network has hundreds of thousands.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Slot>() == 192);

impl Slot {
    pub fn new(link: &LinkInfo, discipline: Discipline) -> Slot {
        let (admits, wants) = (discipline.admits_within(), Wants::of(&discipline, link));
        let rule = match discipline {
            Discipline::DropTail(_) => None,
            Discipline::Timetable(port) | Discipline::Held(port) => Some(port),
        };
        // No IP packet is longer.
        let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
        Slot {
            free_at: Time::ZERO,
            clock: TxClock::new(link.rate),
            bytes: 0,
            admits_bytes: admits.bytes,
            admits_packets: u32::try_from(admits.packets).unwrap_or(u32::MAX),
            mtu,
            extra: wants
                .has(Wants::HELD)
                .then(|| Box::new(Extra { last: u32::MAX, rate: link.rate, ..Extra::default() })),
            wants,
            state: None,
            packets: 0,
            sent: 0,
            waiting: Fifo::default(),
            most: 0,
            delay: DelayHistogram::default(),
            waited: 0,
            rule,
        }
    }

    /// Makes a port with a timetable one that is asked for its packets. Nothing may have been sent
    /// yet.
    pub fn hold(&mut self, link: &LinkInfo) {
        let bound = self.admits_within();
        let port = self.rule.take().unwrap_or_else(|| drop_tail(bound));
        let state = self.state;
        *self = Slot { state, ..Slot::new(link, Discipline::Held(port)) };
    }

    /// Has the cache fetch what each packet touches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.free_at);
        fetch(&self.waiting);
    }

    /// What few ports need; made when it is needed first.
    #[inline]
    pub fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Says which of the node's states it shares with the other ports of its instance.
    pub fn share(&mut self, number: u8) {
        self.state = Some(NonZeroU8::MIN.checked_add(number).expect("a node has a few instances"));
    }

    /// The port, with what it needs to be called; `None` if it is plain drop-tail.
    #[inline]
    pub fn called(&mut self) -> Option<Called<'_>> {
        let (booked, held, state) = (self.booked(), self.is_held(), self.shared());
        let (port, extra) = (self.rule.as_deref_mut()?, self.extra.get_or_insert_default());
        let Extra { timer, marks, level, .. } = extra.as_mut();
        let (timer, level) = (&mut timer.deadline, held.then_some(level));
        Some(Called { port, booked, state, timer, marks, waited: &mut self.waited, level })
    }

    /// Counts what waits, which may have changed.
    pub fn note_level(&mut self, now: Time) {
        if let Some(mut called) = self.called() {
            called.note_level(now);
        }
    }

    /// The same of a timetable that decides on a packet: it marks packets at most.
    #[inline]
    pub fn deciding<'a>(&'a mut self, left: &'a mut Left) -> Option<Called<'a>> {
        let (booked, state) = (self.booked(), self.shared());
        let (port, Left { timer, marks }) = (self.rule.as_deref_mut()?, left);
        Some(Called { port, booked, state, timer, marks, waited: &mut self.waited, level: None })
    }

    /// Whether it is a timetable that says without a context which packets it takes.
    #[inline]
    pub fn decides(&self) -> bool {
        self.wants.has(Wants::DECIDES)
    }

    /// Asks such a timetable, which is up to date.
    #[inline(always)]
    pub fn decide(&mut self, packet: &mut Packet, now: Time, link: &LinkInfo, rng: &mut Stream) -> Result<(), Drop> {
        let backlog = self.booked();
        let idle_since = if self.free_at <= now { Some(self.free_at) } else { None };
        let (rate, mtu, sojourn) = (link.rate, link.mtu, Time::ZERO);
        let mut view = View { now, backlog, lane: backlog, rate, mtu, idle_since, sojourn, rng };
        self.rule.as_deref_mut().map_or(Ok(()), |port| port.decide(packet, &mut view))
    }

    /// Held ports: whether one is called without a context for what comes in and what leaves at once.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.wants.has(Wants::BARE)
    }

    /// Such a port, to be called.
    #[inline]
    pub fn bare(&mut self) -> Option<&mut (dyn Shortcuts + 'static)> {
        if self.is_bare() { self.rule.as_deref_mut() } else { None }
    }

    #[inline]
    fn shared(&self) -> Option<usize> {
        self.state.map(|number| usize::from(number.get()) - 1)
    }

    /// The port, unless it is plain drop-tail.
    #[inline]
    pub fn port(&self) -> Option<&dyn Shortcuts> {
        self.rule.as_deref()
    }

    /// The port, if it is asked for packets.
    #[inline]
    pub fn held(&self) -> Option<&dyn Shortcuts> {
        if self.is_held() { self.port() } else { None }
    }

    /// Whether its port looks at packets that come in.
    #[inline]
    pub fn watches_inbound(&self) -> bool {
        self.wants.has(Wants::WATCHES)
    }

    /// Whether its port looks at this packet, which has come in.
    #[inline]
    pub fn watches(&self, packet: &Packet, states: &[Box<dyn Any + Send>]) -> bool {
        let overlooks = |port: &dyn Shortcuts| port.overlooks(packet, self.shared().map(|i| states[i].as_ref()));
        self.watches_inbound() && self.port().is_some_and(|port| !overlooks(port))
    }

    /// Held ports: whether a packet leaves at once, as far as the port can say without a context.
    #[inline]
    pub fn pass(&mut self, packet: &mut Packet, now: Time, states: &mut [Box<dyn Any + Send>]) -> bool {
        let shared = self.shared();
        self.wants.has(Wants::PASSES)
            && self.rule.as_deref_mut().is_some_and(|port| port.pass(packet, now, shared.map(|i| states[i].as_mut())))
    }

    /// Held ports: whether one is to be asked for a packet after each that came in.
    #[inline]
    pub fn inbound_frees(&self) -> bool {
        self.wants.has(Wants::FREES)
    }

    /// Held ports: whether a packet may leave without being kept.
    #[inline]
    pub fn goes_straight(&self) -> bool {
        self.wants.has(Wants::STRAIGHT)
    }

    /// Whether it is asked for packets, instead of having a timetable.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.wants.has(Wants::HELD)
    }

    /// Held ports: whether it will be asked when its transmitter is idle.
    #[inline]
    pub fn idle_armed(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.idle_armed)
    }

    /// Held ports: whether it stands in the list of ports that a driver may pull from.
    #[inline]
    pub fn listed(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.listed)
    }

    /// Called after its port may have moved its timer: whether the node's timers need a new entry.
    #[inline]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.extra.as_mut()?.timer.arm(now)
    }

    /// Packets marked CE here.
    #[inline]
    pub fn marks(&self) -> u64 {
        self.extra.as_ref().map_or(0, |extra| extra.marks)
    }

    /// Whether a packet of this size fits the link.
    #[inline]
    pub fn fits(&self, size: u32) -> bool {
        size <= u32::from(self.mtu)
    }

    /// What waits now, for either kind of port.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        if let Some(port) = self.held() {
            return port.backlog();
        }
        self.release_started(now);
        self.booked()
    }

    /// What waits on the timetable, as it was last brought up to date.
    #[inline]
    fn booked(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    /// Gives a packet its place on the timetable if the discipline need not be asked: when it starts
    /// and ends on the wire. Waits are counted up to `until`, the end of the run: what a timetable
    /// has promised for later has not happened. For each hop: a call costs 22 instructions.
    #[inline(always)]
    pub fn book_unasked(&mut self, size: u32, now: Time, until: Time) -> Option<(Time, Time)> {
        if !self.fits(size) || self.wants.has(Wants::CALLED) {
            return None;
        }
        if self.free_at > now && !self.has_room_before_release(size) {
            self.release_started(now);
            if !self.admits(size) {
                return None;
            }
        }
        Some(self.book(size, now, until))
    }

    /// Whether a packet of this size has a place on the timetable, which is up to date, without
    /// asking the discipline.
    #[inline]
    pub fn admits(&self, size: u32) -> bool {
        self.admits_within().admits(self.booked(), size)
    }

    /// Whether what waits leaves room for so many bytes more without a look at the packets that have
    /// started meanwhile, which can only make it less: neither will the bound be reached, nor more
    /// wait than ever did, nor the timetable need more memory.
    #[inline]
    fn has_room_before_release(&self, size: u32) -> bool {
        let places = self.waiting.capacity().min(self.admits_packets as usize);
        self.bytes + u64::from(size) <= self.most.min(self.admits_bytes) && self.waiting.len() < places
    }

    /// What is admitted without asking the discipline.
    #[inline]
    fn admits_within(&self) -> Bound {
        Bound { bytes: self.admits_bytes, packets: self.admits_packets.into() }
    }

    /// Takes the packets that have started by `now` off the timetable.
    #[inline]
    pub fn release_started(&mut self, now: Time) {
        if self.free_at <= now {
            if !self.waiting.is_empty() {
                self.waiting.clear();
                self.bytes = 0;
            }
            return;
        }
        while let Some((start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.bytes -= u64::from(size);
            self.waiting.pop();
        }
    }

    /// The transmitter as a timetable sees it: when it will be idle is nobody's business.
    #[inline]
    pub fn transmitter(&self, now: Time) -> Transmitter {
        if self.free_at <= now { Transmitter::Idle { since: self.free_at } } else { Transmitter::Busy { until: None } }
    }

    /// Gives a packet its place on the timetable: when it starts and ends on the wire. Waits are
    /// counted up to `until`.
    #[inline(always)]
    pub fn book(&mut self, size: u32, now: Time, until: Time) -> (Time, Time) {
        let start = self.free_at.max(now);
        let end = start + self.clock.time(size);
        self.free_at = end;
        if start > now {
            self.waiting.push((start, size));
            self.bytes += u64::from(size);
            self.most = self.most.max(self.bytes);
            self.waited += u128::from(start.min(until).saturating_sub(now).0) * u128::from(size);
        }
        self.count(size, now, start, until);
        (start, end)
    }

    /// Counts one packet that came at `came` and goes onto the wire at `start`, in a run until
    /// `until`.
    #[inline]
    pub fn count(&mut self, size: u32, came: Time, start: Time, until: Time) {
        self.packets += 1;
        self.sent += u64::from(size);
        if start <= until {
            self.delay.add(start.saturating_sub(came));
        }
    }

    /// Held ports: a packet of `size` bytes that is sent at `rate` leaves until `end`.
    #[inline]
    pub fn sends_until(&mut self, end: Time, size: u32, rate: Rate) {
        self.free_at = end;
        let extra = self.extra();
        (extra.last, extra.rate) = (size, rate);
    }

    /// When everything that has a place on the wire will have been sent.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What has been put onto the wire, whose rate is `rate`, by `now`. (The counters have what
    /// waits on a timetable, too.)
    pub fn begun(&self, now: Time, rate: Rate) -> Begun {
        let (mut packets, mut bytes, mut end) = (self.packets, self.sent, self.free_at);
        for (start, size) in self.waiting.iter().rev().take_while(|w| w.0 > now) {
            (packets, bytes, end) = (packets - 1, bytes - u64::from(size), start);
        }
        let held = self.extra.as_ref().filter(|_| self.is_held());
        let (last, rate) = held.map_or((u32::MAX, rate), |extra| (extra.last, extra.rate));
        let left = u128::from(end.saturating_sub(now).0) * u128::from(rate.0);
        let left = (left.div_ceil(u128::from(Time::from_secs(1).0)) as u64).min(8 * u64::from(last));
        Begun { packets, bytes, bits: (8 * bytes).saturating_sub(left) }
    }

    /// The counters, with what has a place on the timetable.
    pub fn counted(&self) -> PortCounters {
        PortCounters { delay: self.delay.clone(), ..self.counters() }
    }

    /// The same without the delays.
    fn counters(&self) -> PortCounters {
        let mut counters = PortCounters {
            packets: self.packets,
            bytes: self.sent,
            waited: self.waited,
            max_bytes: self.most,
            ..PortCounters::default()
        };
        if let Some(extra) = &self.extra {
            counters.max_bytes = self.most.max(extra.level.most);
            counters.marks = extra.marks;
            counters.drops_queue = extra.drops_queue;
            counters.drops_aqm = extra.drops_aqm;
            counters.drops_fault = extra.drops_fault;
            counters.drops_policy = extra.drops_policy;
        }
        counters
    }

    /// The counters as they are at `until`, the end of the run or of what was sent. The delays are
    /// handed over, for they may be large: none are left here.
    pub fn measured(&mut self, until: Time, rate: Rate) -> PortCounters {
        let mut counters = PortCounters { delay: std::mem::take(&mut self.delay), ..self.counters() };
        let begun = self.begun(until, rate);
        (counters.packets, counters.bytes) = (begun.packets, begun.bytes);
        if let Some(extra) = &self.extra {
            let mut level = extra.level;
            counters.waited += level.count(until);
            counters.max_bytes = counters.max_bytes.max(level.most);
        }
        counters
    }

    pub fn count_drop(&mut self, why: Drop) {
        let extra = self.extra();
        match why {
            Drop::Queue => extra.drops_queue += 1,
            Drop::Aqm => extra.drops_aqm += 1,
            Drop::Fault | Drop::Undeliverable | Drop::Hops | Drop::NoRoute => extra.drops_fault += 1,
            Drop::Policy | Drop::TooBig => extra.drops_policy += 1,
        }
    }

    /// Bytes that grow with what waits.
    pub fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(Time, u32)>()
    }
}
