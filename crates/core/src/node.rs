//! A node: ports, forwarders and endpoints. It is told of arrivals and asked for its next wake-up.
//!
//! This file has the node, its construction, and the loop that executes the requests of its parts. A packet passes
//! through `forwarding` (where next), `egress` and `held` (out of a port) or
//! `delivery` (to an endpoint). `driver` is the interface that a program provides to run nodes; `changes` and
//! `readings` modify and read a node between events.

mod changes;
mod delivery;
mod driver;
mod egress;
mod endpoints;
mod forwarding;
mod held;
mod link_transmitter;
mod opportunities;
mod readings;
mod receive;
mod slot;
mod timers;
mod token_bucket;
mod trace;

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

pub use driver::{Driver, EndId, Flows, Woken};
use endpoints::Endpoints;
pub use endpoints::Limits;
pub use forwarding::Forwarding;
use forwarding::Heading;
pub use link_transmitter::LinkTransmitter;
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use receive::Host;
use receive::ReceiveQueue;
use slot::Slot;
pub use slot::Transmitted;
pub use timers::Release;
use timers::{Lazy, Timers, Wake};
pub use token_bucket::TokenBucket;
pub use trace::Step;

use crate::cache::fetch;
use crate::packet::{FlowId, FlowKey, Kind, NodeId, Pkt, Pool, PortId};
use crate::rng::Streams;
use crate::roles::{Action, Discipline, Drop, Inbound, LinkInfo, Shared, Way};
use crate::units::{Rate, Time};

/// One node. It reaches no clock, no socket, no global, and no randomness but its own stream.
///
/// Laid out by use: what each hop touches comes first, for it is rarely in the cache where there
/// are many nodes.
#[repr(C, align(64))]
pub struct Node {
    slots: Vec<Slot>,
    id: NodeId,
    /// Any of the ports looks at what comes in: else nobody need touch the slot of such a port.
    watches: bool,
    actions: VecDeque<Action>,
    /// Packets that endpoints have sent during a call, drained after it.
    out: VecDeque<(Way, Pkt)>,
    timers: Timers,
    forwarding: Forwarding,
    streams: Streams,
    endpoints: Endpoints,
    pokes: Vec<FlowKey>,
    flows: Arc<dyn Flows>,
    links: Box<[LinkInfo]>,
    shared: Shared,
    /// The end of the run.
    until: Time,
    /// The rates of the links' other directions, by port; none where links are as fast both ways.
    reverse: Box<[Rate]>,
    /// What the ports and forwarders of each instance share; slots and the chain say whose is
    /// whose.
    states: Box<[Box<dyn Any + Send>]>,
    /// What most nodes never need.
    extras: Option<Box<NodeExtras>>,
}

// Ten lines of the cache: a large network has tens of thousands.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Node>() == 640);

/// What only some drivers and ports ask of a node.
#[derive(Default)]
struct NodeExtras {
    /// The background timers of ports, by port; none before the first wish.
    background: Vec<Lazy>,
    /// Held ports that have something for a transmitter that was busy, in the order in which they
    /// got it.
    ready: VecDeque<PortId>,
    /// Where the host takes its time.
    receive: Option<Box<ReceiveQueue>>,
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
        Node {
            id,
            reverse: Box::default(),
            links: links.into(),
            watches: slots.iter().any(Slot::watches_inbound),
            slots,
            forwarding,
            endpoints: Endpoints::keyed(streams.secret),
            flows,
            timers: Timers::default(),
            streams,
            until: Time::MAX,
            states: Box::default(),
            shared: Shared::default(),
            out: VecDeque::new(),
            pokes: Vec::new(),
            actions: VecDeque::new(),
            extras: None,
        }
    }

    /// Has the cache fetch what each call to the node touches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.slots);
        fetch(&self.out);
        fetch(&self.timers);
        fetch(&self.forwarding);
        fetch(&self.endpoints);
    }

    /// Has the cache fetch what a packet that leaves touches of the first port.
    #[inline]
    pub fn fetch_first_port(&self) {
        self.slots.first().into_iter().for_each(Slot::fetch);
    }

    /// Gives ports, and the forwarder that has this place in the chain, what they share.
    #[must_use]
    pub fn sharing(mut self, state: Box<dyn Any + Send>, ports: &[PortId], forwarder: Option<usize>) -> Node {
        let number = u8::try_from(self.states.len()).expect("a node has a few instances");
        self.states = std::mem::take(&mut self.states).into_iter().chain([state]).collect();
        ports.iter().for_each(|p| self.slots[usize::from(p.0)].share(number));
        if let (Some(place), Some(chain)) = (forwarder, self.forwarding.chain_mut()) {
            chain.share(place, Some(number));
        }
        self
    }

    /// Says at which rates the neighbours send, by port. Without this, links are as fast one way as
    /// the other.
    #[must_use]
    pub fn with_reverse_rates(mut self, rates: Vec<Rate>) -> Node {
        assert_eq!(rates.len(), self.links.len(), "one rate per link");
        if rates.iter().zip(&self.links).any(|(back, link)| *back != link.rate) {
            self.reverse = rates.into();
        }
        self
    }

    /// The same node for a driver that knows no timetables: all ports are asked for their packets,
    /// with the same decisions.
    #[must_use]
    pub fn without_timetables(mut self) -> Node {
        self.slots.iter_mut().zip(&self.links).for_each(|(slot, link)| slot.hold(link));
        self
    }

    /// The same node with bounds on what peers can open, for drivers whose peers are not their own.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Node {
        self.endpoints.limit(limits);
        self
    }

    /// The same node with other random numbers.
    #[must_use]
    pub fn with_streams(mut self, streams: Streams) -> Node {
        self.endpoints.set_key(streams.secret);
        self.streams = streams;
        self
    }

    /// The same node with other applications.
    #[must_use]
    pub fn with_flows(mut self, flows: Arc<dyn Flows>) -> Node {
        self.flows = flows;
        self
    }

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Whether any of its parts has drawn a random number since it had these streams.
    pub fn has_drawn(&self, streams: &Streams) -> bool {
        self.streams != *streams
    }

    /// Asks that these flows start here, in order of time. They are asked for one by one; a start goes
    /// before all else that happens at its time.
    pub fn start_flows(&mut self, flows: impl Iterator<Item = (Time, FlowId)> + Send + 'static) {
        self.timers.start(Box::new(flows));
    }

    /// Asks that a flow which has waited for others starts here at `at`, or that the driver is called: before other
    /// wishes for that time, flows by their numbers before alarms by theirs, whenever each was asked for.
    pub fn release(&mut self, at: Time, what: Release) {
        self.timers.release(at, what);
    }

    /// Takes such a request back.
    pub fn cancel(&mut self, at: Time, what: Release) {
        self.timers.cancel(at, what);
    }

    /// Asks that `flow` starts here at `at`.
    pub fn start_flow(&mut self, at: Time, flow: FlowId) {
        self.timers.push(at, Wake::Start(flow));
    }

    /// Says that the driver gathers a port's packets into frames: it may take several at one time, and
    /// [hears](Driver::gathered) when there are no more. The port must be held.
    pub fn gather(&mut self, port: PortId) {
        let slot = &mut self.slots[usize::from(port.0)];
        debug_assert!(slot.is_held(), "a timetable has promised its times already");
        slot.gather();
    }

    /// Says that the driver can mark a packet after it has been sent on `port`, until the next one begins there
    /// ([`Driver::mark_sent`]). Whether the port makes use of it.
    pub fn enable_sent_marks(&mut self, port: PortId) -> bool {
        self.slots[usize::from(port.0)].enable_sent_marks()
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

    /// Whether all that it wants to be woken for is housekeeping ([`wake_in_background`]), or
    /// nothing. A run in which all nodes rest and no packet is on its way is over.
    ///
    /// [`wake_in_background`]: crate::roles::PortCtx::wake_in_background
    pub fn is_resting(&self) -> bool {
        self.timers.is_resting()
    }

    /// Called when `now` has reached [`Node::next_wake`], or later: does the first thing that is
    /// due.
    pub fn on_wake<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) -> Woken {
        let Some((at, wake)) = self.timers.pop_due(now) else { return Woken::Nothing };
        match wake {
            Wake::Start(flow) => self.start(flow, now, pool, driver),
            Wake::Alarm(token) => {
                driver.alarm(token, now);
                self.timers.take_releases(driver);
            }
            Wake::Endpoint(seat) => self.endpoint_timer(seat, now, pool, driver),
            Wake::Idle(port) => {
                self.slots[usize::from(port.0)].cold().idle_armed = false;
                self.poll(port, now, pool, driver);
                self.drain(now, pool, driver);
            }
            Wake::Frame(port) => {
                self.fill_frame(port, now, pool, driver);
                self.drain(now, pool, driver);
            }
            Wake::Port(port) => {
                let fires = self.slots[usize::from(port.0)].cold().timer.fire(at, now);
                self.port_timer(port, fires, now, pool, driver);
            }
            Wake::PortBackground(port) => {
                self.timers.background_done();
                let fires = self.background(port).fire(at, now);
                self.port_timer(port, fires, now, pool, driver);
                self.arm_background(port, now);
            }
            Wake::Forwarder(place) => {
                let fires = self.forwarding.chain_mut().is_some_and(|c| c.timers(place).work.fire(at, now));
                self.forwarder_timer(place, fires, now, pool, driver);
            }
            Wake::ForwarderBackground(place) => {
                self.timers.background_done();
                let fires = self.forwarding.chain_mut().is_some_and(|c| c.timers(place).background.fire(at, now));
                self.forwarder_timer(place, fires, now, pool, driver);
            }
            Wake::Host => self.take_in(at, now, pool, driver),
            Wake::Driver(token) => return Woken::Driver(token),
            Wake::Nothing => {}
        }
        Woken::Node
    }

    /// Opens a flow, unless the driver's application does not need it any more, or hands a message to its connection.
    fn start<D: Driver>(&mut self, flow: FlowId, now: Time, pool: &mut Pool, driver: &mut D) {
        if !driver.starts(flow, now) {
            return;
        }
        let connection = self.flows.connection(flow);
        if let Some(seat) = connection.and_then(|connection| self.endpoints.find_own(connection)) {
            return self.call(seat, now, pool, driver, |e, ctx| e.on_application(ctx));
        }
        let flow = connection.unwrap_or(flow);
        if let Some(endpoint) = self.flows.open(flow) {
            let end = EndId { flow, peer: EndId::ANYONE, active: true };
            let seat = self.endpoints.insert(end, endpoint);
            self.call(seat, now, pool, driver, |e, ctx| e.on_start(ctx));
        }
    }

    /// Called when the last bit of a packet has come in through `port`. For each hop: a call costs 20
    /// instructions.
    #[inline(always)]
    pub fn on_packet<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let mut pkt = pkt;
        if self.watches && !self.passes_inbound(now, port, &pkt, pool) {
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
        self.go_further(now, port, pkt, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Routes a packet that its port has let pass.
    #[inline(always)]
    fn go_further<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let packet = &mut pool[&pkt];
        if packet.kind == Kind::Control {
            // A control packet that no port has taken ends here: neighbours that don't know a
            // scheme ignore it.
            return self.discard(None, pkt, Drop::Undeliverable, pool, driver);
        }
        if packet.hops == 0 {
            return self.discard(None, pkt, Drop::Hops, pool, driver);
        }
        packet.hops -= 1;
        let heading = Heading::of(packet);
        self.forward(now, Some(port), pkt, heading, pool, driver);
    }

    /// Whether a packet goes on that has come in through a port, without a context for that.
    #[inline(always)]
    fn passes_inbound(&mut self, now: Time, port: PortId, pkt: &Pkt, pool: &mut Pool) -> bool {
        let slot = &self.slots[usize::from(port.0)];
        !slot.watches_inbound()
            || slot.has_cut_through() && self.with_cut_through(port, now, pool, |port, hop| port.pass_inbound(pkt, hop))
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
        let id = pkt.id();
        let held = self.slots[usize::from(port.0)].is_held();
        let fate = if held && !transmitter.is_busy() {
            self.inbound_and_ask(now, port, pkt, transmitter, pool, driver)
        } else {
            let fate = self.with_port(port, now, transmitter, pool, |p, ctx| p.inbound(pkt, ctx));
            match fate {
                // Nothing has been sent meanwhile: the transmitter is as it was.
                Some(Inbound::Forward(_)) if held => {
                    self.go_on(port, now, transmitter, None, pool, driver);
                }
                _ => self.poll(port, now, pool, driver),
            }
            fate
        };
        Node::trace_notes(pool, driver);
        match fate {
            Some(Inbound::Forward(pkt)) => return Some(pkt),
            Some(Inbound::Consume(pkt)) => Node::consume(pkt, pool, driver),
            Some(Inbound::Drop(pkt, why)) => self.discard(Some(port), pkt, why, pool, driver),
            Some(Inbound::Keep) if D::TRACES => {
                self.trace_kept(|_| Step::Kept(Some(port)), id, None, pool, driver);
            }
            Some(Inbound::Keep) | None => {}
        }
        self.drain(now, pool, driver);
        None
    }

    /// Routes what endpoints (or the forwarder) have sent. An end's packets to this very node are
    /// undeliverable, not a recursion.
    #[inline(never)]
    fn send_out<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        while let Some((way, pkt)) = self.out.pop_front() {
            let heading = Heading::of(&pool[&pkt]);
            match way {
                Way::Port(port) if usize::from(port.0) < self.slots.len() => {
                    self.outbound(now, port, pkt, heading.size, pool, driver);
                }
                Way::Routed if heading.dst != self.id => self.forward(now, None, pkt, heading, pool, driver),
                Way::Local => self.deliver(now, pkt, pool, driver),
                _ => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            }
        }
    }

    /// Carries out what ports and the forwarder have wished for, first wish first, until nothing is
    /// left. After each hop: a call costs 25 instructions.
    #[inline(always)]
    fn drain<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        Node::trace_notes(pool, driver);
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
                if D::TRACES {
                    driver.step(pkt.id(), &pool[&pkt], Step::Sibling(port));
                }
                self.outbound_sibling(now, port, pkt, pool, driver);
            }
            Action::Sibling(_, pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Action::Route(pkt) => {
                let way = if pool[&pkt].dst == self.id { Way::Local } else { Way::Routed };
                self.out.push_back((way, pkt));
            }
            Action::Back(port, pkt) => {
                if D::TRACES {
                    driver.step(pkt.id(), &pool[&pkt], Step::Back(port));
                }
                let heading = Heading::of(&pool[&pkt]);
                self.forward(now, Some(port), pkt, heading, pool, driver);
            }
            Action::HandOver(port, pkt) if usize::from(port.0) < self.slots.len() => {
                self.hand_over(now, port, pkt, pool, driver);
            }
            Action::HandOver(_, pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Action::Consume(pkt) => Node::consume(pkt, pool, driver),
            Action::Drop(port, pkt, why) => self.discard(Some(port), pkt, why, pool, driver),
            Action::Kick(port) if usize::from(port.0) < self.slots.len() => self.poll(port, now, pool, driver),
            Action::Kick(_) => {}
            Action::Carried(port, pkt) => {
                self.count_carried(port, now, &pkt, pool);
                Node::consume(pkt, pool, driver);
            }
            Action::Delivered(flow, bytes) => {
                driver.delivered_bytes(flow, bytes, now);
                self.timers.take_releases(driver);
            }
            Action::Poke(flow) => {
                self.endpoints.find_own(flow).into_iter().for_each(|index| self.wake(index, now));
            }
            Action::Arrived(port, pkt) if usize::from(port.0) < self.slots.len() => {
                self.arrived(now, port, pkt, pool, driver);
            }
            Action::Arrived(_, pkt) => self.discard(None, pkt, Drop::Undeliverable, pool, driver),
            Action::Background(port, at) => {
                self.background(port).deadline = at;
                self.arm_background(port, now);
            }
        }
    }

    /// Takes in a packet that has come out of a tunnel through this port. A tunnel may give many at
    /// once, so what they leave to be done is done after the last, not one inside the other.
    #[cold]
    fn arrived<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        pool[&pkt].queued = now;
        if pool[&pkt].kind == Kind::Control && pool[&pkt].hops != u8::MAX {
            return self.discard(Some(port), pkt, Drop::Policy, pool, driver);
        }
        let transmitter = self.transmitter(port, now, driver);
        let fate = self.with_port(port, now, transmitter, pool, |p, ctx| p.inbound(pkt, ctx));
        self.poll(port, now, pool, driver);
        Node::trace_notes(pool, driver);
        match fate {
            Some(Inbound::Forward(pkt)) => self.go_further(now, port, pkt, pool, driver),
            Some(Inbound::Consume(pkt)) => Node::consume(pkt, pool, driver),
            Some(Inbound::Drop(pkt, why)) => self.discard(Some(port), pkt, why, pool, driver),
            Some(Inbound::Keep) | None => {}
        }
    }

    /// Shows a packet to a sibling of the port that it came in through, and routes it if it goes on.
    #[cold]
    fn hand_over<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let transmitter = self.transmitter(port, now, driver);
        let fate = self.with_port(port, now, transmitter, pool, |p, ctx| p.handed_over(pkt, ctx));
        self.poll(port, now, pool, driver);
        Node::trace_notes(pool, driver);
        match fate {
            Some(Inbound::Forward(pkt)) => {
                let heading = Heading::of(&pool[&pkt]);
                self.forward(now, Some(port), pkt, heading, pool, driver);
            }
            Some(Inbound::Consume(pkt)) => Node::consume(pkt, pool, driver),
            Some(Inbound::Drop(pkt, why)) => self.discard(Some(port), pkt, why, pool, driver),
            Some(Inbound::Keep) | None => {}
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
        driver.dropped(port, pkt.id(), pool.carried(&pkt), why);
        pool.free(pkt);
    }
}
