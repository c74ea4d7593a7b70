//! Endpoints: a packet is handed to the end of its flow, which is called with its context.

use super::timers::Wake;
use super::{Driver, Node};
use crate::packet::{Packet, PacketId, Pkt, Pool};
use crate::rng::secret;
use crate::roles::{Accept, Drop, Endpoint, EndpointCtx, Way};
use crate::units::Time;

impl Node {
    /// Hands a packet to the endpoint of its flow, or to whoever may accept the flow.
    pub(super) fn deliver<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let id = pkt.id();
        let packet = pool.take(pkt);
        let seat = match self.endpoints.find(packet.flow) {
            Some(seat) => seat,
            None => match self.accept(&packet) {
                Accept::Take(endpoint) => {
                    if !self.endpoints.has_room() {
                        return self.refuse(id, &packet, Accept::Ignore, pool, driver);
                    }
                    let seat = self.endpoints.insert(packet.flow, false, endpoint);
                    self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
                    self.endpoints.recycle(packet.flow);
                    seat
                }
                answer => return self.refuse(id, &packet, answer, pool, driver),
            },
        };
        driver.delivered(id, &packet);
        self.call(seat, now, pool, driver, |e, ctx| e.on_packet(&packet, ctx));
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
    fn refuse<D: Driver>(&mut self, id: PacketId, packet: &Packet, answer: Accept, pool: &mut Pool, driver: &mut D) {
        driver.dropped(None, id, packet, Drop::Undeliverable);
        if let Accept::Refuse(answer) = answer
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
