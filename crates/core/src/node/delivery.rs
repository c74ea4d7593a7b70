//! Delivery of a packet to the endpoint of its flow.

use super::{Driver, EndId, Node};
use crate::packet::{FlowId, NodeId, Packet, PacketId, Pkt, Pool};
use crate::roles::{Accept, Application, Drop, Ended, Endpoint, EndpointCtx, Outcome, Way};
use crate::units::Time;

impl Node {
    /// Called with a packet that has come to where it was sent.
    #[inline]
    pub(super) fn deliver<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        match self.receive_queue() {
            None => self.hand_up(now, pkt, pool, driver),
            Some(_) => self.receive(now, pkt, pool, driver),
        }
    }

    /// Hands a packet to the endpoint of its flow, or to whoever may accept the flow. Until the driver
    /// has heard of the packet's fate, nothing is sent that could get its id.
    pub(super) fn hand_up<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let id = pkt.id();
        let packet = pool.take_for_a_while(pkt);
        // Drivers without bytes give each flow a number of its own: to look at the peer, too, costs
        // each packet 40 instructions.
        let found =
            if D::BYTES { self.endpoints.find(packet.flow, packet.src) } else { self.endpoints.find_own(packet.flow) };
        if let Some(seat) = found {
            driver.delivered(id, &packet);
            self.call(seat, now, pool, driver, |e, ctx| e.on_packet(&packet, ctx));
        } else {
            self.deliver_first(now, id, &packet, pool, driver);
        }
        pool.give_back_place(packet);
    }

    /// Hands a packet that may open a flow to whoever accepts it.
    #[cold]
    #[inline(never)]
    fn deliver_first<D: Driver>(&mut self, now: Time, id: PacketId, packet: &Packet, pool: &mut Pool, driver: &mut D) {
        let endpoint = match self.accept(packet) {
            Accept::Take(endpoint) if self.endpoints.has_room() => endpoint,
            Accept::Refuse(answer) => return self.refuse(id, packet, Some(answer), pool, driver),
            Accept::Take(_) | Accept::Ignore => return self.refuse(id, packet, None, pool, driver),
        };
        driver.delivered(id, packet);
        // To start may drop packets.
        let payload = pool.taken_payload();
        let end = EndId { flow: packet.flow, peer: packet.src, active: false };
        let seat = self.endpoints.insert(end, endpoint);
        self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
        self.endpoints.recycle(end, &mut self.timers).into_iter().for_each(|end| driver.gone(end));
        pool.give_back_payload(payload);
        self.call(seat, now, pool, driver, |e, ctx| e.on_packet(packet, ctx));
    }

    /// What is to become of a packet whose flow has no end here. A late copy of a flow that has
    /// ended opens nothing.
    fn accept(&self, packet: &Packet) -> Accept {
        if self.endpoints.has_closed(packet.flow, packet.src) {
            return self.flows.refuse(packet).map_or(Accept::Ignore, Accept::Refuse);
        }
        self.flows.accept(self.id, packet)
    }

    /// Counts a packet that nobody takes, and sends the answer, if there is one.
    fn refuse<D: Driver>(
        &mut self,
        id: PacketId,
        packet: &Packet,
        answer: Option<Packet>,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        driver.dropped(None, id, (packet, None), Drop::Undeliverable);
        if let Some(answer) = answer
            && answer.dst != self.id
        {
            self.out.push_back((Way::Routed, pool.insert(answer)));
        }
    }

    /// The timer of the end in this seat has come up.
    pub(super) fn endpoint_timer<D: Driver>(&mut self, index: u32, now: Time, pool: &mut Pool, driver: &mut D) {
        if self.endpoints.fire(index, now, &mut self.timers) {
            self.call(index, now, pool, driver, |e, ctx| e.on_timer(ctx));
        }
    }

    /// Calls an endpoint and carries out what it wished for. For each packet that arrives: a call costs
    /// 40 instructions.
    #[inline(always)]
    pub(super) fn call<D: Driver>(
        &mut self,
        index: u32,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
        call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>),
    ) {
        let seat = self.endpoints.seat(index);
        let end = seat.end();
        let Some(endpoint) = seat.endpoint.as_deref_mut() else { return };
        let mut application = D::BYTES.then(|| {
            let (supply, room) = (driver.supply(end), driver.room(end));
            Application { supply, room, ..Application::default() }
        });
        let (mut outcome, mut successor) = (Outcome::default(), None);
        let first = self.out.len();
        let queue = self.extras.as_deref().and_then(|extras| extras.receive.as_deref());
        let mut ctx = EndpointCtx {
            now,
            node: self.id,
            flow: end.flow,
            rng: &mut self.streams.endpoints,
            secret: self.streams.secret,
            shared: &mut self.shared,
            links: &self.links,
            received: queue.map(|queue| &queue.received),
            pool,
            out: &mut self.out,
            pokes: &mut self.pokes,
            actions: &mut self.actions,
            timer: &mut seat.deadline,
            outcome: &mut outcome,
            successor: Some(&mut successor),
            application: if D::BYTES { application.as_mut() } else { None },
        };
        call(endpoint, &mut ctx);
        if successor.is_some() {
            seat.endpoint = successor;
        }
        if D::BYTES
            && let Some(application) = application
        {
            Node::tell(end, application, outcome, pool, driver);
        }
        if D::TRACES {
            Node::trace_notes(pool, driver);
            Node::trace_call((end, seat.endpoint.as_deref()), self.out.range(first..), pool, driver);
        }
        if outcome.is_empty() {
            self.endpoints.arm(index, now, &mut self.timers);
        } else {
            self.conclude(index, outcome, now, driver);
        }
        if !self.pokes.is_empty() {
            self.poke(now);
        }
        self.drain(now, pool, driver);
    }

    /// A half of a flow is complete, or the end is over.
    #[cold]
    fn conclude<D: Driver>(&mut self, index: u32, outcome: Outcome, now: Time, driver: &mut D) {
        if !D::BYTES {
            let end = self.endpoints.seat(index).end();
            outcome.halves().for_each(|half| driver.completed(end, half));
            self.timers.take_releases(driver);
        }
        if !outcome.has(Outcome::FINISHED) {
            self.endpoints.arm(index, now, &mut self.timers);
        } else if let Some((end, endpoint)) = self.endpoints.remove(index, &mut self.timers) {
            driver.finished(end.flow, end.active, endpoint.report());
            driver.gone(end);
        }
    }

    /// Tells the driver what a call to an endpoint has done.
    fn tell<D: Driver>(end: EndId, application: Application, outcome: Outcome, pool: &Pool, driver: &mut D) {
        let Application { made, arrived, acknowledged, ended, .. } = application;
        made.into_iter().for_each(|(id, at)| driver.made(end, id, pool.peek(id), at));
        arrived.into_iter().for_each(|at| driver.arrived(end, at));
        acknowledged.into_iter().for_each(|up_to| driver.acknowledged(end, up_to));
        outcome.halves().for_each(|half| driver.completed(end, half));
        ended.into_iter().for_each(|why| driver.ended(end, why));
    }

    /// Opens a flow to `peer` here and now, with this active end. False if there is one of this
    /// number between the two already.
    pub fn connect<D: Driver>(
        &mut self,
        flow: FlowId,
        peer: NodeId,
        endpoint: Box<dyn Endpoint>,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
    ) -> bool {
        if self.endpoints.find(flow, peer).is_some() {
            return false;
        }
        let seat = self.endpoints.insert(EndId { flow, peer, active: true }, endpoint);
        self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
        true
    }

    /// Called when the application behind an end has handed more over, has closed its side, or has
    /// room for more.
    pub fn poke_end<D: Driver>(&mut self, end: EndId, now: Time, pool: &mut Pool, driver: &mut D) {
        if let Some(seat) = self.endpoints.find_end(end) {
            self.call(seat, now, pool, driver, |e, ctx| e.on_application(ctx));
        }
    }

    /// Called when nothing has been heard of an end's peer for long: it is asked whether it is there.
    pub fn probe<D: Driver>(&mut self, end: EndId, now: Time, pool: &mut Pool, driver: &mut D) {
        if let Some(seat) = self.endpoints.find_end(end) {
            self.call(seat, now, pool, driver, |e, ctx| e.on_probe(ctx));
        }
    }

    /// Called when the application behind an end gives the flow up.
    pub fn abort<D: Driver>(&mut self, end: EndId, now: Time, pool: &mut Pool, driver: &mut D) {
        if let Some(seat) = self.endpoints.find_end(end) {
            self.call(seat, now, pool, driver, |e, ctx| {
                ctx.ended(Ended::Aborted);
                e.on_abort(ctx);
            });
        }
    }

    /// Sets the timers of poked endpoints to now.
    #[inline(never)]
    pub(super) fn poke(&mut self, now: Time) {
        while let Some((flow, peer)) = self.pokes.pop() {
            self.endpoints.find(flow, peer).into_iter().for_each(|index| self.wake(index, now));
        }
    }

    /// Sets an endpoint's timer to now.
    pub(super) fn wake(&mut self, index: u32, now: Time) {
        self.endpoints.seat(index).deadline = now;
        self.endpoints.arm(index, now, &mut self.timers);
    }
}
