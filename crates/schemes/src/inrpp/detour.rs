//! Detours (§III-A, §III-B): available detours, and the rate on each.

use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::{Map, NodeSpec};
use midpath_core::units::{Rate, Time};

use super::back::Ways;
use super::equations;
use super::header::Feedback;
use super::overlay::PeerKind;
use crate::transport::PACING_CREDIT;

/// One detour of a port: through which sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetourInterface {
    /// The port that faces the first link of the detour.
    pub port: PortId,
    /// Whether another router stands between the one behind that port and the original next hop.
    pub two: bool,
}

fn linked(map: &dyn Map, a: NodeId, b: NodeId) -> bool {
    map.links(a).iter().any(|l| l.peer == b)
}

fn routers<'a>(map: &'a dyn Map, of: NodeId) -> impl Iterator<Item = (usize, NodeId)> + 'a {
    map.links(of).into_iter().map(|l| l.peer).enumerate().filter(|(_, n)| !map.is_host(*n))
}

/// The detours around `port` of a router, from the link-state map: Table III, one row. With `two`,
/// ways over two routers where there is none over one; the paper has one only.
pub fn detour_interfaces(node: &NodeSpec<'_>, port: PortId, two: bool) -> Vec<DetourInterface> {
    let (map, me) = (node.map, node.node);
    let Some(target) = node.links.get(usize::from(port.0)).map(|l| l.peer) else { return Vec::new() };
    if map.is_host(me) || map.is_host(target) {
        return Vec::new();
    }
    let others: Vec<(usize, NodeId)> = routers(map, me).filter(|(_, n)| *n != target && *n != me).collect();
    let through = |two: bool| move |(i, _): &(usize, NodeId)| DetourInterface { port: PortId(*i as u16), two };
    let one: Vec<DetourInterface> =
        others.iter().filter(|(_, n)| linked(map, *n, target)).map(through(false)).collect();
    if !one.is_empty() || !two {
        return one;
    }
    others.iter().filter(|(_, n)| !second(map, *n, me, target).is_empty()).map(through(true)).collect()
}

/// The ports of `through` that lead to a router which is linked to `target`, not by way of
/// `origin`.
pub fn second(map: &dyn Map, through: NodeId, origin: NodeId, target: NodeId) -> Vec<PortId> {
    let good = |n: NodeId| n != origin && n != target && n != through && linked(map, n, target);
    routers(map, through).filter(|(_, n)| good(*n)).map(|(i, _)| PortId(i as u16)).collect()
}

/// What a port knows of the network around it.
#[derive(Debug, Clone)]
pub struct Adjacency {
    /// What all other links of the node can bring in.
    pub inflow: Rate,
    /// Its own detours.
    pub interfaces: Vec<DetourInterface>,
    /// With 2-hop detours: for routers two links away, the port that leads there from this node for
    /// who comes in through this port.
    pub second: BTreeMap<NodeId, PortId>,
    /// Who is on the other side.
    pub peer_kind: PeerKind,
    /// How the node chooses ways.
    pub ways: Ways,
}

/// For routers two links from `node`, the port that leads there and not back to `origin`.
pub fn seconds(node: &NodeSpec<'_>, origin: NodeId) -> BTreeMap<NodeId, PortId> {
    let map = node.map;
    let far = routers(map, node.node).filter(|(_, n)| *n != origin).flat_map(|(_, n)| map.links(n));
    let targets = far.map(|l| l.peer).filter(|t| *t != node.node && *t != origin && !map.is_host(*t));
    let first = |t: NodeId| second(map, node.node, origin, t).first().map(|p| (t, *p));
    targets.filter_map(first).collect()
}

/// One detour in use.
#[derive(Debug, Clone, Copy)]
pub struct DetourPath {
    /// Through where.
    pub through: DetourInterface,
    /// r_d, in bytes per second.
    pub rate: f64,
    /// When the next packet may take it.
    pub next_at: Time,
    /// A packet waits for that, and for nothing else.
    pub waits: bool,
    /// The last answer to a probe, and when it came.
    pub feedback: Option<(Feedback, Time)>,
}

impl DetourPath {
    /// A detour that nothing is known of.
    pub fn new(through: DetourInterface) -> DetourPath {
        DetourPath { through, rate: 0.0, next_at: Time::ZERO, waits: false, feedback: None }
    }

    /// Whether both of its egress interfaces are in Push (§III-A), as far as is known: `local` is
    /// the first.
    pub fn open(&self, local: bool) -> bool {
        local && self.rate > 0.0 && self.feedback.is_some_and(|(f, _)| f.push)
    }

    /// The decision every T_d: equation (3), with the feedback of both interfaces. Without an
    /// answer since `after` the detour router is gone, or the link to it: nothing is sent until
    /// there is one.
    pub fn decide(&mut self, local: Feedback, after: Time) {
        let Some((remote, _)) = self.feedback.filter(|(_, at)| *at >= after) else {
            (self.rate, self.feedback) = (0.0, None);
            return;
        };
        let f = remote.and(local);
        if f.push {
            self.rate = equations::detour_rate(self.rate, f.up, f.down);
        } else {
            // Not in Push: not used (§III-A). What it was worth is halved until it is again. Ours:
            // AIMD's usual factor.
            self.rate /= 2.0;
        }
    }

    /// A packet of `size` bytes takes it now. If it waited for its time it counts from then, however late the driver
    /// wakes the port, up to [`PACING_CREDIT`]: at 200 Mbps packets are 60 µs apart, as far as threads are woken late.
    pub fn sent(&mut self, size: u32, now: Time) {
        let gap = Time::from_secs_f64(f64::from(size) / self.rate);
        let earliest = if self.waits { now.saturating_sub(PACING_CREDIT) } else { now };
        self.next_at = self.next_at.max(earliest).saturating_add(gap);
    }
}
