//! The endpoints that live on a node: a slab, and the flow numbers that lead there.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::timers::Lazy;
use crate::packet::FlowId;
use crate::roles::Endpoint;

pub(super) struct Seat {
    pub endpoint: Box<dyn Endpoint>,
    pub flow: FlowId,
    pub active: bool,
    pub timer: Lazy,
}

#[derive(Default)]
pub(super) struct Endpoints {
    seats: Vec<Option<Seat>>,
    free: Vec<u32>,
    of_flow: FxHashMap<FlowId, u32>,
    /// None before the first.
    closed: Option<Box<Closed>>,
    passive: usize,
    /// Where passive ends are bounded.
    bounds: Option<Box<Bounds>>,
}

/// How many passive ends there may be, and those that were half open when last looked at, oldest
/// first.
struct Bounds {
    limits: Limits,
    half_open: VecDeque<FlowId>,
}

/// How many passive ends a node has at most. A simulated node knows no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All together. What would open another is ignored.
    pub passive: usize,
    /// Of these, [half open](Endpoint::is_half_open) ones. When there are more the oldest quarter
    /// goes, so that a flood pays for the search once in many packets. RFC 4987, §3.3, recycles the
    /// oldest half-open end; honest peers answer within a round trip.
    pub half_open: usize,
}

impl Default for Limits {
    /// As many half-open ends as Linux has by default (`tcp_max_syn_backlog`, 1024 where memory is
    /// not short); ours for the sum.
    fn default() -> Limits {
        Limits { passive: 1 << 20, half_open: 1024 }
    }
}

/// The flows whose passive end has finished here last: a late copy of their first packet opens
/// nothing.
#[derive(Default)]
struct Closed {
    flows: FxHashSet<FlowId>,
    order: VecDeque<FlowId>,
}

/// Flows that are remembered; the one that ended first goes for a new one. Ours: a copy that is
/// later than this many ends of other flows opens its flow again, and its sender, which knows
/// nothing of it, refuses what that says.
const MAX_CLOSED: usize = 1 << 16;

impl Closed {
    fn insert(&mut self, flow: FlowId) {
        if !self.flows.insert(flow) {
            return;
        }
        self.order.push_back(flow);
        if self.order.len() > MAX_CLOSED
            && let Some(first) = self.order.pop_front()
        {
            self.flows.remove(&first);
        }
    }
}

impl Endpoints {
    #[inline]
    pub fn find(&self, flow: FlowId) -> Option<u32> {
        self.of_flow.get(&flow).copied()
    }

    #[inline]
    pub fn seat(&mut self, index: u32) -> Option<&mut Seat> {
        self.seats.get_mut(index as usize)?.as_mut()
    }

    /// Keeps to these limits from now on.
    pub fn limit(&mut self, limits: Limits) {
        self.bounds = Some(Box::new(Bounds { limits, half_open: VecDeque::new() }));
    }

    /// Whether another passive end may be opened.
    pub fn has_room(&self) -> bool {
        self.bounds.as_ref().is_none_or(|b| self.passive < b.limits.passive)
    }

    /// Called when a passive end has been opened. If too many are half open, the oldest are
    /// forgotten; their first packets may come again.
    pub fn recycle(&mut self, opened: FlowId) {
        let Some(Bounds { limits, half_open }) = self.bounds.as_deref_mut() else { return };
        half_open.push_back(opened);
        if half_open.len() <= limits.half_open {
            return;
        }
        let (limit, mut half_open) = (limits.half_open, std::mem::take(half_open));
        half_open.retain(|f| self.is_half_open(*f));
        let surplus = half_open.len().saturating_sub(limit - limit / 4);
        for flow in half_open.drain(..surplus) {
            if let Some(index) = self.find(flow) {
                self.vacate(index);
            }
        }
        if let Some(bounds) = &mut self.bounds {
            bounds.half_open = half_open;
        }
    }

    fn is_half_open(&self, flow: FlowId) -> bool {
        let seat = self.find(flow).and_then(|i| self.seats[i as usize].as_ref());
        seat.is_some_and(|s| !s.active && s.endpoint.is_half_open())
    }

    pub fn insert(&mut self, flow: FlowId, active: bool, endpoint: Box<dyn Endpoint>) -> u32 {
        self.passive += usize::from(!active);
        let seat = Some(Seat { endpoint, flow, active, timer: Lazy::default() });
        let index = match self.free.pop() {
            Some(i) => {
                self.seats[i as usize] = seat;
                i
            }
            None => {
                self.seats.push(seat);
                (self.seats.len() - 1) as u32
            }
        };
        self.of_flow.insert(flow, index);
        index
    }

    pub fn remove(&mut self, index: u32) -> Option<Seat> {
        let seat = self.vacate(index)?;
        if !seat.active {
            self.closed.get_or_insert_default().insert(seat.flow);
        }
        Some(seat)
    }

    /// The same for an end that may open again.
    fn vacate(&mut self, index: u32) -> Option<Seat> {
        let seat = self.seats.get_mut(index as usize)?.take()?;
        self.free.push(index);
        self.of_flow.remove(&seat.flow);
        self.passive -= usize::from(!seat.active);
        Some(seat)
    }

    /// Whether its passive end has finished here, as far as is remembered.
    pub fn has_closed(&self, flow: FlowId) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.flows.contains(&flow))
    }

    /// Those alive, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().flatten()
    }

    pub fn memory(&self) -> usize {
        let closed = self.closed.as_ref().map_or(0, |c| c.flows.capacity() * 5 + c.order.capacity() * 4);
        self.seats.capacity() * size_of::<Option<Seat>>() + self.of_flow.capacity() * 9 + closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_that_ended_last_are_remembered() {
        let mut closed = Closed::default();
        let flows = MAX_CLOSED as u32 + 10;
        (0..flows).for_each(|f| closed.insert(FlowId(f)));
        (0..flows).for_each(|f| closed.insert(FlowId(flows - 1 - f % 2))); // ends twice: once is remembered
        assert_eq!((closed.flows.len(), closed.order.len()), (MAX_CLOSED, MAX_CLOSED));
        assert!((0..10).all(|f| !closed.flows.contains(&FlowId(f))));
        assert!((10..flows).all(|f| closed.flows.contains(&FlowId(f))));
    }
}
