use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use super::balance::{Balancer, Balancing, draw};
use super::port::SHARED;
use crate::packet::{FlowId, NodeId, Packet, PacketId, Pkt, Pool, PortId};
use crate::rng::{Stream, mix};
use crate::units::Time;

/// Where packets come from and go to at a node: a port, or a local application, of which several
/// may want the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Face {
    /// A neighbour.
    Port(PortId),
    /// The end of this flow here.
    App(FlowId),
}

/// How a packet that an endpoint, a port or a forwarder has sent leaves the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As the forwarder says.
    Routed,
    /// Through this port.
    Port(PortId),
    /// It doesn't: it is for the endpoint of its flow here.
    Local,
}

impl From<Option<PortId>> for Way {
    fn from(port: Option<PortId>) -> Way {
        port.map_or(Way::Routed, Way::Port)
    }
}

/// Where a packet goes from here.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// Out of one port.
    Port(PortId, Pkt),
    /// To the endpoint of its flow on this node.
    Local(Pkt),
    /// It is used up (copied to several faces, a PIT hit, an ACK merged into another): the node
    /// frees it.
    Consumed(Pkt),
    /// The forwarder keeps it, counts it in [`Forwarder::kept`], and emits it later.
    Kept,
    /// Nobody is to have it: the packet is dropped and counted.
    Unroutable(Pkt),
    /// It is not this forwarder's to decide: the next one's, the shortest path's in the end. What
    /// that passes on has no way.
    Pass(Pkt),
}

/// Decides which ports a packet leaves through. A node has one of each scheme that runs there; the
/// first that doesn't pass a packet on decides.
pub trait Forwarder: Send {
    /// Called when a packet came in through `from`, or from an endpoint of this node (`None`). A
    /// packet that a port handed back ([`PortCtx::hand_back`](super::PortCtx::hand_back)) comes
    /// from that port.
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route;
    /// Whether [`Forwarder::ignores_inbound`] wants to be called. Asked once.
    fn ignores_some_inbound(&self) -> bool {
        false
    }
    /// Whether [`Forwarder::route`] would pass this packet on as it is and learn nothing from it. Then,
    /// for speed alone, it need not be called.
    fn ignores_inbound(&self, _packet: &Packet, _node: NodeId) -> bool {
        false
    }
    /// Called when the time last given to [`ForwardCtx::wake_at`] or
    /// [`ForwardCtx::wake_in_background`] has come: do all that is due.
    fn on_timer(&mut self, _ctx: &mut ForwardCtx<'_>) {}
    /// How many packets it keeps.
    fn kept(&self) -> u64 {
        0
    }
    /// Called when the node goes over to other routes ([`Routes::switch`]): forget what was
    /// remembered of them.
    fn on_routes(&mut self, _state: u32) {}
    /// Called when the node restarts: forget everything learned. The packets kept are handed back,
    /// to be dropped. Its timers are withdrawn.
    fn reset(&mut self, _kept: &mut Vec<Pkt>) {}
}

/// When a forwarder wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeAt {
    Work(Time),
    Background(Time),
}

/// What a forwarder may reach during a call.
pub struct ForwardCtx<'a> {
    /// The time of this call.
    pub now: Time,
    /// The node.
    pub node: NodeId,
    /// The packets.
    pub pool: &'a mut Pool,
    /// The node's random stream.
    pub rng: &'a mut Stream,
    pub(crate) state: Option<&'a mut (dyn Any + Send)>,
    pub(crate) out: &'a mut VecDeque<(Way, Pkt)>,
    pub(crate) copies: Option<&'a mut Vec<(PacketId, PacketId)>>,
    pub(crate) wakes: Option<&'a mut Vec<WakeAt>>,
}

impl<'a> ForwardCtx<'a> {
    /// A context for one call, without shared state or timers; what the forwarder sends is appended
    /// to `out`, with the way that it takes.
    pub fn new(
        (now, node): (Time, NodeId),
        pool: &'a mut Pool,
        rng: &'a mut Stream,
        out: &'a mut VecDeque<(Way, Pkt)>,
    ) -> ForwardCtx<'a> {
        ForwardCtx { now, node, pool, rng, state: None, out, copies: None, wakes: None }
    }
}

impl ForwardCtx<'_> {
    /// What the ports and the forwarder of this instance share on this node: what
    /// [`Network::state`](super::Network::state) made.
    ///
    /// # Panics
    /// If that was of another type, or nothing.
    pub fn state<T: Any>(&mut self) -> &mut T {
        self.state.as_deref_mut().and_then(|s| s.downcast_mut()).expect(SHARED)
    }
    /// Sends a packet of the forwarder's own (a Nack, an aggregated ACK) out of a port, or along
    /// the route to its destination.
    pub fn emit(&mut self, port: Option<PortId>, packet: Packet) {
        let pkt = self.pool.insert(packet);
        self.out.push_back((port.into(), pkt));
    }
    /// Asks for [`Forwarder::on_timer`] at `at`, in place of any earlier wish; [`Time::MAX`]
    /// withdraws it.
    pub fn wake_at(&mut self, at: Time) {
        self.wakes.iter_mut().for_each(|w| w.push(WakeAt::Work(at)));
    }
    /// The same for housekeeping (ageing, hellos): such a wish does not keep a run from ending. It
    /// stands beside that of [`ForwardCtx::wake_at`].
    pub fn wake_in_background(&mut self, at: Time) {
        self.wakes.iter_mut().for_each(|w| w.push(WakeAt::Background(at)));
    }
    /// Sends a packet that was kept.
    pub fn release(&mut self, port: Option<PortId>, pkt: Pkt) {
        self.out.push_back((port.into(), pkt));
    }
    /// Sends a copy of the packet to a face: out of a port, or to the end of a flow here. The copy
    /// may be changed, so that each face gets its own.
    pub fn copy_to(&mut self, face: Face, pkt: &Pkt) -> &mut Packet {
        let copy = self.pool.copy(pkt);
        let id = copy.id();
        if let Some(copies) = &mut self.copies {
            copies.push((pkt.id(), id));
        }
        let way = match face {
            Face::Port(port) => Way::Port(port),
            Face::App(flow) => {
                self.pool[&copy].flow = flow;
                Way::Local
            }
        };
        self.out.push_back((way, copy));
        let (_, sent) = self.out.back().expect("just put there");
        &mut self.pool[sent]
    }
}

/// Shortest-path next hops, computed outside. Nodes remember answers: they change by
/// [`Routes::switch`] alone.
pub trait Routes: Send + Sync {
    /// Called when the node that these routes are for goes over to another state of the network; it
    /// forgets what it remembered. Nothing where there is one state.
    fn switch(&self, _state: u32) {}
    /// The equal-cost ports at `node` towards `dst`, in a fixed order. Empty when there is no way.
    fn next_ports(&self, node: NodeId, dst: NodeId) -> &[u16];
    /// The ports at `node` that a conversation with this key may take towards `dst`: all of
    /// [`Routes::next_ports`], unless routing itself has a path for each conversation
    /// ([`Ecmp::Symmetric`]).
    #[inline]
    fn ports_for(&self, node: NodeId, dst: NodeId, _key: u32) -> &[u16] {
        self.next_ports(node, dst)
    }
    /// Whether conversations to one destination may leave a node through different ports although
    /// [`Routes::ports_for`] shows one port only.
    fn by_conversation(&self) -> bool {
        false
    }
    /// With [`Ecmp::Job`]: the key of the job that a flow is of.
    fn job_key(&self, _flow: FlowId) -> Option<u32> {
        None
    }
    /// The node behind a port of any node; `None` where the routes don't tell.
    fn peer(&self, _node: NodeId, _port: u16) -> Option<NodeId> {
        None
    }
    /// What a path pays for the link behind a port: shortest paths have the least sum. Each link
    /// costs the same where the routes don't tell.
    fn cost(&self, _node: NodeId, _port: u16) -> u64 {
        1
    }
}

/// How equal-cost paths are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ecmp {
    /// One path per flow, by hash (RFC 2992's aim).
    #[default]
    Flow,
    /// One path per flow, symmetric: one of 16 trees, as in IEEE 802.1aq.
    Symmetric,
    /// A random path per packet.
    Packet,
    /// LetFlow: a random path per flowlet.
    #[serde(rename = "letflow")]
    LetFlow,
    /// DRILL: per packet the shortest of a few queues.
    Drill,
    /// One path per job and destination, by hash; flows of no job as `flow`.
    Job,
    /// Always the first path.
    Off,
}

impl Ecmp {
    /// The port that a packet of the conversation `key` takes at `node` among `choices` towards
    /// `dst`; `None` if there is none.
    #[inline]
    pub fn choose(self, choices: &[u16], key: u32, dst: NodeId, node: NodeId, rng: &mut Stream) -> Option<PortId> {
        match self {
            Ecmp::Packet if choices.len() > 1 => Some(PortId(draw(choices, rng))),
            _ => self.expected(choices, key, dst, node),
        }
    }

    /// The same for those who work out where packets will go. With a path per packet there is no
    /// telling; the first is as good as any. A flowlet's is as good as a flow's.
    #[inline]
    pub fn expected(self, choices: &[u16], key: u32, dst: NodeId, node: NodeId) -> Option<PortId> {
        match self {
            Ecmp::Flow | Ecmp::LetFlow | Ecmp::Drill | Ecmp::Job if choices.len() > 1 => {
                Some(PortId(ShortestPath::pick(choices, key, dst, node)))
            }
            _ => choices.first().map(|p| PortId(*p)),
        }
    }
}

/// Next hops that a node remembers. Eight take two cache lines and save a tenth of a packet-hop
/// (evidence/bench/README.md).
const REMEMBERED: usize = 8;

/// The next hop towards a node, of one conversation where conversations part.
#[derive(Clone, Copy)]
struct Remembered {
    key: u32,
    dst: NodeId,
    port: PortId,
}

/// Unicast forwarding along shortest paths with ECMP.
#[derive(Clone)]
pub struct ShortestPath {
    remembered: [Remembered; REMEMBERED],
    /// The bits of a conversation's key that next hops depend on: none until there was a choice,
    /// all since then.
    depends: u32,
    rest: Box<Choosing>,
}

/// What is needed where nothing is remembered.
#[derive(Clone)]
struct Choosing {
    routes: Arc<dyn Routes>,
    ecmp: Ecmp,
    /// Where ports do not follow from keys.
    balancer: Option<Balancer>,
}

/// No node has this number.
const NOTHING: Remembered = Remembered { key: 0, dst: NodeId(u32::MAX), port: PortId(0) };

impl ShortestPath {
    /// Forwards by `routes`.
    pub fn new(routes: Arc<dyn Routes>, balancing: impl Into<Balancing>) -> ShortestPath {
        let (balancing, depends) = (balancing.into(), if routes.by_conversation() { u32::MAX } else { 0 });
        let (ecmp, balancer) = (balancing.ecmp, Balancer::new(balancing));
        let rest = Box::new(Choosing { routes, ecmp, balancer });
        ShortestPath { remembered: [NOTHING; REMEMBERED], depends, rest }
    }

    /// The port that a conversation takes among `choices` at `node`: the same for the same key,
    /// node and direction.
    pub fn pick(choices: &[u16], key: u32, dst: NodeId, node: NodeId) -> u16 {
        choices[ShortestPath::pick_index(choices.len(), key, dst, node)]
    }

    /// The same as a position among `count` choices. Hashing the node in keeps consecutive routers
    /// from all choosing alike.
    pub fn pick_index(count: usize, key: u32, dst: NodeId, node: NodeId) -> usize {
        let key = (u64::from(key) << 32) | u64::from(dst.0);
        let hash = mix(key ^ mix(u64::from(node.0)));
        ((u128::from(hash) * count as u128) >> 64) as usize
    }
}

impl ShortestPath {
    /// The port that packets of the conversation `key` to `dst` leave through, where that is remembered.
    #[inline(always)]
    pub(crate) fn remembered(&self, key: u32, dst: NodeId) -> Option<PortId> {
        let key = key & self.depends;
        let known = &self.remembered[ShortestPath::place(key, dst)];
        // One branch in place of two.
        ((known.key ^ key) | (known.dst.0 ^ dst.0) == 0).then_some(known.port)
    }

    /// Where the next hop is remembered.
    #[inline]
    const fn place(key: u32, dst: NodeId) -> usize {
        (key ^ dst.0) as usize % REMEMBERED
    }

    /// The same where it is not: of a packet for another node than `node`, `now`. `load` tells what waits at a port.
    #[inline(never)]
    pub(crate) fn look_up(
        &mut self,
        packet: &Packet,
        (now, node): (Time, NodeId),
        load: impl FnMut(u16) -> u64,
        rng: &mut Stream,
    ) -> Option<PortId> {
        let (key, dst) = (packet.key, packet.dst);
        let Choosing { routes, ecmp, balancer } = &mut *self.rest;
        let choices = routes.ports_for(node, dst, key);
        if choices.len() > 1
            && let Some(balancer) = balancer
        {
            return Some(PortId(balancer.choose(choices, (key, dst), now, load, rng))); // chosen anew for each packet
        }
        let hashed = if *ecmp == Ecmp::Job { routes.job_key(packet.flow).unwrap_or(key) } else { key };
        let port = ecmp.expected(choices, hashed, dst, node)?;
        if choices.len() > 1 && self.depends == 0 {
            self.depends = u32::MAX;
            self.remembered = [NOTHING; REMEMBERED];
        }
        let key = key & self.depends;
        self.remembered[ShortestPath::place(key, dst)] = Remembered { key, dst, port };
        Some(port)
    }
}

impl Forwarder for ShortestPath {
    fn route(&mut self, pkt: Pkt, _from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let packet = &ctx.pool[&pkt];
        if packet.dst == ctx.node {
            return Route::Local(pkt);
        }
        let (key, dst) = (packet.key, packet.dst);
        // Queues are the node's, which calls this itself.
        match self.remembered(key, dst).or_else(|| self.look_up(packet, (ctx.now, ctx.node), |_| 0, ctx.rng)) {
            Some(port) => Route::Port(port, pkt),
            None => Route::Pass(pkt),
        }
    }

    fn on_routes(&mut self, state: u32) {
        self.rest.routes.switch(state);
        self.remembered = [NOTHING; REMEMBERED];
        self.rest.balancer.iter_mut().for_each(Balancer::reset);
    }
}
