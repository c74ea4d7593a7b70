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
    closed: Closed,
}

/// The flows whose passive end has finished here last: a late copy of their first packet opens nothing.
#[derive(Default)]
struct Closed {
    flows: FxHashSet<FlowId>,
    order: VecDeque<FlowId>,
}

/// Flows that are remembered; the one that ended first goes for a new one. Ours: a copy that is later than this many ends of other flows
/// opens its flow again, and its sender, which knows nothing of it, refuses what that says.
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

    pub fn insert(&mut self, flow: FlowId, active: bool, endpoint: Box<dyn Endpoint>) -> u32 {
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
        let seat = self.seats.get_mut(index as usize)?.take()?;
        self.free.push(index);
        self.of_flow.remove(&seat.flow);
        if !seat.active {
            self.closed.insert(seat.flow);
        }
        Some(seat)
    }

    /// Whether its passive end has finished here, as far as is remembered.
    pub fn has_closed(&self, flow: FlowId) -> bool {
        self.closed.flows.contains(&flow)
    }

    /// Those alive, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().flatten()
    }

    pub fn memory(&self) -> usize {
        let closed = self.closed.flows.capacity() * 5 + self.closed.order.capacity() * 4;
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
