//! A node: ports, a forwarder and endpoints, told what arrived and asked when to be woken.

mod asked;
mod endpoints;
mod line;
mod opportunities;
mod slot;
mod timers;

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use endpoints::Endpoints;
pub use endpoints::Limits;
pub use line::Line;
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use slot::Begun;
use slot::Slot;
use timers::{Lazy, Pair, Timers, Wake};

use crate::packet::{FlowId, Kind, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use crate::queue::Discipline;
use crate::rng::{Streams, secret};
use crate::roles::{
    Accept, Action, Backlog, Drop, Endpoint, EndpointCtx, FlowReport, ForwardCtx, Forwarder, Inbound, LinkInfo,
    PortCtx, Route, Shared, ShortestPath, Transmitter, WakeAt, Way,
};
use crate::stats::PortCounters;
use crate::units::{Rate, Time};

/// Whoever runs a node: the simulator in virtual time, a daemon on real packets, a test.
///
/// **Pull.** A port gives a packet when the driver can send one. The node asks [`Driver::transmitter`] whenever a port has news. If that is idle,
/// the port's next packet goes to [`Driver::start`]. If it is busy, the node asks again at the time that the driver gave, or leaves it to the
/// driver to come back: [`Node::ready`] names the ports that have something, [`Node::poll_transmit`] takes a packet.
///
/// **Timetables.** A simulator may know more: a FIFO whose rule goes by the order of arrivals alone sends each packet when the one before
/// it has left. A driver with [`Driver::TIMETABLES`] is told that time at once, by [`Driver::book`], and needs no second event. For other drivers
/// a node is to be made with [`Discipline::held`] ports; their decisions are the same.
///
/// **Fates.** Each packet that a driver hands in or is told of ends in exactly one of `start`, `book`, `delivered`, `consumed` and `dropped`, or is kept
/// by the node. The driver may keep what it knows of a packet beside it, by its [`PacketId`].
pub trait Driver {
    /// Whether [`Driver::book`] is there.
    const TIMETABLES: bool = false;
    /// Called when a port may have something to send: whether its transmitter can take a packet now. A driver that
    /// pulls by itself is always busy here.
    fn transmitter(&mut self, port: PortId, now: Time) -> Transmitter;
    /// Called with the packet that an idle transmitter is given: it starts now. The driver owns the packet from here.
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool);
    /// Called when a packet has got its place on a timetable: it starts at `start` (which may lie ahead) and its last
    /// bit leaves at `end`. The driver owns the packet from here.
    fn book(&mut self, _port: PortId, _pkt: Pkt, _start: Time, _end: Time, _pool: &mut Pool) {
        unreachable!("a driver without timetables runs nodes with held ports only");
    }
    /// Called when a packet ended at `port` (`None`: at the node itself). The node frees it after the call.
    fn dropped(&mut self, _port: Option<PortId>, _id: PacketId, _packet: &Packet, _why: Drop) {}
    /// Called when a packet got its CE mark at `port`.
    fn marked(&mut self, _port: PortId, _id: PacketId, _packet: &Packet) {}
    /// Called when an endpoint finished.
    fn finished(&mut self, _flow: FlowId, _active: bool, _report: FlowReport) {}
    /// Called when a packet reached the endpoint of its flow.
    fn delivered(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a port or forwarder has used a packet up: a probe answered, an ACK merged into another.
    fn consumed(&mut self, _id: PacketId, _packet: &Packet) {}
    /// Called when a packet has been copied: the copy has a fate of its own.
    fn copied(&mut self, _of: PacketId, _copy: PacketId) {}
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
    /// The timers of the chain's forwarders, by place.
    chain_timers: Vec<Pair>,
    /// When a forwarder has asked to be woken, during a call.
    wakes: Vec<WakeAt>,
    endpoints: Endpoints,
    flows: Arc<dyn Flows>,
    timers: Timers,
    /// The background timers of ports, by port; none before the first wish.
    background: Vec<Lazy>,
    streams: Streams,
    secret: [u64; 2],
    /// What the ports and forwarders of each instance share; slots and `forwards` say whose is whose.
    states: Vec<Box<dyn Any + Send>>,
    forwards: Vec<Option<u8>>,
    shared: Shared,
    /// The rates of the links' other directions, by port.
    reverse: Vec<Rate>,
    /// Packets that endpoints have sent during a call, drained after it.
    out: VecDeque<(Way, Pkt)>,
    /// The copies that a forwarder has made during a call: of which packet, and the copy.
    copies: Vec<(PacketId, PacketId)>,
    pokes: Vec<FlowId>,
    actions: VecDeque<Action>,
    /// Held ports that have something for a transmitter that was busy, in the order in which they got it.
    ready: VecDeque<PortId>,
}

impl Node {
    /// A node whose port `i` has `links[i]` and `disciplines[i]`.
    pub fn new(
        id: NodeId,
        links: Vec<LinkInfo>,
        disciplines: Vec<Discipline>,
        forwarding: Forwarding,
        flows: Arc<dyn Flows>,
        streams: Streams,
    ) -> Node {
        assert_eq!(links.len(), disciplines.len(), "one discipline per link");
        let slots: Vec<Slot> = links.iter().zip(disciplines).map(|(l, d)| Slot::new(l, d)).collect();
        let secret = secret(&streams.endpoints);
        let places = if let Forwarding::Chain(chain) = &forwarding { chain.len() } else { 0 };
        assert!(places <= usize::from(u8::MAX), "a node has a few forwarders");
        Node {
            id,
            reverse: links.iter().map(|l| l.rate).collect(),
            copies: Vec::new(),
            links,
            slots,
            forwarding,
            chain_timers: vec![Pair::default(); places],
            wakes: Vec::new(),
            background: Vec::new(),
            endpoints: Endpoints::default(),
            flows,
            timers: Timers::default(),
            streams,
            secret,
            states: Vec::new(),
            forwards: Vec::new(),
            shared: Shared::default(),
            out: VecDeque::new(),
            pokes: Vec::new(),
            actions: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// Gives ports, and the forwarder that has this place in the chain, what they share.
    #[must_use]
    pub fn sharing(mut self, state: Box<dyn Any + Send>, ports: &[PortId], forwarder: Option<usize>) -> Node {
        let number = u8::try_from(self.states.len()).ok();
        self.states.push(state);
        ports.iter().for_each(|p| self.slots[usize::from(p.0)].state = number);
        if let Some(place) = forwarder {
            self.forwards.resize(self.forwards.len().max(place + 1), None);
            self.forwards[place] = number;
        }
        self
    }

    /// Says at which rates the neighbours send, by port. Without this, links are as fast one way as the other.
    #[must_use]
    pub fn with_reverse_rates(mut self, rates: Vec<Rate>) -> Node {
        assert_eq!(rates.len(), self.links.len(), "one rate per link");
        self.reverse = rates;
        self
    }

    /// The same node for a driver that knows no timetables: all ports are asked for their packets, with the same decisions.
    #[must_use]
    pub fn without_timetables(mut self) -> Node {
        self.slots.iter_mut().for_each(Slot::hold);
        self
    }

    /// The same node with bounds on what peers can open, for drivers whose peers are not their own.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Node {
        self.endpoints.limit(limits);
        self
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

    /// Whether all that it wants to be woken for is housekeeping ([`PortCtx::wake_in_background`]), or nothing. A run in which all nodes
    /// rest and no packet is on its way is over.
    pub fn is_resting(&self) -> bool {
        self.timers.is_resting()
    }

    /// Called when `now` has reached [`Node::next_wake`], or later: does the first thing that is due.
    pub fn on_wake<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) -> Woken {
        let Some((at, wake)) = self.timers.pop_due(now) else { return Woken::Nothing };
        match wake {
            Wake::Start(flow) => {
                if let Some(endpoint) = self.flows.open(flow) {
                    let seat = self.endpoints.insert(flow, true, endpoint);
                    self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
                }
            }
            Wake::Endpoint(seat) => self.endpoint_timer(seat, at, now, pool, driver),
            Wake::Idle(port) => {
                self.slots[usize::from(port.0)].idle_armed = false;
                self.poll(port, now, pool, driver);
                self.drain(now, pool, driver);
            }
            Wake::Port(port) => {
                let fires = self.slots[usize::from(port.0)].timer.fire(at, now);
                self.port_timer(port, fires, now, pool, driver);
            }
            Wake::PortBackground(port) => {
                self.timers.background_done();
                let fires = self.background[usize::from(port.0)].fire(at, now);
                self.port_timer(port, fires, now, pool, driver);
                self.arm_background(port, now);
            }
            Wake::Forwarder(place) => {
                let fires = self.chain_timers[usize::from(place)].work.fire(at, now);
                self.forwarder_timer(place, fires, now, pool, driver);
            }
            Wake::ForwarderBackground(place) => {
                self.timers.background_done();
                let fires = self.chain_timers[usize::from(place)].background.fire(at, now);
                self.forwarder_timer(place, fires, now, pool, driver);
            }
            Wake::Driver(token) => return Woken::Driver(token),
        }
        Woken::Node
    }

    /// Called when the last bit of a packet has come in through `port`.
    #[inline]
    pub fn on_packet<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let mut pkt = pkt;
        if self.slots[usize::from(port.0)].watches_inbound {
            let packet = &pool[&pkt];
            if packet.kind == Kind::Control && packet.hops != u8::MAX {
                // RFC 5082, §3: it has come from further away than a neighbour.
                return self.discard(Some(port), pkt, Drop::Policy, pool, driver);
            }
            match self.inbound(now, port, pkt, pool, driver) {
                Some(on) => pkt = on,
                None => return,
            }
        }
        let packet = &mut pool[&pkt];
        if packet.kind == Kind::Control {
            // A control packet that no port has taken ends here: neighbours that don't know a scheme ignore it.
            return self.discard(None, pkt, Drop::Undeliverable, pool, driver);
        }
        if packet.hops == 0 {
            return self.discard(None, pkt, Drop::Hops, pool, driver);
        }
        packet.hops -= 1;
        self.forward(now, Some(port), pkt, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Shows the packet to the port that it came in through; gives it back if it goes on.
    fn inbound<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Option<Pkt> {
        let transmitter = self.transmitter(port, now, driver);
        pool[&pkt].queued = now;
        let fate = self.with_port(port, now, transmitter, pool, |p, ctx| p.inbound(pkt, ctx));
        match self.slots[usize::from(port.0)].inbound_frees {
            true => self.poll(port, now, pool, driver),
            false => self.arm_port(port, now),
        }
        match fate {
            Some(Inbound::Forward(pkt)) => return Some(pkt),
            Some(Inbound::Consume(pkt)) => Node::consume(pkt, pool, driver),
            Some(Inbound::Drop(pkt, why)) => self.discard(Some(port), pkt, why, pool, driver),
            Some(Inbound::Keep) | None => {}
        }
        self.drain(now, pool, driver);
        None
    }

    /// Sends a packet on its way: out of a port, or to the endpoint of its flow here. Each hop passes here; a call costs 25 instructions.
    #[inline(always)]
    fn forward<D: Driver>(&mut self, now: Time, from: Option<PortId>, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
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
        if !self.copies.is_empty() {
            self.copies.drain(..).for_each(|(of, copy)| driver.copied(of, copy));
        }
        match route {
            Route::Port(port, pkt) => self.outbound(now, port, pkt, pool, driver),
            Route::Local(pkt) => self.deliver(now, pkt, pool, driver),
            Route::Consumed(pkt) => Node::consume(pkt, pool, driver),
            Route::Kept => {}
            Route::Unroutable(pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Route::Pass(pkt) => self.discard(None, pkt, Drop::NoRoute, pool, driver),
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
    fn forwarder_timer<D: Driver>(&mut self, place: u8, fires: bool, now: Time, pool: &mut Pool, driver: &mut D) {
        let place = usize::from(place);
        if fires {
            self.with_forwarder(place, now, pool, |f, ctx| f.on_timer(ctx));
            self.copies.drain(..).for_each(|(of, copy)| driver.copied(of, copy));
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

    /// Offers a packet to a port.
    #[inline]
    fn outbound<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let slot = &mut self.slots[usize::from(port.0)];
        if pool[&pkt].size > slot.mtu {
            return self.discard(Some(port), pkt, Drop::TooBig, pool, driver);
        }
        if !D::TIMETABLES || slot.is_held() {
            return self.outbound_held(now, now, port, pkt, pool, driver);
        }
        slot.settle(now);
        let size = pool[&pkt].size;
        let admitted = slot.admits_within.admits(slot.queued, size);
        match if admitted { Ok(()) } else { self.admit(now, port, &pkt, pool, driver) } {
            Ok(()) => {
                let (start, end) = self.slots[usize::from(port.0)].book(size, now);
                driver.book(port, pkt, start, end, pool);
            }
            Err(why) => self.discard(Some(port), pkt, why, pool, driver),
        }
    }

    /// The same with a packet that came to another port of this node before, and has waited since.
    fn outbound_sibling<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let slot = &self.slots[usize::from(port.0)];
        let (came, fits) = (pool[&pkt].queued, pool[&pkt].size <= slot.mtu);
        if fits && (!D::TIMETABLES || slot.is_held()) {
            return self.outbound_held(now, came, port, pkt, pool, driver);
        }
        self.outbound(now, port, pkt, pool, driver);
    }

    /// Asks a timetable whether it takes a packet that its bound does not admit.
    fn admit<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: &Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Result<(), Drop> {
        let slot = &self.slots[usize::from(port.0)];
        let (marks, transmitter) = (slot.counters.marks, slot.transmitter(now));
        // Drop-tail has said all in its bound.
        let admitted =
            self.with_port(port, now, transmitter, pool, |p, ctx| p.admit(pkt, ctx)).unwrap_or(Err(Drop::Queue));
        if self.slots[usize::from(port.0)].counters.marks > marks {
            driver.marked(port, pkt.id(), &pool[pkt]);
        }
        admitted
    }

    /// A port's transmitter as the port may see it. A timetable is brought up to `now`.
    #[inline]
    fn transmitter<D: Driver>(&mut self, port: PortId, now: Time, driver: &mut D) -> Transmitter {
        let slot = &mut self.slots[usize::from(port.0)];
        if slot.is_held() {
            return driver.transmitter(port, now);
        }
        slot.settle(now);
        slot.transmitter(now)
    }

    /// Calls a port with its context. `None` if it is plain drop-tail.
    #[inline]
    fn with_port<R>(
        &mut self,
        port: PortId,
        now: Time,
        transmitter: Transmitter,
        pool: &mut Pool,
        call: impl FnOnce(&mut dyn crate::roles::Port, &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        let slot = &mut self.slots[usize::from(port.0)];
        let called = slot.discipline.port_mut()?;
        let mut ctx = PortCtx {
            now,
            node: self.id,
            me: port,
            links: &self.links,
            pool,
            rng: &mut self.streams.ports,
            transmitter,
            reverse: self.reverse[usize::from(port.0)],
            booked: slot.queued,
            state: slot.state.map(|i| self.states[usize::from(i)].as_mut()),
            actions: &mut self.actions,
            timer: &mut slot.timer.deadline,
            marks: &mut slot.counters.marks,
        };
        let answer = call(called, &mut ctx);
        slot.note_level(now);
        Some(answer)
    }

    #[inline]
    fn arm_port(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.slots[usize::from(port.0)].timer.arm(now) {
            self.timers.push(at, Wake::Port(port));
        }
    }

    /// Sees to it that a port is woken in the background when it asked to be.
    fn arm_background(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.background[usize::from(port.0)].arm(now) {
            self.timers.push_background(at, Wake::PortBackground(port));
        }
    }

    /// An entry of a port's timers has come up; `fires` if the port is to be told.
    fn port_timer<D: Driver>(&mut self, port: PortId, fires: bool, now: Time, pool: &mut Pool, driver: &mut D) {
        if fires {
            let transmitter = driver.transmitter(port, now);
            self.with_port(port, now, transmitter, pool, |p, ctx| p.on_timer(ctx));
            self.poll(port, now, pool, driver);
        }
        self.arm_port(port, now);
        self.drain(now, pool, driver);
    }

    /// Hands a packet to the endpoint of its flow, or to whoever may accept the flow.
    fn deliver<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
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

    /// What is to become of a packet whose flow has no end here. A late copy of a flow that has ended opens nothing.
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

    fn endpoint_timer<D: Driver>(&mut self, index: u32, at: Time, now: Time, pool: &mut Pool, driver: &mut D) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        if seat.timer.fire(at, now) {
            self.call(index, now, pool, driver, |e, ctx| e.on_timer(ctx));
        } else if let Some(at) = seat.timer.arm(now) {
            self.timers.push(at, Wake::Endpoint(index));
        }
    }

    /// Calls an endpoint and carries out what it wished for.
    fn call<D: Driver>(
        &mut self,
        index: u32,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
        call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>),
    ) {
        let Some(seat) = self.endpoints.seat(index) else { return };
        let mut finished = false;
        let mut ctx = EndpointCtx {
            now,
            node: self.id,
            flow: seat.flow,
            rng: &mut self.streams.endpoints,
            secret: self.secret,
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
    fn send_out<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        while let Some((way, pkt)) = self.out.pop_front() {
            match way {
                Way::Port(port) if usize::from(port.0) < self.slots.len() => {
                    self.outbound(now, port, pkt, pool, driver);
                }
                Way::Routed if pool[&pkt].dst != self.id => self.forward(now, None, pkt, pool, driver),
                Way::Local => self.deliver(now, pkt, pool, driver),
                _ => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            }
        }
    }

    /// Carries out what ports and the forwarder have wished for, first wish first, until nothing is left. After each hop: a call costs 25
    /// instructions.
    #[inline(always)]
    fn drain<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        while !self.actions.is_empty() || !self.out.is_empty() {
            self.send_out(now, pool, driver);
            while let Some(action) = self.actions.pop_front() {
                self.carry_out(action, now, pool, driver);
            }
        }
    }

    fn carry_out<D: Driver>(&mut self, action: Action, now: Time, pool: &mut Pool, driver: &mut D) {
        match action {
            Action::Sibling(port, pkt) if usize::from(port.0) < self.slots.len() => {
                self.outbound_sibling(now, port, pkt, pool, driver);
            }
            Action::Sibling(_, pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Action::Route(pkt) => self.out.push_back((Way::Routed, pkt)),
            Action::Back(port, pkt) => self.forward(now, Some(port), pkt, pool, driver),
            Action::Consume(pkt) => Node::consume(pkt, pool, driver),
            Action::Drop(port, pkt, why) => self.discard(Some(port), pkt, why, pool, driver),
            Action::Kick(port) if usize::from(port.0) < self.slots.len() => self.poll(port, now, pool, driver),
            Action::Kick(_) => {}
            Action::Background(port, at) => {
                self.background.resize(self.slots.len(), Lazy::default());
                self.background[usize::from(port.0)].deadline = at;
                self.arm_background(port, now);
            }
        }
    }

    /// Frees a packet that a port or forwarder has used up.
    fn consume<D: Driver>(pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        driver.consumed(pkt.id(), &pool[&pkt]);
        pool.free(pkt);
    }

    /// Counts and frees a packet that ends here.
    fn discard<D: Driver>(&mut self, port: Option<PortId>, pkt: Pkt, why: Drop, pool: &mut Pool, driver: &mut D) {
        if let Some(port) = port {
            self.slots[usize::from(port.0)].count_drop(why);
        }
        driver.dropped(port, pkt.id(), &pool[&pkt], why);
        pool.free(pkt);
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
    /// Says when the run ends: what ports count of waiting ends there.
    pub fn measure_until(&mut self, end: Time) {
        self.slots.iter_mut().for_each(|slot| slot.until = end);
    }
    /// What a port has put onto its wire by `now`. (Its counters have what waits on a timetable, too.)
    pub fn begun(&self, port: PortId, now: Time) -> Begun {
        self.slots[usize::from(port.0)].begun(now)
    }
    /// A port's counters as they are at `until`, the end of the run.
    pub fn measured(&self, port: PortId, until: Time) -> PortCounters {
        self.slots[usize::from(port.0)].measured(until)
    }
    /// When a port will have sent everything that has a place on its wire.
    pub fn free_at(&self, port: PortId) -> Time {
        self.slots[usize::from(port.0)].free_at()
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
            Forwarding::Chain(chain) => chain.iter().map(|f| f.kept()).sum(),
        };
        self.slots.iter().map(held).sum::<u64>() + kept
    }
    /// What a port's scheme shows of itself.
    pub fn gauges(&self, port: PortId, out: &mut Vec<(&'static str, f64)>) {
        if let Some(port) = self.slots[usize::from(port.0)].discipline.port() {
            port.gauges(out);
        }
    }
    /// What a port's scheme warns of.
    pub fn warnings(&self, port: PortId, out: &mut Vec<String>) {
        if let Some(port) = self.slots[usize::from(port.0)].discipline.port() {
            port.warnings(out);
        }
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

    /// Called when a port's rate has changed. Only held ports may change: a timetable has promised its times already.
    pub fn set_rate<D: Driver>(&mut self, port: PortId, rate: Rate, now: Time, pool: &mut Pool, driver: &mut D) {
        self.links[usize::from(port.0)].rate = rate;
        self.on_link(port, now, pool, driver);
    }

    /// Called when the rate of a link's other direction has changed; the port sees it when it is called next.
    pub fn set_reverse_rate(&mut self, port: PortId, rate: Rate) {
        self.reverse[usize::from(port.0)] = rate;
    }

    /// Called when a port's link has gone down or come back. What waits stays; the driver's transmitter is busy while the link is down.
    pub fn on_link<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        debug_assert!(self.slots[usize::from(port.0)].is_held(), "links that change need held ports");
        let transmitter = driver.transmitter(port, now);
        self.with_port(port, now, transmitter, pool, |p, ctx| p.on_link(ctx));
        self.poll(port, now, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Called when the node goes over to the routes of another state of the network. Ports whose links are down give up what waits there, as
    /// an interface that is down does.
    #[cold]
    pub fn on_routes<D: Driver>(&mut self, state: u32, down: &[PortId], now: Time, pool: &mut Pool, driver: &mut D) {
        match &mut self.forwarding {
            Forwarding::Shortest(paths) => paths.on_routes(state),
            Forwarding::Chain(chain) => chain.iter_mut().for_each(|f| f.on_routes(state)),
        }
        down.iter().for_each(|port| self.clear(*port, now, pool, driver));
        self.drain(now, pool, driver);
    }

    /// A port loses what waits there, and forgets what it has learned.
    #[cold]
    fn clear<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        let transmitter = self.transmitter(port, now, driver);
        self.with_port(port, now, transmitter, pool, |p, ctx| p.reset(ctx));
        self.arm_port(port, now);
    }

    /// Restarts the node's network side: queues are lost, schemes at ports and the forwarder forget. Endpoints live on.
    pub fn restart<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        for i in 0..self.slots.len() {
            self.clear(PortId(i as u16), now, pool, driver);
        }
        if let Forwarding::Chain(chain) = &mut self.forwarding {
            self.chain_timers.iter_mut().for_each(Pair::withdraw);
            let mut kept = Vec::new();
            chain.iter_mut().for_each(|f| f.reset(&mut kept));
            kept.into_iter().for_each(|pkt| self.discard(None, pkt, Drop::Fault, pool, driver));
        }
        self.drain(now, pool, driver);
    }

    /// Bytes of memory that grow with flows and timers.
    pub fn memory(&self) -> usize {
        let waiting: usize = self.slots.iter().map(|s| s.waiting.capacity() * 16).sum();
        self.endpoints.memory() + self.timers.memory() + waiting
    }
}
