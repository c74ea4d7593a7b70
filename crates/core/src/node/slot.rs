//! One port of a node: its link, its discipline and its counters.

use std::collections::VecDeque;

use super::timers::Lazy;
use crate::packet::{Ecn, Packet, Pkt, Pool};
use crate::queue::{Bound, Discipline, DropTail};
use crate::rng::Stream;
use crate::roles::{Admission, AdmitCtx, Backlog, Drop, LinkInfo, Verdict};
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
    pub discipline: Discipline,
    pub counters: PortCounters,
    /// Timetable ports: when the packets that wait will start, and their sizes.
    pub waiting: VecDeque<(Time, u32)>,
    pub timer: Lazy,
    pub watches_inbound: bool,
    /// Held ports: an [`Idle`](super::timers::Wake::Idle) wish is in the heap.
    pub idle_armed: bool,
    /// Held ports: it stands in the node's list of ports that a driver may pull from.
    pub listed: bool,
    /// Held ports: the number of what it shares with the other ports of its instance.
    pub state: Option<u8>,
}

impl Slot {
    pub fn new(link: &LinkInfo, discipline: Discipline) -> Slot {
        let watches_inbound = match &discipline {
            Discipline::DropTail(_) => false,
            Discipline::Timetable(rule) => rule.watches_inbound(),
            Discipline::Held(_) => true,
        };
        Slot {
            clock: TxClock::new(link.rate),
            mtu: link.mtu,
            discipline,
            counters: PortCounters::default(),
            watches_inbound,
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
        let none = Discipline::DropTail(DropTail::new(Bound { bytes: 0, packets: 0 }));
        self.discipline = std::mem::replace(&mut self.discipline, none).held();
        self.watches_inbound = true;
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
    fn settle(&mut self, now: Time) {
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

    /// A timetable port's whole work on one packet: when it starts and ends on the wire, or why it doesn't.
    #[inline]
    pub fn schedule(&mut self, packet: &mut Packet, now: Time, rng: &mut Stream) -> Result<(Time, Time), Drop> {
        self.settle(now);
        let start = self.free_at.max(now);
        match self.verdict(packet, now, rng) {
            Verdict::Accept => {}
            Verdict::Mark => {
                packet.ecn = Ecn::Ce;
                self.counters.marks += 1;
            }
            Verdict::Drop(why) => return Err(why),
        }
        let end = start + self.clock.time(packet.size);
        self.free_at = end;
        if start > now {
            self.waiting.push_back((start, packet.size));
            self.queued.packets += 1;
            self.queued.bytes += u64::from(packet.size);
            self.counters.max_bytes = self.counters.max_bytes.max(self.queued.bytes);
        }
        self.count(packet.size, start - now);
        Ok((start, end))
    }

    #[inline]
    fn verdict(&mut self, packet: &mut Packet, now: Time, rng: &mut Stream) -> Verdict {
        match &mut self.discipline {
            Discipline::DropTail(rule) => Self::drop_tail(rule, self.queued, packet.size),
            Discipline::Timetable(rule) => {
                let mut ctx = AdmitCtx {
                    now,
                    busy: self.free_at > now,
                    idle_since: (self.free_at <= now).then_some(self.free_at),
                    backlog: self.queued,
                    rate: self.clock.rate(),
                    rng,
                };
                rule.admit(packet, &mut ctx)
            }
            Discipline::Held(_) => unreachable!("held ports are polled, not scheduled"),
        }
    }

    #[inline]
    fn drop_tail(rule: &DropTail, queued: Backlog, size: u32) -> Verdict {
        if rule.bound().admits(queued, size) { Verdict::Accept } else { Verdict::Drop(Drop::Queue) }
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

    /// What a port sees of a packet that came in through it, for rules that watch.
    pub fn inbound_rule(&mut self, pkt: &Pkt, pool: &mut Pool, now: Time) -> Result<(), Drop> {
        match &mut self.discipline {
            Discipline::Timetable(rule) => rule.inbound(&mut pool[pkt], now),
            Discipline::DropTail(_) | Discipline::Held(_) => Ok(()),
        }
    }

    /// What its port or rule shows of itself.
    pub fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        match &self.discipline {
            Discipline::DropTail(_) => {}
            Discipline::Timetable(rule) => rule.gauges(out),
            Discipline::Held(port) => port.gauges(out),
        }
    }

    /// Resets a timetable's rule; what has a place on the wire keeps it.
    pub fn reset_rule(&mut self) {
        match &mut self.discipline {
            Discipline::DropTail(rule) => rule.reset(),
            Discipline::Timetable(rule) => rule.reset(),
            Discipline::Held(_) => {}
        }
    }
}
