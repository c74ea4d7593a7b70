//! Forwarding: next hops by shortest paths or by schemes' forwarders.

use super::timers::{Pair, Wake};
use super::{Driver, Node, Step};
use crate::packet::{NodeId, Packet, PacketId, Pkt, Pool, PortId};
use crate::roles::{Drop, ForwardCtx, Forwarder, Route, ShortestPath, WakeAt};
use crate::units::Time;

/// How a node forwards.
pub enum Forwarding {
    /// Shortest paths, without an indirect call.
    Shortest(ShortestPath),
    /// Schemes' own: who doesn't pass a packet on decides. What the last passes on has no way.
    Chain(Box<Chain>),
    /// The same, and shortest paths for what they pass on.
    Before(Box<Chain>, ShortestPath),
}

/// The forwarders of the schemes that run at a node, in order, and what they need to be called.
pub struct Chain {
    entries: Vec<ChainEntry>,
    /// All of them ignore some packets that come in.
    ignores_inbound: bool,
    /// When a forwarder has asked to be woken, during a call.
    wakes: Vec<WakeAt>,
    /// The copies that a forwarder has made during a call: of which packet, and the copy.
    copies: Vec<(PacketId, PacketId)>,
}

/// A forwarder of a chain, and what the node keeps for it.
struct ChainEntry {
    forwarder: Box<dyn Forwarder>,
    timers: Pair,
    /// The number of what it shares with ports.
    state: Option<u8>,
}

impl Chain {
    fn new(forwarders: Vec<Box<dyn Forwarder>>) -> Box<Chain> {
        assert!(forwarders.len() <= usize::from(u8::MAX), "a node has a few forwarders");
        let entry = |forwarder| ChainEntry { forwarder, timers: Pair::default(), state: None };
        let entries: Vec<ChainEntry> = forwarders.into_iter().map(entry).collect();
        let ignores_inbound = entries.iter().all(|entry| entry.forwarder.ignores_some_inbound());
        Box::new(Chain { entries, ignores_inbound, wakes: Vec::new(), copies: Vec::new() })
    }

    /// Whether all would pass this packet on as it is.
    #[inline(always)]
    fn ignores_inbound(&self, packet: &Packet, node: NodeId) -> bool {
        self.ignores_inbound && self.entries.iter().all(|entry| entry.forwarder.ignores_inbound(packet, node))
    }

    /// Makes all forget what they have learned; returns the packets that they kept.
    pub(super) fn reset(&mut self) -> Vec<Pkt> {
        let mut kept = Vec::new();
        for entry in &mut self.entries {
            entry.timers.withdraw();
            entry.forwarder.reset(&mut kept);
        }
        kept
    }

    /// Called when the node goes over to other routes.
    pub(super) fn on_routes(&mut self, state: u32) {
        self.entries.iter_mut().for_each(|entry| entry.forwarder.on_routes(state));
    }

    /// Says which of the node's states the forwarder in this place shares.
    pub(super) fn share(&mut self, place: usize, state: Option<u8>) {
        self.entries[place].state = state;
    }

    /// The timers of the forwarder in this place.
    pub(super) fn timers(&mut self, place: u8) -> &mut Pair {
        &mut self.entries[usize::from(place)].timers
    }

    /// Packets that they keep.
    pub(super) fn kept(&self) -> u64 {
        self.entries.iter().map(|entry| entry.forwarder.kept()).sum()
    }
}

impl Forwarding {
    /// The forwarders of the schemes that run at a node, in order, and shortest paths after them.
    pub fn new(chain: Vec<Box<dyn Forwarder>>, last: ShortestPath) -> Forwarding {
        if chain.is_empty() { Forwarding::Shortest(last) } else { Forwarding::Before(Chain::new(chain), last) }
    }

    /// These forwarders alone.
    pub fn only(chain: Vec<Box<dyn Forwarder>>) -> Forwarding {
        Forwarding::Chain(Chain::new(chain))
    }

    /// The forwarders of schemes.
    #[inline]
    pub(super) fn chain(&self) -> Option<&Chain> {
        match self {
            Forwarding::Shortest(_) => None,
            Forwarding::Chain(chain) | Forwarding::Before(chain, _) => Some(chain),
        }
    }

    /// The same, to be called.
    #[inline]
    pub(super) fn chain_mut(&mut self) -> Option<&mut Chain> {
        match self {
            Forwarding::Shortest(_) => None,
            Forwarding::Chain(chain) | Forwarding::Before(chain, _) => Some(chain),
        }
    }

    /// Who takes shortest paths, if anybody does.
    #[inline]
    pub(super) fn shortest_mut(&mut self) -> Option<&mut ShortestPath> {
        match self {
            Forwarding::Shortest(last) | Forwarding::Before(_, last) => Some(last),
            Forwarding::Chain(_) => None,
        }
    }
}

/// What of a packet decides where it goes and whether it has room: read once for each hop, for each look into the pool
/// costs 6 instructions.
#[derive(Clone, Copy)]
pub(super) struct Heading {
    pub dst: NodeId,
    pub key: u32,
    pub size: u32,
}

impl Heading {
    #[inline(always)]
    pub fn of(packet: &Packet) -> Heading {
        Heading { dst: packet.dst, key: packet.key, size: packet.size }
    }
}

impl Node {
    /// Sends a packet on its way: out of a port, or to the endpoint of its flow here. Each hop
    /// passes here; a call costs 25 instructions.
    #[inline(always)]
    pub(super) fn forward<D: Driver>(
        &mut self,
        now: Time,
        from: Option<PortId>,
        pkt: Pkt,
        heading: Heading,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        match &self.forwarding {
            Forwarding::Shortest(_) => self.forward_by_shortest(now, pkt, heading, pool, driver),
            Forwarding::Chain(_) | Forwarding::Before(..) => self.forward_by_chain(now, from, pkt, pool, driver),
        }
    }

    /// The same where schemes forward: a call, so that `forward` stays short for TCP.
    #[inline(never)]
    fn forward_by_chain<D: Driver>(
        &mut self,
        now: Time,
        from: Option<PortId>,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let (mut pkt, mut way) = (pkt, None);
        let packet = &pool[&pkt];
        if !self.forwarding.chain().is_some_and(|chain| chain.ignores_inbound(packet, self.id)) {
            let id = pkt.id();
            let route = self.ask_chain(now, from, pkt, pool);
            self.trace_copies(driver);
            Node::trace_notes(pool, driver);
            match route {
                Route::Port(port, on) => (way, pkt) = (Some(port), on),
                Route::Pass(on) => pkt = on,
                Route::Local(pkt) => return self.deliver(now, pkt, pool, driver),
                Route::Consumed(pkt) => return Node::consume(pkt, pool, driver),
                Route::Kept if D::TRACES => return driver.step(id, pool.peek(id), Step::Kept(None)),
                Route::Kept => return,
                Route::Unroutable(pkt) => return self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            }
        }
        // One way out for both: each is some 400 instructions of code.
        let heading = Heading::of(&pool[&pkt]);
        let port = match way {
            Some(port) => port,
            None if heading.dst == self.id && self.forwarding.shortest_mut().is_some() => {
                return self.deliver(now, pkt, pool, driver);
            }
            None => match self.shortest(now, &pkt, heading, pool) {
                Some(port) => port,
                None => return self.discard(None, pkt, Drop::NoRoute, pool, driver),
            },
        };
        self.outbound(now, port, pkt, heading.size, pool, driver);
    }

    /// The port of the shortest path of a packet that goes elsewhere.
    #[inline(always)]
    fn shortest(&mut self, now: Time, pkt: &Pkt, Heading { dst, key, .. }: Heading, pool: &Pool) -> Option<PortId> {
        let paths = self.forwarding.shortest_mut()?;
        if let Some(port) = paths.remembered(key, dst) {
            return Some(port);
        }
        let (slots, links) = (&mut self.slots, &self.links);
        let load = |port: u16| slots[usize::from(port)].load(now, links[usize::from(port)].rate);
        paths.look_up(&pool[pkt], (now, self.id), load, &mut self.streams.forwarders)
    }

    /// What the first forwarder of the chain says that doesn't pass the packet on. An empty chain is never asked: it
    /// ignores all that comes in.
    #[inline(always)]
    fn ask_chain(&mut self, now: Time, from: Option<PortId>, mut pkt: Pkt, pool: &mut Pool) -> Route {
        let mut place = 0;
        loop {
            let route = self.with_forwarder(place, now, pool, |f, ctx| f.route(pkt, from, ctx));
            place += 1;
            match route {
                Route::Pass(passed) if self.forwarding.chain().is_some_and(|chain| place < chain.entries.len()) => {
                    pkt = passed;
                }
                decided => return decided,
            }
        }
    }

    /// Takes the shortest path, with what the forwarders of schemes have passed on if there are any.
    #[inline(always)]
    fn forward_by_shortest<D: Driver>(
        &mut self,
        now: Time,
        pkt: Pkt,
        heading: Heading,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        if self.forwarding.shortest_mut().is_some() && heading.dst == self.id {
            return self.deliver(now, pkt, pool, driver);
        }
        match self.shortest(now, &pkt, heading, pool) {
            Some(port) => self.outbound(now, port, pkt, heading.size, pool, driver),
            None => self.discard(None, pkt, Drop::NoRoute, pool, driver),
        }
    }

    /// Tells the driver which packets a forwarder has copied.
    #[inline]
    fn trace_copies<D: Driver>(&mut self, driver: &mut D) {
        if let Some(chain) = self.forwarding.chain_mut()
            && !chain.copies.is_empty()
        {
            chain.copies.drain(..).for_each(|(of, copy)| driver.copied(of, copy));
        }
    }

    /// Calls a forwarder of the chain with its context. A call costs 30 instructions a hop.
    #[inline(always)]
    fn with_forwarder<R>(
        &mut self,
        place: usize,
        now: Time,
        pool: &mut Pool,
        call: impl FnOnce(&mut dyn Forwarder, &mut ForwardCtx<'_>) -> R,
    ) -> R {
        let chain = self.forwarding.chain_mut().expect("callers pass a valid index into the chain");
        let ChainEntry { forwarder, state, .. } = &mut chain.entries[place];
        let state = state.map(|i| self.states[usize::from(i)].as_mut());
        let (rng, out, copies) = (&mut self.streams.forwarders, &mut self.out, Some(&mut chain.copies));
        let wakes = Some(&mut chain.wakes);
        let mut ctx = ForwardCtx { now, node: self.id, pool, rng, state, out, copies, wakes };
        let answer = call(forwarder.as_mut(), &mut ctx);
        if !chain.wakes.is_empty() {
            self.arm_forwarder(place, now);
        }
        answer
    }

    /// An entry of a forwarder's timers has come up; `fires` if the forwarder is to be told.
    pub(super) fn forwarder_timer<D: Driver>(
        &mut self,
        place: u8,
        fires: bool,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let place = usize::from(place);
        if fires {
            self.with_forwarder(place, now, pool, |f, ctx| f.on_timer(ctx));
            self.trace_copies(driver);
        }
        self.arm_forwarder(place, now);
        self.drain(now, pool, driver);
    }

    /// Takes over what a forwarder has wished for, and sees to it that it is woken then.
    #[cold]
    fn arm_forwarder(&mut self, place: usize, now: Time) {
        let Some(chain) = self.forwarding.chain_mut() else { return };
        // A node has a few forwarders: `Chain::new` sees to it.
        let (pair, number) = (&mut chain.entries[place].timers, place as u8);
        for wake in chain.wakes.drain(..) {
            match wake {
                WakeAt::Work(at) => pair.work.deadline = at,
                WakeAt::Background(at) => pair.background.deadline = at,
            }
        }
        if let Some(at) = pair.work.arm(now) {
            self.timers.push(at, Wake::Forwarder(number));
        }
        if let Some(at) = pair.background.arm(now) {
            self.timers.push_background(at, Wake::ForwarderBackground(number));
        }
    }
}
