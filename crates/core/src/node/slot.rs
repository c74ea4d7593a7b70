//! One port of a node: its link, its discipline and its counters.

use std::collections::VecDeque;

use super::timers::Lazy;
use crate::queue::{Bound, Discipline, DropTail};
use crate::roles::{Backlog, Drop, LinkInfo, Transmitter};
use crate::stats::PortCounters;
use crate::units::{Time, TxClock};

/// Laid out by use: what every packet reads or writes comes first.
#[repr(C, align(64))]
pub(super) struct Slot {
    /// Timetable ports: when all that has a place on the wire will have been sent.
    free_at: Time,
    clock: TxClock,
    /// Largest packet on its link.
    pub mtu: u32,
    pub queued: Backlog,
    /// Timetable ports: what is admitted without asking the discipline.
    pub admits_within: Bound,
    pub discipline: Discipline,
    pub counters: PortCounters,
    /// Timetable ports: when the packets that wait will start, and their sizes.
    pub waiting: VecDeque<(Time, u32)>,
    pub timer: Lazy,
    pub watches_inbound: bool,
    /// Held ports: whether one is to be asked for a packet after each that came in.
    pub inbound_frees: bool,
    /// Held ports: an [`Idle`](super::timers::Wake::Idle) wish is in the heap.
    pub idle_armed: bool,
    /// Held ports: it stands in the node's list of ports that a driver may pull from.
    pub listed: bool,
    /// Held ports: the number of what it shares with the other ports of its instance.
    pub state: Option<u8>,
}

impl Slot {
    pub fn new(link: &LinkInfo, discipline: Discipline) -> Slot {
        Slot {
            clock: TxClock::new(link.rate),
            mtu: link.mtu,
            watches_inbound: discipline.port().is_some_and(|p| p.watches_inbound()),
            inbound_frees: discipline.port().is_some_and(|p| p.inbound_frees()),
            admits_within: discipline.admits_within(),
            discipline,
            counters: PortCounters::default(),
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            queued: Backlog::default(),
            idle_armed: false,
            listed: false,
            state: None,
            timer: Lazy::default(),
        }
    }

    /// Makes a port with a timetable one that is asked for its packets. Nothing may have been sent yet.
    pub fn hold(&mut self) {
        let none = Discipline::DropTail(DropTail::new(Bound::NOTHING));
        self.discipline = std::mem::replace(&mut self.discipline, none).held();
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

    /// Takes the packets that have started by `now` off the timetable.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if self.free_at <= now {
            self.waiting.clear();
            self.queued = Backlog::default();
            return;
        }
        while let Some((start, size)) = self.waiting.front() {
            if *start > now {
                break;
            }
            self.queued.bytes -= u64::from(*size);
            self.queued.packets -= 1;
            self.waiting.pop_front();
        }
    }

    /// The transmitter as a timetable sees it: when it will be idle is nobody's business.
    #[inline]
    pub fn transmitter(&self, now: Time) -> Transmitter {
        if self.free_at <= now { Transmitter::Idle { since: self.free_at } } else { Transmitter::Busy { until: None } }
    }

    /// Gives a packet its place on the timetable: when it starts and ends on the wire.
    #[inline]
    pub fn book(&mut self, size: u32, now: Time) -> (Time, Time) {
        let start = self.free_at.max(now);
        let end = start + self.clock.time(size);
        self.free_at = end;
        if start > now {
            self.waiting.push_back((start, size));
            self.queued.packets += 1;
            self.queued.bytes += u64::from(size);
            self.counters.max_bytes = self.counters.max_bytes.max(self.queued.bytes);
        }
        self.count(size, start - now);
        (start, end)
    }

    /// Counts one packet onto the wire after `waited` in the queue.
    #[inline]
    pub fn count(&mut self, size: u32, waited: Time) {
        self.counters.packets += 1;
        self.counters.bytes += u64::from(size);
        self.counters.delay.add(waited);
        self.counters.waited += u128::from(waited.0) * u128::from(size);
    }

    pub fn count_drop(&mut self, why: Drop) {
        match why {
            Drop::Queue => self.counters.drops_queue += 1,
            Drop::Aqm => self.counters.drops_aqm += 1,
            Drop::Fault | Drop::Undeliverable | Drop::Hops => self.counters.drops_fault += 1,
            Drop::Policy | Drop::TooBig => self.counters.drops_policy += 1,
        }
    }
}
