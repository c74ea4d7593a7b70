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
}

impl Forwarding {
    /// The forwarders of the schemes that run at a node, in order, and shortest paths after them.
    pub fn new(mut chain: Vec<Box<dyn Forwarder>>, last: ShortestPath) -> Forwarding {
        if chain.is_empty() {
            return Forwarding::Shortest(last);
        }
        chain.push(Box::new(last));
        Forwarding::Chain(chain)
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
        let Forwarding::Shortest(paths) = &mut self.forwarding else {
            return self.forward_by_chain(now, from, pkt, pool, driver);
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

    /// The same where schemes forward.
    fn forward_by_chain<D: Driver>(
        &mut self,
        now: Time,
        from: Option<PortId>,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let mut route = Route::Pass(pkt);
        for place in 0..self.chain_timers.len() {
            let Route::Pass(pkt) = route else { break };
            route = self.with_forwarder(place, now, pool, |f, ctx| f.route(pkt, from, ctx));
        }
        self.tell_copies(driver);
        match route {
            Route::Port(port, pkt) => self.outbound(now, port, pkt, pool, driver),
            Route::Local(pkt) => self.deliver(now, pkt, pool, driver),
            Route::Consumed(pkt) => Node::consume(pkt, pool, driver),
            Route::Kept => {}
            Route::Unroutable(pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Route::Pass(pkt) => self.discard(None, pkt, Drop::NoRoute, pool, driver),
        }
    }

    /// Tells the driver which packets a forwarder has copied.
    fn tell_copies<D: Driver>(&mut self, driver: &mut D) {
        for (of, copy) in self.copies.drain(..) {
            driver.copied(of, copy);
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
        let Forwarding::Chain(chain) = &mut self.forwarding else { unreachable!("asked for a place in the chain") };
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
