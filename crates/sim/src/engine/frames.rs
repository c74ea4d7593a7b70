//! The link layer of one direction of a link: packets are gathered into frames (aggregation), and what is lost is sent again
//! (ARQ), in order or not.
//!
//! A frame begins when the transmitter is free, at the next slot if there are slots, with what waits then; all of it arrives
//! when the frame ends. A lost packet is due again some time after the end of its frame, and goes before new ones.

use std::collections::VecDeque;

use midpath_core::limit::{Bound, Limit};
use midpath_core::packet::{Pkt, Pool};
use midpath_core::units::{Bytes, Rate, Time};

use super::wire::{Changes, Loss};

/// How packets are gathered and repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Framing {
    /// The line's rates from times on, the first from the beginning.
    pub rates: Vec<(Time, Rate)>,
    /// The link's largest packet.
    pub mtu: u32,
    /// What a frame is.
    pub frame: Frame,
    /// How what is lost is repeated; not at all by default.
    pub arq: Arq,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Frame {
    /// At most so much, after the time that an access to the medium takes.
    Access {
        /// It ends when another packet of the largest size may be too much; one packet always fits.
        most: Limit,
        /// Time before its first bit.
        access: Time,
    },
    /// What the line sends in this time. A packet may go on in the next one.
    Slot(Time),
}

/// Automatic repeat request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arq {
    /// A packet is sent so many times at most.
    pub attempts: u32,
    /// From the end of a lost attempt to the next one, at least.
    pub delay: Time,
    /// Packets may overtake those that are repeated.
    pub reorder: bool,
    /// A frame is lost as a whole.
    pub whole: bool,
}

impl Arq {
    /// Nothing is repeated.
    pub const NONE: Arq = Arq { attempts: 1, delay: Time::ZERO, reorder: false, whole: false };
}

impl Framing {
    /// The rate at which large packets go on, of which each attempt is lost with probability `loss`, where the line has `rate`:
    /// a frame's payload over the time of frame and access, over the mean number of attempts, (1 − pⁿ) / (1 − p).
    pub fn mean_rate(&self, rate: Rate, loss: f64) -> Rate {
        let share = match self.frame {
            Frame::Slot(_) => 1.0,
            Frame::Access { most, access } => {
                let Bound { bytes, packets } = most.bound(rate);
                let bytes = (bytes / u64::from(self.mtu)).min(packets).max(1) * u64::from(self.mtu);
                let time = rate.time_for(Bytes(bytes)).as_secs_f64();
                time / (time + access.as_secs_f64())
            }
        };
        let attempts = (0..self.arq.attempts).map(|n| loss.powi(n as i32)).sum::<f64>();
        Rate((rate.as_f64() * share / attempts) as u64)
    }

    /// The slots in which frames begin, if there are any.
    pub fn slot(&self) -> Option<Time> {
        match self.frame {
            Frame::Slot(slot) => Some(slot),
            Frame::Access { .. } => None,
        }
    }

    fn rate(&self, now: Time) -> Rate {
        self.rates[self.rates.partition_point(|rate| rate.0 <= now).max(1) - 1].1
    }
}

/// A packet that the link has, as its pool's number.
#[derive(Debug, Clone, Copy)]
struct Held {
    number: u32,
    size: u32,
    /// How often it has been sent.
    attempts: u32,
    /// Its place among all.
    place: u64,
    /// It is due again.
    due: Time,
    /// Something on the way takes it, which no repeat brings back.
    taken: bool,
}

/// What has come of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// It arrives then; whether corrupted.
    Arrives(Time, u32, bool),
    /// The link went down on it.
    Cut(u32),
}

/// The link layer, under way.
pub(crate) struct Frames {
    framing: Framing,
    /// What the next frame has so far, and its bytes.
    batch: Vec<Held>,
    bytes: u64,
    /// What waits to be sent again, first due first.
    repeats: VecDeque<Held>,
    /// Where order is kept: what has come of each packet from the place `first` on.
    outcomes: VecDeque<Option<Outcome>>,
    first: u64,
    places: u64,
    last: Time,
    /// Slots: bytes of the last packet that take the slot from `carried.0` on.
    carried: (Time, u64),
    /// The node will ask again then.
    wake: Time,
}

impl Frames {
    pub fn new(framing: Framing) -> Frames {
        Frames {
            framing,
            batch: Vec::new(),
            bytes: 0,
            repeats: VecDeque::new(),
            outcomes: VecDeque::new(),
            first: 0,
            places: 0,
            last: Time::ZERO,
            carried: (Time::ZERO, 0),
            wake: Time::MAX,
        }
    }

    /// Packets that are neither at a port nor on the wire.
    pub fn held(&self) -> u64 {
        let arrives = |outcome: &&Option<Outcome>| matches!(outcome, Some(Outcome::Arrives(..)));
        (self.batch.len() + self.repeats.len() + self.outcomes.iter().filter(arrives).count()) as u64
    }

    /// Takes a packet into the frame that begins now; says whether that is full.
    pub fn add(&mut self, pkt: Pkt, taken: bool, now: Time, pool: &Pool) -> bool {
        self.open(now);
        let (size, place) = (pool[&pkt].size, self.places);
        self.places += 1;
        let held = Held { number: pool.stow(pkt), size, attempts: 0, place, due: now, taken };
        if self.is_full(now) {
            // Repeats have filled it: the packet is the first new one of the next.
            self.repeat(held);
        } else {
            self.put(held);
        }
        self.is_full(now)
    }

    /// What is due again goes first.
    fn open(&mut self, now: Time) {
        if !self.batch.is_empty() {
            return;
        }
        self.bytes = if self.carried.0 == now { self.carried.1 } else { 0 };
        while !self.is_full(now) && self.repeats.front().is_some_and(|held| held.due <= now) {
            let due = self.repeats.pop_front();
            due.into_iter().for_each(|held| self.put(held));
        }
    }

    fn repeat(&mut self, held: Held) {
        let at = self.repeats.partition_point(|other| other.due <= held.due);
        self.repeats.insert(at, held);
    }

    fn put(&mut self, held: Held) {
        self.bytes += u64::from(held.size);
        self.batch.push(held);
    }

    fn is_full(&self, now: Time) -> bool {
        let rate = self.framing.rate(now);
        match self.framing.frame {
            Frame::Slot(slot) => self.bytes >= room(rate, slot),
            Frame::Access { most, .. } => {
                let Bound { bytes, packets } = most.bound(rate);
                let count = self.batch.len() as u64;
                count > 0 && (self.bytes + u64::from(self.framing.mtu) > bytes || count >= packets)
            }
        }
    }

    /// Sends the frame that begins now, with what is due again, if it has anything. Until when the transmitter has to do with
    /// it.
    pub fn send(
        &mut self,
        now: Time,
        delay: Time,
        (mut loss, mut changes): (Option<&mut Loss>, Option<&mut Changes>),
        pool: &mut Pool,
        out: &mut Vec<Outcome>,
    ) -> Option<Time> {
        self.open(now);
        if self.batch.is_empty() {
            return None;
        }
        let Arq { attempts, delay: feedback, whole, .. } = self.framing.arq;
        let (ends, free_at) = self.ends(now);
        let mut frame_lost = None;
        for (mut held, end) in std::mem::take(&mut self.batch).into_iter().zip(ends) {
            let ecn = pool.peek_number(held.number).ecn;
            let mut draw = || loss.as_mut().is_some_and(|loss| loss.takes(ecn));
            let lost = if whole { *frame_lost.get_or_insert_with(draw) } else { draw() };
            let cut = changes.as_ref().is_some_and(|changes| changes.cuts(now, end));
            held.attempts += 1;
            if (lost || cut) && !held.taken && held.attempts < attempts {
                held.due = end + feedback;
                self.repeat(held);
                continue;
            }
            let outcome = if cut {
                // Where order is kept, what has come behind it waits until it would have come, as behind a lost one.
                self.last = self.last.max(end + delay);
                Outcome::Cut(held.number)
            } else {
                let at = changes.as_mut().map_or(end + delay, |changes| changes.arrival(end, delay));
                Outcome::Arrives(at, held.number, lost || held.taken)
            };
            self.settle(held.place, outcome, out);
        }
        self.bytes = 0;
        Some(free_at)
    }

    /// When each packet of the frame has been sent, and when the next may begin.
    fn ends(&mut self, now: Time) -> (Vec<Time>, Time) {
        let rate = self.framing.rate(now);
        match self.framing.frame {
            Frame::Access { access, .. } => {
                let end = now + access + rate.time_for(Bytes(self.bytes));
                (vec![end; self.batch.len()], end)
            }
            Frame::Slot(slot) => {
                let room = room(rate, slot);
                let mut sent = self.bytes - self.batch.iter().map(|held| u64::from(held.size)).sum::<u64>();
                let end = |held: &Held| {
                    sent += u64::from(held.size);
                    now + slot * sent.div_ceil(room)
                };
                let ends = self.batch.iter().map(end).collect();
                let free_at = now + slot * (self.bytes / room).max(1);
                self.carried = (free_at, if self.bytes < room { 0 } else { self.bytes % room });
                (ends, free_at)
            }
        }
    }

    /// Gives out what arrives: at once, or where order is kept when all before it is settled.
    fn settle(&mut self, place: u64, outcome: Outcome, out: &mut Vec<Outcome>) {
        if self.framing.arq.reorder {
            return out.push(outcome);
        }
        let at = (place - self.first) as usize;
        self.outcomes.resize(self.outcomes.len().max(at + 1), None);
        self.outcomes[at] = Some(outcome);
        while let Some(Some(mut outcome)) = self.outcomes.front().copied() {
            self.outcomes.pop_front();
            self.first += 1;
            if let Outcome::Arrives(at, ..) = &mut outcome {
                *at = self.last.max(*at);
                self.last = *at;
            }
            out.push(outcome);
        }
    }

    /// Whether it has anything to send now.
    pub fn wants(&self, now: Time) -> bool {
        !self.batch.is_empty() || self.repeats.front().is_some_and(|held| held.due <= now)
    }

    /// When the node is to ask again: when `free` says that a frame may begin, from the time on that something is due.
    pub fn wish(&mut self, now: Time, free: impl FnOnce(Time) -> Time) -> Option<Time> {
        if self.wake <= now {
            self.wake = Time::MAX;
        }
        let at = free(self.repeats.front()?.due.max(now));
        if at >= self.wake {
            return None;
        }
        self.wake = at;
        Some(at)
    }
}

/// Bytes of a slot.
fn room(rate: Rate, slot: Time) -> u64 {
    rate.bytes_in(slot).0.max(1)
}
