//! CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018), as Linux 6.1 has it (`net/sched/sch_cake.c`), with one
//! tin: a shaper that counts overhead, flow queues found by set-associative hashing, fairness among hosts and among their
//! flows (DRR++), and COBALT, which is CoDel and BLUE.

use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault};

use rand_core::Rng;
use rustc_hash::{FxHashMap, FxHasher};

use super::scheduler::{Lane, key_of};
use super::signal::{Done, Signal};
use crate::limit::{Backlog, Bound};
use crate::packet::{NodeId, Packet, Pkt};
use crate::queue_spec::{CakeParams, Isolation};
use crate::rng::mix;
use crate::roles::{Drop, Inbound, Port, PortCtx};
use crate::units::{Bytes, Rate, Time};

mod cobalt;
mod hosts;

use cobalt::{Cobalt, Params};
use hosts::Hosts;

/// Queues, in sets of so many ("Piece of CAKE", §III.B).
const QUEUES: u16 = 1024;
const WAYS: u16 = 8;
/// Linux's MTU has the header of Ethernet.
const ETHERNET: u32 = 14;

/// In which rotation a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Set {
    #[default]
    None,
    Sparse,
    /// It was sparse and empty when it had used its quantum: in the rotation of bulk flows, and counted as none.
    SparseWait,
    Bulk,
    /// Empty, with a state of COBALT's that has not come to rest.
    Decaying,
}

#[derive(Debug, Default)]
struct Flow {
    lane: Lane,
    deficit: i64,
    set: Set,
    hosts: [u16; 2],
    cobalt: Cobalt,
}

/// The port.
#[derive(Debug)]
pub struct Cake<G> {
    params: CakeParams,
    bound: Bound,
    signal: G,
    flows: FxHashMap<u16, Flow>,
    /// Whose each queue is, as far as it is known.
    tags: FxHashMap<u16, u32>,
    hosts: Hosts,
    /// Rotations: new queues, old ones, decaying ones.
    lists: [VecDeque<u16>; 3],
    total: Backlog,
    /// When the shaper lets the next packet go.
    next: Time,
}

const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

impl<G: Signal> Cake<G> {
    /// Holds at most `bound`.
    pub fn new(params: CakeParams, bound: Bound, signal: G) -> Cake<G> {
        Cake {
            params,
            bound,
            signal,
            flows: FxHashMap::default(),
            tags: FxHashMap::default(),
            hosts: Hosts::default(),
            lists: Default::default(),
            total: Backlog::default(),
            next: Time::ZERO,
        }
    }

    fn rate(&self, ctx: &PortCtx<'_>) -> Rate {
        self.params.rate.unwrap_or(ctx.link().rate)
    }

    /// `cake_set_rate`: what follows from the rate.
    fn cobalt(&self, ctx: &PortCtx<'_>) -> Params {
        Params::of(self.params.target, self.params.interval, self.rate(ctx), ctx.link().mtu + ETHERNET)
    }

    /// Which hosts flows are isolated by, source and destination.
    fn by_host(&self) -> [bool; 2] {
        match self.params.isolation {
            Isolation::Flows => [false, false],
            Isolation::DualSource => [true, false],
            Isolation::DualDestination => [false, true],
            Isolation::Triple => [true, true],
        }
    }

    /// `cake_hash`: the queue of a packet's flow. A flow keeps the one that it had, gets a free one of its set, or shares.
    fn queue_of(&mut self, packet: &Packet) -> u16 {
        let flow = hash(key_of(packet));
        let reduced = (flow % u32::from(QUEUES)) as u16;
        let set = reduced - reduced % WAYS;
        let ways = || (0..WAYS).map(move |i| set + (reduced + i) % WAYS);
        let state = |queue: &u16| self.flows.get(queue).map_or(Set::None, |flow| flow.set);
        let own = ways().find(|queue| self.tags.get(queue) == Some(&flow));
        let (queue, allocates) = match own.or_else(|| ways().find(|queue| state(queue) == Set::None)) {
            Some(queue) => (queue, state(&queue) == Set::None),
            None => {
                // A collision: the queue is of the new flow's hosts from now on.
                if state(&reduced) == Set::Bulk {
                    self.hosts.leave(self.flows[&reduced].hosts, self.by_host());
                }
                (reduced, true)
            }
        };
        self.tags.insert(queue, flow);
        let (by_host, own) = (self.by_host(), self.flows.entry(queue).or_default());
        if allocates {
            own.hosts = self.hosts.find(hash::<NodeId>(packet.src), hash::<NodeId>(packet.dst));
            if own.set == Set::Bulk {
                self.hosts.join(own.hosts, by_host);
            }
        }
        queue
    }

    /// `cake_get_flow_quantum`: a flow of a host with n bulk flows gets an n-th; what is left of a byte is drawn for.
    fn quantum(&self, hosts: [u16; 2], ctx: &mut PortCtx<'_>) -> i64 {
        // A four thousandth of the bytes of a second, between 300 and a packet.
        let quantum = ((self.rate(ctx).0 / 8) >> 12).clamp(300, u64::from(1500 + ETHERNET));
        let load = self.hosts.load(hosts, self.by_host());
        if load <= 1 {
            return quantum as i64;
        }
        let dither = u64::from(ctx.rng.next_u32() >> 16);
        ((quantum * (65_535 / load) + dither) >> 16) as i64
    }

    fn becomes_bulk(hosts: &mut Hosts, flow: &mut Flow, by_host: [bool; 2]) {
        flow.set = Set::Bulk;
        hosts.join(flow.hosts, by_host);
    }

    fn overhead(&self, size: u32) -> u64 {
        u64::from(size) + u64::from(self.params.overhead)
    }

    /// Too much waits: the longest queue loses its first packet, and BLUE hears of it.
    fn shed(&mut self, params: &Params, ctx: &mut PortCtx<'_>) {
        while self.total.bytes > self.bound.bytes || self.total.packets > self.bound.packets {
            let mut longest: Option<(u64, u16)> = None;
            for queue in self.lists.iter().flatten() {
                let bytes = self.flows[queue].lane.backlog().bytes;
                if longest.is_none_or(|longest| bytes > longest.0) {
                    longest = Some((bytes, *queue));
                }
            }
            let Some(flow) = longest.and_then(|(_, queue)| self.flows.get_mut(&queue)) else { return };
            let Some(pkt) = flow.lane.pop_front(ctx.pool) else { return };
            flow.cobalt.queue_full(params, ctx.now);
            self.total.bytes -= u64::from(ctx.pool[&pkt].size);
            self.total.packets -= 1;
            ctx.drop(pkt, Drop::Queue);
        }
    }

    /// The queue whose turn it is: decaying ones are looked at once, then new ones come before old ones.
    fn turn(&self, first: bool) -> Option<(usize, u16)> {
        let order: &[usize] = if first { &[DECAYING, NEW, OLD] } else { &[NEW, OLD, DECAYING] };
        order.iter().find_map(|list| Some((*list, *self.lists[*list].front()?)))
    }

    /// A queue has turned out to be empty.
    fn found_empty(&mut self, list: usize, queue: u16, params: &Params, now: Time) {
        let by_host = self.by_host();
        self.lists[list].pop_front();
        let Some(flow) = self.flows.get_mut(&queue) else { return };
        flow.cobalt.queue_empty(params, now);
        if flow.set == Set::Bulk {
            self.hosts.leave(flow.hosts, by_host);
        }
        if flow.cobalt.rests(now) {
            flow.set = Set::None;
        } else {
            flow.set = Set::Decaying;
            self.lists[DECAYING].push_back(queue);
        }
    }

    /// Whether a packet that is about to leave is dropped after all; the last of a queue never is.
    fn drops(&mut self, queue: u16, pkt: &Pkt, params: &Params, ctx: &mut PortCtx<'_>) -> bool {
        let now = ctx.now;
        let sojourn = now.saturating_sub(ctx.pool[pkt].queued);
        let Some(flow) = self.flows.get_mut(&queue) else { return false };
        let (last, chosen) = (flow.lane.is_empty(), flow.cobalt.chooses(params, now, sojourn));
        let marked = chosen && self.signal.signal(pkt, ctx) == Done::Told;
        let unlucky = flow.cobalt.unlucky(ctx.rng);
        let drop = chosen && !marked || unlucky;
        flow.cobalt.settle(params, now, drop);
        drop && !last && !ctx.lossless
    }
}

impl<G: Signal> Port for Cake<G> {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let params = self.cobalt(ctx);
        let (queue, size) = (self.queue_of(&ctx.pool[&pkt]), ctx.pool[&pkt].size);
        if self.total.packets == 0 {
            self.next = self.next.max(ctx.now);
        }
        self.total.bytes += u64::from(size);
        self.total.packets += 1;
        let (hosts, set, by_host) = (self.flows[&queue].hosts, self.flows[&queue].set, self.by_host());
        let quantum = if matches!(set, Set::None | Set::Decaying) { self.quantum(hosts, ctx) } else { 0 };
        let Some(flow) = self.flows.get_mut(&queue) else { return };
        flow.lane.push(pkt, ctx.pool);
        match flow.set {
            Set::None | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.lists[DECAYING].retain(|other| *other != queue);
                }
                self.lists[NEW].push_back(queue);
                (flow.set, flow.deficit) = (Set::Sparse, quantum);
            }
            Set::SparseWait => Self::becomes_bulk(&mut self.hosts, flow, by_host),
            Set::Sparse | Set::Bulk => {}
        }
        self.shed(&params, ctx);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let shaped = self.params.rate.is_some() || self.params.overhead > 0;
        if shaped && self.total.packets > 0 && self.next > ctx.now {
            ctx.wake_at(self.next);
            return None;
        }
        let (params, now, by_host) = (self.cobalt(ctx), ctx.now, self.by_host());
        let mut first = true;
        while self.total.packets > 0 {
            let (list, queue) = self.turn(std::mem::take(&mut first))?;
            let hosts = self.flows[&queue].hosts;
            if self.flows[&queue].deficit <= 0 {
                let flow = self.flows.get_mut(&queue)?;
                if flow.set == Set::Sparse && flow.lane.is_empty() {
                    flow.set = Set::SparseWait;
                } else if flow.set == Set::Sparse {
                    Self::becomes_bulk(&mut self.hosts, flow, by_host);
                }
                let quantum = self.quantum(hosts, ctx);
                self.flows.get_mut(&queue)?.deficit += quantum;
                self.lists[list].pop_front();
                self.lists[OLD].push_back(queue);
                continue;
            }
            loop {
                let Some(pkt) = self.flows.get_mut(&queue)?.lane.pop_front(ctx.pool) else {
                    self.found_empty(list, queue, &params, now);
                    break;
                };
                let size = ctx.pool[&pkt].size;
                self.total.bytes -= u64::from(size);
                self.total.packets -= 1;
                if self.signal.watches_leaving() {
                    self.signal.leaving(&pkt, self.total, ctx);
                }
                if self.drops(queue, &pkt, &params, ctx) {
                    ctx.drop(pkt, Drop::Aqm);
                    continue;
                }
                let length = self.overhead(size);
                self.flows.get_mut(&queue)?.deficit -= length as i64;
                self.next = self.next.saturating_add(self.rate(ctx).time_for(Bytes(length)));
                return Some(pkt);
            }
        }
        None
    }

    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.signal.inbound(&pkt, ctx);
        Inbound::Forward(pkt)
    }

    fn watches_inbound(&self) -> bool {
        self.signal.watches_inbound()
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        for queue in self.lists.iter().flatten() {
            if let Some(flow) = self.flows.get_mut(queue) {
                flow.lane.clear(&mut |pkt| ctx.drop(pkt, Drop::Fault));
            }
        }
        self.flows.clear();
        self.tags.clear();
        self.hosts = Hosts::default();
        self.lists.iter_mut().for_each(VecDeque::clear);
        self.total = Backlog::default();
        self.next = Time::ZERO;
        self.signal.reset(ctx);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.signal.gauges(out);
    }

    fn warnings(&self, out: &mut Vec<String>) {
        self.signal.warnings(out);
    }
}

fn hash<T: std::hash::Hash>(value: T) -> u32 {
    mix(BuildHasherDefault::<FxHasher>::default().hash_one(value)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::queue::Ce;

    /// Of 256 flows in 128 sets hardly nine fall into one; without sets 28 would share a queue in the mean.
    #[test]
    fn flows_share_a_queue_only_when_their_set_is_full() {
        let mut shared = 0;
        for trial in 0..20 {
            let mut cake = Cake::new(CakeParams::default(), Bound::EVERYTHING, Ce);
            let mut seen = std::collections::BTreeSet::new();
            for flow in 0..256 {
                let packet = Packet::new(FlowId(trial * 1000 + flow), NodeId(flow), NodeId(9000), 1500);
                let queue = cake.queue_of(&packet);
                assert_eq!(queue, cake.queue_of(&packet), "a flow keeps its queue");
                if let Some(flow) = cake.flows.get_mut(&queue) {
                    flow.set = Set::Sparse;
                }
                shared += usize::from(!seen.insert(queue));
            }
        }
        assert!(shared <= 20, "{shared} of 5,120 flows");
    }
}
