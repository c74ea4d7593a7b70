//! A node's own wishes to be woken, in total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::packet::{FlowId, PortId};
use crate::units::Time;

/// What to do at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// A flow starts here.
    Start(FlowId),
    /// An endpoint's slot asked to be looked at.
    Endpoint(u32),
    /// A transmitter becomes idle.
    Idle(PortId),
    /// A held port's timer.
    Port(PortId),
    /// A held port's background timer.
    PortBackground(PortId),
    /// The timer of the forwarder with this place in the chain.
    Forwarder(u8),
    /// Its background timer.
    ForwarderBackground(u8),
    /// The driver's own (faults, samples).
    Driver(u32),
}

/// Wishes ordered by time, then by the order in which they were made.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Timers {
    /// When the first of them is due: asked before each hop, when the heap itself may not be in the
    /// cache.
    next: Time,
    heap: BinaryHeap<Reverse<(Time, u64, Wake)>>,
    made: u64,
    /// How many of them keep no run from ending.
    background: usize,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { next: Time::MAX, heap: BinaryHeap::new(), made: 0, background: 0 }
    }
}

impl Timers {
    /// A wish that keeps no run from ending.
    pub fn push_background(&mut self, at: Time, wake: Wake) {
        self.background += 1;
        self.push(at, wake);
    }

    /// Called when such a wish has come up.
    pub fn background_done(&mut self) {
        self.background -= 1;
    }

    /// Whether all wishes are of that kind.
    pub fn is_resting(&self) -> bool {
        self.heap.len() == self.background
    }

    /// Makes room for so many more wishes, and no more than that.
    pub fn reserve(&mut self, wishes: usize) {
        self.heap.reserve_exact(wishes);
    }

    pub fn push(&mut self, at: Time, wake: Wake) {
        self.made += 1;
        self.next = self.next.min(at);
        self.heap.push(Reverse((at, self.made, wake)));
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
        let due = self.heap.pop().map(|e| (e.0.0, e.0.2));
        self.next = self.heap.peek().map_or(Time::MAX, |e| e.0.0);
        due
    }

    pub fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<(Time, u64, Wake)>()
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
    armed: Time,
}

impl Default for Lazy {
    fn default() -> Lazy {
        Lazy { deadline: Time::MAX, armed: Time::MAX }
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
        self.armed = Time::MAX;
        if self.deadline > now {
            return false; // moved later: the caller re-arms
        }
        self.deadline = Time::MAX;
        true
    }
}
