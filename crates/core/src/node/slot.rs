//! One port of a node: its link, its discipline and its counters.

use std::num::NonZeroU8;

use super::timers::Lazy;
use crate::cache::fetch;
use crate::fifo::Fifo;
use crate::limit::Bound;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::roles::{
    Backlog, CutThrough, Discipline, Drop, LinkInfo, Port, SentMark, Timetable, Transmitter, Verdict, View,
};
use crate::stats::{DelayHistogram, PortCounters};
use crate::units::{Rate, Time, TxClock};

/// What a port has put onto its wire by some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transmitted {
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

/// What is so of a port, in bits: there is little room.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PortFlags(u8);

impl PortFlags {
    /// Asked for packets, instead of having a timetable.
    const HELD: u8 = 1;
    /// Shown what comes in.
    const WATCHING: u8 = 2;
    /// Called for packets that find nothing waiting, too: a packet as large as the link's may be more than it
    /// admits unasked.
    const CALLED: u8 = 4;
    /// With cut-through.
    const CUT_THROUGH: u8 = 8;
    /// Held ports: the driver gathers its packets into frames.
    const GATHERED: u8 = 16;
    /// Held ports: the driver can mark what has been sent, and the port does.
    const MARKS_SENT: u8 = 32;

    fn of(discipline: &Discipline, link: &LinkInfo) -> PortFlags {
        let (kind, watches, unasked) = match discipline {
            Discipline::DropTail(bound) => (0, false, *bound),
            Discipline::Timetable { rule, unasked } => (0, rule.watches_inbound(), *unasked),
            Discipline::Held(port) => (PortFlags::HELD, port.watches_inbound(), Bound::NOTHING),
            Discipline::CutThrough(port) => {
                (PortFlags::HELD | PortFlags::CUT_THROUGH, port.watches_inbound(), Bound::NOTHING)
            }
        };
        let called = !unasked.admits(Backlog::default(), link.mtu);
        PortFlags(kind | (u8::from(watches) * PortFlags::WATCHING) | (u8::from(called) * PortFlags::CALLED))
    }

    #[inline]
    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// A port that is asked for its packets.
enum Held {
    Port(Box<dyn Port>),
    CutThrough(Box<dyn CutThrough>),
}

impl Held {
    #[inline]
    fn port(&self) -> &dyn Port {
        match self {
            Held::Port(port) => port.as_ref(),
            Held::CutThrough(port) => port.as_ref(),
        }
    }

    #[inline]
    fn port_mut(&mut self) -> &mut (dyn Port + 'static) {
        match self {
            Held::Port(port) => port.as_mut(),
            Held::CutThrough(port) => port.as_mut(),
        }
    }
}

/// What is kept of a port that is held, was asked or has dropped something. In a large network few
/// are.
#[derive(Default)]
pub(super) struct ColdState {
    /// Held ports: the port.
    held: Option<Held>,
    pub marks: u64,
    trims: u64,
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

/// A port that is called.
pub(super) struct PortCall<'a, P: ?Sized> {
    pub port: &'a mut P,
    /// What waits on its timetable.
    pub booked: Backlog,
    /// The number of what it shares with the other ports of its instance.
    pub state: Option<usize>,
    pub timer: &'a mut Time,
    pub marks: &'a mut u64,
    pub trims: &'a mut u64,
    pub sent: SentMark,
    waited: &'a mut u128,
    level: Option<&'a mut Level>,
}

impl<P: Port + ?Sized> PortCall<'_, P> {
    /// Held ports: what waits may have changed. What has waited since the last time is counted, up
    /// to `now`.
    #[inline(always)] // it has one caller; a call of its own costs 20 instructions a hop of a held port
    pub fn note_level(&mut self, now: Time) {
        if let Some(level) = &mut self.level {
            *self.waited += level.count(now);
            let backlog = self.port.backlog();
            debug_assert!(backlog.is_sound(), "{backlog:?}");
            (level.bytes, level.since) = (backlog.bytes, now);
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
    flags: PortFlags,
    /// One more than the number of what it shares with the other ports of its instance.
    state: Option<NonZeroU8>,
    cold: Option<Box<ColdState>>,
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
    /// Timetable ports: what decides, unless they are plain drop-tail.
    rule: Option<Box<dyn Timetable>>,
}

// Three lines of the cache: a large network has hundreds of thousands.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Slot>() == 192);

impl Slot {
    pub fn new(link: &LinkInfo, discipline: Discipline) -> Slot {
        let flags = PortFlags::of(&discipline, link);
        let (rule, held, admits) = match discipline {
            Discipline::DropTail(bound) => (None, None, bound),
            Discipline::Timetable { rule, unasked } => (Some(rule), None, unasked),
            Discipline::Held(port) => (None, Some(Held::Port(port)), Bound::NOTHING),
            Discipline::CutThrough(port) => (None, Some(Held::CutThrough(port)), Bound::NOTHING),
        };
        let cold =
            |held| Box::new(ColdState { held: Some(held), last: u32::MAX, rate: link.rate, ..ColdState::default() });
        // No IP packet is longer.
        let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
        Slot {
            free_at: Time::ZERO,
            clock: TxClock::new(link.rate),
            bytes: 0,
            admits_bytes: admits.bytes,
            admits_packets: u32::try_from(admits.packets).unwrap_or(u32::MAX),
            mtu,
            cold: held.map(cold),
            flags,
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
        if self.is_held() {
            return;
        }
        let unasked = self.admits_within();
        let discipline = match self.rule.take() {
            Some(rule) => Discipline::Timetable { rule, unasked },
            None => Discipline::DropTail(unasked),
        };
        *self = Slot { state: self.state, ..Slot::new(link, discipline.held()) };
    }

    /// The driver gathers its packets into frames. It is held. No packet cuts through, so that others which do need not
    /// ask about frames.
    pub fn gather(&mut self) {
        self.flags.0 = (self.flags.0 | PortFlags::GATHERED) & !PortFlags::CUT_THROUGH;
    }

    /// The driver can mark what has been sent. Whether the port does.
    pub fn enable_sent_marks(&mut self) -> bool {
        let marks = self.held().is_some_and(|port| port.marks_sent());
        self.flags.0 |= if marks { PortFlags::MARKS_SENT } else { 0 };
        marks
    }

    /// Whether the driver does so.
    #[inline]
    pub fn is_gathered(&self) -> bool {
        self.flags.has(PortFlags::GATHERED)
    }

    /// Has the cache fetch what each packet touches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.free_at);
        fetch(&self.waiting);
    }

    /// What few ports need; made when it is needed first.
    #[inline]
    pub fn cold(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_default()
    }

    /// Says which of the node's states it shares with the other ports of its instance.
    pub fn share(&mut self, number: u8) {
        self.state = Some(NonZeroU8::MIN.checked_add(number).expect("a node has a few instances"));
    }

    /// The port, with what it needs to be called; `None` if it is plain drop-tail.
    #[inline]
    pub fn called(&mut self) -> Option<PortCall<'_, dyn Port>> {
        if self.rule.is_some() {
            let PortCall { port, booked, state, timer, marks, trims, sent, waited, level } = self.called_rule()?;
            return Some(PortCall { port, booked, state, timer, marks, trims, sent, waited, level });
        }
        let (booked, state) = (self.booked(), self.shared());
        let sent = if self.flags.has(PortFlags::MARKS_SENT) { SentMark::No } else { SentMark::Never };
        let ColdState { held, timer, marks, trims, level, .. } = self.cold.as_deref_mut()?;
        let (port, timer, level) = (held.as_mut()?.port_mut(), &mut timer.deadline, Some(level));
        Some(PortCall { port, booked, state, timer, marks, trims, sent, waited: &mut self.waited, level })
    }

    /// The same of a timetable's rule. A timetable has no timer: what it wishes for does not count.
    #[inline]
    pub fn called_rule(&mut self) -> Option<PortCall<'_, dyn Timetable>> {
        let (booked, state) = (self.booked(), self.shared());
        let port = self.rule.as_deref_mut()?;
        let ColdState { timer, marks, trims, .. } = self.cold.get_or_insert_default().as_mut();
        let timer = &mut timer.deadline;
        let sent = SentMark::Never;
        Some(PortCall { port, booked, state, timer, marks, trims, sent, waited: &mut self.waited, level: None })
    }

    /// Asks a timetable, which is up to date, about a packet that arrives.
    #[inline(always)]
    pub fn ask(&mut self, packet: &mut Packet, now: Time, link: &LinkInfo, rng: &mut Stream) -> Verdict {
        let backlog = self.booked();
        let Some(rule) = self.rule.as_deref_mut() else {
            // Drop-tail has said all in its bound.
            return if self.admits(packet.size) { Verdict::Pass } else { Verdict::Drop(Drop::Queue) };
        };
        let idle_since = if self.free_at <= now { Some(self.free_at) } else { None };
        let (rate, mtu, sojourn) = (link.rate, link.mtu, Time::ZERO);
        rule.admit(packet, &mut View { now, backlog, lane: backlog, rate, mtu, idle_since, sojourn, rng })
    }

    /// A port with cut-through, its timer, and the number of what it shares; `None` of any other.
    #[inline]
    pub fn cut_through(&mut self) -> Option<(&mut dyn CutThrough, &mut Time, Option<usize>)> {
        let shared = self.shared();
        let ColdState { held, timer, .. } = self.cold.as_deref_mut()?;
        match held.as_mut()? {
            Held::CutThrough(port) => Some((port.as_mut(), &mut timer.deadline, shared)),
            Held::Port(_) => None,
        }
    }

    #[inline]
    fn shared(&self) -> Option<usize> {
        self.state.map(|number| usize::from(number.get()) - 1)
    }

    /// The port, unless it is plain drop-tail.
    #[inline]
    pub fn port(&self) -> Option<&dyn Port> {
        match &self.rule {
            Some(rule) => Some(rule.as_ref()),
            None => self.held(),
        }
    }

    /// The port, if it is asked for packets.
    #[inline]
    pub fn held(&self) -> Option<&dyn Port> {
        Some(self.cold.as_ref()?.held.as_ref()?.port())
    }

    /// Whether its port has cut-through.
    #[inline]
    pub fn has_cut_through(&self) -> bool {
        self.flags.has(PortFlags::CUT_THROUGH)
    }

    /// Whether its port is shown what comes in.
    #[inline]
    pub fn watches_inbound(&self) -> bool {
        self.flags.has(PortFlags::WATCHING)
    }

    /// Whether it is asked for packets, instead of having a timetable.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.flags.has(PortFlags::HELD)
    }

    /// Held ports: whether it will be asked when its transmitter is idle.
    #[inline]
    pub fn idle_armed(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.idle_armed)
    }

    /// Held ports: whether it stands in the list of ports that a driver may pull from.
    #[inline]
    pub fn listed(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.listed)
    }

    /// Called after its port may have moved its timer: whether the node's timers need a new entry.
    #[inline]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.cold.as_mut()?.timer.arm(now)
    }

    /// Packets marked CE here.
    #[inline]
    pub fn marks(&self) -> u64 {
        self.cold.as_ref().map_or(0, |cold| cold.marks)
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

    /// Bytes that have yet to leave, that of a packet in transmission included, at `rate`.
    pub fn load(&self, now: Time, rate: Rate) -> u64 {
        let held = self.held().map_or(0, |port| port.backlog().bytes);
        let bits =
            u128::from(self.free_at.saturating_sub(now).0) * u128::from(rate.0) / u128::from(Time::from_secs(1).0);
        held + bits as u64 / 8
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
        if !self.fits(size) || self.flags.has(PortFlags::CALLED) {
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
        debug_assert!(self.booked().is_sound(), "{:?}", self.booked());
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
            debug_assert!(self.booked().is_sound(), "{:?}", self.booked());
            debug_assert!(self.rule.is_some() || self.admits_within().holds(self.booked()), "drop-tail's bound");
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
        let cold = self.cold();
        (cold.last, cold.rate) = (size, rate);
    }

    /// When everything that has a place on the wire will have been sent.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What has been put onto the wire, whose rate is `rate`, by `now`. (The counters have what
    /// waits on a timetable, too.)
    pub fn transmitted(&self, now: Time, rate: Rate) -> Transmitted {
        let (mut packets, mut bytes, mut end) = (self.packets, self.sent, self.free_at);
        for (start, size) in self.waiting.iter().rev().take_while(|w| w.0 > now) {
            (packets, bytes, end) = (packets - 1, bytes - u64::from(size), start);
        }
        // The watch for stalls looks at all ports again and again, most of which are idle.
        if end <= now {
            return Transmitted { packets, bytes, bits: 8 * bytes };
        }
        let held = self.cold.as_ref().filter(|_| self.is_held());
        let (last, rate) = held.map_or((u32::MAX, rate), |cold| (cold.last, cold.rate));
        let left = u128::from(end.saturating_sub(now).0) * u128::from(rate.0);
        let left = (left.div_ceil(u128::from(Time::from_secs(1).0)) as u64).min(8 * u64::from(last));
        Transmitted { packets, bytes, bits: (8 * bytes).saturating_sub(left) }
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
        if let Some(cold) = &self.cold {
            counters.max_bytes = self.most.max(cold.level.most);
            counters.marks = cold.marks;
            counters.trims = cold.trims;
            counters.drops_queue = cold.drops_queue;
            counters.drops_aqm = cold.drops_aqm;
            counters.drops_fault = cold.drops_fault;
            counters.drops_policy = cold.drops_policy;
        }
        counters
    }

    /// The counters as they are at `until`, the end of the run or of what was sent. The delays are
    /// handed over, for they may be large: none are left here.
    pub fn measured(&mut self, until: Time, rate: Rate) -> PortCounters {
        let mut counters = PortCounters { delay: std::mem::take(&mut self.delay), ..self.counters() };
        let begun = self.transmitted(until, rate);
        (counters.packets, counters.bytes) = (begun.packets, begun.bytes);
        if let Some(cold) = &self.cold {
            let mut level = cold.level;
            counters.waited += level.count(until);
            counters.max_bytes = counters.max_bytes.max(level.most);
        }
        counters
    }

    pub fn count_drop(&mut self, why: Drop) {
        let cold = self.cold();
        match why {
            Drop::Queue => cold.drops_queue += 1,
            Drop::Aqm => cold.drops_aqm += 1,
            Drop::Fault | Drop::Undeliverable | Drop::Hops | Drop::NoRoute => cold.drops_fault += 1,
            Drop::Policy | Drop::TooBig => cold.drops_policy += 1,
        }
    }

    /// Bytes that grow with what waits.
    pub fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(Time, u32)>()
    }
}
