//! The endpoints of a node: a slab, indexed by flow number, with their timers.
//!
//! A flow is known by its number and its peer (see `wire`: addresses and ports). The number usually suffices, so it
//! is looked up first and the peer is compared afterwards.

mod flow_table;
mod tree;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flow_table::FlowTable;

use super::EndId;
use super::timers::Timers;
use crate::packet::{FlowId, NodeId};
use crate::roles::Endpoint;
use crate::table::more;
use crate::units::Time;

/// What a node keeps of an end. Its flow, peer and half are an [`EndId`].
pub(super) struct Seat {
    /// `None` where nobody sits.
    pub endpoint: Option<Box<dyn Endpoint>>,
    /// Of a free seat the next free one.
    flow: FlowId,
    peer: NodeId,
    /// When the end wants to be told; [`Time::MAX`] for never.
    pub deadline: Time,
    /// When its timer comes up: not later.
    armed: Time,
    /// When it comes up again, whatever the deadline is then. Who waits for a pace and for a timeout by turns would set
    /// a timer for each timeout.
    parked: Time,
    /// Which of the node's wishes that is.
    asked: u32,
    /// A place of the timers' tree (`tree`), and whether the end is the active one.
    place: u32,
}

// An active flow has two.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Seat>() == 56);

/// No seat is free.
const NONE: u32 = u32::MAX;

/// The bit of an active end.
const ACTIVE: u32 = 1 << 31;

impl Seat {
    const fn free(next: u32) -> Seat {
        let (flow, peer) = (FlowId(next), EndId::ANYONE);
        Seat {
            endpoint: None,
            flow,
            peer,
            deadline: Time::MAX,
            armed: Time::MAX,
            parked: Time::MAX,
            asked: 0,
            place: 0,
        }
    }

    /// Who sits there.
    #[inline]
    pub fn end(&self) -> EndId {
        EndId { flow: self.flow, peer: self.peer, active: self.place & ACTIVE != 0 }
    }

    /// Which seat's timer comes first below its place of the tree.
    #[inline]
    fn first(&self) -> u32 {
        self.place & !ACTIVE
    }

    #[inline]
    fn set_first(&mut self, seat: u32) {
        self.place = self.place & ACTIVE | seat;
    }
}

pub(super) struct Endpoints {
    seats: Vec<Seat>,
    /// The first free seat; each names the next.
    free: u32,
    of_flow: FlowTable,
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
    /// Peers choose the numbers, as above.
    flows: BTreeSet<(FlowId, NodeId)>,
    order: VecDeque<(FlowId, NodeId)>,
}

/// Flows that are remembered; the one that ended first goes for a new one. Ours: a copy that is
/// later than this many ends of other flows opens its flow again, and its sender, which knows
/// nothing of it, refuses what that says.
const MAX_CLOSED: usize = 1 << 16;

/// Bytes of one in the set: leaves of eleven, two thirds full.
const CLOSED: usize = 14;

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

impl Default for Endpoints {
    fn default() -> Endpoints {
        let (seats, of_flow) = (Vec::new(), FlowTable::default());
        Endpoints { seats, free: NONE, of_flow, others: None, closed: None, passive: 0, bounds: None }
    }
}

impl Endpoints {
    /// None yet, and a table of flows that is hashed by what peers do not know.
    pub fn keyed(secret: [u64; 2]) -> Endpoints {
        let mut endpoints = Endpoints::default();
        endpoints.set_key(secret);
        endpoints
    }

    /// Has the table of flows be hashed by that.
    pub fn set_key(&mut self, secret: [u64; 2]) {
        self.of_flow.set_key(secret, &self.seats);
    }

    /// The end that takes packets of this flow that come from this node.
    #[inline]
    pub fn find(&self, flow: FlowId, from: NodeId) -> Option<u32> {
        let first = self.find_own(flow)?;
        let peer = self.seats[first as usize].peer;
        if peer == from || peer == EndId::ANYONE { Some(first) } else { self.find_other(flow, from) }
    }

    #[cold]
    fn find_other(&self, flow: FlowId, from: NodeId) -> Option<u32> {
        self.others.as_ref()?.get(&(flow, from)).copied()
    }

    /// The end of this flow that the node itself has opened; a peer's only if there is none.
    #[inline]
    pub fn find_own(&self, flow: FlowId) -> Option<u32> {
        self.of_flow.get(flow, &self.seats)
    }

    /// This very end.
    pub fn find_end(&self, end: EndId) -> Option<u32> {
        self.find(end.flow, end.peer).filter(|index| self.seats[*index as usize].end() == end)
    }

    /// A seat, taken or free.
    #[inline]
    pub fn seat(&mut self, index: u32) -> &mut Seat {
        &mut self.seats[index as usize]
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
    pub fn recycle(&mut self, opened: EndId, timers: &mut Timers) -> Vec<EndId> {
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
            self.vacate(index, timers);
        });
        if let Some(bounds) = &mut self.bounds {
            bounds.half_open = half_open;
        }
        oldest
    }

    fn is_half_open(&self, end: EndId) -> bool {
        let seat = self.find_end(end).map(|index| &self.seats[index as usize]);
        let endpoint = seat.filter(|seat| !seat.end().active).and_then(|seat| seat.endpoint.as_ref());
        endpoint.is_some_and(|endpoint| endpoint.is_half_open())
    }

    pub fn insert(&mut self, end: EndId, endpoint: Box<dyn Endpoint>) -> u32 {
        self.passive += usize::from(!end.active);
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let seat = &mut self.seats[index as usize];
        self.free = seat.flow.0;
        (seat.endpoint, seat.flow, seat.peer) = (Some(endpoint), end.flow, end.peer);
        seat.place = seat.first() | if end.active { ACTIVE } else { 0 };
        self.enter(end, index);
        index
    }

    #[cold]
    fn grow(&mut self) {
        // Few at first: what the first end costs is what most hosts of a large network have, and a tree of one is none.
        let (seats, more) =
            (self.seats.len(), if self.seats.len() < 4 { self.seats.len().max(1) } else { more(self.seats.len()) });
        self.seats.reserve_exact(more);
        let last = seats + more - 1;
        debug_assert!(last < ACTIVE as usize, "{last} seats at a node");
        self.seats.extend((seats..=last).map(|seat| Seat::free(if seat == last { NONE } else { seat as u32 + 1 })));
        self.free = seats as u32;
        self.grow_tree();
    }

    /// Sees to it that an end is found. The node's own comes first: others on this node reach it by
    /// its number alone.
    fn enter(&mut self, end: EndId, index: u32) {
        // The seat itself is not in the table yet.
        let Some(first) = self.find_own(end.flow) else { return self.of_flow.insert(index, &self.seats) };
        let known = self.seats[first as usize].end();
        if end.active && !known.active {
            self.of_flow.insert(index, &self.seats);
            self.others.get_or_insert_default().insert((known.flow, known.peer), first);
        } else {
            self.others.get_or_insert_default().insert((end.flow, end.peer), index);
        }
    }

    /// Takes an end away for good.
    pub fn remove(&mut self, index: u32, timers: &mut Timers) -> Option<(EndId, Box<dyn Endpoint>)> {
        let (end, endpoint) = self.vacate(index, timers)?;
        if !end.active {
            self.closed.get_or_insert_default().insert((end.flow, end.peer));
        }
        Some((end, endpoint))
    }

    /// The same for an end that may open again.
    fn vacate(&mut self, index: u32, timers: &mut Timers) -> Option<(EndId, Box<dyn Endpoint>)> {
        let seat = &mut self.seats[index as usize];
        let (end, endpoint) = (seat.end(), seat.endpoint.take()?);
        timers.linger(if seat.parked == Time::MAX { seat.armed } else { seat.parked });
        self.passive -= usize::from(!end.active);
        self.leave(end, index);
        let (free, seat) = (self.free, &mut self.seats[index as usize]);
        *seat = Seat { place: seat.first(), ..Seat::free(free) };
        self.free = index;
        self.put_back(index, timers);
        Some((end, endpoint))
    }

    fn leave(&mut self, end: EndId, index: u32) {
        let first = self.find_own(end.flow) == Some(index);
        if first {
            self.of_flow.remove(end.flow, &self.seats);
        }
        let Some(others) = &mut self.others else { return };
        if !first {
            others.remove(&(end.flow, end.peer));
        } else if let Some((&key, &next)) = others.range((end.flow, NodeId(0))..).next()
            && key.0 == end.flow
        {
            others.remove(&key);
            self.of_flow.insert(next, &self.seats);
        }
    }

    /// Whether its passive end has finished here, as far as is remembered.
    pub fn has_closed(&self, flow: FlowId, peer: NodeId) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.flows.contains(&(flow, peer)))
    }

    /// Those alive, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (EndId, &dyn Endpoint)> {
        self.seats.iter().filter_map(|seat| Some((seat.end(), seat.endpoint.as_deref()?)))
    }

    pub fn memory(&self) -> usize {
        let closed = self.closed.as_ref().map_or(0, |c| c.flows.len() * CLOSED + c.order.capacity() * 8);
        // Without what the ends themselves have in boxes.
        let ends: usize = self.iter().map(|(_, endpoint)| size_of_val(endpoint)).sum();
        ends + self.seats.capacity() * size_of::<Seat>() + self.of_flow.memory() + closed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::node::timers::Wake;
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
        let (mut ends, mut timers) = (Endpoints::default(), Timers::default());
        let mut there: BTreeMap<(u32, u32), (bool, u32)> = BTreeMap::new();
        let mut rng = stream(5, Purpose::Fault, 0);
        for _ in 0..20_000 {
            let (flow, peer) = (below(&mut rng, 3) as u32, below(&mut rng, 4) as u32);
            // Of one number at most one is the node's own.
            let own = there.iter().any(|((f, _), (active, _))| *f == flow && *active);
            match there.remove(&(flow, peer)) {
                Some((_, index)) => {
                    assert_eq!(ends.remove(index, &mut timers).map(|(end, _)| end.peer), Some(NodeId(peer)))
                }
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

    /// A flood of flows whose homes lie in a sixty-fourth of a table without a key.
    #[test]
    fn numbers_that_a_peer_chooses_are_found_as_soon_as_others() {
        const ENDS: usize = 2_000;
        let longest = |flows: &[u32], key: Option<[u64; 2]>| {
            let mut ends = Endpoints::default();
            if let Some(key) = key {
                ends.set_key(key);
            }
            for flow in flows {
                let end = EndId { flow: FlowId(*flow), peer: NodeId(7), active: false };
                ends.insert(end, Box::new(Deaf));
            }
            flows.iter().map(|flow| ends.of_flow.probes(FlowId(*flow), &ends.seats)).max().expect("flows")
        };
        let near = |flow: &u32| {
            let product = u64::from(*flow).wrapping_mul(flow_table::FACTOR);
            (product ^ (product >> 32)).wrapping_mul(flow_table::FACTOR) >> 58 == 0
        };
        let chosen: Vec<u32> = (0..).filter(near).take(ENDS).collect();
        assert!(longest(&chosen, None) > 1_000, "a flood, without a key: {}", longest(&chosen, None));
        let mut rng = stream(3, Purpose::Fault, 0);
        for _ in 0..100 {
            let key = Some([rng.next_u64(), rng.next_u64()]);
            // With 3 of 4 places taken at most: 2.5 on average.
            assert!(longest(&chosen, key) < 150, "{}", longest(&chosen, key));
            let in_order: Vec<u32> = (0..ENDS as u32).collect();
            assert!(longest(&in_order, key) < 150, "{}", longest(&in_order, key));
        }
    }

    /// A node's table is hashed by its own secret as soon as it has one.
    #[test]
    fn a_node_keys_its_table() {
        let (mut ends, flows) = (Endpoints::default(), 0..100);
        for flow in flows.clone() {
            ends.insert(EndId { flow: FlowId(flow), peer: NodeId(7), active: false }, Box::new(Deaf));
        }
        ends.set_key([17, 4]);
        assert!(flows.map(FlowId).all(|flow| ends.find(flow, NodeId(7)) == Some(flow.0)));
    }

    /// A seat's, with its deadline, or the driver's.
    type Wish = Result<(u32, Option<u64>), u32>;

    proptest! {
        /// Whatever comes, goes and moves its deadline: ends are told when that has come, and of those for one time each in
        /// the order in which they asked, between the node's other wishes.
        #[test]
        fn ends_are_told_when_they_are_due_and_in_the_order_of_asking(
            steps in prop::collection::vec((0u64..4, 0u32..24, prop::option::of(0u64..20), 0u8..4), 1..300), from: u32,
        ) {
            let (mut ends, mut timers) = (Endpoints::default(), Timers::default());
            (0..from % 3).for_each(|_| assert!(timers.number() > 0));
            let mut there: BTreeMap<u32, u32> = BTreeMap::new();
            // When each seat's timer comes up, in the order of asking, and its deadline; a driver's wishes have none.
            let mut truth: Vec<(u64, Wish)> = Vec::new();
            let (mut now, mut lingers, mut parked) = (0, None, BTreeMap::<u32, u64>::new());
            for (number, (passed, flow, deadline, kind)) in (0..).zip(steps) {
                now += passed;
                while timers.next() <= Time(now) {
                    if let Some(at) = lingers.take_if(|at| truth.iter().all(|wish| *at <= wish.0)) {
                        prop_assert_eq!(timers.pop_due(Time(now)), Some((Time(at), Wake::Nothing)));
                        continue;
                    }
                    truth.sort_by_key(|wish| wish.0);
                    let (at, wish) = truth.remove(0);
                    let due = timers.pop_due(Time(now));
                    match wish {
                        Err(token) => prop_assert_eq!(due, Some((Time(at), Wake::Driver(token)))),
                        Ok((seat, deadline)) => {
                            prop_assert_eq!(due, Some((Time(at), Wake::Endpoint(seat))));
                            prop_assert_eq!(ends.fire(seat, Time(now), &mut timers), deadline.is_some_and(|due| due <= now));
                            let later = deadline.filter(|due| *due > now);
                            let before = later.filter(|due| parked.get(&seat).is_none_or(|parked| due < parked));
                            truth.extend(before.or_else(|| parked.remove(&seat)).map(|at| (at, Ok((seat, later)))));
                        }
                    }
                }
                prop_assert!(truth.iter().all(|wish| wish.0 > now));
                prop_assert_eq!(timers.is_resting(), truth.is_empty() && lingers.is_none());
                let index = there.get(&flow).copied();
                match (kind, index) {
                    (0, Some(index)) => {
                        there.remove(&flow);
                        prop_assert!(ends.remove(index, &mut timers).is_some());
                        let gone = truth.extract_if(.., |wish| wish.1.is_ok_and(|(seat, _)| seat == index));
                        lingers = gone.map(|wish| wish.0).chain(lingers).chain(parked.remove(&index)).max();
                    }
                    (1, _) => {
                        timers.push(Time(now + passed), Wake::Driver(number));
                        truth.push((now + passed, Err(number)));
                    }
                    (_, None) => {
                        let end = EndId { flow: FlowId(flow), peer: NodeId(0), active: flow % 2 == 0 };
                        there.insert(flow, ends.insert(end, Box::new(Deaf)));
                    }
                    (_, Some(index)) => {
                        let deadline = deadline.map(|later| now + later);
                        ends.seat(index).deadline = deadline.map_or(Time::MAX, Time);
                        ends.arm(index, Time(now), &mut timers);
                        let place = truth.iter().position(|wish| wish.1.is_ok_and(|(seat, _)| seat == index));
                        match (place, deadline) {
                            (Some(place), Some(due)) if due < truth[place].0 => {
                                parked.entry(index).or_insert(truth[place].0);
                                truth.retain(|wish| wish.1.is_err() || wish.1.is_ok_and(|(seat, _)| seat != index));
                                truth.push((due, Ok((index, deadline))));
                            }
                            (Some(place), _) => truth[place].1 = Ok((index, deadline)),
                            (None, Some(due)) => truth.push((due, Ok((index, deadline)))),
                            (None, None) => {}
                        }
                    }
                }
                prop_assert_eq!(timers.next().0, truth.iter().map(|wish| wish.0).chain(lingers).min().unwrap_or(u64::MAX));
                prop_assert_eq!(ends.iter().count(), there.len());
                prop_assert!(there.iter().all(|(flow, index)| ends.find_own(FlowId(*flow)) == Some(*index)));
            }
        }
    }
}
