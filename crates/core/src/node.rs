//! A node: ports, a forwarder and endpoints, told what arrived and asked when to be woken.

mod endpoints;
mod slot;
mod timers;

use std::sync::Arc;

use endpoints::Endpoints;
use slot::Slot;
use timers::{Timers, Wake};

use crate::packet::{FlowId, Kind, NodeId, Packet, PacketId, Pool, PortId};
use crate::queue::Discipline;
use crate::rng::Stream;
use crate::roles::{
    Accept, Action, Backlog, Board, Drop, Endpoint, EndpointCtx, FlowReport, ForwardCtx, Forwarder, Inbound, LinkInfo,
    PortCtx, Route, Shared, ShortestPath,
};
use crate::stats::PortCounters;
use crate::units::{Rate, Time};

/// What a node asks of whoever runs it: the simulator, or the daemon on real packets.
pub trait Driver {
    /// Called when a packet has got its place on the wire of `port`: it starts at `start` (which may lie ahead) and
    /// its last bit leaves at `end`. The driver owns the packet from here.
    fn transmit(&mut self, port: PortId, id: PacketId, start: Time, end: Time, pool: &mut Pool);
    /// Called when a packet ended at `port` (`None`: at the node itself). The node frees it after the call.
    fn dropped(&mut self, _port: Option<PortId>, _packet: &Packet, _why: Drop) {}
    /// Called when a packet got its CE mark at `port`.
    fn marked(&mut self, _port: PortId, _packet: &Packet) {}
    /// Called when an endpoint finished.
    fn finished(&mut self, _flow: FlowId, _active: bool, _report: FlowReport) {}
    /// Called when a packet reached the endpoint of its flow.
    fn delivered(&mut self, _packet: &Packet) {}
    /// Called when a port or forwarder has used a packet up: a probe answered, an ACK merged into another.
    fn consumed(&mut self, _packet: &Packet) {}
}

/// The applications of a network: which flows start, and who takes what arrives.
pub trait Flows: Send + Sync {
    /// Called at the node where a flow starts: its active end.
    fn open(&self, flow: FlowId) -> Option<Box<dyn Endpoint>>;
    /// Called at `node` with a packet of a flow that has no end there.
    fn accept(&self, _node: NodeId, _first: &Packet) -> Accept {
        Accept::Ignore
    }
    /// Called instead with a packet of a flow whose passive end has finished there: the answer, if there is one.
    fn refuse(&self, _packet: &Packet) -> Option<Packet> {
        None
    }
}

/// How a node forwards.
pub enum Forwarding {
    /// Shortest paths, without an indirect call.
    Shortest(ShortestPath),
    /// A scheme's own.
    Custom(Box<dyn Forwarder>),
}

/// What a wake-up was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something of the node's own.
    Node,
    /// The driver's wish with this token.
    Driver(u32),
    /// Nothing was due.
    Nothing,
}

/// One node. It reaches no clock, no socket, no global, and no randomness but its own stream.
pub struct Node {
    id: NodeId,
    links: Vec<LinkInfo>,
    slots: Vec<Slot>,
    forwarding: Forwarding,
    endpoints: Endpoints,
    flows: Arc<dyn Flows>,
    timers: Timers,
    rng: Stream,
    board: Board,
    shared: Shared,
    /// Packets that endpoints have sent during a call, drained after it.
    out: Vec<(Option<PortId>, PacketId)>,
    pokes: Vec<FlowId>,
    actions: Vec<Action>,
}

impl Node {
    /// A node whose port `i` has `links[i]` and `disciplines[i]`.
    pub fn new(
        id: NodeId,
        links: Vec<LinkInfo>,
        disciplines: Vec<Discipline>,
        forwarding: Forwarding,
        flows: Arc<dyn Flows>,
        rng: Stream,
    ) -> Node {
        assert_eq!(links.len(), disciplines.len(), "one discipline per link");
        let slots: Vec<Slot> = links.iter().zip(disciplines).map(|(l, d)| Slot::new(l.rate, d)).collect();
        let board = Board::new(slots.len());
        Node {
            id,
            links,
            slots,
            forwarding,
            endpoints: Endpoints::default(),
            flows,
            timers: Timers::default(),
            rng,
            board,
            shared: Shared::default(),
            out: Vec::new(),
            pokes: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Asks that `flow` starts here at `at`.
    pub fn start_flow(&mut self, at: Time, flow: FlowId) {
        self.timers.push(at, Wake::Start(flow));
    }

    /// Asks for [`Woken::Driver`] with `token` at `at`.
    pub fn wake_driver(&mut self, at: Time, token: u32) {
        self.timers.push(at, Wake::Driver(token));
    }

    /// When it wants to be woken next; [`Time::MAX`] for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.timers.next()
    }

    /// Called when `now` has reached [`Node::next_wake`]: does the first thing that is due.
    pub fn on_wake(&mut self, now: Time, pool: &mut Pool, driver: &mut impl Driver) -> Woken {
        let Some(wake) = self.timers.pop_due(now) else { return Woken::Nothing };
        match wake {
            Wake::Start(flow) => {
                if let Some(endpoint) = self.flows.open(flow) {
                    let seat = self.endpoints.insert(flow, true, endpoint);
                    self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
                }
            }
            Wake::Endpoint(seat) => self.endpoint_timer(seat, now, pool, driver),
            Wake::Idle(port) => {
                self.slots[usize::from(port.0)].idle_armed = false;
                self.poll(port, now, pool, driver);
                self.drain(now, pool, driver);
            }
            Wake::Port(port) => self.port_timer(port, now, pool, driver),
            Wake::Driver(token) => return Woken::Driver(token),
        }
        Woken::Node
    }

    /// Called when the last bit of a packet has come in through `port`.
    #[inline]
    pub fn on_packet(&mut self, now: Time, port: PortId, id: PacketId, pool: &mut Pool, driver: &mut impl Driver) {
        if self.slots[usize::from(port.0)].watches_inbound && !self.inbound(now, port, id, pool, driver) {
            return;
        }
        if pool[id].hops == 0 || pool[id].kind == Kind::Control {
            // A control packet that no port has taken ends here: neighbours that don't know a scheme ignore it.
            return self.discard(None, id, Drop::Undeliverable, pool, driver);
        }
        pool[id].hops -= 1;
        self.forward(now, Some(port), id, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Shows the packet to the port that it came in through; whether it goes on.
    fn inbound(&mut self, now: Time, port: PortId, id: PacketId, pool: &mut Pool, driver: &mut impl Driver) -> bool {
        if !matches!(self.slots[usize::from(port.0)].discipline, Discipline::Held(_)) {
            let Err(why) = self.slots[usize::from(port.0)].inbound_rule(id, pool, now) else { return true };
            self.discard(Some(port), id, why, pool, driver);
            self.drain(now, pool, driver);
            return false;
        }
        let fate = self.with_held(port, now, pool, |p, ctx| p.inbound(id, ctx)).unwrap_or(Inbound::Forward);
        self.poll(port, now, pool, driver);
        match fate {
            Inbound::Forward => return true,
            Inbound::Consume => Node::consume(id, pool, driver),
            Inbound::Drop(why) => self.discard(Some(port), id, why, pool, driver),
        }
        self.drain(now, pool, driver);
        false
    }

    /// Sends a packet on its way: out of a port, or to the endpoint of its flow here.
    #[inline]
    fn forward(&mut self, now: Time, from: Option<PortId>, id: PacketId, pool: &mut Pool, driver: &mut impl Driver) {
        let Forwarding::Shortest(paths) = &self.forwarding else {
            return self.forward_by_scheme(now, from, id, pool, driver);
        };
        let packet = &pool[id];
        if packet.dst == self.id {
            return self.deliver(now, id, pool, driver);
        }
        match paths.next(packet, self.id, &mut self.rng) {
            Some(port) => self.outbound(now, port, id, pool, driver),
            None => self.discard(None, id, Drop::Undeliverable, pool, driver),
        }
    }

    /// The same where a scheme forwards.
    fn forward_by_scheme(
        &mut self,
        now: Time,
        from: Option<PortId>,
        id: PacketId,
        pool: &mut Pool,
        driver: &mut impl Driver,
    ) {
        let Forwarding::Custom(forwarder) = &mut self.forwarding else { return };
        let mut ctx =
            ForwardCtx { now, node: self.id, pool, rng: &mut self.rng, board: &self.board, emit: &mut self.out };
        match forwarder.route(id, from, &mut ctx) {
            Route::Port(port) => self.outbound(now, port, id, pool, driver),
            Route::Local => self.deliver(now, id, pool, driver),
            Route::Copies { ports, local } => {
                let packet = pool[id];
                for port in ports {
                    let copy = pool.insert(packet);
                    self.outbound(now, port, copy, pool, driver);
                }
                if local {
                    self.deliver(now, id, pool, driver);
                } else {
                    Node::consume(id, pool, driver);
                }
            }
            Route::Consumed => Node::consume(id, pool, driver),
            Route::Kept => {}
            Route::Unroutable => self.discard(None, id, Drop::Undeliverable, pool, driver),
        }
    }

    /// Offers a packet to a port.
    #[inline]
    fn outbound(&mut self, now: Time, port: PortId, id: PacketId, pool: &mut Pool, driver: &mut impl Driver) {
        let slot = &mut self.slots[usize::from(port.0)];
        if matches!(slot.discipline, Discipline::Held(_)) {
            if slot.idle_armed && slot.free_at <= now {
                // What starts now waits no longer when another arrives now, as on a timetable.
                self.poll(port, now, pool, driver);
            }
            // Sojourn counts from here, whatever the port does with the packet.
            pool[id].queued = now;
            let marks = self.slots[usize::from(port.0)].counters.marks;
            self.with_held(port, now, pool, |p, ctx| p.outbound(id, ctx));
            let slot = &mut self.slots[usize::from(port.0)];
            slot.counters.max_bytes = slot.counters.max_bytes.max(slot.backlog(now).bytes);
            if slot.counters.marks > marks {
                driver.marked(port, &pool[id]);
            }
            return self.poll(port, now, pool, driver);
        }
        let marks = slot.counters.marks;
        match slot.schedule(&mut pool[id], now, &mut self.rng) {
            Ok((start, end)) => {
                if slot.counters.marks > marks {
                    driver.marked(port, &pool[id]);
                }
                driver.transmit(port, id, start, end, pool);
            }
            Err(why) => self.discard(Some(port), id, why, pool, driver),
        }
    }

    /// Asks a held port for a packet if its transmitter is idle; sees to it that it is asked again.
    fn poll(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        let slot = &mut self.slots[usize::from(port.0)];
        if !matches!(slot.discipline, Discipline::Held(_)) {
            return;
        }
        if !slot.up {
            return self.arm_port(port, now);
        }
        if slot.free_at <= now {
            let marks = slot.counters.marks;
            if let Some(Some(id)) = self.with_held(port, now, pool, |p, ctx| p.poll_transmit(ctx)) {
                let slot = &mut self.slots[usize::from(port.0)];
                let packet = &pool[id];
                let end = now + slot.clock.time(packet.size);
                slot.free_at = end;
                slot.count(packet.size, now.saturating_sub(packet.queued));
                if slot.counters.marks > marks {
                    driver.marked(port, packet);
                }
                driver.transmit(port, id, now, end, pool);
            }
        }
        let slot = &mut self.slots[usize::from(port.0)];
        if !slot.idle_armed && slot.free_at > now && slot.backlog(now).packets > 0 {
            slot.idle_armed = true;
            self.timers.push(slot.free_at, Wake::Idle(port));
        }
        self.arm_port(port, now);
    }

    /// Calls a held port with its context. `None` if it isn't held.
    fn with_held<R>(
        &mut self,
        port: PortId,
        now: Time,
        pool: &mut Pool,
        call: impl FnOnce(&mut dyn crate::roles::Port, &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        let slot = &mut self.slots[usize::from(port.0)];
        let Discipline::Held(held) = &mut slot.discipline else { return None };
        let mut ctx = PortCtx {
            now,
            node: self.id,
            me: port,
            links: &self.links,
            pool,
            rng: &mut self.rng,
            board: &mut self.board,
            actions: &mut self.actions,
            timer: &mut slot.timer.deadline,
            marks: &mut slot.counters.marks,
        };
        Some(call(held.as_mut(), &mut ctx))
    }

    fn arm_port(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.slots[usize::from(port.0)].timer.arm(now) {
            self.timers.push(at, Wake::Port(port));
        }
    }

    fn port_timer(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        if self.slots[usize::from(port.0)].timer.fire(now) {
            self.with_held(port, now, pool, |p, ctx| p.on_timer(ctx));
            self.poll(port, now, pool, driver);
        }
        self.arm_port(port, now);
        self.drain(now, pool, driver);
    }

    /// Hands a packet to the endpoint of its flow, or to whoever may accept the flow.
    fn deliver(&mut self, now: Time, id: PacketId, pool: &mut Pool, driver: &mut impl Driver) {
        let packet = pool.take(id);
        let seat = match self.endpoints.find(packet.flow) {
            Some(seat) => seat,
            None => match self.accept(&packet) {
                Accept::Take(endpoint) => {
                    let seat = self.endpoints.insert(packet.flow, false, endpoint);
                    self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
                    seat
                }
                answer => return self.refuse(&packet, answer, pool, driver),
            },
        };
        driver.delivered(&packet);
        self.call(seat, now, pool, driver, |e, ctx| e.on_packet(&packet, ctx));
    }

    /// What is to become of a packet whose flow has no end here. A late copy of a flow that has ended opens nothing.
    fn accept(&self, packet: &Packet) -> Accept {
        if self.endpoints.has_closed(packet.flow) {
            return self.flows.refuse(packet).map_or(Accept::Ignore, Accept::Refuse);
        }
        self.flows.accept(self.id, packet)
    }

    /// Counts a packet that nobody takes, and sends the answer, if there is one.
    fn refuse(&mut self, packet: &Packet, answer: Accept, pool: &mut Pool, driver: &mut impl Driver) {
        driver.dropped(None, packet, Drop::Undeliverable);
        if let Accept::Refuse(answer) = answer
            && answer.dst != self.id
        {
            self.out.push((None, pool.insert(answer)));
        }
    }

    fn endpoint_timer(&mut self, index: u32, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        if seat.timer.fire(now) {
            self.call(index, now, pool, driver, |e, ctx| e.on_timer(ctx));
        } else if let Some(at) = seat.timer.arm(now) {
            self.timers.push(at, Wake::Endpoint(index));
        }
    }

    /// Calls an endpoint and carries out what it wished for.
    fn call(
        &mut self,
        index: u32,
        now: Time,
        pool: &mut Pool,
        driver: &mut impl Driver,
        call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>),
    ) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        let mut finished = false;
        let mut ctx = EndpointCtx {
            now,
            node: self.id,
            flow: seat.flow,
            rng: &mut self.rng,
            shared: &mut self.shared,
            links: &self.links,
            pool,
            out: &mut self.out,
            pokes: &mut self.pokes,
            timer: &mut seat.timer.deadline,
            finished: &mut finished,
        };
        call(seat.endpoint.as_mut(), &mut ctx);
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

    /// Routes what endpoints (or the forwarder) have sent. Packets to this very node are undeliverable, not a recursion.
    #[inline]
    fn send_out(&mut self, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        let mut next = 0;
        while next < self.out.len() {
            let (via, id) = self.out[next];
            next += 1;
            match via {
                Some(port) if usize::from(port.0) < self.slots.len() => self.outbound(now, port, id, pool, driver),
                None if pool[id].dst != self.id => self.forward(now, None, id, pool, driver),
                _ => self.discard(None, id, Drop::Undeliverable, pool, driver),
            }
        }
        self.out.clear();
    }

    /// Carries out what ports and the forwarder have wished for, first wish first, until nothing is left.
    #[inline]
    fn drain(&mut self, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        while !self.actions.is_empty() || !self.out.is_empty() {
            self.send_out(now, pool, driver);
            let mut next = 0;
            while next < self.actions.len() {
                let action = self.actions[next];
                next += 1;
                self.carry_out(action, now, pool, driver);
            }
            self.actions.clear();
        }
    }

    fn carry_out(&mut self, action: Action, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        match action {
            Action::Sibling(port, id) if usize::from(port.0) < self.slots.len() => {
                self.outbound(now, port, id, pool, driver);
            }
            Action::Sibling(_, id) => self.discard(None, id, Drop::Undeliverable, pool, driver),
            Action::Route(id) => self.out.push((None, id)),
            Action::Drop(port, id, why) => self.discard(Some(port), id, why, pool, driver),
            Action::Kick(port) if usize::from(port.0) < self.slots.len() => self.poll(port, now, pool, driver),
            Action::Kick(_) => {}
        }
    }

    /// Frees a packet that a port or forwarder has used up.
    fn consume(id: PacketId, pool: &mut Pool, driver: &mut impl Driver) {
        driver.consumed(&pool[id]);
        pool.free(id);
    }

    /// Counts and frees a packet that ends here.
    fn discard(&mut self, port: Option<PortId>, id: PacketId, why: Drop, pool: &mut Pool, driver: &mut impl Driver) {
        if let Some(port) = port {
            self.slots[usize::from(port.0)].count_drop(why);
        }
        driver.dropped(port, &pool[id], why);
        pool.free(id);
    }
}

/// What drivers ask and change between events.
impl Node {
    /// How many ports it has.
    pub fn ports(&self) -> usize {
        self.slots.len()
    }
    /// A port's counters.
    pub fn counters(&self, port: PortId) -> &PortCounters {
        &self.slots[usize::from(port.0)].counters
    }
    /// Packets and bytes that a port has begun to send by `now`. (Its counters have those of a timetable that wait, too.)
    pub fn begun(&self, port: PortId, now: Time) -> (u64, u64) {
        let slot = &self.slots[usize::from(port.0)];
        let ahead = slot.waiting.iter().rev().take_while(|w| w.0 > now);
        let (packets, bytes) = ahead.fold((0, 0), |sum, w| (sum.0 + 1, sum.1 + u64::from(w.1)));
        (slot.counters.packets - packets, slot.counters.bytes - bytes)
    }
    /// What waits at a port now.
    pub fn backlog(&mut self, port: PortId, now: Time) -> Backlog {
        self.slots[usize::from(port.0)].backlog(now)
    }
    /// Packets that held ports and the forwarder keep. (Those of a timetable are the driver's already.)
    pub fn stored(&self) -> u64 {
        let held = |s: &Slot| match &s.discipline {
            Discipline::Held(port) => port.backlog().packets,
            _ => 0,
        };
        let kept = match &self.forwarding {
            Forwarding::Shortest(_) => 0,
            Forwarding::Custom(forwarder) => forwarder.kept(),
        };
        self.slots.iter().map(held).sum::<u64>() + kept
    }
    /// What a port's scheme shows of itself.
    pub fn gauges(&self, port: PortId, out: &mut Vec<(&'static str, f64)>) {
        self.slots[usize::from(port.0)].gauges(out);
    }
    /// The endpoints that are still here: flow, whether it is the active end, endpoint.
    pub fn endpoints(&self) -> impl Iterator<Item = (FlowId, bool, &dyn Endpoint)> + '_ {
        self.endpoints.iter().map(|s| (s.flow, s.active, s.endpoint.as_ref()))
    }
    /// The reports of the endpoints that are still here: flow, whether it is the active end, report.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, bool, FlowReport)> + '_ {
        self.endpoints.iter().map(|s| (s.flow, s.active, s.endpoint.report()))
    }
    /// One endpoint's report, if it is here.
    pub fn report_of(&mut self, flow: FlowId) -> Option<FlowReport> {
        let index = self.endpoints.find(flow)?;
        self.endpoints.seat(index).map(|s| s.endpoint.report())
    }

    /// Changes a port's rate. Only held ports may change: a timetable has promised its times already.
    pub fn set_rate(&mut self, port: PortId, rate: Rate, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        self.links[usize::from(port.0)].rate = rate;
        self.slots[usize::from(port.0)].clock = crate::units::TxClock::new(rate);
        self.link_changed(port, now, pool, driver);
    }

    /// Takes a port's link down or up. What waits stays; a port that is down sends nothing.
    pub fn set_up(&mut self, port: PortId, up: bool, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        self.slots[usize::from(port.0)].up = up;
        self.link_changed(port, now, pool, driver);
    }

    fn link_changed(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        debug_assert!(
            matches!(self.slots[usize::from(port.0)].discipline, Discipline::Held(_)),
            "faults need held ports"
        );
        self.with_held(port, now, pool, |p, ctx| p.on_link(ctx));
        self.poll(port, now, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Restarts the node's network side: queues are lost, schemes at ports and the forwarder forget. Endpoints live on.
    pub fn restart(&mut self, now: Time, pool: &mut Pool, driver: &mut impl Driver) {
        for i in 0..self.slots.len() {
            let port = PortId(i as u16);
            self.with_held(port, now, pool, |p, ctx| p.reset(ctx));
            self.arm_port(port, now);
            self.slots[i].reset_rule();
        }
        if let Forwarding::Custom(f) = &mut self.forwarding {
            let mut kept = Vec::new();
            f.reset(&mut kept);
            kept.into_iter().for_each(|id| self.discard(None, id, Drop::Fault, pool, driver));
        }
        self.drain(now, pool, driver);
    }

    /// Bytes of memory that grow with flows and timers.
    pub fn memory(&self) -> usize {
        let waiting: usize = self.slots.iter().map(|s| s.waiting.capacity() * 16).sum();
        self.endpoints.memory() + self.timers.memory() + waiting
    }
}
