//! The endpoints of a node: a slab, indexed by flow number.
//!
//! A flow is known by its number and its peer (see `wire`: addresses and ports). The number usually suffices, so it
//! is looked up first and the peer is compared afterwards.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use super::EndId;
use super::timers::Lazy;
use crate::packet::{FlowId, NodeId};
use crate::roles::Endpoint;
use crate::table::more;

pub(super) struct Seat {
    pub endpoint: Box<dyn Endpoint>,
    pub end: EndId,
    pub timer: Lazy,
}

#[derive(Default)]
pub(super) struct Endpoints {
    seats: Vec<Option<Seat>>,
    free: Vec<u32>,
    of_flow: FxHashMap<FlowId, u32>,
    /// Flows with other peers whose number is taken. Peers choose the numbers, so the time to find
    /// one must not depend on them. None before the first.
    others: Option<Box<Others>>,
    /// None before the first.
    closed: Option<Box<Closed>>,
    passive: usize,
    /// Where passive ends are bounded.
    bounds: Option<Box<Bounds>>,
}

/// Ends by flow and peer.
type Others = BTreeMap<(FlowId, NodeId), u32>;

/// How many passive ends there may be, and those that were half open when last looked at, oldest
/// first.
struct Bounds {
    limits: Limits,
    half_open: VecDeque<EndId>,
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
    flows: FxHashSet<(FlowId, NodeId)>,
    order: VecDeque<(FlowId, NodeId)>,
}

/// Flows that are remembered; the one that ended first goes for a new one. Ours: a copy that is
/// later than this many ends of other flows opens its flow again, and its sender, which knows
/// nothing of it, refuses what that says.
const MAX_CLOSED: usize = 1 << 16;

impl Closed {
    fn insert(&mut self, flow: (FlowId, NodeId)) {
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
    /// The end that takes packets of this flow that come from this node.
    #[inline]
    pub fn find(&self, flow: FlowId, from: NodeId) -> Option<u32> {
        let first = *self.of_flow.get(&flow)?;
        let peer = self.seats.get(first as usize)?.as_ref()?.end.peer;
        if peer == from || peer == EndId::ANYONE { Some(first) } else { self.find_other(flow, from) }
    }

    #[cold]
    fn find_other(&self, flow: FlowId, from: NodeId) -> Option<u32> {
        self.others.as_ref()?.get(&(flow, from)).copied()
    }

    /// The end of this flow that the node itself has opened; a peer's only if there is none.
    #[inline]
    pub fn find_own(&self, flow: FlowId) -> Option<u32> {
        self.of_flow.get(&flow).copied()
    }

    /// This very end.
    pub fn find_end(&self, end: EndId) -> Option<u32> {
        let index = self.find(end.flow, end.peer)?;
        self.seats[index as usize].as_ref().filter(|seat| seat.end == end).map(|_| index)
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
    pub fn recycle(&mut self, opened: EndId) -> Vec<EndId> {
        let Some(Bounds { limits, half_open }) = self.bounds.as_deref_mut() else { return Vec::new() };
        half_open.push_back(opened);
        if half_open.len() <= limits.half_open {
            return Vec::new();
        }
        let (limit, mut half_open) = (limits.half_open, std::mem::take(half_open));
        half_open.retain(|end| self.is_half_open(*end));
        let surplus = half_open.len().saturating_sub(limit - limit / 4);
        let oldest: Vec<EndId> = half_open.drain(..surplus).collect();
        oldest.iter().filter_map(|end| self.find_end(*end)).collect::<Vec<_>>().into_iter().for_each(|index| {
            self.vacate(index);
        });
        if let Some(bounds) = &mut self.bounds {
            bounds.half_open = half_open;
        }
        oldest
    }

    fn is_half_open(&self, end: EndId) -> bool {
        let seat = self.find_end(end).and_then(|i| self.seats[i as usize].as_ref());
        seat.is_some_and(|s| !s.end.active && s.endpoint.is_half_open())
    }

    pub fn insert(&mut self, end: EndId, endpoint: Box<dyn Endpoint>) -> u32 {
        self.passive += usize::from(!end.active);
        let seat = Some(Seat { endpoint, end, timer: Lazy::default() });
        let index = match self.free.pop() {
            Some(i) => {
                self.seats[i as usize] = seat;
                i
            }
            None => {
                if self.seats.len() == self.seats.capacity() {
                    self.seats.reserve_exact(more(self.seats.len()));
                }
                self.seats.push(seat);
                (self.seats.len() - 1) as u32
            }
        };
        self.enter(end, index);
        index
    }

    /// Sees to it that an end is found. The node's own comes first: others on this node reach it by
    /// its number alone.
    fn enter(&mut self, end: EndId, index: u32) {
        let first = self.of_flow.get(&end.flow).copied();
        let Some(known) = first.and_then(|first| self.seats[first as usize].as_ref()).map(|seat| seat.end) else {
            self.of_flow.insert(end.flow, index);
            return;
        };
        if end.active && !known.active {
            self.of_flow.insert(end.flow, index);
            let others = self.others.get_or_insert_default();
            others.extend(first.map(|first| ((known.flow, known.peer), first)));
        } else {
            self.others.get_or_insert_default().insert((end.flow, end.peer), index);
        }
    }

    pub fn remove(&mut self, index: u32) -> Option<Seat> {
        let seat = self.vacate(index)?;
        if !seat.end.active {
            self.closed.get_or_insert_default().insert((seat.end.flow, seat.end.peer));
        }
        Some(seat)
    }

    /// The same for an end that may open again.
    fn vacate(&mut self, index: u32) -> Option<Seat> {
        let seat = self.seats.get_mut(index as usize)?.take()?;
        self.free.push(index);
        self.passive -= usize::from(!seat.end.active);
        self.leave(seat.end, index);
        Some(seat)
    }

    fn leave(&mut self, end: EndId, index: u32) {
        let first = self.of_flow.get(&end.flow) == Some(&index);
        if first {
            self.of_flow.remove(&end.flow);
        }
        let Some(others) = &mut self.others else { return };
        if !first {
            others.remove(&(end.flow, end.peer));
        } else if let Some((&key, &next)) = others.range((end.flow, NodeId(0))..).next()
            && key.0 == end.flow
        {
            others.remove(&key);
            self.of_flow.insert(end.flow, next);
        }
    }

    /// Whether its passive end has finished here, as far as is remembered.
    pub fn has_closed(&self, flow: FlowId, peer: NodeId) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.flows.contains(&(flow, peer)))
    }

    /// Those alive, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().flatten()
    }

    pub fn memory(&self) -> usize {
        let closed = self.closed.as_ref().map_or(0, |c| c.flows.capacity() * 9 + c.order.capacity() * 8);
        // Without what the ends themselves have in boxes.
        let ends: usize = self.iter().map(|seat| size_of_val(&*seat.endpoint)).sum();
        ends + self.seats.capacity() * size_of::<Option<Seat>>() + self.of_flow.capacity() * 9 + closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::rng::{Purpose, below, stream};
    use crate::roles::{EndpointCtx, FlowReport};

    #[test]
    fn the_flows_that_ended_last_are_remembered() {
        let (mut closed, peer) = (Closed::default(), NodeId(3));
        let flows = MAX_CLOSED as u32 + 10;
        (0..flows).for_each(|f| closed.insert((FlowId(f), peer)));
        (0..flows).for_each(|f| closed.insert((FlowId(flows - 1 - f % 2), peer))); // ends twice: once is remembered
        assert_eq!((closed.flows.len(), closed.order.len()), (MAX_CLOSED, MAX_CLOSED));
        assert!((0..10).all(|f| !closed.flows.contains(&(FlowId(f), peer))));
        assert!((10..flows).all(|f| closed.flows.contains(&(FlowId(f), peer))));
        assert!(!closed.flows.contains(&(FlowId(flows - 1), NodeId(4))), "another peer's flow of this number has not");
    }

    struct Deaf;
    impl Endpoint for Deaf {
        fn on_start(&mut self, _: &mut EndpointCtx<'_>) {}
        fn on_packet(&mut self, _: &Packet, _: &mut EndpointCtx<'_>) {}
        fn on_timer(&mut self, _: &mut EndpointCtx<'_>) {}
        fn report(&self) -> FlowReport {
            FlowReport::default()
        }
    }

    /// Whatever comes and goes: each end is found by its flow and peer, and a node's own end by its
    /// flow alone.
    #[test]
    fn ends_of_one_number_are_told_apart_by_their_peers() {
        let mut ends = Endpoints::default();
        let mut there: BTreeMap<(u32, u32), (bool, u32)> = BTreeMap::new();
        let mut rng = stream(5, Purpose::Fault, 0);
        for _ in 0..20_000 {
            let (flow, peer) = (below(&mut rng, 3) as u32, below(&mut rng, 4) as u32);
            // Of one number at most one is the node's own.
            let own = there.iter().any(|((f, _), (active, _))| *f == flow && *active);
            match there.remove(&(flow, peer)) {
                Some((_, index)) => assert_eq!(ends.remove(index).map(|s| s.end.peer), Some(NodeId(peer))),
                None => {
                    let active = !own && below(&mut rng, 2) == 0;
                    let end = EndId { flow: FlowId(flow), peer: NodeId(peer), active };
                    there.insert((flow, peer), (active, ends.insert(end, Box::new(Deaf))));
                }
            }
            for (flow, peer) in (0..3).flat_map(|f| (0..4).map(move |p| (f, p))) {
                let index = there.get(&(flow, peer)).map(|e| e.1);
                assert_eq!(ends.find(FlowId(flow), NodeId(peer)), index);
            }
            for ((flow, _), (active, index)) in &there {
                assert!(!active || ends.find_own(FlowId(*flow)) == Some(*index));
            }
            assert_eq!(ends.of_flow.len() + ends.others.as_ref().map_or(0, |o| o.len()), there.len());
            assert_eq!(ends.passive, there.values().filter(|e| !e.0).count());
        }
    }
}
