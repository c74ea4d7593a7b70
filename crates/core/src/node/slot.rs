//! One port of a node: its link, its discipline and its counters.

use super::timers::Lazy;
use crate::cache::fetch;
use crate::fifo::Fifo;
use crate::packet::Packet;
use crate::queue::{Bound, Discipline, DropTail};
use crate::roles::{Backlog, Drop, LinkInfo, Transmitter};
use crate::stats::PortCounters;
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
}

impl Level {
    /// Counts that it has waited until `now`.
    #[inline]
    fn count(self, now: Time, counters: &mut PortCounters) {
        if self.bytes > 0 && now > self.since {
            counters.waited += u128::from((now - self.since).0) * u128::from(self.bytes);
            counters.max_bytes = counters.max_bytes.max(self.bytes);
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
    /// The end of the run. Waits are counted up to there: what a timetable has promised for later
    /// has not happened.
    pub until: Time,
    /// Smaller packets are for a timetable, and fit the link: none at held ports.
    books: u32,
    /// Largest packet on its link.
    pub mtu: u32,
    pub queued: Backlog,
    /// Timetable ports: what is admitted without asking the discipline.
    pub admits_within: Bound,
    /// Timetable ports: when the packets that wait will start, and their sizes.
    pub waiting: Fifo<(Time, u32)>,
    /// Timetable ports: most bytes that ever waited.
    most: u64,
    /// Of a timetable, all but the most that waited.
    pub counters: PortCounters,
    pub discipline: Discipline,
    pub timer: Lazy,
    pub watches_inbound: bool,
    /// Held ports: whether one is to be asked for a packet after each that came in.
    pub inbound_frees: bool,
    /// Held ports: whether a packet may leave without being kept.
    pub goes_straight: bool,
    /// Held ports: an [`Idle`](super::timers::Wake::Idle) wish is in the heap.
    pub idle_armed: bool,
    /// Held ports: it stands in the node's list of ports that a driver may pull from.
    pub listed: bool,
    /// Held ports: the number of what it shares with the other ports of its instance.
    pub state: Option<u8>,
    /// The rate of the packet that was begun last.
    rate: Rate,
    /// Held ports: its size. With delivery opportunities it may wait longer than its bits take.
    last: u32,
    level: Level,
}

// Five lines of the cache: a large network has hundreds of thousands.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Slot>() == 320);

impl Slot {
    pub fn new(link: &LinkInfo, discipline: Discipline) -> Slot {
        Slot {
            clock: TxClock::new(link.rate),
            until: Time::MAX,
            most: 0,
            mtu: link.mtu,
            books: if matches!(discipline, Discipline::Held(_)) { 0 } else { link.mtu.saturating_add(1) },
            watches_inbound: discipline.port().is_some_and(|p| p.watches_inbound()),
            inbound_frees: discipline.port().is_some_and(|p| p.inbound_frees()),
            goes_straight: discipline.port().is_some_and(|p| p.goes_straight()),
            admits_within: discipline.admits_within(),
            discipline,
            counters: PortCounters::default(),
            free_at: Time::ZERO,
            waiting: Fifo::default(),
            queued: Backlog::default(),
            idle_armed: false,
            listed: false,
            state: None,
            timer: Lazy::default(),
            rate: link.rate,
            last: u32::MAX,
            level: Level::default(),
        }
    }

    /// Makes a port with a timetable one that is asked for its packets. Nothing may have been sent
    /// yet.
    pub fn hold(&mut self) {
        let none = Discipline::DropTail(DropTail::new(Bound::NOTHING));
        self.discipline = std::mem::replace(&mut self.discipline, none).held();
        self.books = 0;
    }

    /// Has the cache fetch what each packet touches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.free_at);
        fetch(&self.waiting);
    }

    /// Whether its port looks at a packet that comes in.
    #[inline]
    pub fn watches(&self, packet: &Packet) -> bool {
        self.watches_inbound && self.discipline.port().is_some_and(|port| !port.overlooks(packet))
    }

    /// Whether it is asked for packets, instead of having a timetable.
    #[inline]
    pub fn is_held(&self) -> bool {
        matches!(self.discipline, Discipline::Held(_))
    }

    /// What waits now, for either kind of port.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        if let Discipline::Held(port) = &self.discipline {
            return port.backlog();
        }
        self.settle(now);
        self.queued
    }

    /// Whether a packet has a place on the timetable without asking the discipline. Brings the
    /// timetable up to `now`.
    #[inline]
    pub fn admits(&mut self, size: u32, now: Time) -> bool {
        if size >= self.books {
            return false;
        }
        self.settle(now);
        self.admits_within.admits(self.queued, size)
    }

    /// Takes the packets that have started by `now` off the timetable.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if self.free_at <= now {
            if !self.waiting.is_empty() {
                self.waiting.clear();
                self.queued = Backlog::default();
            }
            return;
        }
        while let Some((start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.queued.bytes -= u64::from(size);
            self.queued.packets -= 1;
            self.waiting.pop();
        }
    }

    /// The transmitter as a timetable sees it: when it will be idle is nobody's business.
    #[inline]
    pub fn transmitter(&self, now: Time) -> Transmitter {
        if self.free_at <= now { Transmitter::Idle { since: self.free_at } } else { Transmitter::Busy { until: None } }
    }

    /// Gives a packet its place on the timetable: when it starts and ends on the wire. For each hop:
    /// a call costs 22 instructions.
    #[inline(always)]
    pub fn book(&mut self, size: u32, now: Time) -> (Time, Time) {
        let start = self.free_at.max(now);
        let end = start + self.clock.time(size);
        self.free_at = end;
        if start > now {
            self.waiting.push((start, size));
            self.queued.packets += 1;
            self.queued.bytes += u64::from(size);
            self.most = self.most.max(self.queued.bytes);
            self.counters.waited += u128::from(start.min(self.until).saturating_sub(now).0) * u128::from(size);
        }
        self.count(size, now, start);
        (start, end)
    }

    /// Counts one packet that came at `came` and goes onto the wire at `start`.
    #[inline]
    pub fn count(&mut self, size: u32, came: Time, start: Time) {
        self.counters.packets += 1;
        self.counters.bytes += u64::from(size);
        if start <= self.until {
            self.counters.delay.add(start.saturating_sub(came));
        }
    }

    /// Held ports: called when what waits may have changed. What has waited since the last time is
    /// counted.
    #[inline]
    pub fn note_level(&mut self, now: Time) {
        let Discipline::Held(port) = &self.discipline else { return };
        let bytes = port.backlog().bytes;
        self.note_wait(now);
        self.level.bytes = bytes;
    }

    /// What waits has waited until `now`. What leaves at once has not waited.
    #[inline]
    fn note_wait(&mut self, now: Time) {
        let now = now.min(self.until);
        self.level.count(now, &mut self.counters);
        self.level.since = now;
    }

    /// Held ports: a packet of `size` bytes that is sent at `rate` leaves until `end`.
    pub fn sends_until(&mut self, end: Time, size: u32, rate: Rate) {
        (self.free_at, self.last, self.rate) = (end, size, rate);
    }

    /// When everything that has a place on the wire will have been sent.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What has been put onto the wire by `now`. (The counters have what waits on a timetable,
    /// too.)
    pub fn begun(&self, now: Time) -> Begun {
        let (mut packets, mut bytes, mut end) = (self.counters.packets, self.counters.bytes, self.free_at);
        for (start, size) in self.waiting.iter().rev().take_while(|w| w.0 > now) {
            (packets, bytes, end) = (packets - 1, bytes - u64::from(size), start);
        }
        let left = u128::from(end.saturating_sub(now).0) * u128::from(self.rate.0);
        let left = (left.div_ceil(u128::from(Time::from_secs(1).0)) as u64).min(8 * u64::from(self.last));
        Begun { packets, bytes, bits: (8 * bytes).saturating_sub(left) }
    }

    /// The counters, with what has a place on the timetable.
    pub fn counted(&self) -> PortCounters {
        let counters = self.counters.clone();
        PortCounters { max_bytes: counters.max_bytes.max(self.most), ..counters }
    }

    /// The counters as they are at `until`, the end of the run or of what was sent.
    pub fn measured(&self, until: Time) -> PortCounters {
        let mut counters = self.counted();
        let begun = self.begun(until);
        (counters.packets, counters.bytes) = (begun.packets, begun.bytes);
        self.level.count(until, &mut counters);
        counters
    }

    pub fn count_drop(&mut self, why: Drop) {
        match why {
            Drop::Queue => self.counters.drops_queue += 1,
            Drop::Aqm => self.counters.drops_aqm += 1,
            Drop::Fault | Drop::Undeliverable | Drop::Hops | Drop::NoRoute => self.counters.drops_fault += 1,
            Drop::Policy | Drop::TooBig => self.counters.drops_policy += 1,
        }
    }
}
