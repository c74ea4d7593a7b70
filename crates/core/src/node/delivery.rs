//! Endpoints: a packet is handed to the end of its flow, which is called with its context.

use super::timers::Wake;
use super::{Driver, Node};
use crate::packet::{Packet, Pkt, Pool};
use crate::rng::secret;
use crate::roles::{Accept, Drop, Endpoint, EndpointCtx, Way};
use crate::units::Time;

impl Node {
    /// Hands a packet to the endpoint of its flow, or to whoever may accept the flow.
    pub(super) fn deliver<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let Some(seat) = self.endpoints.find(pool[&pkt].flow) else {
            return self.deliver_first(now, pkt, pool, driver);
        };
        let packet = Node::arrive(pkt, pool, driver);
        self.call(seat, now, pool, driver, |e, ctx| e.on_packet(&packet, ctx));
    }

    /// Hands a packet that may open a flow to whoever accepts it.
    fn deliver_first<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let endpoint = match self.accept(&pool[&pkt]) {
            Accept::Take(endpoint) if self.endpoints.has_room() => endpoint,
            Accept::Refuse(answer) => return self.refuse(pkt, Some(answer), pool, driver),
            Accept::Take(_) | Accept::Ignore => return self.refuse(pkt, None, pool, driver),
        };
        let packet = Node::arrive(pkt, pool, driver);
        let seat = self.endpoints.insert(packet.flow, false, endpoint);
        self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
        self.endpoints.recycle(packet.flow);
        self.call(seat, now, pool, driver, |e, ctx| e.on_packet(&packet, ctx));
    }

    /// Takes out a packet that has reached its endpoint. The driver hears of it while the packet
    /// has its place: what an endpoint sends next may get the same one.
    #[inline]
    fn arrive<D: Driver>(pkt: Pkt, pool: &mut Pool, driver: &mut D) -> Packet {
        driver.delivered(pkt.id(), &pool[&pkt]);
        pool.take(pkt)
    }

    /// What is to become of a packet whose flow has no end here. A late copy of a flow that has
    /// ended opens nothing.
    fn accept(&self, packet: &Packet) -> Accept {
        if self.endpoints.has_closed(packet.flow) {
            return self.flows.refuse(packet).map_or(Accept::Ignore, Accept::Refuse);
        }
        self.flows.accept(self.id, packet)
    }

    /// Counts a packet that nobody takes, and sends the answer, if there is one.
    fn refuse<D: Driver>(&mut self, pkt: Pkt, answer: Option<Packet>, pool: &mut Pool, driver: &mut D) {
        self.discard(None, pkt, Drop::Undeliverable, pool, driver);
        if let Some(answer) = answer
            && answer.dst != self.id
        {
            self.out.push_back((Way::Routed, pool.insert(answer)));
        }
    }

    pub(super) fn endpoint_timer<D: Driver>(
        &mut self,
        index: u32,
        at: Time,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        if seat.timer.fire(at, now) {
            self.call(index, now, pool, driver, |e, ctx| e.on_timer(ctx));
        } else if let Some(at) = seat.timer.arm(now) {
            self.timers.push(at, Wake::Endpoint(index));
        }
    }

    /// Calls an endpoint and carries out what it wished for.
    pub(super) fn call<D: Driver>(
        &mut self,
        index: u32,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
        call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>),
    ) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        // Before any of them draws a number: whenever it is drawn, it is the same.
        let secret = *self.secret.get_or_insert_with(|| secret(&self.streams.endpoints));
        let (mut finished, mut successor) = (false, None);
        let mut ctx = EndpointCtx {
            now,
            node: self.id,
            flow: seat.flow,
            rng: &mut self.streams.endpoints,
            secret,
            shared: &mut self.shared,
            links: &self.links,
            pool,
            out: &mut self.out,
            pokes: &mut self.pokes,
            timer: &mut seat.timer.deadline,
            finished: &mut finished,
            successor: Some(&mut successor),
        };
        call(seat.endpoint.as_mut(), &mut ctx);
        if let Some(successor) = successor {
            seat.endpoint = successor;
        }
        if finished {
            if let Some(seat) = self.endpoints.remove(index) {
                driver.finished(seat.flow, seat.active, seat.endpoint.report());
            }
        } else if let Some(at) = seat.timer.arm(now) {
            self.timers.push(at, Wake::Endpoint(index));
        }
        self.poke(now);
        self.send_out(now, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Sets the timers of poked endpoints to now.
    fn poke(&mut self, now: Time) {
        while let Some(flow) = self.pokes.pop() {
            let Some(index) = self.endpoints.find(flow) else { continue };
            let Some(seat) = self.endpoints.seat(index) else { continue };
            seat.timer.deadline = now;
            if let Some(at) = seat.timer.arm(now) {
                self.timers.push(at, Wake::Endpoint(index));
            }
        }
    }
}
