//! The endpoints that live on a node: a slab, and the flow numbers that lead there.

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
    /// Flows whose passive end has finished here: a late copy of their first packet opens nothing.
    closed: FxHashSet<FlowId>,
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

    pub fn is_closed(&self, flow: FlowId) -> bool {
        self.closed.contains(&flow)
    }

    /// Those alive, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().flatten()
    }

    pub fn memory(&self) -> usize {
        self.seats.capacity() * size_of::<Option<Seat>>() + self.of_flow.capacity() * 9 + self.closed.capacity() * 5
    }
}
