//! Routing: where a packet goes next, by shortest paths or by the forwarders of schemes.

use super::timers::Wake;
use super::{Driver, Node};
use crate::packet::{Pkt, Pool, PortId};
use crate::roles::{Drop, ForwardCtx, Forwarder, Route, ShortestPath, WakeAt};
use crate::units::Time;

/// How a node forwards.
pub enum Forwarding {
    /// Shortest paths, without an indirect call.
    Shortest(ShortestPath),
    /// Schemes' own: who doesn't pass a packet on decides. What the last passes on has no way.
    Chain(Vec<Box<dyn Forwarder>>),
    /// The same, and shortest paths for what they pass on.
    Before(Vec<Box<dyn Forwarder>>, ShortestPath),
}

impl Forwarding {
    /// The forwarders of the schemes that run at a node, in order, and shortest paths after them.
    pub fn new(chain: Vec<Box<dyn Forwarder>>, last: ShortestPath) -> Forwarding {
        if chain.is_empty() { Forwarding::Shortest(last) } else { Forwarding::Before(chain, last) }
    }

    /// The forwarders of schemes.
    #[inline]
    pub(super) fn chain(&self) -> &[Box<dyn Forwarder>] {
        match self {
            Forwarding::Shortest(_) => &[],
            Forwarding::Chain(chain) | Forwarding::Before(chain, _) => chain,
        }
    }

    /// The same, to be called.
    #[inline]
    pub(super) fn chain_mut(&mut self) -> &mut [Box<dyn Forwarder>] {
        match self {
            Forwarding::Shortest(_) => &mut [],
            Forwarding::Chain(chain) | Forwarding::Before(chain, _) => chain,
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

impl Node {
    /// Sends a packet on its way: out of a port, or to the endpoint of its flow here. Each hop
    /// passes here; a call costs 25 instructions.
    #[inline(always)]
    pub(super) fn forward<D: Driver>(
        &mut self,
        now: Time,
        from: Option<PortId>,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        match &self.forwarding {
            Forwarding::Shortest(_) => self.forward_by_shortest(now, pkt, pool, driver),
            _ => self.forward_by_chain(now, from, pkt, pool, driver),
        }
    }

    /// The same where schemes forward.
    fn forward_by_chain<D: Driver>(
        &mut self,
        now: Time,
        from: Option<PortId>,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let route = self.ask_chain(now, from, pkt, pool);
        self.tell_copies(driver);
        match route {
            Route::Port(port, pkt) => self.outbound(now, port, pkt, pool, driver),
            Route::Local(pkt) => self.deliver(now, pkt, pool, driver),
            Route::Consumed(pkt) => Node::consume(pkt, pool, driver),
            Route::Kept => {}
            Route::Unroutable(pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Route::Pass(pkt) => self.forward_by_shortest(now, pkt, pool, driver),
        }
    }

    /// What the first forwarder of the chain says that doesn't pass the packet on.
    #[inline(always)]
    fn ask_chain(&mut self, now: Time, from: Option<PortId>, mut pkt: Pkt, pool: &mut Pool) -> Route {
        for place in 0..self.chain_timers.len() {
            match self.with_forwarder(place, now, pool, |f, ctx| f.route(pkt, from, ctx)) {
                Route::Pass(passed) => pkt = passed,
                decided => return decided,
            }
        }
        Route::Pass(pkt)
    }

    /// Takes the shortest path, with what the forwarders of schemes have passed on if there are any.
    #[inline(always)]
    fn forward_by_shortest<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let Some(paths) = self.forwarding.shortest_mut() else {
            return self.discard(None, pkt, Drop::NoRoute, pool, driver);
        };
        let packet = &pool[&pkt];
        if packet.dst == self.id {
            return self.deliver(now, pkt, pool, driver);
        }
        match paths.next(packet, self.id, &mut self.streams.forwarders) {
            Some(port) => self.outbound(now, port, pkt, pool, driver),
            None => self.discard(None, pkt, Drop::NoRoute, pool, driver),
        }
    }

    /// Tells the driver which packets a forwarder has copied.
    #[inline]
    fn tell_copies<D: Driver>(&mut self, driver: &mut D) {
        if !self.copies.is_empty() {
            self.copies.drain(..).for_each(|(of, copy)| driver.copied(of, copy));
        }
    }

    /// Calls a forwarder of the chain with its context.
    #[inline]
    fn with_forwarder<R>(
        &mut self,
        place: usize,
        now: Time,
        pool: &mut Pool,
        call: impl FnOnce(&mut dyn Forwarder, &mut ForwardCtx<'_>) -> R,
    ) -> R {
        let chain = self.forwarding.chain_mut();
        let state = self.forwards.get(place).copied().flatten();
        let state = state.map(|i| self.states[usize::from(i)].as_mut());
        let (rng, out, copies) = (&mut self.streams.forwarders, &mut self.out, Some(&mut self.copies));
        let wakes = Some(&mut self.wakes);
        let mut ctx = ForwardCtx { now, node: self.id, pool, rng, state, out, copies, wakes };
        let answer = call(chain[place].as_mut(), &mut ctx);
        if !self.wakes.is_empty() {
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
            self.tell_copies(driver);
        }
        self.arm_forwarder(place, now);
        self.drain(now, pool, driver);
    }

    /// Takes over what a forwarder has wished for, and sees to it that it is woken then.
    #[cold]
    fn arm_forwarder(&mut self, place: usize, now: Time) {
        // A node has a few forwarders: `Node::new` sees to it.
        let (pair, number) = (&mut self.chain_timers[place], place as u8);
        for wake in self.wakes.drain(..) {
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
